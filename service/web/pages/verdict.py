"""The first card of a page: what is wrong, how bad, since when, and what to do now. Readable in five seconds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rules.base import FOUNDED_ON, Easing
from rules.explain.headline import QUIET, speaks_against
from rules.explain.walk import TIME_SPENT
from rules.formatting import sentence
from rules.grade import counted_in_words
from rules.miss_locations import merely_fits
from rules.model import CANNOT_TELL, Confidence, Diagnosis, Finding, Severity
from rules.waiting import HANGING_SECONDS
from service.state.board import (
    CORRECT_PASSWORD,
    GOES_ON,
    LOOK,
    NOT_BLINDLY,
    NOT_CURED,
    NOT_MORE,
    NOT_TO_TUNE,
    NOT_UNTIL_RIGHT,
    NOT_YET,
    NOTHING_TO_DO,
    NOTHING_TOLD,
    UNEXPLAINED,
    WAIT_AND_SEE,
    eased_title,
)
from service.web.pages import words
from service.web.schemas import DatabaseOut

# How sure a cause is, why, what is missing for high confidence, and what its entry is founded on.

SURE = {Confidence.HIGH: "High", Confidence.MEDIUM: "Medium", Confidence.LOW: "Low"}
HIGH_NEEDS_NAME = "For high confidence, the instance's own map or waiting sessions must name the cache."
HIGH_NEEDS_APART = "For high confidence, a sign of its own must set this cause apart from others."
HIGH_NEEDS_RUN = "For high confidence, run the confirming query."


def sureness(finding: Finding) -> str:
    """How sure the cause is, in a few sentences."""
    fitting = [sign for sign in finding.evidence if merely_fits(finding, sign)]
    met, open_ = len(finding.evidence) - len(fitting), len(finding.unknown)
    signs = f"all {met} signs met" if not open_ and met > 1 else f"{words.plural(met, 'sign')} met"
    unknown = f", {open_} unknown" if open_ else ""
    place = ", and the place of the sleeps fits" if fitting else ""
    query = finding.confirm
    counted = query is not None and query.result is not None
    also = (
        ""
        if not counted
        else ", but the count speaks against it"
        if speaks_against(finding)
        else ", and the count confirms it"
    )
    sentences = [
        f"{SURE[finding.confidence]} confidence in the cause: {signs}{unknown}{place}{also}.",
        f"{sentence(counted_in_words(finding.reliability))}." if finding.reliability else "",
        _for_high(finding),
    ]
    if finding.status:
        sentences.append(f"What is known of this cause {FOUNDED_ON[finding.status]}.")
    return " ".join(filter(None, sentences))


def _for_high(finding: Finding) -> str:
    """The first thing that is missing for high confidence. Empty if nothing is, or if a count or a figure says it already."""
    if finding.confidence is Confidence.HIGH or finding.identity is None or speaks_against(finding):
        return ""
    if finding.identity not in ("read", "sampled"):
        return HIGH_NEEDS_NAME
    roles = {sign.role for sign in finding.evidence}
    if not roles & {"discriminating", "supporting"}:
        return HIGH_NEEDS_APART
    query = finding.confirm
    can_confirm = query is not None and query.needs is not None and query.confirms is None and not query.obstacle
    return HIGH_NEEDS_RUN if "shape" not in roles and can_confirm else ""


MOST_OF_THEM = 0.9
"""From this share of waiters behind one session on, that session is the first thing to look at."""
RESTARTED = "The instance has restarted"
COUNTERS_ANEW = "Its counters started again, so there is no rate before the second poll."
NOT_ACROSS = "Do not compare totals of now with figures from before the restart."
NO_SESSION = "Waits for the dictionary caches cost next to nothing."
UNSEEN = "No counter has a wait that has not ended. Open v$session to latchscope, or ask who waits right now."
HARDLY_ANY = "Hardly any session waits for a dictionary cache."
NOTHING_TO_TUNE = f"{NOT_TO_TUNE} Nothing is to be won there."
OF_A_FILE = "If the database is slow, look for the time elsewhere in the report."
HARDLY_TO_TUNE = f"{NOT_TO_TUNE} Hardly any session waits for it."
NOT_HEALTHY = "Do not take silence for health. Nothing is known until a poll succeeds."
NOT_FINE = "Do not take it for healthy. Nothing of it could be judged."
NOTHING_JUDGED = "Nothing could be judged"


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
    eyebrow: str
    do: str
    warn: str
    do_not: str
    sure: str
    act: bool
    then: str = ""


def verdict(
    diagnosis: Diagnosis, now: datetime, database: DatabaseOut | None = None, easing: Easing | None = None
) -> VerdictCard:
    """The card of a Diagnosis. A watched database has since when, a report does not."""
    if diagnosis.basis is None or (database is not None and not database.up):
        return _no_data(diagnosis, now, database)
    if database is None and diagnosis.standing == CANNOT_TELL:
        return _no_data(diagnosis, now, database)
    finding = diagnosis.findings[0] if diagnosis.findings else None
    if diagnosis.severity is Severity.INFO:
        return _fine(diagnosis, finding, now, easing, watched=database is not None)
    since = database.since if database else _began(diagnosis)
    if easing is not None and easing.waits:
        return _drains(diagnosis, easing, now, since)
    return _trouble(diagnosis, finding, now, since, easing)


def _began(diagnosis: Diagnosis) -> datetime | None:
    """When the earliest of the troubles that lasted at the time of a diagnosis began, or the longest wait that hangs in it."""
    begun = [trouble.begin for trouble in diagnosis.episodes]
    end = diagnosis.basis.end if diagnosis.basis else None
    if begun and end is not None and end.tzinfo:
        begun += [end - timedelta(seconds=group.longest_seconds) for group in diagnosis.waiting if group.hanging]
    return min(begun, default=None)


def _no_data(diagnosis: Diagnosis, now: datetime, database: DatabaseOut | None) -> VerdictCard:
    why = next((each for each in diagnosis.undetermined), None)
    failure = database.failure if database else None
    stopped = failure is not None and failure.next_attempt is None
    silent = "The database does not answer" if failure else _first(diagnosis) if database else NOTHING_JUDGED
    title = "The login is stopped" if stopped else silent
    said = failure.why if failure else why.why if why else ""
    if stopped:
        said = f"The database does not let this user log in: {said}"
    do = CORRECT_PASSWORD if stopped else None
    do = do or (f"{sentence(why.way_out)}." if why and why.way_out else "Wait for the next poll.")
    restarted = database is not None and failure is None and diagnosis.obstacle == "restart"
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
        title=title,
        lede=COUNTERS_ANEW if restarted else f"{sentence(said)}." if said else "",
        numbers=numbers,
        eyebrow="Do this now" if failure else "Wait" if database else "Do this when there is time",
        do=do,
        warn="Each refused login counts against the account, so latchscope tries no more." if stopped else "",
        do_not=NOT_ACROSS
        if restarted
        else NOT_FINE
        if database is None
        else _not_of_no_data(stopped, failure is not None),
        sure="",
        act=stopped,
    )


def _not_of_no_data(stopped: bool, failed: bool) -> str:
    """What not to do without figures."""
    return NOT_UNTIL_RIGHT if stopped else NOT_HEALTHY if failed else NOT_YET


def _first(diagnosis: Diagnosis) -> str:
    """Why nothing is known yet, as a title."""
    return RESTARTED if diagnosis.obstacle == "restart" else NOTHING_TOLD


def _fine(
    diagnosis: Diagnosis, finding: Finding | None, now: datetime, easing: Easing | None, *, watched: bool
) -> VerdictCard:
    larger = diagnosis.other_wait if diagnosis.state == "Elsewhere" else None
    named = f": {larger.event} has {words.share(larger.share_of_db_time)} of DB time" if larger else ""
    state = words.state_word(diagnosis.state) if diagnosis.state in ("Elsewhere", "Quiet") else "fine"
    if easing is not None:
        title = eased_title(easing, f" until {easing.until:%H:%M:%S}")
        lede = "The last poll no longer shows it. It is over when a few more polls do not show it either."
        if easing.missing:
            lede = f"The last poll could not read {easing.missing}. It stays open until a poll can judge it."
        do_not = NOT_CURED
    elif finding:
        title, lede, do_not = finding.title, finding.lede, finding.do_not
    elif larger:
        title, do_not = (
            f"Most of DB time is {larger.event}{' and the like' * (larger.share_of_db_time < 0.5)}",
            NOT_TO_TUNE,
        )
        together = words.share(larger.together_share_of_db_time)
        lede = f"Waits for something else that are read have {together} of DB time, and the row cache costs little."
    elif state == "quiet":
        title, lede, do_not = QUIET, UNSEEN, HARDLY_TO_TUNE
    elif (cost := diagnosis.impact) is not None and (cost.waiting_sessions or cost.share_of_db_time):
        title, lede, do_not = NOTHING_TO_DO, HARDLY_ANY, HARDLY_TO_TUNE
    else:
        title, lede, do_not = NOTHING_TO_DO, NO_SESSION, NOTHING_TO_TUNE
    if easing is None and not finding and not larger:
        spent = next((step.statement for step in diagnosis.steps if step.step == TIME_SPENT), "")
        lede = f"{lede} {spent}".strip()
    numbers = list(_costs(diagnosis))
    if diagnosis.funnel and diagnosis.funnel.requests and diagnosis.funnel.misses is not None:
        missed = diagnosis.funnel.misses / diagnosis.funnel.requests
        numbers.append(VerdictNumber(words.share(missed), "of requests miss at the first try"))
    return VerdictCard(
        state=state,
        state_words=f"{words.STATES[state]}{named}",
        since=None,
        title=title,
        lede=lede,
        numbers=numbers,
        eyebrow="Do nothing now",
        do=finding.do_now
        if finding
        else f"Find out who waits for {larger.event}, and for whom."
        if larger
        else GOES_ON
        if watched
        else OF_A_FILE,
        warn=(finding.check_first or "") if finding else "",
        do_not=do_not,
        sure=sureness(finding) if finding else "",
        act=False,
    )


def _drains(diagnosis: Diagnosis, easing: Easing, now: datetime, since: datetime | None) -> VerdictCard:
    """The cause is gone, its waits are not: as bad as they are, and nothing to do but wait."""
    state, change = words.state_of(diagnosis.severity), easing.change
    falling = easing.waits == "falling"
    lede = f"{_where(diagnosis)} The cause was last seen at {easing.until:%H:%M:%S} UTC, and no other is found."
    if change is not None:
        lede += f" Change at {change.at:%H:%M:%S} UTC: {change.text}."
    undo = "" if change is None else f"Do not undo the change of {change.at:%H:%M:%S} UTC. "
    return VerdictCard(
        state=state,
        state_words=f"{words.STATES[state]}, {'getting better' if falling else 'cause gone'}",
        since=since,
        title=eased_title(easing, f" until {easing.until:%H:%M:%S}"),
        lede=lede,
        numbers=_numbers(diagnosis, since, now),
        eyebrow="Wait",
        do=WAIT_AND_SEE,
        warn="",
        do_not=f"{undo}{NOT_MORE}",
        sure="",
        act=False,
    )


def _trouble(
    diagnosis: Diagnosis, finding: Finding | None, now: datetime, since: datetime | None, easing: Easing | None
) -> VerdictCard:
    state = words.state_of(diagnosis.severity)
    low = finding is not None and finding.confidence is Confidence.LOW
    against = speaks_against(finding) if finding else None
    look = low or against is not None
    numbers = _numbers(diagnosis, since, now)
    if finding is None:
        title, lede = UNEXPLAINED, _where(diagnosis)
        if easing is not None and easing.missing:
            title = eased_title(easing, f" until {easing.until:%H:%M:%S}")
        do, do_not = _holder(diagnosis) or (LOOK, NOT_BLINDLY)
        warn = ""
    else:
        title, lede, do, warn = finding.title, finding.lede, finding.do_now, finding.check_first or ""
        do_not = finding.do_not
        if low and against is None and finding.confirm:
            do = f"First run the query under “Confirm”. If it confirms the cause: {do}"
    if against is not None:
        warn = f"Not yet: {against}. {warn}".strip()
    return VerdictCard(
        state=state,
        state_words=f"{words.STATES[state]}{', cause not certain' if look else ''}",
        since=since,
        title=title,
        lede=lede,
        numbers=numbers,
        eyebrow="Look first" if look else "Do this now" if state != "notice" else "Do this when there is time",
        do=do,
        warn=warn,
        do_not=do_not,
        sure=sureness(finding) if finding else "",
        act=finding is not None,
        then=(finding and finding.then) or "",
    )


def _holder(diagnosis: Diagnosis) -> tuple[str, str] | None:
    """What to do, and what not to do, if most waiting sessions wait behind one session."""
    held: Counter[str] = Counter()
    for group in diagnosis.who:
        if group.blocker:
            held[group.blocker] += group.share  # type: ignore[assignment]
    name, share = next(iter(held.most_common(1)), ("", 0.0))
    if share < MOST_OF_THEM:
        return None
    return (
        f"Find out what session {name} does. Nearly all waiting sessions wait behind it.",
        "Do not kill the waiting sessions. It frees nothing, and pools open new ones at once.",
    )


def _where(diagnosis: Diagnosis) -> str:
    """What the sessions wait for, if no cause is found."""
    trouble = next(iter(diagnosis.troubles), None)
    wait = next((link.name for link in diagnosis.chain if link.kind == "wait"), "")
    of = f" of {trouble.cache}" if trouble and trouble.cache else ""
    open_ = (
        f" {words.plural(len(diagnosis.undetermined), 'cause')} could not be judged." if diagnosis.undetermined else ""
    )
    return f"They wait for `{wait}`{of}.{open_}" if wait else f"{sentence(diagnosis.headline)}.{open_}"


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
    those = "all" if hang == waiting else f"{hang:,} of them"
    longest = max(group.longest_seconds for group in stuck)
    numbers = [
        VerdictNumber(
            f"{waiting:,}", f"sessions wait, {those} for {words.length(HANGING_SECONDS)} or longer", bad=True
        ),
        VerdictNumber(words.lasted(longest), "the longest wait"),
        *_costs(diagnosis)[:1],
    ]
    if since is not None and lasts is not None:
        end = diagnosis.basis.end if diagnosis.basis else None
        first = end is not None and abs((end - since).total_seconds() - longest) < 1
        numbers[1:2] = [VerdictNumber(words.lasted(longest), f"the longest wait, {begun}")] if first else numbers[1:2]
        numbers += [] if first else [VerdictNumber(lasts, begun)]
    return numbers
