"""One Diagnosis laid out for a page: the verdict, the chain, what to do, who waits, other checks, raw figures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from markupsafe import Markup

from collectors.model import DeltaSource
from rules.explain.story import parts_in_words
from rules.formatting import function_of, sentence, within
from rules.model import (
    Candidate,
    ChainBar,
    ChainLink,
    Diagnosis,
    Finding,
    RuledOut,
    Severity,
    Undetermined,
    WaiterTotal,
)
from rules.waits import NOTICEABLE_SHARE
from service.intake.inputs import Bars
from service.render.parts import LoggedLine, closest, logged_lines, nothing_judged, ruled_out, same_waits
from service.render.summary import period
from service.web.charts import sparklines, svg
from service.web.pages import words
from service.web.pages.verdict import VerdictCard, verdict
from service.web.schemas import DatabaseOut

# Other checks beside the verdict: what else is found, what fits, what is ruled out and what cannot be judged.


@dataclass(frozen=True, slots=True)
class CheckedView:
    """The checks beside the verdict."""

    also: Sequence[Finding]
    candidates: Sequence[Candidate]
    ruled_out: Sequence[RuledOut]
    elsewhere: int
    undetermined: Sequence[Undetermined]
    notes: Sequence[str]
    nothing: tuple[str, str] | None
    same_waits: Sequence[str]
    """Causes in `also` that explain waits of a finding above them."""
    open_gaps: bool


def checked_view(diagnosis: Diagnosis, shown: Finding | None, shared: Sequence[str], printed: bool) -> CheckedView:
    also = [finding for finding in diagnosis.findings if finding is not shown and finding.severity is not Severity.INFO]
    out = ruled_out(diagnosis)
    return CheckedView(
        also=also,
        candidates=diagnosis.candidates,
        ruled_out=out,
        elsewhere=len(diagnosis.ruled_out) - len(out),
        undetermined=diagnosis.undetermined,
        notes=[note for note in diagnosis.notes if note not in shared],
        nothing=nothing_judged(diagnosis),
        same_waits=[
            finding.cause
            for place, finding in enumerate(diagnosis.findings)
            if same_waits(finding, diagnosis.findings[:place])
        ],
        open_gaps=printed and bool(diagnosis.undetermined),
    )


# Why a database is fine: the breakdown from requests to sleeps, and how far its figures are from their bounds.

ROOMS = 2


@dataclass(frozen=True, slots=True)
class BreakdownView:
    """Requests, misses and sleeps as a picture."""

    title: str
    picture: Markup
    words: str


@dataclass(frozen=True, slots=True)
class RoomView:
    """How far a value is from its bound."""

    name: str
    value: str
    bound: str
    picture: Markup
    words: str


def breakdown_view(diagnosis: Diagnosis) -> BreakdownView | None:
    """Requests → missed → slept, if the requests are known."""
    found = diagnosis.funnel
    if found is None or not found.requests:
        return None
    rows = [("requests", found.requests)]
    if found.misses is not None:
        missed = found.misses / found.requests
        rows.append((f"missed, {words.share(missed)}{': looks alarming' if missed >= 0.05 else ''}", found.misses))
    if found.sleeps is not None:
        rows.append((f"slept, {words.share(found.sleeps / found.requests)}: this is what counts", found.sleeps))
    busy = found.misses is not None and found.misses / found.requests >= 0.05
    return BreakdownView(
        title="Why the misses are harmless" if busy else "Requests, and what they cost",
        picture=svg.bars(rows, "Requests, misses and sleeps", f"of {found.of}"),
        words="A miss costs microseconds of processor time. A sleep costs milliseconds and shows as a wait. "
        "Many misses say that a latch is used a lot. That is no problem while no session sleeps."
        if busy
        else "Only sleeps cost time.",
    )


def room_views(diagnosis: Diagnosis) -> Sequence[RoomView]:
    """How far the figures are from what would change the verdict."""
    rooms = []
    share = diagnosis.impact.share_of_db_time if diagnosis.impact else None
    for sign in (sign for finding in diagnosis.findings[:1] for sign in finding.evidence):
        if sign.bound is not None and sign.bound.operator == "<=" and "share_of_db_time" not in sign.signal:
            rooms.append(_room(sign.name or sign.signal, sign.value, sign.bound.value, sign.unit, sign.derivation))
    if share is not None:
        rooms.insert(0, _room("DB time lost in waits for the dictionary", share, NOTICEABLE_SHARE, "ratio", ""))
    return rooms[:ROOMS]


def _room(name: str, value: float, bound: float, unit: str, derivation: str) -> RoomView:
    shown, held = words.whole(value, unit), words.whole(bound, unit)
    below = f"{words.amount(bound / value)} times below the bound" if value > 0 and bound / value >= 2 else ""
    picture = sparklines.bullet(value, bound, None, f"{name}: {shown}, bound {held}", "fine", (held, ""), 570)
    return RoomView(
        name=f"{name[:1].upper()}{name[1:]}",
        value=shown,
        bound=f"above {held}",
        picture=picture,
        words=". ".join(part for part in (derivation, f"{below[:1].upper()}{below[1:]}") if part),
    )


# Who waits, summed by SQL and by module.

BY_TIME = "The verdict has another average: the time waited, divided by the length of the interval."
MOST_NAMED = 5
"""Rows by SQL or by module. The rest is one more."""


@dataclass(frozen=True, slots=True)
class WaitersTotals:
    """Who waits, summed by SQL and by module."""

    about: str
    groups: Sequence[tuple[str, bool, Sequence[WaiterTotal], Sequence[WaiterTotal]]]
    """Title, whether its names are code, the first rows, and the others, which are one more row."""
    blocked: str


def waiters_totals(diagnosis: Diagnosis) -> WaitersTotals | None:
    """Waiters by SQL and by module."""
    totals = diagnosis.who_totals
    if totals is None:
        return None
    blockers: Counter[str] = Counter()
    for group in diagnosis.who:
        if group.blocker:
            blockers[group.blocker] += group.share  # type: ignore[assignment]
    most = blockers.most_common(1)
    waiting = sum(total.sessions for total in totals.by_module)
    found = f"{words.plural(totals.looks, 'look')} found {words.plural(totals.waiters, 'waiting session')}"
    counted = f"{found}, {words.sessions(waiting)} on average."
    groups = (("By SQL", True, totals.by_sql_id), ("By module", False, totals.by_module))
    return WaitersTotals(
        about=f"{counted} {BY_TIME}",
        groups=[(title, code, rows[:MOST_NAMED], rows[MOST_NAMED:]) for title, code, rows in groups if rows],
        blocked=_blocked(most[0] if most else None, totals.waiters),
    )


def _blocked(most: tuple[str, float] | None, waiters: int) -> str:
    """The session that most of them wait for. Empty without waiters."""
    if most is None:
        return "No session was seen to block another." if waiters else ""
    return f"In these samples, {words.share(min(most[1], 1.0))} waited for session {most[0]}."


FULL = 7
"""Links that fit side by side. The sign before the cause is dropped first."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One link as the page shows it: words above, the number, words below, a picture, and its details."""

    name: str
    number: str
    unit: str
    below: str
    picture: Markup
    link: ChainLink
    bound: str
    usual: str
    kind: str
    """`cause` for the last one, `unsure` if it is likely but not proven. Both are possible."""
    closest: str = ""
    """Which sign of the cause is closest to its bound, at its link."""


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """A Diagnosis in the form of the templates."""

    name: str
    period: str
    diagnosis: Diagnosis
    card: VerdictCard
    finding: Finding | None
    """The subject of the card."""
    steps: Sequence[ChainStep]
    over: str
    parts: Sequence[str]
    """What each trouble costs, where there are several."""
    breakdown: BreakdownView | None
    rooms: Sequence[RoomView]
    scale: Markup
    who: WaitersTotals | None
    checked: CheckedView
    charts: Sequence[Markup]
    printed: bool
    """Whether the figures are from a printed report, and so from its sections."""
    logged: Sequence[LoggedLine]
    """The events of a log file."""


