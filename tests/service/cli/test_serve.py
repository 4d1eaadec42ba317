"""The history behind the demo: an hour of polls, one a minute, on the ordinary path, that the service goes on from."""

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from rules.model import Severity
from service.app import create_app
from service.cli.serve import play
from service.config import load
from service.config.settings import Settings
from service.fleet.build import resume
from service.history.marks import Verifier
from service.state.board import MonitoredDatabase
from service.state.episodes import Episode
from service.store.build import build_store
from service.store.repository import Repository
from service.watch.pipeline import run_poll
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.ports import free_port
from tests.service.running import Running, answering
from tests.service.stage import AtOnce, Client
from tests.service.standin import becomes, hanging
from tests.started import Started

NAMES = ("undo-storm", "parse-storm")
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Played:
    """A store with the history of a demo, and the episode that the demo links to."""

    settings: Settings
    began: datetime
    storm: Episode | None

    @property
    def store(self) -> Repository:
        return Repository(self.settings.store)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("played")
    settings = load.demo(list(NAMES), 0, f"sqlite:///{folder}/demo.db", 2.0)
    began = datetime.now(UTC)
    return Played(settings, began, play(settings, began))


@pytest.fixture
def store(played: Played) -> Iterator[Repository]:
    opened = played.store
    yield opened
    opened.close()


def test_history_has_one_poll_a_minute_by_the_scripts_clock(played: Played, store: Repository) -> None:
    for name in NAMES:
        polls = store.history.polls(name, played.began - timedelta(days=1), played.began + timedelta(days=1))
        *regular, last = [poll.at for poll in polls]
        began = regular[-1] + MINUTE
        assert abs(began - played.began) < timedelta(milliseconds=1)
        assert [began - at for at in regular] == [MINUTE * minutes for minutes in range(60, 0, -1)]
        assert last >= played.began, "the last poll is made now, so that the service goes on right after it"
        assert polls[0].seconds is None and all(poll.seconds for poll in polls[1:])


def test_storm_of_the_history_ended_with_its_remedy(played: Played, store: Repository) -> None:
    storm = played.storm
    assert storm is not None and storm.end is not None
    assert (storm.database, storm.cause, storm.peak_severity) == ("undo-storm", "undo-segments", Severity.CRITICAL)
    (kept,) = store.episodes.between("undo-storm", played.began - timedelta(hours=1), played.began).items
    assert (kept.begin, kept.verdict_kind) == (storm.begin, "verified")
    again: list[Episode] = []
    Verifier(store, again.append).do(played.began + MINUTE)
    assert not again, "the service would count a remedy that it did not see"


def test_episode_that_is_still_on_goes_on_in_the_service(played: Played, store: Repository) -> None:
    def open_ones() -> list[Episode]:
        found = store.episodes.between("parse-storm", played.began - timedelta(hours=2), datetime.now(UTC) + MINUTE)
        return [episode for episode in found.items if episode.end is None]

    (before,) = open_ones()
    ago, _ = scenarios()["parse-storm"].past_marks[0]
    assert before.begin < played.began - timedelta(seconds=ago) + 2 * MINUTE
    built = build_store(played.settings)
    settings = next(database for database in played.settings.databases if database.name == "parse-storm")
    watched = MonitoredDatabase(settings, 2.0)
    resume([watched], built.repository, built.writer)
    seconds = (before.last_seen - played.began).total_seconds()
    connection = ScriptedDatabase(scenarios()["parse-storm"], played.began, lambda: seconds)
    for _ in range(3):
        seconds += 2.0
        published = run_poll(watched, connection, AtOnce(store))
        assert published.delta is not None, "the instance of the history is that of the service"
        assert not published.episode_changes
    (after,) = open_ones()
    assert after.begin == before.begin
    assert after.last_seen > before.last_seen
    built.close()


