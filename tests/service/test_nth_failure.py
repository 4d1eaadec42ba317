"""The n-th packet, write or start of a thread fails, for n = 1, 2, … until a whole run of the operation passes.

After each: no stack trace, nothing left open, no state that is better than what is known, no poll lost that was taken. The
short form takes every so many n; `make soak` takes all, and prints how each ended.
"""

import gzip
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from collectors.capture import load
from collectors.demo.scenarios import scenarios
from collectors.model import Rows, Snapshot
from rules.model import Diagnosis
from service.cli.main import cli
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase, PollRecord
from service.store.disk_queue import DiskQueue
from service.store.engine import StoreError
from service.store.repository import Repository
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
from tests.service.nth_failure import Held, Nth
from tests.service.standin import QUICK, becomes
from tests.upgrade.old import MADE

WHOLE = "as without a failure"


class Site:
    """A database of the stand-in on a clock that only the test moves, and folders for what an operation writes."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.at = 40.0
        self.service = Service(
            ScriptedBackend(scenarios()["undo-storm"], lambda: self.at),
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

    def __init__(self, site: Site) -> None:
        self.site = site

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


OPERATIONS = {"poll": Poll, "capture": Captured, "migration": Migration}
SHORT = 17
"""The short form takes n = 1, 2, 3 and then every many, and failures that pass."""


def cases() -> Iterator[object]:
    """Each operation with each kind of failure: the short form, of writes in `make test` too, then the whole ones."""
    for name, operation in OPERATIONS.items():
        for kind in operation.kinds:
            slow = [] if kind == "write" else [pytest.mark.slow]
            yield pytest.param(name, kind, False, SHORT, id=f"{name}-{kind}-short", marks=slow)
            for lasting, which in ((False, "one"), (True, "all")):
                yield pytest.param(name, kind, lasting, 1, id=f"{name}-{kind}-{which}", marks=pytest.mark.soak)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path, monkeypatch)
    with made.listener:
        yield made


def once(operation: Operation, kind: str, nth: Nth, number: int, *, lasting: bool) -> tuple[str, bool]:
    """How a run ended of which one call fails, or that one and all later ones; and whether any did."""
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


@pytest.mark.filterwarnings(
    r"ignore:unclosed <socket\.socket:ResourceWarning"
)  # `Held` and the listener see what is open
@pytest.mark.parametrize(("name", "kind", "lasting", "stride"), [*cases()])
def test_operation_survives_the_failure_of_any_one_call(
    site: Site, monkeypatch: pytest.MonkeyPatch, no_traces: None, name: str, kind: str, lasting: bool, stride: int
) -> None:
    nth, operation, outcomes = Nth(monkeypatch, site.folder), OPERATIONS[name](site), Counter[str]()
    once(operation, kind, nth, 10**9, lasting=lasting)  # what a first run keeps for all others is no leak
    for number in chain((1, 2, 3), count(3 + stride, stride)):
        held = Held()
        outcome, failed = once(operation, kind, nth, number, lasting=lasting)
        held.is_all()
        if not failed:
            break
        outcomes[outcome] += 1
    assert outcome == WHOLE, "nothing failed"
    assert number > 1
    told = ", ".join(f"{many} {how}" for how, many in sorted(outcomes.items()))
    print(f"{name:<10} {kind:<7} {'n-th on' if lasting else 'n-th':<8} passes at n = {number:>3}: {told}")  # noqa: T201
