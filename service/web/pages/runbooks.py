"""The runbooks the alerts link to, rendered from the same Markdown files that lie beside the alerts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

_HERE = Path(__file__).parents[2]
PLACES = (_HERE / "dashboards" / "runbooks", _HERE.parent / "dashboards" / "runbooks")
"""In an installed package, in a checkout."""
_NAME = re.compile(r"^[A-Za-z0-9]+$")


_SEVERITY = re.compile(r"\b(critical|warning|notice)\b", re.IGNORECASE)
_RANK = ("critical", "warning", "notice")


@dataclass(frozen=True, slots=True)
class RunbookLine:
    """A runbook in the list: its alert, the worst severity that it speaks of, and its first sentence."""

    name: str
    state: str
    line: str


@cache
def books() -> Sequence[RunbookLine]:
    """Every runbook in short."""
    return [_short(name) for name in names()]


def _short(name: str) -> RunbookLine:
    text = _text(name) or ""
    blocks = [block.strip() for block in text.split("\n\n") if block.strip()]
    line = " ".join(blocks[1].split()) if len(blocks) > 1 else ""
    spoken = {word.lower() for word in _SEVERITY.findall(text)}
    return RunbookLine(name, next((word for word in _RANK if word in spoken), "warning"), line)


def names() -> list[str]:
    """Alerts that have a runbook."""
    return sorted({path.stem for folder in PLACES for path in folder.glob("*.md")})


def runbook(name: str) -> Markup | None:
    """A runbook as HTML, or None when there is none of that name. Raw HTML in it is shown, not interpreted."""
    text = _text(name)
    if text is None:
        return None
    render = MarkdownIt("commonmark", {"html": False}).enable("table").render
    return Markup(_LINKED.sub(r'href="/runbooks/\1"', render(text)))


_LINKED = re.compile(r'href="(\w+)\.md"')
"""Runbooks link to each other as files beside each other."""


def _text(name: str) -> str | None:
    """The Markdown of a runbook."""
    if not _NAME.match(name):
        return None
    paths = (folder / f"{name}.md" for folder in PLACES)
    return next((path.read_text(encoding="utf-8") for path in paths if path.is_file()), None)
