"""The story of a diagnosis: what is wrong, how bad, since when, what to do, what not, who waits, and what would decide.

A cause has its sentences in its file, words.yaml has all others. Terminal, Markdown, pages, messages and
metrics take both from here, lay them out, and phrase nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import yaml

from collectors.model import DeltaSource, spoken
from rules.base import FOUNDED_ON, Easing
from rules.cause import catalogue
from rules.changes import nearest_to, told
from rules.confirmation import ONLY_THEN, speaks_against
from rules.cost import TIME_SPENT
from rules.explain.library_cache import LIBRARY_CACHE_WAITS
from rules.formatting import Value, few, length, listed, percent, say, sentence, within
from rules.grade import counted_in_words
from rules.hangs.blockers import named_session
from rules.hangs.model import WaitChain
from rules.hangs.words import entry_of, heading, queries, shown_first, tree
from rules.logs import weighed
from rules.miss_locations import merely_fits
from rules.model import CANNOT_TELL, Confidence, Diagnosis, Figure, Finding, Logged, Severity, Shortlist, Trouble
from rules.samples import within_cache
from rules.waits import SURFACE_EVENTS

HOME = Path(__file__).parent / "words.yaml"
MOST_OF_THEM = 0.9
"""From this share of waiters behind one session on, that session is the first thing to look at."""


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """Sentences; an empty one is not said."""

    title: str = ""
    lede: str = ""
    do: str = ""
    check: str = ""
    do_not: str = ""
    unsure: bool = False
    """Whether to look before anything is changed: the cause is not certain, or the confirming query speaks against it."""
    act: bool = False
    """Whether a cause says what to change."""
    then: str = ""
    """What comes later, in a quiet hour or by developers."""


Kind = Literal[
    "what", "bad", "since", "why", "do", "begin", "check", "do not", "then", "who", "library", "maybe", "next", "decides",
    "parts", "else", "also", "changed", "log",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One answer of the story. `label`: what stands before it in a list, empty for the first."""

    kind: Kind
    words: str
    weight: int
    """9 stays on every screen, 5 and less is left out first where a screen is full, and what is lighter loses words before."""
    code: tuple[str, ...] = ()
    """Statements to paste, in this order."""
    figures: tuple[Figure, ...] = ()
    """The numbers in the words."""

    @property
    def label(self) -> str:
        return LABELS.get(self.kind, "")


_SAID = yaml.safe_load(HOME.read_text(encoding="utf-8"))
LABELS: Mapping[str, str] = _SAID.pop("labels")
SENTENCES: Mapping[str, str] = _SAID.pop("sentences")


def tell(name: str, **values: Value) -> str:
    """A sentence of words.yaml, its slots filled."""
    return say(SENTENCES[name], values)


def screen(name: str, **values: Value) -> FirstScreen:
    """The first screen of a state of words.yaml, its slots filled."""
    said: Mapping[str, Any] = {part: say(text, values) for part, text in _SAID[name].items()}
    return FirstScreen(**said)


def first_screen(diagnosis: Diagnosis, easing: Easing | None = None) -> FirstScreen:
    """What a diagnosis says first. `easing`: the trouble that the last poll no longer shows."""
    if diagnosis.basis is None:
        return of_holder(diagnosis, screen("restarted" if diagnosis.obstacle == "restart" else "nothing known"))
    # What is harmless is no answer to waits that cost something.
    calm = diagnosis.severity is Severity.INFO
    finding = next((each for each in diagnosis.findings if calm or each.severity is not Severity.INFO), None)
    if easing is not None and (easing.waits or calm):
        told = eased(easing)
        return replace(told, lede=f"{_headline(diagnosis)} {told.lede}") if easing.waits else told
    if finding is not None:
        return of_holder(diagnosis, of_finding(finding))
    if calm:
        return of_holder(diagnosis, _fine(diagnosis))
    holder = _one_holder(diagnosis)
    told = screen("one holder", holder=holder) if holder else screen("unexplained")
    title = eased(easing).title if easing is not None and easing.missing else told.title
    return of_holder(diagnosis, replace(told, title=title, lede=_headline(diagnosis), unsure=True))


def held(diagnosis: Diagnosis) -> WaitChain | None:
    """The wait chain that comes first: one with an action, else the largest."""
    return next(iter(shown_first(diagnosis.blockers.chains)), None) if diagnosis.blockers else None


