"""What all pages share: the templates with their filters, the frame that keeps foreign content out, one Diagnosis laid out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.responses import Response

from rules.explanation.confirmation import number_of
from rules.formatting import compared, count, measured, percent
from rules.formatting import number as spelled
from rules.model import Diagnosis, Figure
from rules.printed import DeltaSource, section_of
from service.characters import visible
from service.intake.report_figures import Bars
from service.render.parts import ELSEWHERE, nothing_judged
from service.render.summary import period
from service.web.charts import svg

HERE = Path(__file__).parents[1]
FRAME = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

templates = Jinja2Templates(HERE / "templates")
_TICKED = re.compile("`([^`]+)`")


def ticked(words: str) -> Markup:
    """Words in which `code` is marked by backticks, escaped, with the code as such."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(words))))


def _measured(figure: Figure) -> str:
    return measured(figure.value, figure.unit)


def _seen(value: object) -> object:
    """What a template puts into a page, its characters made visible; a page has lines of its own."""
    if not isinstance(value, str) or value.isprintable() or value.replace("\n", "").isprintable():
        return value
    shown = visible(value, keep="\n")
    return Markup(shown) if isinstance(value, Markup) else shown


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "measured": _measured,
    "percent": percent,
    "section": section_of,
    "spelled": spelled,
    "number_of": number_of,
    "ticked": ticked,
}
templates.env.filters |= FILTERS
templates.env.finalize = _seen
templates.env.globals |= {"compared": compared, "nothing_judged": nothing_judged, "ELSEWHERE": ELSEWHERE}


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """One Diagnosis with what stands around it on a page."""

    name: str
    period: str
    diagnosis: Diagnosis
    charts: tuple[Markup, ...]
    source: DeltaSource

    @property
    def printed(self) -> bool:
        """Whether a printed report was judged, whose figures stand in its sections."""
        return self.source == "report"


def diagnosis_view(name: str, diagnosis: Diagnosis, source: DeltaSource, figures: Sequence[Bars]) -> DiagnosisView:
    """A Diagnosis as the templates want it."""
    charts = tuple(_chart(figure) for figure in figures)
    return DiagnosisView(name, period(diagnosis.basis), diagnosis, charts, source)


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """A page in its frame; `status` is the HTTP status."""
    answer = templates.TemplateResponse(request, template, values, status_code=status)
    answer.headers["Content-Security-Policy"] = FRAME
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _chart(bars: Bars) -> Markup:
    title = f"{bars.title}, {bars.left_out} smaller ones left out" if bars.left_out else bars.title
    return svg.bars([(bar.label, bar.value) for bar in bars.bars], title, bars.unit)
