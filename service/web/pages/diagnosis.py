"""One Diagnosis laid out for a page: the verdict, the chain, what to do, who waits, what else was checked, raw figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from rules.formatting import measured, number
from rules.model import Diagnosis, Evidence, Finding
from rules.printed import DeltaSource
from service.intake.report_figures import Bars
from service.render.summary import period
from service.web.charts import small, svg
from service.web.fleet_schemas import DatabaseOut
from service.web.pages import words
from service.web.pages.checked import CheckedView, checked_view, in_words
from service.web.pages.fine import FunnelView, RoomView, funnel_view, room_views
from service.web.pages.links import ChainStep, bound_words, chain_steps
from service.web.pages.verdict import VerdictCard, verdict
from service.web.pages.waiters import WaitersTotals, waiters_totals


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
    """A Diagnosis as the templates want it."""

    name: str
    period: str
    diagnosis: Diagnosis
    card: VerdictCard
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
    """Whether a printed report was judged, whose figures stand in its sections."""


def diagnosis_view(
    name: str,
    diagnosis: Diagnosis,
    source: DeltaSource,
    figures: Sequence[Bars],
    now: datetime,
    database: DatabaseOut | None = None,
    shared: Sequence[str] = (),
) -> DiagnosisView:
    """A Diagnosis laid out. `shared` are notes that are told elsewhere."""
    card = verdict(diagnosis, now, database, diagnosis.easing)
    fine = card.state == "fine"
    printed = source == "report"
    return DiagnosisView(
        name=name,
        period=period(diagnosis.basis),
        diagnosis=diagnosis,
        card=card,
        steps=chain_steps(diagnosis.chain, card.state, card.finding.name if card.finding else ""),
        over=_over(diagnosis, printed),
        funnel=funnel_view(diagnosis) if fine else None,
        rooms=room_views(diagnosis) if fine else (),
        scale=_scale(card.finding),
        who=waiters_totals(diagnosis),
        checked=checked_view(diagnosis, card.finding, shared, printed),
        findings=[_signs(finding) for finding in diagnosis.findings],
        charts=[_chart(figure) for figure in figures],
        printed=printed,
    )


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
    needs = bound_words(sign.bound, sign.unit) or in_words(sign.needs)
    value = measured(sign.value, sign.unit, sign.bound.value if sign.bound else None)
    return SignRow(sign.name or sign.signal, sign.signal, value, needs, sign.because, sign.derivation)


def _chart(bars: Bars) -> Markup:
    title = f"{bars.title}, {bars.left_out} smaller ones left out" if bars.left_out else bars.title
    return svg.bars([(bar.label, bar.value) for bar in bars.bars], title, bars.unit)