def of_holder(diagnosis: Diagnosis, told: FirstScreen) -> FirstScreen:
    """The same, with what the wait chain of a hang allows: the command that ends it behind its check, or why there is none."""
    chain = held(diagnosis)
    if chain is None:
        return told
    if chain.action is not None:
        do, check = tell("act", still=chain.action.still), f"{sentence(chain.action.first)}."
    else:
        reason = (chain.why_no_action or "").rstrip(".")
        if chain.end is not None and reason.startswith("it "):
            reason = f"session {named_session(chain.end)}{reason[2:]}"
        why = ". ".join(map(sentence, reason.split(": ", 1)))
        do, check = tell("ask facts") if chain.missing_alone else tell("ask", why=why), ""
    return replace(told, do=do, check=check, do_not=tell("left alone"))


def of_finding(finding: Finding) -> FirstScreen:
    """What a cause says, as sure as its finding. Of an older release a finding has its remedy alone."""
    against = speaks_against(finding)
    low = finding.confidence is Confidence.LOW and finding.severity is not Severity.INFO
    do = as_sure(finding.do_now or finding.remedy, unsure=low, asked=finding.confirm is not None, against=against)
    check = finding.check_first or ""
    unsure = finding.severity is not Severity.INFO and (low or against is not None)
    act = finding.severity is not Severity.INFO
    return FirstScreen(finding.title, finding.lede, do, check, finding.do_not, unsure, act, finding.then or "")


def as_sure(do: str, *, unsure: bool, asked: bool, against: str | None = None) -> str:
    """What to do, as sure as its cause. `asked`: the cause has a confirming query; `against`: that query speaks against it."""
    if against is not None:
        return screen("spoken against", against=against, do=do).do
    return screen("uncertain" if asked else "unproven", do=do).do if unsure else do


def eased(easing: Easing, at: str = "") -> FirstScreen:
    """What to say of a trouble that the last poll did not show. `at`: until when it was shown, as the title says it."""
    until, change = f"{easing.until:%H:%M:%S}", easing.change
    values = {"cause": f"{within(easing.name)}{at}", "until": until}
    if easing.missing:
        return replace(screen("cannot be judged", **values, missing=easing.missing), unsure=True)
    if easing.waits is None:
        return screen("recovering", **values)
    if change is None:
        return screen("waits fall" if easing.waits == "falling" else "waits go on", **values)
    told = screen("after the change", **values, change_at=f"{change.at:%H:%M:%S}", change=change.text)
    return replace(told, title=screen("waits fall", **values).title) if easing.waits == "falling" else told


def _fine(diagnosis: Diagnosis) -> FirstScreen:
    """Nothing to do, because nothing waits, or hardly anything, or the time goes to something else."""
    larger, cost = diagnosis.other_wait if diagnosis.state == "Elsewhere" else None, diagnosis.impact
    if larger is not None:
        event = f"{larger.event}{' and the like' * (larger.share_of_db_time < 0.5)}"
        told = screen("elsewhere", event=larger.event, together=percent(larger.together_share_of_db_time))
        return replace(told, title=told.title.replace(larger.event, event))
    costs = cost is not None and (cost.waiting_sessions or cost.share_of_db_time)
    told = screen("quiet" if diagnosis.state == "Quiet" else "hardly any" if costs else "nothing")
    spent = next((step.statement for step in diagnosis.steps if step.step == TIME_SPENT), "")
    return replace(told, lede=f"{told.lede} {spent}".strip())


def _headline(diagnosis: Diagnosis) -> str:
    """The headline as sentences."""
    return f"{'. '.join(map(sentence, diagnosis.headline.split('; ')))}."


def _one_holder(diagnosis: Diagnosis) -> str | None:
    """The session behind which most sessions wait, of those that were sampled."""
    behind: Counter[str] = Counter()
    for group in diagnosis.who:
        if group.blocker:
            behind[group.blocker] += group.share  # type: ignore[assignment]
    name, share = next(iter(behind.most_common(1)), ("", 0.0))
    return name if share >= MOST_OF_THEM else None


# The story: the same, with how bad, since when, who, and what would decide. Every output begins with it.