def diagnosis_view(
    name: str,
    diagnosis: Diagnosis,
    source: DeltaSource,
    figures: Sequence[Bars],
    now: datetime,
    database: DatabaseOut | None = None,
    shared: Sequence[str] = (),
) -> DiagnosisView:
    """A Diagnosis laid out. `shared` are notes that appear elsewhere."""
    card = verdict(diagnosis, now, database, diagnosis.easing)
    fine = card.state in words.CALM
    finding = diagnosis.findings[0] if diagnosis.findings and card.state != "none" else None
    printed = source == "report"
    query = finding.confirm if finding else None
    return DiagnosisView(
        name=name,
        period=period(diagnosis.basis),
        diagnosis=diagnosis,
        card=card,
        finding=finding,
        steps=_steps(diagnosis.chain, card.state, finding),
        over=_over(diagnosis, printed),
        parts=[sentence(part) for part in parts_in_words(diagnosis, diagnosis.troubles)],
        breakdown=breakdown_view(diagnosis) if fine else None,
        rooms=room_views(diagnosis) if fine else (),
        scale=sparklines.scale(query.result, [(band.value, band.meaning) for band in query.bands])
        if query
        else Markup(""),
        who=waiters_totals(diagnosis),
        checked=checked_view(diagnosis, finding, shared, printed),
        charts=[_chart(figure) for figure in figures],
        printed=printed,
        logged=logged_lines(diagnosis),
    )


