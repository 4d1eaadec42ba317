"""Pages of the knowledge base: the causes, where each is found now, and the runbooks of the alerts."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fastapi import APIRouter, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from rules.base import bound_of
from rules.cause import AnyOf, Cause, Condition, catalogue
from rules.formatting import sentence
from rules.model import Evidence
from rules.signals import SIGNALS
from service.state.board import Board, MonitoredDatabase
from service.store.engine import STORE_ERRORS
from service.store.repository import Repository
from service.web.access import Access
from service.web.charts import sparklines
from service.web.pages import words
from service.web.pages.fleet import FleetRow, fleet_table
from service.web.pages.layout import missing, page, page_router
from service.web.presenters import database_out, is_troubled

# The runbooks that the alerts link to, rendered from the same Markdown files.

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
def runbook_lines() -> Sequence[RunbookLine]:
    """Every runbook in short."""
    return [_short(name) for name in runbook_names()]


def _short(name: str) -> RunbookLine:
    text = _text(name) or ""
    blocks = [block.strip() for block in text.split("\n\n") if block.strip()]
    line = " ".join(blocks[1].split()) if len(blocks) > 1 else ""
    ours = severities().get(name, frozenset())
    return RunbookLine(name, next((word for word in _RANK if word in ours), "none"), line)


@cache
def severities() -> Mapping[str, frozenset[str]]:
    """Alert → the severities of its rules, from the files for Prometheus."""
    by_alert: dict[str, frozenset[str]] = {}
    for path in (path for path in RULES if path.is_file()):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                severity = rule.get("labels", {}).get("severity", "")
                by_alert[rule["alert"]] = by_alert.get(rule["alert"], frozenset()) | {severity}
    return by_alert


def runbook_names() -> list[str]:
    """Alerts that have a runbook."""
    return sorted({path.stem for folder in PLACES for path in folder.glob("*.md")})


def runbook_text(name: str) -> Markup | None:
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


EPISODES_SINCE = timedelta(days=90)
MOST_EPISODES = 1000


@dataclass(frozen=True, slots=True)
class CauseSign:
    """A condition of a cause with its bound, and its value on a database that has it."""

    signal: str
    of: str
    because: str
    needs: str
    usual: str
    now: str
    picture: Markup
    either: bool


def causes_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    router = page_router(access.reader)

    @router.get("/causes")
    def causes(request: Request) -> Response:
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for out in filter(is_troubled, map(database_out, board.all_refreshed())):
            found[str(out.cause)].append((out.name, words.state_word(out.state)))
        return page(request, "causes.html", causes=catalogue().values(), found=found)

    @router.get("/causes/{id}")
    def cause(request: Request, id: str) -> Response:
        known = catalogue().get(id)
        if known is None:
            names = {name: f"/causes/{name}" for name in catalogue()}
            return missing(request, f"There is no cause {id}.", names, ("All causes", "/causes"), id)
        return page(request, "cause.html", cause=known, **_shown(board, store, known))

    @router.get("/runbooks")
    def runbooks_list(request: Request) -> Response:
        return page(request, "runbooks.html", books=runbook_lines())

    return router


def runbook_pages() -> APIRouter:
    """One runbook, which says nothing of any database: open, as nobody has a token at hand when an alert calls."""
    router = page_router()

    @router.get("/runbooks/{name}")
    def runbook(request: Request, name: str) -> Response:
        text = runbook_text(name)
        if text is None:
            known = {known: f"/runbooks/{known}" for known in runbook_names()}
            return missing(request, f"There is no runbook {name}.", known, ("All runbooks", "/runbooks"), name)
        here = text.replace("http://127.0.0.1:8000", str(request.base_url).rstrip("/"))
        return page(request, "runbook.html", name=name, text=here)

    return router


def _shown(board: Board, store: Repository, cause: Cause) -> Mapping[str, Any]:
    now = datetime.now(UTC)
    having = [out for out in map(database_out, board.all_refreshed()) if is_troubled(out) and out.cause == cause.id]
    rows: Sequence[FleetRow] = fleet_table(having, now)
    ordered = sorted(rows, key=lambda row: row.order("cost"))
    example = board.refreshed(ordered[0].name) if ordered else None
    return {
        "found": ordered,
        "databases": len(board),
        "example": example.name if example else "",
        "signs": _signs(cause, example),
        "scale": sparklines.scale(
            None, [(band.value, band.meaning) for band in cause.confirm.bands] if cause.confirm else ()
        ),
        "before": _episodes(store, cause, now),
    }


def _episodes(store: Repository, cause: Cause, now: datetime) -> int | None:
    """How often it was found in the last 90 days. None if the store does not answer."""
    try:
        episodes = store.episodes.between(None, now - EPISODES_SINCE, now, limit=MOST_EPISODES).items
    except STORE_ERRORS:
        return None
    return sum(1 for episode in episodes if episode.cause == cause.id)


def _signs(cause: Cause, example: MonitoredDatabase | None) -> Sequence[CauseSign]:
    """The conditions, with the values of a database that has the cause."""
    seen: Mapping[str, Evidence] = {}
    if example is not None and example.current is not None:
        findings = example.current.diagnosis.findings
        seen = {sign.signal: sign for finding in findings if finding.cause == cause.id for sign in finding.evidence}
    listed = [
        (condition, isinstance(needed, AnyOf))
        for needed in cause.when
        for condition in (needed.any_of if isinstance(needed, AnyOf) else (needed,))
    ]
    return [_sign(condition, seen.get(condition.signal), either) for condition, either in listed]


def _sign(condition: Condition, seen: Evidence | None, either: bool) -> CauseSign:
    signal, bound = SIGNALS[condition.signal], bound_of(condition.needs)
    held = bound.value if bound else 0.0
    value = seen.value if seen else 0.0
    needs = words.bound(bound, signal.unit) or condition.needs
    now = words.whole(seen.value, signal.unit) if seen else words.NOT_KNOWN
    usual = seen.usual if seen else None
    said = f"{needs}{f'; now {now}' if seen else ''}"
    spell = (words.whole(held, signal.unit).partition(words.TIED + signal.unit)[0], "")
    limits = (usual.low, usual.high) if usual else condition.usual
    kind = "critical" if seen else "s5"
    return CauseSign(
        signal=condition.signal,
        of=signal.of,
        because=sentence(condition.because),
        needs=needs,
        usual=words.usual(usual, signal.unit),
        now=now,
        picture=sparklines.bullet(value, held, limits, said, kind, spell, 300),
        either=either,
    )