def story(diagnosis: Diagnosis, source: DeltaSource = "views") -> tuple[Paragraph, ...]:
    """The paragraphs of a diagnosis in the order in which they are read. `source`: what the figures are from."""
    trouble = diagnosis.severity is not Severity.INFO
    found = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    known = diagnosis.basis is not None and diagnosis.standing != CANNOT_TELL
    paragraphs = [_what(diagnosis, found), _bad(diagnosis, found)]
    paragraphs += [_since(diagnosis, source)] if trouble and known else []
    told = first_screen(diagnosis) if known else not_judged(diagnosis)
    paragraphs += [Paragraph("why", told.lede, 3)] if known and (found or not trouble) else []
    paragraphs += _do(told, diagnosis, found[0] if found else None)
    paragraphs += [_who(diagnosis, found[0].cache if found else None)] if trouble or held(diagnosis) else []
    library = [step.statement for step in diagnosis.steps if step.step == LIBRARY_CACHE_WAITS]
    paragraphs += [Paragraph("library", statement, 5 if found else 6) for statement in library]
    open_ = [each for each in diagnosis.troubles if not each.causes][:2] if found else ()  # the others stand beside it
    parts = "; ".join(parts_in_words(diagnosis, open_ or diagnosis.troubles))
    paragraphs += [*maybe(diagnosis), *_decides(diagnosis, found)]
    paragraphs += [Paragraph("parts", parts and f"{sentence(parts)}.", 8 if open_ else 5)]
    paragraphs += [*otherwise(diagnosis), _also(diagnosis, found), _changed(diagnosis) if trouble else None]
    places = weighed([event.kind for event in diagnosis.events], MOST_EVENTS)
    paragraphs += [Paragraph("log", _event(diagnosis.events[place]), 3) for place in places]
    return tuple(each for each in paragraphs if each is not None and each.words)


def _what(diagnosis: Diagnosis, found: list[Finding]) -> Paragraph:
    """What is wrong: the likeliest cause, or the headline where none is found."""
    if not found:
        standing = "" if diagnosis.headline.startswith(diagnosis.standing) else f"{diagnosis.standing}: "
        said = _headline(diagnosis)
        return Paragraph("what", f"{standing}{within(said)}" if standing else said, 9)
    top, against = found[0], speaks_against(found[0])
    perhaps = "perhaps " if top.identity == "candidate" else ""
    where = f"{', '.join([top.cause, *([perhaps + top.cache] if top.cache else [])])}; confidence {top.confidence}"
    title = within(within(top.title.removeprefix("Perhaps ")).replace(" probably ", " ", 1))
    how = "spoken against" if against else "likely" if top.confidence is Confidence.LOW else "found"
    before = [head for head, mark, _ in map(diagnosis.headline.partition, AS_FAR) if mark]
    doubt = "".join(f" {sentence(each)}." for each in before)
    return Paragraph("what", f"{tell(how, waits=LABELS[top.severity], title=title, where=where)}{doubt}", 9)


AS_FAR = ("; as far as they go: ", "; as far as the file goes: ")
"""Ends of what a headline says of its figures before it says what is wrong."""


def _bad(diagnosis: Diagnosis, found: list[Finding]) -> Paragraph | None:
    """What it costs, and how many sessions hang. The headline says it where no cause is found."""
    if not found:
        return None
    impact, basis = found[0].impact or diagnosis.impact, diagnosis.basis
    over = tell("over", length=length(basis.seconds)) if basis and basis.kind == "interval" and basis.seconds else ""
    stuck = [group for group in diagnosis.waiting if group.hanging]
    parts, figures = list[str](), list[Figure]()
    if stuck:
        longest = max(stuck, key=lambda group: group.longest_seconds)
        hang = sum(group.hanging for group in stuck)
        parts.append(tell("hang", hang=hang, of=within_cache(longest.cache), longest=spoken(longest.longest_seconds)))
        figures.append(Figure(name="sessions that hang", value=hang, unit="sessions", of="v$session"))
    if impact is not None and impact.share_of_db_time is not None:
        parts.append(f"{tell('share', share=percent(impact.share_of_db_time))}{'' if stuck else over}")
        figures.append(
            Figure(name="share of DB time", value=impact.share_of_db_time, unit="ratio", of="v$system_event")
        )
    if impact is not None and impact.waiting_sessions is not None and not parts:
        parts.append(tell("sessions", sessions=few(impact.waiting_sessions)))
        figures.append(Figure(name="sessions", value=impact.waiting_sessions, unit="sessions", of="v$system_event"))
    return Paragraph("bad", f"{sentence('; '.join(parts)) or tell('cost unknown')}.", 8, figures=tuple(figures))