def test_fleet_page_has_an_hour_behind_it_and_says_that_it_is_scripted(played: Played) -> None:
    application = create_app(played.settings, played.began)
    client = Client(application)
    rows = {row["name"]: row for row in client.get("/api/v1/databases").json()}
    for name in NAMES:
        assert sum(value is not None for value in rows[name]["last_hour"]) >= 58
    assert max(value or 0.0 for value in rows["undo-storm"]["last_hour"]) > 0.25
    page = client.get("/").text
    for name, text in (("undo-storm", "undo tablespace recreated"), ("parse-storm", "shop 8.1 deployed")):
        assert f"/db/{name}/compare?mark=" in page
        assert text in page
    for address in ("/", "/db/undo-storm", "/db/undo-storm/history"):
        assert f"What is before {played.began:%H:%M:%S} was played" in client.get(address).text
    assert "scripted" not in client.get("/causes").text
    assert played.storm is not None
    moment = played.storm.peak_at + timedelta(seconds=1)
    assert "Critical since" in client.get(f"/db/undo-storm?at={moment:%Y-%m-%dT%H:%M:%SZ}").text
    application.state.close()


def test_pages_of_a_service_without_history_say_nothing_of_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plain")
    application = create_app(load.demo(list(NAMES), 0, f"sqlite:///{folder}/demo.db", 2.0))
    assert "was played" not in Client(application).get("/").text
    application.state.close()


def test_short_history_has_no_storm_to_link_to(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("short")
    settings = load.demo(["undo-storm"], 0, f"sqlite:///{folder}/demo.db", 2.0)
    began = datetime.now(UTC)
    assert play(settings, began, 2) is None
    store = Repository(settings.store)
    assert len(store.history.polls("undo-storm", began - timedelta(hours=1), began + timedelta(hours=1))) == 3
    assert store.marks.get("undo-storm", "last") is None
    store.close()


HANGING = """
import time
from service.store.writer import Writer
Writer.stop = lambda self, *_: time.sleep(3600)
from service.__main__ import main
main()
"""
"""The service, with a store that never ends."""


@contextmanager
def serving(
    folder: Path, listener: Listener | None = None, start: Sequence[str] = ("-m", "service")
) -> Iterator[Running]:
    """`latchscope serve` over these databases, in a process of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "password").write_text(PASSWORD)
    names = listener.services if listener else ()
    databases = [
        {"name": name, "dsn": listener.dsn(name), "user": USER, "password_file": str(folder / "password")}
        for name in names
        if listener
    ] or [{"name": "healthy", "dsn": "demo:healthy-19c"}]
    port = free_port()
    settings = {"listen": f"127.0.0.1:{port}", "store": f"sqlite:///{folder}/store.db", "databases": databases}
    (folder / "latchscope.yaml").write_text(yaml.safe_dump(settings))
    log = folder / "stderr.txt"
    process = Started(*start, "serve", "--config", str(folder / "latchscope.yaml"), errors=log)
    with answering(process, port, log) as running:
        yield running


@pytest.mark.slow
def test_service_ends_although_its_store_never_would(tmp_path: Path) -> None:
    with serving(tmp_path, start=("-c", HANGING)) as running:
        running.process.send_signal(signal.SIGTERM)
        becomes(lambda: running.process.poll() is not None, "it ends")
        assert running.process.returncode == 0
        assert "not everything ended" in running.log.read_text()


@pytest.mark.slow
def test_service_with_hung_databases_ends_in_order(tmp_path: Path) -> None:
    with Listener(hanging()) as listener, serving(tmp_path, listener) as running:
        becomes(lambda: all(each.counters.connections for each in listener.services.values()), "each has been tried")
        running.stop()
        assert running.process.returncode == 0
        text = running.log.read_text()
    first, *_, stops, last = text.splitlines()
    assert re.fullmatch(
        r"\S+ INFO latchscope: latchscope \S+, databases: 5, store \S+, configuration \S+, http://\S+/", first
    )
    assert stops.endswith(" INFO latchscope.web: stops: SIGTERM") and last.endswith(" INFO latchscope: stopped")
    assert "not everything ended" not in text
    assert "Traceback" not in text
