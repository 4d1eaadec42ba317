"""The n-th packet, write or start of a thread fails, for n = 1, 2, … until a whole run of the operation passes.

After each: no stack trace, nothing left open, no state that is better than what is known, no poll lost that was taken. The
short form takes every so many n; `make soak` takes all, and prints how each ended.
"""

import asyncio
import gc
import gzip
import json
import logging
import re
import sqlite3
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from itertools import chain, count
from pathlib import Path
from time import monotonic

import pytest
import yaml
from typer.testing import CliRunner

from collectors.capture import load
from collectors.demo.scenarios import scenarios
from collectors.model import Rows, Snapshot
from rules.model import Diagnosis
from service.app import create_app
from service.cli.main import cli
from service.config.settings import AuthSettings, DatabaseSettings, Settings, SpoolSettings
from service.state.board import Board, MonitoredDatabase, PollRecord
from service.store.engine import StoreError
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.tables import millis
from service.store.writer import Writer
from service.watch.connect import Connector
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener
from tests.service.nth_failure import Held, Nth, Traces
from tests.service.stage import Client
from tests.service.standin import QUICK, becomes
from tests.upgrade.old import MADE

SCRIPT = "undo-storm"
LOOPBACK = {"Host": "127.0.0.1:8000"}
WHOLE = "as without a failure"