def _since(diagnosis: Diagnosis, source: DeltaSource) -> Paragraph | None:
    """The earliest moment that is known, and when it was last seen. An interval shows that it lasted, and no begin."""
    basis, began = diagnosis.basis, diagnosis.waits_began
    if basis is None or basis.end is None:
        return Paragraph("since", tell("since unknown"), 4)
    if began is not None:
        return Paragraph("since", tell("since", began=clock(began), seen=clock(basis.end, began)), 7)
    begins = [basis.begin] if basis.begin is not None and basis.kind == "interval" else []
    begins += [basis.end - timedelta(seconds=group.longest_seconds) for group in diagnosis.waiting if group.hanging]
    if not begins:
        return Paragraph("since", tell("since totals", seen=clock(basis.end)), 4)
    began, of = min(begins), {"report": "report", "views": "capture"}.get(source, "log")
    return Paragraph("since", tell("since or earlier", began=clock(began), seen=clock(basis.end, began), of=of), 7)


def clock(at: datetime, beside: datetime | None = None) -> str:
    """2026-03-01 12:01:00 UTC; 12:01:00 UTC beside another of that day. A report prints no zone, so its times have none."""
    same = beside is not None and beside.date() == at.date()
    return f"{at:{'%H:%M:%S' if same else '%Y-%m-%d %H:%M:%S'}}{' UTC' if at.tzinfo else ''}"


def _do(told: FirstScreen, diagnosis: Diagnosis, finding: Finding | None) -> Iterator[Paragraph]:
    """What to do, with the statements of the hang, else the query that decides, or the first step where nothing is in doubt."""
    chain, query = held(diagnosis), finding.confirm if finding else None
    code = [query.sql] if query and told.unsure and query.result is None and not query.obstacle else []
    if chain is not None:
        action, asked = chain.action, [each.query for each in queries(chain) if each.query]
        code = [action.check, action.command] if action else asked[:1]
    yield Paragraph("do", told.do, 9, tuple(code))
    sure = finding is not None and chain is None and not told.unsure
    step = finding.remedy_steps[0] if finding and sure and finding.remedy_steps else None
    if step is not None and (text := step.text(diagnosis.release)):
        fill = f" {tell('fill in', names=', '.join(step.fill_in))}" if step.fill_in else ""
        yield Paragraph("begin", f"{step.do}{fill}", 6, (text,))
    yield Paragraph("check", told.check, 8)
    yield Paragraph("do not", told.do_not.removeprefix("Do not "), 8)
    yield Paragraph("then", told.then if told.act else "", 2)


def not_judged(diagnosis: Diagnosis) -> FirstScreen:
    """What to do where nothing could be judged: the way out, if there is one."""
    said = next(((each.why, each.way_out) for each in diagnosis.undetermined), ("", ""))
    why, way_out = (sentence(each or "").rstrip(".") for each in said)
    told = screen("not judged", why=why, way_out=way_out)
    return of_holder(diagnosis, replace(told, lede=told.lede if why else "", do=told.do if way_out else ""))


def _who(diagnosis: Diagnosis, cache: str | None) -> Paragraph | None:
    """Who holds what the others wait for in a hang; else whose sessions wait most, of those for this cache, and behind whom."""
    chain = held(diagnosis)
    if chain is not None and diagnosis.blockers is not None:
        end = tree(chain, entry_of(chain, diagnosis.blockers))[0] if chain.end else None
        facts = f" It is {'; '.join(filter(None, (end.about, *end.facts)))}." if end else ""
        return Paragraph("who", f"{sentence(heading(chain))}.{facts}", 8)
    top = next((each for each in diagnosis.who if each.cache == cache), next(iter(diagnosis.who), None))
    if top is None:
        return None
    named = (("SQL", top.sql_id), ("module", top.module), ("program", top.program))
    whose = "".join(f", {what} {name}" for what, name in named if name)
    behind = tell("behind", holder=top.blocker) if top.blocker else ""
    figure = Figure(name="share of waiters", value=top.share, unit="ratio", of="v$session")
    words = tell("waiters", share=percent(top.share), of=within_cache(top.cache), whose=whose)
    return Paragraph("who", f"{words}{behind}.", 7, figures=(figure,))


