"""The six stories of docs/security.md. Each line of a story is bound to the step here that has its words."""

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from collectors.errors import SessionError
from collectors.model import Snapshot
from rules.cause import catalogue
from rules.model import Diagnosis
from service.state.board import MonitoredDatabase, PollRecord
from service.state.replicas import SoleLeases
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.tables import millis
from service.store.writer import Writer
from service.watch.actions import ActionRunning, OperatorActions
from service.watch.connect import Connector
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.scripted import USER
from tests.paths import ROOT
from tests.service.noting import NOTED
from tests.service.nth_failure import Nth, Traces
from tests.service.replicas import Replicas, replicas
from tests.service.running import ASK, Running, serve
from tests.service.standin import QUICK, Fleet, becomes, idle
from tests.service.stores import Place, Postgres
from tests.service.test_crash import noted, stored

PAGE = ROOT / "docs" / "security.md"
FIRST, SECOND = "first", "second"
SIX = tuple(f"db-{number}" for number in range(6))


def stories(text: str) -> dict[str, list[str]]:
    """Title → the sentences of a story, without their first word."""
    section = text.partition("\n## Six stories\n")[2].partition("\n## ")[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line.startswith("### "):
            found[line.removeprefix("### ")] = sentences = []
        elif said := re.fullmatch(r"- (?:Given|When|Then|And) (.+)", line):
            sentences.append(said[1])
        else:
            assert not line.startswith("- "), f"{line!r} does not begin with Given, When, Then or And"
    return found


STEPS: dict[str, Callable[["Scene"], None]] = {}


def step(sentence: str) -> Callable[[Callable[["Scene"], None]], Callable[["Scene"], None]]:
    """Bind a function to a sentence."""

    def bind(do: Callable[["Scene"], None]) -> Callable[["Scene"], None]:
        assert sentence not in STEPS
        STEPS[sentence] = do
        return do

    return bind


class Scene:
    """What the steps of one story share. What they open ends with the story."""

    fleet: Fleet
    first: MonitoredDatabase
    second: MonitoredDatabase
    nth: Nth
    store: Repository
    writer: Writer
    taken: set[tuple[str, int]]
    replicas: Replicas
    owner: str
    at: Place
    running: Running
    frozen: ExitStack
    polls: int

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, server: Callable[[], Postgres], ends: ExitStack
    ) -> None:
        self.folder, self.monkeypatch, self.server, self.ends = folder, monkeypatch, server, ends
        self.traces = Traces()
        logging.getLogger().addHandler(self.traces)
        ends.callback(logging.getLogger().removeHandler, self.traces)

    def start(self) -> None:
        """Two databases on the stand-in, polled."""
        self.fleet = self.ends.enter_context(Fleet({FIRST: idle(), SECOND: idle()}, self.folder))
        self.first, self.second = self.fleet[FIRST], self.fleet[SECOND]
        self.fleet.start()
        self.polled_on()

    def polled_on(self, *names: str) -> None:
        """Two more polls of these databases, or of both."""
        for name in names or (FIRST, SECOND):
            before = len(self.fleet.polled[name])
            becomes(lambda name=name, before=before: len(self.fleet.polled[name]) > before + 1, f"{name} is polled on")

    def place(self) -> Place:
        """A database of its own on PostgreSQL."""
        place = Place("postgresql", self.folder, self.server())
        self.ends.callback(place.close)
        return place

    def told(self, database: MonitoredDatabase) -> str:
        return f"{database.failure.kind}: {database.failure.why}" if database.failure else ""


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Scene]:
    with ExitStack() as ends:
        yield Scene(tmp_path, monkeypatch, lambda: request.getfixturevalue("postgres"), ends)


@step("two databases that are polled")
def _(scene: Scene) -> None:
    scene.start()


@step("the listener of the first accepts connections and answers nothing")
def _(scene: Scene) -> None:
    service = scene.fleet.services[FIRST]
    service.faults.hang(Stage.ACCEPT)
    service.drop_connections()


@step("the first is shown as `network: no answer to the login`")
def _(scene: Scene) -> None:
    becomes(lambda: scene.told(scene.first).startswith("network: no answer to the login"), "the hang is told")


@step("none of its old figures is shown as new")
def _(scene: Scene) -> None:
    assert scene.first.published is not None, "there are old ones"
    assert scene.first.current is None and not scene.first.up


