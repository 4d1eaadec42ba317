"""A study as one HTML page that you can mail: style and charts are included, there is no script, and it loads nothing."""

import base64
import hashlib
from datetime import UTC, datetime
from importlib.metadata import version

from markupsafe import Markup

from service.render.study import StudyBars, StudyLines, StudyPage, StudyTable
from service.web.charts.curves import curves
from service.web.charts.svg import bars
from service.web.pages.layout import HERE, templates


def study_html(page: StudyPage, source: str, made: datetime | None = None) -> str:
    """The page. Every text in it is escaped. `source` is its table; `made` is the time of the page, default now."""
    css = (HERE / "static" / "latchscope.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return templates.env.get_template("study.html").render(
        css=Markup(css),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'",
        made=f"{made or datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=version("latchscope"),
        page=page,
        source=source,
        tables=[part for part in page.parts if isinstance(part, StudyTable)],
        charts=[_chart(part) for part in page.parts if not isinstance(part, StudyTable)],
    )


def _chart(part: StudyLines | StudyBars) -> Markup:
    return curves(part) if isinstance(part, StudyLines) else bars(part.amounts, part.title, part.unit)
