"""One Diagnosis laid out for a page: the verdict, the chain, what to do, who waits, other checks, raw figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from markupsafe import Markup

from rules.context import DeltaSource
from rules.formatting import compared, function_of, number
from rules.model import ChainBar, ChainLink, Diagnosis, Evidence, Finding
from service.intake.report_figures import Bars
from service.render.summary import period
from service.web.charts import small, svg
from service.web.fleet_schemas import DatabaseOut
from service.web.pages import words
from service.web.pages.checked import CheckedView, checked_view, in_words
from service.web.pages.fine import FunnelView, RoomView, funnel_view, room_views
from service.web.pages.verdict import VerdictCard, verdict
from service.web.pages.waiters import WaitersTotals, waiters_totals

FULL = 7
"""Links that fit side by side. The sign before the cause is dropped first."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One link as the page shows it: words above, the number, words below, a picture, and its details."""

    verb: str
    name: str
    code: bool
    number: str
    unit: str
    below: str
    picture: Markup
    opens: str
    link: ChainLink
    bound: str
    usual: str
    kind: str
    """`cause` for the last one, `unsure` if it is likely but not proven. Both are possible."""


@dataclass(frozen=True, slots=True)
class SignRow:
    """A sign of a finding with its number."""

    name: str
    signal: str
    value: str
    needs: str
    because: str
    derivation: str


@dataclass(frozen=True, slots=True)
class FindingRows:
    """The signs of one finding."""

    title: str
    rows: Sequence[SignRow]
    unknown: Sequence[str]


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
    funnel: FunnelView | None
    rooms: Sequence[RoomView]
    scale: Markup
    who: WaitersTotals | None
    checked: CheckedView
    findings: Sequence[FindingRows]
    charts: Sequence[Markup]
    printed: bool
    """Whether the figures are from a printed report, and so from its sections."""


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
    fine = card.state == "fine"
    finding = diagnosis.findings[0] if diagnosis.findings and card.state != "none" else None
    printed = source == "report"
    return DiagnosisView(
        name=name,
        period=period(diagnosis.basis),
        diagnosis=diagnosis,
        card=card,
        finding=finding,
        steps=_steps(diagnosis.chain, card.state, finding.name if finding else ""),
        over=_over(diagnosis, printed),
        funnel=funnel_view(diagnosis) if fine else None,
        rooms=room_views(diagnosis) if fine else (),
        scale=_scale(finding),
        who=waiters_totals(diagnosis),
        checked=checked_view(diagnosis, finding, shared, printed),
        findings=[_signs(finding) for finding in diagnosis.findings],
        charts=[_chart(figure) for figure in figures],
        printed=printed,
    )


def _steps(links: Sequence[ChainLink], state: str, cause: str = "") -> Sequence[ChainStep]:
    """The links of a Diagnosis, as many as fit. The last has the short name of the cause."""
    shown = [link for link in links if len(links) <= FULL or link.kind != "sign"]
    steps = [_step(link, state) for link in shown]
    return [
        replace(step, name=words.uncapped(cause)) if cause and step.link.kind == "cause" else step for step in steps
    ]


def _step(link: ChainLink, state: str) -> ChainStep:
    number, unit = words.spelled(link.value, link.unit)
    if link.kind == "blocker" and link.value is not None:
        number = words.lasted(link.value)  # held for at least as long
    usual = words.usual(link.usual, link.unit)
    kinds = [kind for kind, holds in (("cause", link.kind == "cause"), ("unsure", not link.certain)) if holds]
    return ChainStep(
        verb=link.verb,
        name=link.name,
        code=link.code,
        number=number,
        unit=f"of {link.of}" if link.of else unit,
        below=_below(link, usual),
        picture=_picture(link, state),
        opens="How do we know" if link.certain else "What is missing",
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
        return small.bars(bars, state)
    if link.value is None or (link.bound is None and link.usual is None):
        return Markup("")
    bound = link.bound.value if link.bound else link.usual.high if link.usual else None
    usual = (link.usual.low, link.usual.high) if link.usual else None
    held = words.bound(link.bound, link.unit, link.value) or words.usual(link.usual, link.unit)
    said = f"{words.whole(link.value, link.unit)}; {held}"
    spell = (
        words.NOT_KNOWN if bound is None else words.rounded(words.spelled(bound, link.unit, link.value)[0]),
        words.spelled(link.value * small.BULLET_ROOM, link.unit)[0],
    )
    return small.bullet(link.value, bound, usual, said, state, (spell[0], ""))


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


def _scale(finding: Finding | None) -> Markup:
    query = finding.confirm if finding else None
    if query is None or not query.bands:
        return Markup("")
    bands = [(band.value, band.meaning) for band in query.bands]
    result = "" if query.result is None else number(query.result)
    said = "; ".join(f"from {words.amount(value)}: {meaning}" for value, meaning in bands)
    return small.scale(
        query.result, bands, small.band_kinds(len(bands)), f"{result}. {said}" if result else said, result
    )


def _signs(finding: Finding) -> FindingRows:
    return FindingRows(finding.title, [_sign(sign) for sign in finding.evidence], finding.unknown)


def _sign(sign: Evidence) -> SignRow:
    value, needs = compared(sign)
    return SignRow(sign.name or sign.signal, sign.signal, value, in_words(needs), sign.because, sign.derivation)


def _chart(bars: Bars) -> Markup:
    title = f"{bars.title}, {bars.left_out} smaller ones left out" if bars.left_out else bars.title
    return svg.bars([(bar.label, bar.value) for bar in bars.bars], title, bars.unit)