@step("the second is polled on")
def _(scene: Scene) -> None:
    scene.polled_on(SECOND)
    assert scene.second.up


@step("the listener of the first answers again")
def _(scene: Scene) -> None:
    scene.fleet.services[FIRST].faults.clear()


@step("the first is up without a restart")
def _(scene: Scene) -> None:
    becomes(lambda: scene.first.up, "the first is up")
    scene.polled_on()


@step("the password of the first is changed at the database")
def _(scene: Scene) -> None:
    service = scene.fleet.services[FIRST]
    service.accounts.change(USER, "another")
    service.drop_connections()


@step("the first is shown as `credential: ORA-01017`")
def _(scene: Scene) -> None:
    becomes(lambda: scene.told(scene.first).startswith("credential: ORA-01017"), "the refusal is told")


@step("five more polls and five actions cause no other login")
def _(scene: Scene) -> None:
    service, worker = scene.fleet.services[FIRST], scene.fleet.workers[FIRST]
    actions = OperatorActions(Connector(QUICK), SoleLeases("a"), lambda name: worker, None)
    assert service.counters.failed_logins == 1
    for _ in range(5):
        worker.ask_for_samples()
        polls = service.counters.connections
        becomes(lambda: not scene.first.up, "no poll succeeds")
        with suppress(SessionError, ActionRunning):
            actions.confirm(scene.first, catalogue()["undo-segments"])
        assert service.counters.connections == polls
    assert service.counters.failed_logins == 1


@step("the password file has the new password")
def _(scene: Scene) -> None:
    scene.fleet.services[FIRST].accounts[USER] = Account("another")
    scene.fleet.passwords[FIRST].write_text("another", encoding="utf-8")