def _decides(diagnosis: Diagnosis, found: list[Finding]) -> Iterator[Paragraph]:
    """How sure it is, and what would make it certain: the confirming query, or what could not be read."""
    if found:
        late = found[0].confirm is not None and found[0].confirm.reading.startswith(ONLY_THEN)
        yield Paragraph("decides", f"{sureness(found[0])}{f' {ONLY_THEN}' if late else ''}", 5)
        return
    reasons = Counter((each.why or each.missing, each.way_out) for each in diagnosis.undetermined)
    if reasons and (diagnosis.ruled_out or diagnosis.findings) and diagnosis.severity is not Severity.INFO:
        (why, way_out), many = reasons.most_common(1)[0]
        said = tell(
            "open" if many == reasons.total() else "open mostly", causes=reasons.total(), many=many, why=_short(why)
        )
        yield Paragraph("decides", f"{said} {sentence(way_out).rstrip('.')}.", 8)


HALF, MOST_NAMED = 0.6, 3
"""The band of five of ten or more; and the caches that are named where several have the same words."""


def maybe(diagnosis: Diagnosis) -> Iterator[Paragraph]:
    """What may be behind the problems for which nothing is found, and what would decide between the names.

    Problems with the same words share a paragraph. Beside a finding all this is for those who read on.
    """
    beside = any(finding.severity is not Severity.INFO for finding in diagnosis.findings)
    known, lists = {each.cache for each in diagnosis.troubles if each.cache}, dict[str, list[str]]()
    for one in diagnosis.shortlist:
        words = _listed(one)
        if one.cache and one.cache not in known and one.cache_probability >= HALF:
            words += f" {tell('hot cache', cache=one.cache, chance=of_ten(one.cache_probability))}"
        lists.setdefault(words, []).append(one.cache if one.cache in known else "")
    for words, caches in lists.items():
        names = [name for name in caches if name] if len(diagnosis.shortlist) > 1 else []
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        about = f"{listed([*names[:MOST_NAMED], *more])}: " if names else ""
        yield Paragraph("maybe", f"{about}{words}", 3 if beside else 6)
    for look in [one.next for one in diagnosis.shortlist if one.next is not None and not beside][:1]:
        asked = tell("next query" if look.sql else "next look", what=look.what, why=sentence(look.why).rstrip("."))
        yield Paragraph("next", asked, 7, (look.sql,) if look.sql else ())


def _listed(one: Shortlist) -> str:
    """The names on a list with their chances."""
    names = [tell("name", cause=within(each.title), chance=of_ten(each.probability)) for each in one.candidates]
    first = max((each.probability for each in one.candidates), default=0.0)
    nothing = one.something_else >= HALF and one.something_else >= first
    rest = of_ten(one.something_else) if one.something_else else ""
    if nothing:
        return (
            tell("nothing fits", names=", ".join(names), rest=rest)
            if names
            else tell("nothing fits, no name", rest=rest)
        )
    if not names:
        return tell("one of these, no name")
    words = [tell("most likely" if first >= HALF else "one of these", names=", ".join(names))]
    return " ".join([*words, *([tell("something else", rest=rest)] if rest else [])])


def of_ten(chance: float) -> str:
    """A chance as people say it: 6 of 10."""
    return tell("of ten", chance=f"{10 * chance:.0f}")


def otherwise(diagnosis: Diagnosis) -> Iterator[Paragraph]:
    """What the first finding may be instead."""
    for other in [one.other for one in diagnosis.findings if one.severity is not Severity.INFO][:1]:
        if other is not None:
            cause = catalogue().get(other.cause)
            words = tell("name", cause=within(cause.name) if cause else other.cause, chance=of_ten(other.probability))
            yield Paragraph("else", f"{sentence(words)}.", 4)


