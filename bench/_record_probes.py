"""What `python -m bench record` runs in the tree of a commit: one figure or a few, printed as JSON on the last line.

A probe calls the tree's own benchmarks by names that they have had for long. One that a commit lacks ends the probe with an
ImportError or an AttributeError, and the record keeps that sentence in place of a figure.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any

HEALTHY, STORM = 0.0, 1.0
"""Shares of databases in a storm."""
TOGETHER = 20
"""Polls of one transaction: five minutes. Each keeps one complete diagnosis; the service keeps one an hour."""
SERIES = 200
"""Samples of /metrics that each database has."""
SCRAPES = 9
MOMENTS = (40.0, 55.0, 70.0)
"""When each database of the pages is polled, in seconds of its script."""
LOADED = re.compile(r'<(?:link[^>]*rel="stylesheet"[^>]*href|script[^>]*src)="([^"]+)"')
Found = Mapping[str, object]


def poll(polls: float) -> Found:
    """Ms of processor for a poll that is diagnosed and stored: one database, one thread, twenty polls a transaction."""
    return {"healthy_ms": _stored_poll(HEALTHY, int(polls)), "storm_ms": _stored_poll(STORM, int(polls))}


def _stored_poll(troubled: float, polls: int) -> float:
    from bench._capacity_service import fleet
    from collectors.oracle import ConnectTarget, OracleConnection, prepare
    from service.config.settings import DatabaseSettings
    from service.state.board import MonitoredDatabase
    from service.store.repository import Repository
    from service.watch import worker
    from service.watch.pipeline import run_poll
    from tests.oracle_standin.scripted import PASSWORD, USER
    from tests.service.stage import RECORDS, Kept

    name = "db-0000"
    prepare("thin")
    with tempfile.TemporaryDirectory() as folder, fleet(1, troubled, alike=True) as standin:
        dsn = f"127.0.0.1:{standin.port}/{name}"
        store, connection = (
            Repository(f"sqlite:///{folder}/store.db"),
            OracleConnection("bench", ConnectTarget(dsn, USER, PASSWORD)),
        )
        watched, grouping = MonitoredDatabase(DatabaseSettings(name=name, dsn=dsn), 15.0), worker.Grouping(name)  # type: ignore[attr-defined]
        spent = 0.0
        for transaction in range(1 + polls // TOGETHER):
            began, keeper = time.process_time(), Kept([])
            for _ in range(TOGETHER):
                run_poll(watched, connection, keeper, grouping=grouping)
            keeper.write_to(store)
            RECORDS.clear()
            spent += (time.process_time() - began) * (transaction > 0)  # the first one makes what a process makes once
        connection.close()
        store.close()
    return round(1000 * spent / (polls // TOGETHER * TOGETHER), 2)


def metrics(databases: float) -> Found:
    """How many times as long prometheus_client takes for the same samples as a scrape of ours."""
    tree: Any = import_module("bench.metrics")  # with what it imports
    board, _ = tree.fleet(int(databases), SERIES, tree.prototypes())
    own = tree.own_registry()
    ours = median(tree.timed(SCRAPES, lambda: tree.exposition(board, own)))
    tree.disable_created_metrics()
    registry = tree.stock(tree.exposition(board, None)[0].decode())
    return {"metrics_ratio": round(median(tree.timed(3, lambda: tree.generate_latest(registry))) / ours)}


def store(figures: float) -> Found:
    """Bytes of a stored figure on SQLite."""
    os.environ["LATCHSCOPE_BENCH_FIGURES"] = str(int(figures))  # until November 2026 this benchmark had no options
    from bench import history

    if "size" in signature(history._run).parameters:
        interval = 15 if figures > 1 else 3600
        size = history._Size(int(figures), interval, asked=1, questions=1, batches=1, batch=2, storm=2)
        found = history._run("sqlite", size, history._polls(size.storm))
    else:
        found = history._run("sqlite")  # type: ignore[call-arg]
    return {"stored_bytes": float(found["bytes per figure of a poll"])}


def pages(databases: float) -> Found:
    """KB on the network of the fleet and of a database in a storm, with the scripts and styles that they load."""
    import pytest

    from service.config.settings import DatabaseSettings
    from tests.service.stage import Stage

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, Path(folder))
        scripts = ("undo-storm", "busy-but-fine")
        names = [f"db{number:04}" for number in range(int(databases))]
        stage.watch(*(DatabaseSettings(name=name, dsn=f"demo:{scripts[n % 2]}") for n, name in enumerate(names)))
        stage.poll_all(*MOMENTS)
        app = stage.app()
        found = {"fleet_kb": _weight(app, "/"), "database_kb": _weight(app, f"/db/{names[0]}")}
        stage.close()
    return found


def _weight(app: Any, path: str) -> float:
    answer = app.get(path)
    assert answer.status_code == 200, f"{path} answers {answer.status_code}"
    loaded = [app.get(f"/{address.lstrip('/')}").content for address in dict.fromkeys(LOADED.findall(answer.text))]
    return round(sum(len(gzip.compress(body, 4)) for body in (answer.content, *loaded)) / 1024, 1)


def truth(most: float) -> Found:
    """Verdicts by part of the plan, of about so many instances that rules are not tuned on."""
    from bench._truth_scores import scores
    from tests.truth import generate
    from tests.truth.plan import seeds

    held_back = [seed for seed in seeds() if seed % 2]
    every = max(1, len(held_back) // int(most))
    found: dict[str, Counter[str]] = {}
    for score in scores(held_back[::every]):
        part = score.kind if score.strength is None or score.kind != "single" else f"single, {score.strength}"
        # Until November 2026 `false` was what `false_alarm` is: something untrue of warning or above.
        alarm = score.false_alarm if hasattr(score, "false_alarm") else bool(score.false) or score.unexplained
        counted = {"right": score.verdict == "right", "wrong": score.verdict == "wrong", "alarms": alarm}
        found.setdefault(part, Counter()).update(n=1, **{name: int(is_so) for name, is_so in counted.items()})
    return {"truth": found, "edition": getattr(generate, "EDITION", 1)}


def published(size: float) -> Found:
    """Verdicts on the published incidents that are staged whole."""
    from rules.engine import diagnose
    from tests.rules.staged import incidents, judged, staged

    return {"published": Counter(judged(name, diagnose(staged(name))) for name in incidents())}


def tests(size: float) -> Found:
    """How many tests pytest collects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run([*command, *([] if size else ["tests/truth"])], capture_output=True, text=True, check=False)
    last = (told.stdout.strip() or "nothing").splitlines()[-1]
    count = re.match(r"(\d+)(?:/\d+)? tests collected(?!.*error)", last)
    assert count, f"pytest says: {last}"
    return {"tests": int(count[1])}


def lines(size: float) -> Found:
    """Lines of Python of the product."""
    return {"lines": sum(len(path.read_text("utf-8").splitlines()) for path in _product())}


def _product() -> Iterator[Path]:
    for folder in ("collectors", "rules", "service"):
        yield from Path(folder).rglob("*.py")


PROBES: Mapping[str, Callable[[float], Found]] = {
    one.__name__: one for one in (lines, pages, store, metrics, poll, truth, published, tests)
}

if __name__ == "__main__":
    # This checkout is installed into the environment. A module that the commit lacks must not come from here.
    sys.path[1:] = [place for place in sys.path[1:] if Path(place) != Path(__file__).parents[1]]
    print(json.dumps(PROBES[sys.argv[1]](float(sys.argv[2]))))
