"""The runbooks the alerts link to, rendered from the same Markdown files that lie beside the alerts."""

import re
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

_HERE = Path(__file__).parents[2]
PLACES = (_HERE / "dashboards" / "runbooks", _HERE.parent / "dashboards" / "runbooks")
"""In an installed package, in a checkout."""
_NAME = re.compile(r"^[A-Za-z0-9]+$")


def names() -> list[str]:
    """Alerts that have a runbook."""
    return sorted({path.stem for folder in PLACES for path in folder.glob("*.md")})


def runbook(name: str) -> Markup | None:
    """A runbook as HTML, or None when there is none of that name. Raw HTML in it is shown, not interpreted."""
    if not _NAME.match(name):
        return None
    for folder in PLACES:
        path = folder / f"{name}.md"
        if path.is_file():
            render = MarkdownIt("commonmark", {"html": False}).enable("table").render
            return Markup(render(path.read_text(encoding="utf-8")))
    return None
