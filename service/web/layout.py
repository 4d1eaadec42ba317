"""What all pages share: the templates with their filters, the frame that keeps foreign content out, one Diagnosis laid out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request
from fastapi.templating import Jinja2Templates
from markupsafe import Markup
from starlette.responses import Response

from rules.model import Diagnosis
from rules.words import count, percent
from rules.words import number as spelled
from service.figures import Bars
from service.summary import period
from service.web import charts

HERE = Path(__file__).parent
FRAME = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'"
)

templates = Jinja2Templates(HERE / "templates")
templates.env.filters |= {"count": count, "percent": percent, "spelled": spelled}


@dataclass(frozen=True, slots=True)
class Shown:
    """One Diagnosis with what stands around it on a page."""

    name: str
    period: str
    diagnosis: Diagnosis
    charts: tuple[Markup, ...]


def shown(name: str, diagnosis: Diagnosis, figures: Sequence[Bars]) -> Shown:
    """A Diagnosis as the templates want it."""
    return Shown(name, period(diagnosis.basis), diagnosis, tuple(_chart(one) for one in figures))


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """A page in its frame."""
    answer = templates.TemplateResponse(request, template, values, status_code=status)
    answer.headers["Content-Security-Policy"] = FRAME
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _chart(one: Bars) -> Markup:
    title = f"{one.title}, {one.left_out} smaller ones left out" if one.left_out else one.title
    return charts.bars([(bar.label, bar.value) for bar in one.bars], title, one.unit)