def sureness(finding: Finding) -> str:
    """How sure a cause is, why, and what would raise it."""
    fitting = [sign for sign in finding.evidence if merely_fits(finding, sign)]
    met, open_, query = len(finding.evidence) - len(fitting), len(finding.unknown), finding.confirm
    also = tell("place fits") if fitting else ""
    if query is not None and query.result is not None:
        also += tell("count against" if speaks_against(finding) else "count confirms")
    signs = tell("all signs" if not open_ and met > 1 else "signs", met=met)
    unknown = tell("unknown", open=open_, why=_short(finding.unknown[0])) if open_ else ""
    lacking = _for_high(finding)
    said = tell("sureness", sure=sentence(finding.confidence), signs=signs, also=also, unknown=unknown)
    return f"{said} {tell(lacking)}" if lacking else said


def founded(finding: Finding) -> str:
    """How often such findings were right, and what the entry of the cause is founded on."""
    counted = f"{sentence(counted_in_words(finding.reliability))}. " if finding.reliability else ""
    return f"{counted}{tell('founded', founded=FOUNDED_ON[finding.status]) if finding.status else ''}".strip()


def _for_high(finding: Finding) -> str:
    """The first thing that is missing for high confidence. Empty if nothing is, or if a count or a figure says it already."""
    if finding.confidence is Confidence.HIGH or finding.identity is None or speaks_against(finding):
        return ""
    if finding.identity not in ("read", "sampled"):
        return "high needs a name"
    roles = {sign.role for sign in finding.evidence}
    if not roles & {"discriminating", "supporting"}:
        return "high needs a sign"
    query = finding.confirm
    if query is None or query.needs is None or query.decides == "against" or query.result is not None or query.obstacle:
        return ""
    return "high needs the query" if "shape" not in roles else ""


def _short(why: str) -> str:
    """A reason without its details."""
    return why.split(" (")[0].split(": ")[0]


def parts_in_words(diagnosis: Diagnosis, troubles: Sequence[Trouble]) -> Iterator[str]:
    """Some of several troubles, each with its causes' ids; where they are all, with what a cause about an open one needs."""
    for trouble in troubles if len(diagnosis.troubles) > 1 else ():
        fitting = {name for name, cause in catalogue().items() if not set(trouble.caches).isdisjoint(cause.caches)}
        needs = (f"; {one.cause} needs {one.missing}" for one in diagnosis.undetermined if one.cause in fitting)
        left = next(needs, "") if len(troubles) == len(diagnosis.troubles) else ""
        where = f"{trouble.cache} ({trouble.surface})" if trouble.cache else trouble.surface
        yield f"{where} {costs(trouble)}: {', '.join(trouble.causes) or f'cause open{left}'}"


def in_words(trouble: Trouble, findings: Sequence[Finding]) -> str:
    """dc_users (row cache mutex) costs 23.9 %: cause open."""
    event = SURFACE_EVENTS.get(trouble.surface, "the result cache latch")
    cause = next((finding.name for finding in findings if finding.cause in trouble.causes), None)
    what = f"{trouble.cache} ({event})" if trouble.cache else event
    return f"{what} {costs(trouble)}: {within(cause) if cause else 'cause open'}"


def costs(trouble: Trouble) -> str:
    """Its part of DB time, or of the sessions that wait."""
    if trouble.share_of_db_time is None:
        return f"keeps {trouble.waiting_sessions or 0.0:.2f} sessions waiting"
    return f"costs {percent(trouble.share_of_db_time)}"


def _also(diagnosis: Diagnosis, found: list[Finding]) -> Paragraph | None:
    """Other causes that are found, with what they cost; where something else has most of DB time, the one that is seen."""
    others = found[1:] if found else diagnosis.findings if diagnosis.state == "Elsewhere" else ()
    costs = [(each, each.impact.share_of_db_time if each.impact else None) for each in others]
    told = [f"{each.title} ({each.cause}{f', {percent(cost)}' if cost else ''})" for each, cost in costs]
    return Paragraph("also", f"{'; '.join(told)}.", 8) if told else None


MOST_CHANGED, MOST_EVENTS = 3, 3


def _changed(diagnosis: Diagnosis) -> Paragraph | None:
    """The changes nearest to the begin of the waits."""
    begin = diagnosis.waits_began
    near = nearest_to(diagnosis.changes or (), begin, MOST_CHANGED) if begin else ()
    return Paragraph("changed", f"{'; '.join(told(change, begin) for change in near)}.", 4) if near and begin else None


def _event(event: Logged) -> str:
    return f"{event.at:%Y-%m-%d %H:%M:%S} {event.text}." if event.at else f"{event.text}."
