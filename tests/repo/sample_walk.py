"""The files that one sample passes: `python -m tests.repo.sample_walk [ROOT]` traces them in any checkout, whatever its
layout. The sample is one row of v$latch_children in the scripted database undo-storm. The whole service runs over it: polls,
with the store in a temporary SQLite file, then GET /db/{db} and GET /metrics. tests/repo/tracing.py defines what it means to
pass a file. Two files at the origin are added to the traced ones: the declaration of the view, and the real connection,
which the scripted database replaces. `--details` names the functions. Templates are listed separately.
"""

import asyncio
import dataclasses
import importlib
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx

from tests.repo.tracing import Tracer

HOME = Path(__file__).resolve().parents[2]
ORIGIN = ("collectors/views/latch_children.py", "collectors/oracle.py")
GOAL = 48
"""The length of the walk with all later additions."""
ASKED_AT_MOST = 100
SCENARIO = "undo-storm"
TROUBLE, STEP = 50.0, 10.0
"""Seconds into the script at the first poll, in the middle of its trouble; and between polls."""
CHANGES = 2
"""Polls with a change before the request for the page: a chart needs them."""
TOTAL = 731_942_000_000
CHANGE = 86_427
"""Sleeps of child 1 at the first poll, and from each poll to the next. Five leading digits of either are a mark."""
PLANTED: Mapping[int, Mapping[str, tuple[int, int]]] = {
    1: {"sleeps": (TOTAL, CHANGE), "misses": (9 * 10**11, 100_000), "spin_gets": (10**11, 19_000)},
    5: {"sleeps": (10**9, 100_000 - CHANGE)},
}
"""Child → counter → first total and change per poll; the changes of all sleeps make 100,000, so a share shows the mark."""


class Script:
    """The clock of the scripted database, which moves a step with every poll, and the planted rows."""

    def __init__(self) -> None:
        self.polls = 0

    def now(self) -> float:
        """Seconds since the scenario began."""
        return TROUBLE + self.polls * STEP

    def plant(self, answer: Any) -> Any:
        """The rows of v$latch_children with our counters. Other children do not sleep."""
        return dataclasses.replace(answer, rows=[tuple(self._cells(answer.columns, row)) for row in answer.rows])

    def _cells(self, columns: tuple[str, ...], row: tuple[Any, ...]) -> Iterator[Any]:
        cells = dict(zip(columns, row, strict=True))
        planted = PLANTED.get(cells["child#"], {"sleeps": (0, 0)})
        for name, value in cells.items():
            first, change = planted.get(name, (0, 0))
            yield first + self.polls * change if name in planted else value

    def play(self, database: type) -> None:
        """Put this clock and these rows into the class of scripted databases."""
        begin, query = database.__init__, database.query  # type: ignore[misc,attr-defined]

        def begun(self: Any, scenario: Any, began: Any, clock: Any, *more: Any) -> None:
            begin(self, scenario, began - timedelta(hours=1), script.now, *more)

        def planted(self: Any, sql: str, binds: Any) -> Any:
            hook = sys.getprofile()
            if "/* latchscope v$instance */" in sql:
                script.polls += 1
            sys.setprofile(None)  # the scripted database replaces Oracle and is not part of the walk
            answer = query(self, sql, binds)
            sys.setprofile(hook)
            alone = "/* latchscope v$latch_children */" in sql and "child#" in answer.columns
            return script.plant(answer) if alone and view is None else answer

        def read(self: Any, name: str) -> Any:
            columns, rows = view(self, name)
            of_children = name == "v$latch_children"
            return columns, [tuple(script._cells(columns, row)) for row in rows] if of_children else rows

        script, view = (
            self,
            getattr(database, "view", None),
        )  # since views are read in groups, each group has its rows here
        database.__init__, database.query = begun, planted  # type: ignore[misc,attr-defined]
        if view is not None:
            database.view = read  # type: ignore[attr-defined]


def walk(root: Path) -> Mapping[str, Mapping[str, set[str]]]:
    """File → leg of the walk → functions that the sample passed. Imports product code from `root`: once per process."""
    sys.path.insert(0, str(root))
    create_app = importlib.import_module("service.app").create_app
    script = Script()
    script.play(next(vars(module)["ScriptedDatabase"] for module in [*sys.modules.values()] if _scripts(module)))
    tracer = Tracer(root, marks=(str(TOTAL)[:5], str(CHANGE)))
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(_settings(root, Path(folder)))
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            asyncio.run(_visit(app, script, tracer, Path(folder) / "store.db"))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
    found = {file: dict(legs) for file, legs in tracer.walk().items()}
    return {file: {"origin": set()} for file in ORIGIN} | found


def _scripts(module: ModuleType) -> bool:
    return "ScriptedDatabase" in vars(module)


def _settings(root: Path, folder: Path) -> Any:
    names = ("service.config.settings", "service.settings")
    module = next(name for name in names if (root / f"{name.replace('.', '/')}.py").exists())
    database = {"name": "walked", "dsn": f"demo:{SCENARIO}", "interval": 1.0}
    return importlib.import_module(module).Settings(
        store=f"sqlite:///{folder}/store.db", databases=[database], defaults={"budget": 1.0}
    )


async def _visit(app: Any, script: Script, tracer: Tracer, store: Path) -> None:
    """Let the service poll, then request the page and the metrics."""
    async with app.router.lifespan_context(app):
        await _until(lambda: _stored(store) >= CHANGES)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            for end, path in (("page", "/db/walked"), ("metrics", "/metrics")):
                for _ in range(ASKED_AT_MOST):  # a traced service is slow, and shows nothing while its last poll is old
                    tracer.request = end
                    answer = await client.get(path)
                    tracer.request = None
                    assert answer.status_code == 200, answer.text
                    if tracer.marked(answer.text):
                        break
                    await asyncio.sleep(0.5)
                assert tracer.marked(answer.text), f"{path} shows nothing of the sample"


def _stored(store: Path) -> int:
    """How many polls left the planted change in the store, packed with the other figures of the poll or not."""
    with closing(sqlite3.connect(store)) as connection:
        tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        if "figures" not in tables:
            found = connection.execute("select count(*) from deltas where value = ?", (float(CHANGE),))
            return int(found.fetchone()[0])
        unpack = importlib.import_module("service.store.figures").unpack
        return sum(CHANGE in unpack(body)[1] for (body,) in connection.execute("select body from figures"))


async def _until(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "the service did not poll and keep in time"
        await asyncio.sleep(0.1)


def report(found: Mapping[str, Mapping[str, set[str]]], details: bool = False) -> Iterator[str]:
    """The files by name, with the legs of the walk on which the sample passes them."""
    files = [name for name in sorted(found) if name.endswith(".py")]
    yield f"files that one sample passes: {len(files)} (goal at most {GOAL})"
    yield from _lines(files, found, details)
    templates = sorted(set(found) - set(files))
    yield f"and templates: {len(templates)}"
    yield from _lines(templates, found, details)


def _lines(files: Iterable[str], found: Mapping[str, Mapping[str, set[str]]], details: bool) -> Iterator[str]:
    for name in files:
        yield f"  {name:<42}{' '.join(sorted(found[name]))}"
        if details:
            yield from (
                f"      {leg}: {', '.join(sorted(functions))}" for leg, functions in sorted(found[name].items())
            )


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    traced = walk(Path(given[0]).resolve() if given else HOME)
    print("\n".join(report(traced, "--details" in sys.argv)))
