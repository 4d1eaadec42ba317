"""The first card of a page: what is wrong, how bad, since when, and what to do now. Readable in five seconds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rules.base import Easing
from rules.explain.story import (
    FirstScreen,
    Paragraph,
    eased,
    first_screen,
    held,
    not_judged,
    of_holder,
    screen,
    story,
)
from rules.formatting import sentence
from rules.model import CANNOT_TELL, Diagnosis, Severity
from rules.waiting_sessions import HANGING_SECONDS
from service.web.pages import words
from service.web.schemas import DatabaseOut


@dataclass(frozen=True, slots=True)
class VerdictNumber:
    """A large number and the words under it. `bad`: in the colour of trouble."""

    value: str
    about: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """The content of the card. `act`: whether there is something to change. Otherwise it has no buttons."""

    state: str
    state_words: str
    since: datetime | None
    title: str
    lede: str
    numbers: Sequence[VerdictNumber]
    do: str
    warn: str
    do_not: str
    act: bool
    beside: Sequence[Paragraph] = ()
    """The rest of the story that no other card of the page has."""


BESIDE = ("then", "who", "maybe", "next", "decides", "else", "also")
"""Paragraphs of the story that stand under what to do, in its order."""


def verdict(
    diagnosis: Diagnosis, now: datetime, database: DatabaseOut | None = None, easing: Easing | None = None
) -> VerdictCard:
    """The card of a Diagnosis. A watched database has since when, a report does not."""
    silent = diagnosis.basis is None or (database is not None and not database.up)
    if silent or (database is None and diagnosis.standing == CANNOT_TELL):
        return _no_data(diagnosis, now, database)
    told, calm = first_screen(diagnosis, easing), diagnosis.severity is Severity.INFO
    if easing is not None and told.title == eased(easing).title:
        told = replace(told, title=eased(easing, f" until {easing.until:%H:%M:%S}").title)
    since = None if calm else database.since if database else _began(diagnosis)
    drains = easing is not None and easing.waits is not None and not calm
    state, state_words = _state(diagnosis, easing if drains else None, told)
    return VerdictCard(
        state=state,
        state_words=state_words,
        since=since,
        title=told.title,
        lede=told.lede,
        numbers=[*_costs(diagnosis), *_misses(diagnosis)] if calm else _numbers(diagnosis, since, now),
        do=told.do,
        warn=told.check,
        do_not=told.do_not,
        act=told.act and not drains,
        beside=() if drains else [each for each in story(diagnosis) if each.kind in BESIDE],
    )


def _state(diagnosis: Diagnosis, drains: Easing | None, told: FirstScreen) -> tuple[str, str]:
    """The state of the card, and its words."""
    if diagnosis.severity is Severity.INFO:
        state = words.state_word(diagnosis.state) if diagnosis.state in ("Elsewhere", "Quiet") else "fine"
        larger = diagnosis.other_wait if diagnosis.state == "Elsewhere" else None
        named = f": {larger.event} has {words.share(larger.share_of_db_time)} of DB time" if larger else ""
        return state, f"{words.STATES[state]}{named}"
    state = words.state_of(diagnosis.severity)
    if drains is not None:
        return state, f"{words.STATES[state]}, {'getting better' if drains.waits == 'falling' else 'cause gone'}"
    return state, f"{words.STATES[state]}{', cause not certain' if told.unsure and told.act else ''}"


def _began(diagnosis: Diagnosis) -> datetime | None:
    """When the earliest of the troubles that lasted at the time of a diagnosis began, or the longest wait that hangs in it."""
    begun = [trouble.begin for trouble in diagnosis.episodes]
    end = diagnosis.basis.end if diagnosis.basis else None
    if begun and end is not None and end.tzinfo:
        begun += [end - timedelta(seconds=group.longest_seconds) for group in diagnosis.waiting if group.hanging]
    return min(begun, default=None)


def _no_data(diagnosis: Diagnosis, now: datetime, database: DatabaseOut | None) -> VerdictCard:
    """The card without figures: no answer, a login that is stopped, a restart, the first poll, a file that says nothing."""
    why = next((each for each in diagnosis.undetermined), None)
    failure = database.failure if database else None
    stopped = failure is not None and failure.next_attempt is None
    way_out = why.way_out if why and why.way_out else ""
    if failure is not None:
        told = screen(
            "login stopped" if stopped else "no answer", why=sentence(failure.why), database=diagnosis.database
        )
    elif database is None:
        told = not_judged(diagnosis)
    else:
        told = first_screen(diagnosis.model_copy(update={"basis": None}))
    if way_out and not stopped:
        told = replace(told, do=f"{sentence(way_out)}.")
    told = told if failure else of_holder(diagnosis, told)
    restarted = database is not None and failure is None and diagnosis.obstacle == "restart"
    lede = told.lede or (f"{sentence(why.why)}." if why and why.why else "")
    numbers = []
    if restarted and database and database.started_at:
        numbers.append(VerdictNumber(f"{database.started_at:%H:%M:%S}", "started, UTC"))
    if database and database.data_age_seconds is not None:
        numbers.append(VerdictNumber(words.length(database.data_age_seconds), "since the last good poll"))
    if failure is not None:
        numbers.append(VerdictNumber(words.length((now - failure.since).total_seconds()), "without an answer"))
        if failure.next_attempt:
            numbers.append(VerdictNumber(f"{failure.next_attempt:%H:%M:%S}", "next attempt, UTC"))
    return VerdictCard(
        state="none",
        state_words=words.STATES["none"] if database else CANNOT_TELL,
        since=failure.since if failure else None,
        title=told.title,
        lede=lede,
        numbers=numbers,
        do=told.do,
        warn=told.check,
        do_not=told.do_not,
        act=stopped,
    )


def _misses(diagnosis: Diagnosis) -> Iterator[VerdictNumber]:
    if diagnosis.funnel and diagnosis.funnel.requests and diagnosis.funnel.misses is not None:
        missed = diagnosis.funnel.misses / diagnosis.funnel.requests
        yield VerdictNumber(words.share(missed), "of requests miss at the first try")


def _costs(diagnosis: Diagnosis) -> Sequence[VerdictNumber]:
    """The cost: share of DB time over its interval, and sessions."""
    impact, basis = diagnosis.impact, diagnosis.basis
    over = f", over {words.length(basis.seconds)}" if basis and basis.kind == "interval" and basis.seconds else ""
    bad = diagnosis.severity in (Severity.CRITICAL, Severity.WARNING)
    found = []
    if impact and impact.share_of_db_time is not None:
        found.append(VerdictNumber(words.share(impact.share_of_db_time), f"of DB time lost{over}", bad))
    if impact and impact.waiting_sessions is not None:
        found.append(VerdictNumber(words.sessions(impact.waiting_sessions), "sessions wait, on average"))
    return found


def _numbers(diagnosis: Diagnosis, since: datetime | None, now: datetime) -> Sequence[VerdictNumber]:
    """Who waits, the cost, and since when. If sessions hang, the longest wait shows that too."""
    lasts = None if since is None else words.length((now - since).total_seconds())
    begun = "" if since is None else f"since {words.clock(since, now)} UTC"
    stuck = [group for group in diagnosis.waiting if group.hanging]
    if not stuck:
        costs = list(_costs(diagnosis))
        return costs[:3] if lasts is None else [*costs[:2], VerdictNumber(lasts, begun)]
    waiting, hang = (sum(getattr(group, name) for group in stuck) for name in ("sessions", "hanging"))
    lasting = words.length(HANGING_SECONDS)
    those = f", {'all' if hang == waiting else f'{hang:,} of them'} for {lasting} or longer"
    chain = held(diagnosis)
    if chain is not None and chain.waiting > waiting:  # how long each waits is known of fewer
        waiting, those = chain.waiting, ""
    longest = max(group.longest_seconds for group in stuck)
    numbers = [
        VerdictNumber(f"{waiting:,}", f"session{' waits' if waiting == 1 else 's wait'}{those}", bad=True),
        VerdictNumber(words.lasted(longest), "the longest wait"),
        *_costs(diagnosis)[:1],
    ]
    if since is not None and lasts is not None:
        end = diagnosis.basis.end if diagnosis.basis else None
        first = end is not None and abs((end - since).total_seconds() - longest) < 1
        numbers[1:2] = [VerdictNumber(words.lasted(longest), f"the longest wait, {begun}")] if first else numbers[1:2]
        numbers += [] if first else [VerdictNumber(lasts, begun)]
    return numbers