def _steps(links: Sequence[ChainLink], state: str, finding: Finding | None = None) -> Sequence[ChainStep]:
    """The links of a Diagnosis, as many as fit. The last has the short name of the cause, and its sign closest to its bound."""
    shown = [link for link in links if len(links) <= FULL or link.kind != "sign"]
    steps = [_step(link, state) for link in shown]
    return [
        replace(step, name=within(finding.name), closest=words.in_words(closest(finding)))
        if finding and step.link.kind == "cause"
        else step
        for step in steps
    ]


def _step(link: ChainLink, state: str) -> ChainStep:
    number, unit = words.spelled(link.value, link.unit)
    if link.kind == "blocker" and link.value is not None:
        number = words.lasted(link.value)  # held for at least as long
    usual = words.usual(link.usual, link.unit)
    kinds = [kind for kind, holds in (("cause", link.kind == "cause"), ("unsure", not link.certain)) if holds]
    return ChainStep(
        name=link.name,
        number=number,
        unit=f"of {link.of}" if link.of else unit,
        below=_below(link, usual),
        picture=_picture(link, state),
        link=link,
        bound=words.bound(link.bound, link.unit, link.value),
        usual=usual,
        kind=" ".join(kinds),
    )


def _below(link: ChainLink, usual: str) -> str:
    """One more line under the number: the usual value, else the count, else what is unknown."""
    if not link.certain and link.unknown and link.kind != "cause":
        return f"unknown: {link.unknown}" if len(link.unknown) < 50 else "likely, not proven"
    if usual:
        return usual
    if link.numerator is not None and link.numerator <= (link.denominator or 0) and link.counted not in ("", "s"):
        return f"{words.amount(link.numerator)} of {words.amount(link.denominator)} {link.counted}".strip()
    if link.bound is not None and link.bound.operator == ">=":
        return f"counts from {words.rounded(words.whole(link.bound.value, link.unit, link.value))}"
    return ""


def _picture(link: ChainLink, state: str) -> Markup:
    if link.bars:
        longest = link.kind == "wait" and link.unit == "sessions"  # the bars of a hang are how long sessions wait
        bars = [
            (_short(bar), bar.value, words.lasted(bar.value) if longest else words.whole(bar.value, link.unit), bar.hot)
            for bar in link.bars
        ]
        return sparklines.bars(bars, state)
    if link.value is None or (link.bound is None and link.usual is None):
        return Markup("")
    bound = link.bound.value if link.bound else link.usual.high if link.usual else None
    usual = (link.usual.low, link.usual.high) if link.usual else None
    held = words.bound(link.bound, link.unit, link.value) or words.usual(link.usual, link.unit)
    said = f"{words.whole(link.value, link.unit)}; {held}"
    spell = (
        words.NOT_KNOWN if bound is None else words.rounded(words.spelled(bound, link.unit, link.value)[0]),
        words.spelled(link.value * sparklines.BULLET_ROOM, link.unit)[0],
    )
    return sparklines.bullet(link.value, bound, usual, said, state, (spell[0], ""))


def _short(bar: ChainBar) -> str:
    """A label that fits: the cache without its prefix, the function without its number."""
    return function_of(bar.label).removeprefix("dc_").removeprefix("latch: ").removeprefix("Result Cache: ")


def _over(diagnosis: Diagnosis, printed: bool) -> str:
    basis = diagnosis.basis
    if basis is None:
        return ""
    of = "From the report, over" if printed else "Read left to right. Each link is measured over"
    seconds = f" {words.length(basis.seconds)}" if basis.seconds else " the whole time"
    return f"{of}{seconds}{f' to {basis.end:%H:%M:%S} UTC' if basis.end and not printed else ''}."


def _chart(bars: Bars) -> Markup:
    title = f"{bars.title}, {bars.left_out} smaller ones left out" if bars.left_out else bars.title
    return svg.bars([(bar.label, bar.value) for bar in bars.bars], title, bars.unit)
