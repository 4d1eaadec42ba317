"""The two walks of docs/architecture.md, of a poll and of a page: each stop is there, and in touch with one before it."""

import ast
import re
import sys
from itertools import pairwise
from types import FrameType, SimpleNamespace

import grimp

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.store.record import record_of
from service.watch.worker import Worker
from tests.collectors.scripted import BEGAN
from tests.paths import ROOT
from tests.repo.ceilings import FLOORS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
EVERY = re.findall(r"^\| (\d+) \| \[(\S+\.py)\]\(\.\./\S+\) \| `([\w.]+)` \|", PAGE, re.M)
SECOND = [number for number, *_ in EVERY].index("1", 1)
STOPS, STAYS = ([(path, name) for _, path, name in part] for part in (EVERY[:SECOND], EVERY[SECOND:]))
MOST_STAYS = 23
LOADED_BY_NAME = {"collectors.views.latch_children", "rules.signals.latch"}
"""Modules that are found by their folder, so that nothing needs to import them."""


def defined(path: str) -> set[str]:
    """Names that a file defines at its top, and the methods of its classes as `Class.method`."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_there_are_twenty_stops_and_each_has_what_the_page_looks_for() -> None:
    assert len(STOPS) == 20
    assert [f"{path}: {name}" for path, name in (*STOPS, *STAYS) if name not in defined(path)] == []


POLL = (
    "collectors.views.latch_children",
    "service.watch.worker",
    "service.watch.pipeline",
    "collectors.poll",
    "collectors.delta",
    "service.watch.pipeline",
    "rules.engine",
    "rules.context",
    "rules.signals.latch",
    "rules.judge",
    "rules.rivals",
    "service.watch.pipeline",
    "service.store.record",
    "service.state.board",
)
"""The way of a poll: where each stop is, with its returns to the page that calls the rest."""


def test_way_of_a_poll_is_short_and_goes_as_it_is_told() -> None:
    assert len(POLL) <= 15 and len(POLL) - len({*POLL}) <= 4
    went = list[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module in POLL and went[-1:] != [module]:
            went.append(module)

    name = "undo-storm"
    watched, at = MonitoredDatabase(DatabaseSettings(name=name, dsn=f"demo:{name}"), 15.0, anew=True), 60.0
    database = ScriptedDatabase(scenarios()[name], BEGAN, lambda: at)
    opener = SimpleNamespace(open=lambda _: database, credential=lambda _: "")
    keeper = SimpleNamespace(keep=lambda *poll: record_of(*poll))
    worker = Worker(watched, opener, keeper)  # type: ignore[arg-type]
    worker.step()
    at += 15.0
    sys.setprofile(note)
    try:
        worker.step()
    finally:
        sys.setprofile(None)
    ahead = iter(went)
    assert [stop for stop in POLL[1:] if stop not in ahead] == [], "a stop that the poll does not make, or not then"


def test_each_stop_is_in_touch_with_one_before_it_and_each_stay_with_the_last() -> None:
    imports = grimp.build_graph(*FLOORS, cache_dir=None).find_modules_directly_imported_by
    stops, stays = ([path.removesuffix(".py").replace("/", ".") for path, _ in walk] for walk in (STOPS, STAYS))

    def touch(one: str, other: str) -> bool:
        return other in imports(one) or one in imports(other)

    # The worker begins anew: it takes the turn in which the view is read.
    ways = [(name, stops[:place]) for place, name in enumerate(stops) if place > 1 and name not in LOADED_BY_NAME]
    assert [name for name, before in ways if not any(touch(name, each) for each in before)] == []
    assert 20 <= len(stays) < MOST_STAYS, "with the template"
    assert [f"{one} → {other}" for one, other in pairwise(stays) if not touch(one, other)] == []