class Site:
    """A database of the stand-in on a clock that only the test moves, and folders for what an operation writes."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.at, self.ticks = 40.0, False
        self.service = Service(
            ScriptedBackend(scenarios()[SCRIPT], lambda: self.at + (monotonic() if self.ticks else 0.0)),
            {USER: Account(PASSWORD)},
            ORACLE_12_1,
        )
        self.listener = Listener({"db": self.service})
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        self.settings = DatabaseSettings(
            name="db", dsn=self.listener.dsn("db"), user=USER, password_file=folder / "password"
        )
        self.numbers = count(1)
        self.taken: set[tuple[str, int]] = set()
        """Every poll that a writer has taken."""
        taking = Writer.keep

        def keep(writer: Writer, snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None = None) -> None:
            taking(writer, snapshot, verdict, poll_record)
            if snapshot.taken_at is not None:
                self.taken.add((snapshot.database, millis(snapshot.taken_at)))

        monkeypatch.setattr(Writer, "keep", keep)

    def room(self) -> Path:
        """A new folder."""
        made = self.folder / f"run-{next(self.numbers)}"
        made.mkdir()
        return made

    def sessions_end(self) -> None:
        becomes(lambda: all(one.ended for one in self.service.sessions), "every session of the database has ended")

    def kept(self, store: str, spool: Path) -> set[tuple[str, int]]:
        """What the next start finds: the polls of the store, once it has brought in the spool."""
        opened, queue = Repository(store), DiskQueue(spool, 2**30)
        Writer(opened, queue).catch_up()
        assert len(queue) == 0
        opened.close()
        connection = sqlite3.connect(store.removeprefix("sqlite:///"))
        rows = connection.execute("select d.name, p.at from polls p join databases d on d.id = p.database_id")
        found = {(name, at) for name, at in rows}
        connection.close()
        return found


class Operation:
    """`prepare` and `check` run undisturbed; `run` says how it ended, WHOLE if as without a failure."""

    kinds: tuple[str, ...] = ("packet", "thread", "write")
    ends_process = False
    """Whether the system itself then closes what is still open."""

    def __init__(self, site: Site, traces: Traces) -> None:
        self.site, self.traces = site, traces

    def prepare(self) -> None: ...

    def run(self) -> str:
        raise NotImplementedError

    def check(self, outcome: str, *, lasting: bool) -> None: ...


class Poll(Operation):
    """A worker logs in and polls twice, into a store; then it polls undisturbed."""

    def prepare(self) -> None:
        self.site.taken.clear()
        self.site.at = 40.0
        room = self.site.room()
        self.url, self.spool = f"sqlite:///{room}/store.db", room / "spool"
        self.store = Repository(self.url)
        self.writer = Writer(self.store, DiskQueue(self.spool, 2**30))
        self.watched = MonitoredDatabase(self.site.settings, 15.0)
        self.worker = Worker(self.watched, Connector(QUICK), self.writer, scheduler=PollScheduler())
        self.writer.start()

    def step(self) -> str:
        """One poll, and what it shows."""
        self.site.at += 15.0
        before = self.watched.published
        self.worker.step()
        failure, shown = self.watched.failure, self.watched.published
        if failure is not None:
            assert self.watched.current is None and not self.watched.up, "old figures appear as new"
            assert failure.kind in ("network", "setup"), f"{failure.kind}: {failure.why}"
            return f"told: {failure.kind}"
        assert shown is not None and shown is not before
        place = "first" if shown.delta is None else "later"
        views = {
            name for name, reading in shown.snapshot.readings.items() if isinstance(reading, Rows) and reading.rows
        }
        empty = {name for name, reading in shown.snapshot.readings.items() if isinstance(reading, Rows)} - views
        known, state = USUAL.setdefault(place, (views, shown.verdict.state))
        assert not known & empty, f"{known & empty}: no rows instead of unknown"
        if known - views:
            assert shown.verdict.state != "Fine", f"Fine without {known - views}"
            return "told: without a view"
        assert shown.verdict.state == state
        return WHOLE

    def written(self) -> None:
        """Let the writer finish, so that each run writes the same in the same order."""
        becomes(
            lambda: self.writer.trouble() or not (self.writer._queue or self.writer._in_flight), "the writer is done"
        )

    def run(self) -> str:
        ends = []
        for _ in range(2):
            ends.append(self.step())
            self.written()
        told = [one for one in ends if one != WHOLE]
        if not told and self.writer.trouble():
            return "the store's trouble is told"
        return told[0] if told else WHOLE

    def check(self, outcome: str, *, lasting: bool) -> None:
        assert [self.step() for _ in range(2)] == [WHOLE] * 2, "it is well as soon as the failure is over"
        assert self.watched.published.verdict.state == USUAL["later"][1]
        self.worker._drop()
        self.writer.stop(HANGS)
        self.writer.spooler.thread.join(HANGS)
        self.store.close()
        assert self.writer.spool.lost == 0
        assert self.site.taken <= self.site.kept(self.url, self.spool), "a poll is lost"
        self.site.sessions_end()


USUAL: dict[str, tuple[set[str], str]] = {}
"""Views with rows, and the state, of the first and of a later poll of the script that nothing disturbed."""


class Action(Operation):
    """A confirming query and a profile of holders, through the app as a caller sees it."""

    def __init__(self, site: Site, traces: Traces) -> None:
        super().__init__(site, traces)
        room = site.room()
        self.board = Board([MonitoredDatabase(site.settings, 15.0)])
        site.monkeypatch.setattr("service.app.Board", lambda watched: self.board)
        self.audited = room / "audit.jsonl"
        self.app = create_app(
            Settings(
                store=f"sqlite:///{room}/store.db",
                databases=[site.settings],
                oracle=QUICK,
                auth=AuthSettings(audit_file=self.audited),
                spool=SpoolSettings(directory=room / "spool"),
            )
        )
        self.client = Client(self.app)

    def prepare(self) -> None:
        self.before = self.lines()

    def lines(self) -> int:
        return len(self.audited.read_text("utf-8").splitlines()) if self.audited.exists() else 0

    def run(self) -> str:
        ends = []
        for action, body in (("confirmations", {"cause": "undo-segments"}), ("holders", {"seconds": 0.1, "looks": 1})):
            answer = self.client.get(f"/api/v1/databases/db/{action}", "POST", headers=LOOPBACK, json=body)
            assert answer.status_code in (200, 502, 503) and (answer.status_code == 200 or answer.json()["detail"])
            ends.append(WHOLE if answer.status_code == 200 else f"told: {answer.status_code}")
        return next((one for one in ends if one != WHOLE), WHOLE)

    def check(self, outcome: str, *, lasting: bool) -> None:
        (watched,) = self.board
        assert not watched.action_lock.locked() and watched.login.stopped is None
        for line in self.audited.read_text("utf-8").splitlines():
            json.loads(line)
        self.site.sessions_end()


class Captured(Operation):
    """`latchscope capture` over the file of an earlier capture."""

    def prepare(self) -> None:
        self.site.at = 40.0
        room = self.site.room()
        self.file, self.config = room / "db.json", room / "latchscope.yaml"
        database = {
            "name": "db",
            "dsn": self.site.settings.dsn,
            "user": USER,
            "password_file": str(self.site.settings.password_file),
        }
        self.config.write_text(yaml.safe_dump({"databases": [database]}), encoding="utf-8")
        self.file.write_text("the earlier one", encoding="utf-8")

    def run(self) -> str:
        words = ["capture", "db", "--output", str(self.file), "--seconds", "0", "--config", str(self.config)]
        ended = CliRunner().invoke(cli, words)
        assert ended.exception is None or isinstance(ended.exception, SystemExit), repr(ended.exception)
        assert "Traceback" not in ended.output
        if ended.exit_code:
            assert ended.exit_code == 2 and ended.stderr.strip(), ended.output
            return "told: exit code 2"
        (taken,) = load(self.file.read_bytes(), self.file.name).snapshots
        views = {name for name in taken.readings if taken.rows(name)}
        return WHOLE if views == WRITTEN.setdefault("views", views) else "told: without a view"

    def check(self, outcome: str, *, lasting: bool) -> None:
        if outcome == "told: exit code 2":
            assert self.file.read_text("utf-8") == "the earlier one", "the earlier capture is gone"
        left = {each.name for each in self.file.parent.iterdir()} - {"db.json", "latchscope.yaml"}
        assert not left or lasting, "a draft is deleted unless the disk refuses that too"
        self.site.sessions_end()


WRITTEN: dict[str, set[str]] = {}
"""The views of an undisturbed capture."""


class Migration(Operation):
    """A store of the release before this one is opened."""

    kinds = ("write",)

    def prepare(self) -> None:
        self.file = self.site.room() / "store.db"
        self.file.write_bytes(gzip.decompress((MADE / "store.sqlite.gz").read_bytes()))
        self.rows = self.counted()

    def counted(self) -> dict[str, int]:
        connection = sqlite3.connect(self.file)
        found = {
            name: connection.execute(f"select count(*) from {name}").fetchone()[0]
            for name in ("polls where startup_time is not null", "diagnoses", "episodes", "databases")
        }
        connection.close()
        return found

    def run(self) -> str:
        try:
            Repository(f"sqlite:///{self.file}").close()
        except StoreError as error:
            told = str(error)
        else:
            return WHOLE
        assert "\n" not in told and "cannot be opened" in told
        return "told: StoreError"

    def check(self, outcome: str, *, lasting: bool) -> None:
        assert self.counted() == self.rows
        store = Repository(f"sqlite:///{self.file}")
        assert store.reachable()
        store.close()
        assert self.counted() == self.rows, "the next start upgrades it, and nothing is lost"


class Stop(Operation):
    """A service that polls is ended."""

    ends_process = True

    def prepare(self) -> None:
        self.site.taken.clear()
        self.site.ticks = True
        room = self.site.room()
        self.url, self.spool = f"sqlite:///{room}/store.db", room / "spool"
        board = Board([MonitoredDatabase(self.site.settings, 0.2)])
        self.site.monkeypatch.setattr("service.app.Board", lambda watched: board)
        app = create_app(
            Settings(
                store=self.url, databases=[self.site.settings], oracle=QUICK, spool=SpoolSettings(directory=self.spool)
            )
        )
        self.runner = asyncio.Runner()
        self.life: AbstractAsyncContextManager[object] = app.router.lifespan_context(app)
        self.runner.run(self.life.__aenter__())
        becomes(lambda: len(self.site.taken) > 1, "it polls")

    def run(self) -> str:
        self.runner.run(self.life.__aexit__(None, None, None))
        return WHOLE

    def check(self, outcome: str, *, lasting: bool) -> None:
        self.runner.close()
        del self.life
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()  # what a process leaves open ends with it
        self.site.service.drop_connections()
        lost = [re.search(r"(\d+) polls are lost", line) for line in self.traces.lines]
        missing = len(self.site.taken - self.site.kept(self.url, self.spool))
        assert missing <= sum(int(one[1]) for one in lost if one), "a poll is lost, and nobody was told"
        assert lasting or not missing, "one failure costs no poll"


OPERATIONS = {
    "poll": Poll,
    "action": Action,
    "capture": Captured,
    "migration": Migration,
    "stop": Stop,
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path, monkeypatch)
    with made.listener:
        yield made


def loop(
    operation: Operation, kind: str, nth: Nth, *, lasting: bool, stride: int, traces: Traces
) -> tuple[int, Counter[str]]:
    """Fail the n-th call of this kind, n growing by `stride`, until a run passes. Returns its n, and how the others ended."""
    outcomes: Counter[str] = Counter()
    once(
        operation, kind, nth, 10**9, lasting=lasting, traces=traces
    )  # what a first run keeps for all others is no leak
    for number in chain((1, 2, 3), count(3 + stride, stride)):
        held, traces.lines = Held(), []
        outcome, failed = once(operation, kind, nth, number, lasting=lasting, traces=traces)
        if not operation.ends_process:
            held.is_all()
        assert traces.found == [], f"{kind} {number}: {traces.found[0]}"
        if not failed:
            assert outcome == WHOLE, "nothing failed"
            return number, outcomes
        outcomes[outcome] += 1
    raise AssertionError


def once(operation: Operation, kind: str, nth: Nth, number: int, *, lasting: bool, traces: Traces) -> tuple[str, bool]:
    operation.prepare()
    nth.switch_on(kind, number, lasting=lasting)
    try:
        outcome = within(HANGS, operation.run)
    finally:
        failed = nth.switch_off()
    try:
        operation.check(outcome, lasting=lasting)
    except AssertionError as error:
        error.add_note(f"after failure of {kind} {number}{' and all later ones' if lasting else ''}: {outcome}")
        raise
    return outcome, failed


SHORT = 17
"""The short form takes n = 1, 2, 3 and then every many, and failures that pass."""
OFTEN = ("poll-write", "capture-write", "migration-write")
"""The short forms of `make test`: each write that store, spool and capture do."""


def cases() -> Iterator[object]:
    """Each operation with each kind of failure: the short form, then the whole ones."""
    for name, operation in OPERATIONS.items():
        for kind in operation.kinds:
            yield pytest.param(
                name,
                kind,
                False,
                SHORT,
                id=f"{name}-{kind}-short",
                marks=[] if f"{name}-{kind}" in OFTEN else [pytest.mark.slow],
            )
            for lasting, which in ((False, "one"), (True, "all")):
                yield pytest.param(name, kind, lasting, 1, id=f"{name}-{kind}-{which}", marks=pytest.mark.soak)


@pytest.mark.filterwarnings(
    r"ignore:unclosed <socket\.socket:ResourceWarning"
)  # `Held` and the listener see what is open
@pytest.mark.parametrize(("name", "kind", "lasting", "stride"), [*cases()])
def test_operation_survives_the_failure_of_any_one_call(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, lasting: bool, stride: int
) -> None:
    traces = Traces()
    logging.getLogger().addHandler(traces)
    try:
        nth = Nth(monkeypatch, site.folder)
        number, outcomes = loop(
            OPERATIONS[name](site, traces), kind, nth, lasting=lasting, stride=stride, traces=traces
        )
    finally:
        logging.getLogger().removeHandler(traces)
    told = ", ".join(f"{many} {how}" for how, many in sorted(outcomes.items()))
    print(f"{name:<10} {kind:<7} {'n-th on' if lasting else 'n-th':<8} passes at n = {number:>3}: {told}")  # noqa: T201
    assert number > 1 or not outcomes
