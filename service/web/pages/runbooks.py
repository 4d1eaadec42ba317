"""The runbooks that the alerts link to, rendered from the same Markdown files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markupsafe import Markup

_HERE = Path(__file__).parents[2]
PLACES = (_HERE / "dashboards" / "runbooks", _HERE.parent / "dashboards" / "runbooks")
"""In an installed package, in a checkout."""
RULES = [folder.with_name("prometheus") / "alerts.yml" for folder in PLACES]
_NAME = re.compile(r"[A-Za-z0-9]{1,100}")
"""No file system takes more than 255 bytes."""


_RANK = ("critical", "warning", "notice")


@dataclass(frozen=True, slots=True)
class RunbookLine:
    """A runbook in the list: its alert, the worst severity of its rules, and its first sentence."""

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
    ours = severities().get(name, frozenset())
    return RunbookLine(name, next((word for word in _RANK if word in ours), "none"), line)


@cache
def severities() -> Mapping[str, frozenset[str]]:
    """Alert → the severities of its rules, from the files for Prometheus."""
    found: dict[str, frozenset[str]] = {}
    for path in (path for path in RULES if path.is_file()):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                severity = rule.get("labels", {}).get("severity", "")
                found[rule["alert"]] = found.get(rule["alert"], frozenset()) | {severity}
    return found


def names() -> list[str]:
    """Alerts that have a runbook."""
    return sorted({path.stem for folder in PLACES for path in folder.glob("*.md")})


def runbook(name: str) -> Markup | None:
    """A runbook as HTML. None if there is none of that name. Raw HTML in it is shown, not interpreted."""
    text = _text(name)
    if text is None:
        return None
    render = MarkdownIt("commonmark", {"html": False}).enable("table").render
    return Markup(_LINKED.sub(r'href="/runbooks/\1"', render(text)))


_LINKED = re.compile(r'href="(\w+)\.md"')
"""Turns links between runbook files into links between their pages."""


def _text(name: str) -> str | None:
    """The Markdown of a runbook."""
    if not _NAME.fullmatch(name):
        return None
    paths = (folder / f"{name}.md" for folder in PLACES)
    return next((path.read_text(encoding="utf-8") for path in paths if path.is_file()), None)