@step("two databases that are polled into a SQLite store")
def _(scene: Scene) -> None:
    scene.nth = Nth(scene.monkeypatch, scene.folder / "disk")
    (scene.folder / "disk").mkdir()
    scene.store = Repository(f"sqlite:///{scene.folder}/disk/store.db")
    scene.writer = Writer(scene.store, DiskQueue(scene.folder / "disk" / "spool", 2**30))
    scene.taken = set()

    def keep(fleet: Fleet, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        scene.writer.keep(snapshot, diagnosis, poll_record)
        scene.taken.add((snapshot.database, millis(snapshot.taken_at)))
        noting(fleet, snapshot, diagnosis, poll_record)

    noting = Fleet.keep
    scene.monkeypatch.setattr(Fleet, "keep", keep)
    scene.ends.callback(scene.store.close)
    scene.ends.callback(scene.writer.stop)
    scene.writer.start()
    scene.start()


@step("the disk of store and spool is full")
def _(scene: Scene) -> None:
    scene.nth.switch_on("write", 1, lasting=True)


@step("latchscope names the problem of the store")
def _(scene: Scene) -> None:
    # The spool's trouble may be known first. The store's is, once the transaction of that second was tried.
    becomes(lambda: "in memory" in (scene.writer.trouble() or ""), "it is told")


@step("both databases are polled on and are up")
def _(scene: Scene) -> None:
    scene.polled_on()
    assert scene.first.up and scene.second.up


@step("the disk has room again")
def _(scene: Scene) -> None:
    assert scene.nth.switch_off(), "nothing was refused"


@step("every poll is in the store")
def _(scene: Scene) -> None:
    if hasattr(scene, "running"):
        taken = set(noted(scene.at))
        becomes(lambda: taken <= stored(scene.at), "every poll that was taken is stored")
        return
    taken = set(scene.taken)
    place = Place("sqlite", scene.folder / "disk", None)
    becomes(lambda: taken <= stored(place), "every poll that was taken is stored")
    becomes(lambda: scene.writer.trouble() is None, "and the trouble is over")
    assert scene.writer.spool.lost == 0


@step("no log has a stack trace")
def _(scene: Scene) -> None:
    assert scene.traces.found == []
    for file in scene.folder.glob("*.txt"):
        assert "Traceback" not in file.read_text("utf-8"), file.name


def _share(scene: Scene, names: tuple[str, ...]) -> None:
    databases = [{"name": name, "dsn": "demo:undo-storm", "interval": "2s"} for name in names]
    scene.replicas = scene.ends.enter_context(replicas(scene.place(), scene.folder, databases))
    for name in "ab":
        scene.replicas.start(name)


@step("two replicas that share six databases")
def _(scene: Scene) -> None:
    _share(scene, SIX)
    scene.replicas.even("a", "b")


@step("one replica is killed")
def _(scene: Scene) -> None:
    scene.replicas.kill("b")


@step("the other polls every database")
def _(scene: Scene) -> None:
    (left,) = scene.replicas.running.values()
    becomes(lambda: {name for name, up in left.up().items() if float(up)} == set(SIX), "it polls all")


@step("a service with its store in PostgreSQL")
def _(scene: Scene) -> None:
    scene.at = scene.place()
    databases = [{"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in ("undo-storm", "parse-storm")]
    service = serve(
        scene.folder,
        databases=databases,
        store=scene.at.url,
        defaults={"budget": 1},
        spool={"directory": str(scene.folder / "spool")},
        environment={NOTED: str(scene.folder / "polls.txt")},
    )
    scene.running = scene.ends.enter_context(service)
    scene.running.wait(lambda: len(noted(scene.at)) > 3)


@step("PostgreSQL answers nothing any more")
def _(scene: Scene) -> None:
    scene.frozen = ExitStack()
    scene.ends.enter_context(scene.frozen)
    for each in scene.server().processes():
        each.send_signal(signal.SIGSTOP)
        scene.frozen.callback(each.send_signal, signal.SIGCONT)


@step("`/readyz` answers 503 and says why")
def _(scene: Scene) -> None:
    scene.running.wait(lambda: ASK.get(f"{scene.running.url}/readyz").status_code == 503)
    assert "store" in ASK.get(f"{scene.running.url}/readyz").json()["status"]


@step("`/metrics` and the list of databases are answered")
def _(scene: Scene) -> None:
    for path in ("/metrics", "/api/v1/databases"):
        assert ASK.get(f"{scene.running.url}{path}").status_code == 200


@step("PostgreSQL goes on")
def _(scene: Scene) -> None:
    scene.polls = len(noted(scene.at))
    scene.frozen.close()


@step("`/readyz` answers 200 without a restart")
def _(scene: Scene) -> None:
    scene.running.wait(lambda: ASK.get(f"{scene.running.url}/readyz").status_code == 200)


@step("the databases are polled again")
def _(scene: Scene) -> None:
    becomes(lambda: len(noted(scene.at)) > scene.polls + 3, "polls go on")


@step("two replicas and one database")
def _(scene: Scene) -> None:
    _share(scene, SIX[:1])


@step("one of them polls it, and both name the same one")
def _(scene: Scene) -> None:
    def named() -> bool:
        told = [one.json("/api/v1/databases")[0]["polled_by"] for one in scene.replicas.running.values()]
        at_work = [name for name, one in scene.replicas.running.items() if one.up()]
        return len(at_work) == 1 and told == at_work * 2

    becomes(named, "one polls it")
    (scene.owner,) = [name for name, one in scene.replicas.running.items() if one.up()]


@step("both give the same diagnosis")
def _(scene: Scene) -> None:
    def same() -> bool:
        told = [one.json(f"/api/v1/databases/{SIX[0]}/diagnosis") for one in scene.replicas.running.values()]
        return told[0] == told[1] and bool(told[0]["headline"])

    becomes(same, "they agree")


@step("the one that polls it gets SIGTERM")
def _(scene: Scene) -> None:
    scene.replicas.kill(scene.owner, signal.SIGTERM)


@step("the other polls it")
def _(scene: Scene) -> None:
    (left,) = scene.replicas.running.values()
    becomes(lambda: {name for name, up in left.up().items() if float(up)} == {SIX[0]}, "it polls it")


def unbound(told: dict[str, list[str]]) -> set[str]:
    """Sentences without a step, and steps without a sentence."""
    return {sentence for sentences in told.values() for sentence in sentences} ^ STEPS.keys()


STORIES = stories(PAGE.read_text(encoding="utf-8"))


def test_every_sentence_has_its_step() -> None:
    assert len(STORIES) == 6 and unbound(STORIES) == set()
    assert unbound({**STORIES, "another": ["it does what no step does"]}) == {"it does what no step does"}


@pytest.mark.parametrize("title", STORIES)
def test_story_is_true(scene: Scene, title: str) -> None:
    for sentence in STORIES[title]:
        STEPS[sentence](scene)
