"""The stream of episode changes over real sockets: immediate, without gaps, and with an orderly end."""

import asyncio
import contextlib
import hashlib
import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import HTTPException
from starlette.requests import ClientDisconnect

from collectors.demo.scenarios import scenarios
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, Settings
from service.notify.feed import EpisodeFeed
from service.state.board import Board
from service.store.repository import Repository
from service.web.access import Access
from service.web.api import live
from service.web.api.live import EventStream, streams
from tests.oracle_standin.deadline import HANGS, within
from tests.service.running import Running, demo
from tests.service.stage import Client, Stage
from tests.service.store.test_episodes import change, write

PATH = "/api/v1/episodes/stream"


@contextlib.contextmanager
def streaming(url: str, after: int | None = None, **query: str) -> Iterator[Iterator[dict[str, Any]]]:
    """A stream and its events as a browser reads them, without heartbeats and the retry line."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with httpx.stream("GET", url + PATH, headers=headers, params=query, timeout=HANGS) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        yield _events(answer)


def _events(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    lines: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            lines[name] = value
        elif "data" in lines:
            told = json.loads(lines["data"])
            assert (int(lines["id"]), lines["event"]) == (told["seq"], told["event"])
            yield told
            lines = {}


def take(events: Iterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """This many events, or a failure after half a minute."""
    return within(HANGS, lambda: [next(events) for _ in range(count)])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with demo(tmp_path_factory.mktemp("demo"), "--interval", "1") as one:
        yield one


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Repository]:
    opened = Repository(f"sqlite:///{tmp_path}/store.db")
    yield opened
    opened.close()


@pytest.mark.slow
def test_stream_sends_changes_at_once_and_a_break_loses_none(running: Running) -> None:
    with streaming(running.url, after=0) as events:
        first = take(events, 4)
    assert {one["event"] for one in first} == {"begin"}
    with streaming(running.url, after=first[1]["seq"]) as events:
        assert take(events, 2) == first[2:]
    told = running.json(f"/api/v1/databases/{first[0]['database']}/episodes")
    assert first[0]["episode"]["begin"] in [one["begin"] for one in told]


@pytest.mark.slow
def test_stream_can_be_limited_to_one_database(running: Running) -> None:
    with streaming(running.url, after=0) as events:
        first = next(events)["database"]
        other = next(one["database"] for one in events if one["database"] != first)
    with streaming(running.url, after=0, database=other) as events:
        (one,) = take(events, 1)
    assert (one["database"], one["episode"]["database"]) == (other, other)
    assert one["seq"] > 1, "the stream skips those of others"
    answer = httpx.get(running.url + PATH, params={"database": "nobody"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.slow
def test_streams_are_limited_to_a_hundred_and_places_are_freed(running: Running) -> None:
    with (
        httpx.Client(base_url=running.url, limits=httpx.Limits(max_connections=None), timeout=HANGS) as client,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(100):
            assert stack.enter_context(client.stream("GET", PATH)).status_code == 200
        answer = client.get(PATH)
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert "too many streams" in answer.json()["detail"] and answer.headers["retry-after"]
        assert len(client.get("/api/v1/databases").json()) == len(scenarios()), "streams cost no thread"

    def again() -> bool:
        with httpx.stream("GET", running.url + PATH, timeout=HANGS) as one:
            return one.status_code == 200

    running.wait(again)


@pytest.mark.slow
def test_sigterm_ends_streams_cleanly(running: Running) -> None:
    """The last test of this file that needs the demo, which it ends."""
    with streaming(running.url, after=0) as events:
        take(events, 1)
        running.process.send_signal(signal.SIGTERM)
        # A response that is cut off raises. Only an orderly end lets the loop finish.
        within(HANGS, lambda: list(events))
        running.process.wait(HANGS)
        assert "Cancel" not in running.log.read_text(), "the wait for the stream had an end"


def test_stream_needs_a_token(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"grafana read {hashlib.sha256(b'right').hexdigest()}\n", encoding="utf-8")
    settings = Settings(
        store=f"sqlite:///{tmp_path}/store.db",
        auth=AuthSettings(tokens_file=tokens),
        databases=[DatabaseSettings(name="demo", dsn="demo:undo-storm")],
    )
    app = Client(create_app(settings))
    assert app.get(PATH).status_code == 401
    app.app.state.feed.stop()  # a stream of an ended feed ends at once, so the test can read it here
    answer = app.get(PATH, headers={"authorization": "Bearer right"})
    assert (answer.status_code, answer.text) == (200, "retry: 3000\n\n")


@pytest.mark.parametrize(
    ("query", "asked", "status"),
    [*(("", asked, 422) for asked in ("yesterday", "-1", "9" * 20)), ("?database=nobody", "0", 404), ("", "0", 503)],
)
def test_stream_that_cannot_begin_is_a_problem(tmp_path: Path, query: str, asked: str, status: int) -> None:
    app = Client(create_app(Settings(store=f"sqlite:///{tmp_path}/store.db")))
    if status == 503:
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as file:
            file.execute("drop table episode_changes")
    answer = app.get(PATH + query, headers={"Last-Event-ID": asked})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert ("the store does not answer" in answer.json()["detail"]) == (status == 503)


class Wire:
    """The server's side of one request: what it sent, and a client that leaves or reads nothing on request."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.gone = asyncio.Event()
        self.jammed = False

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self.jammed:
            await asyncio.Event().wait()
        self.sent.append(message.get("body", b"").decode())

    async def until(self, words: str) -> None:
        async with asyncio.timeout(20):
            while not any(words in one for one in self.sent):
                await asyncio.sleep(0.01)


def serve(feed: EpisodeFeed, after: int, wire: Wire, database: str | None = None) -> "asyncio.Task[None]":
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "headers": []}
    return asyncio.create_task(EventStream(feed, after, database)(scope, wire.receive, wire.send))  # type: ignore[arg-type]


@pytest.fixture
def feed(store: Repository) -> Iterator[EpisodeFeed]:
    one = EpisodeFeed(store.episode_log)
    one.start()
    yield one
    one.stop()
    one.join(60)


def test_stream_fills_silence_and_sends_changes_at_once_of_one_database_if_wanted(
    store: Repository, feed: EpisodeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.02)
    changes = change(), change("end"), change(database="erp2")

    async def client() -> None:
        every, one = Wire(), Wire()
        tasks = [serve(feed, 0, every), serve(feed, 0, one, "erp2")]
        await every.until(": still here")
        threading.Thread(target=write, args=(store, *changes)).start()
        for wire, last in ((every, "id: 3"), (one, "id: 3")):
            await wire.until(last)
            wire.gone.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        numbers = [[sent.splitlines()[0] for sent in wire.sent if sent.startswith("id:")] for wire in (every, one)]
        assert numbers == [["id: 1", "id: 2", "id: 3"], ["id: 3"]]
        assert every.sent[1] == "retry: 3000\n\n" and any("event: end" in sent for sent in every.sent)
        assert not feed._listeners, "a client that leaves gives its place back"

    asyncio.run(client())


def test_stream_client_that_takes_nothing_loses_its_place_and_one_too_many_gets_none(
    store: Repository, feed: EpisodeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SEND_SECONDS", 0.05)

    async def client() -> None:
        wire = Wire()
        wire.jammed = True
        with contextlib.suppress(ClientDisconnect):
            await asyncio.wait_for(serve(feed, 0, wire), 10)
        assert not feed._listeners
        monkeypatch.setattr("service.notify.feed.MOST_LISTENERS", 0)
        with pytest.raises(HTTPException, match="too many streams") as refused:
            await serve(feed, 0, Wire())
        assert refused.value.status_code == 503 and refused.value.headers == {"Retry-After": "30"}

    asyncio.run(client())


def test_last_event_id_of_another_store_starts_from_the_newest(store: Repository) -> None:
    write(store, change())
    (route,) = streams(Board([]), EpisodeFeed(store.episode_log), Access(None)).routes
    for asked, after in ((None, 1), (0, 0), (1, 1), (4711, 1)):
        assert route.endpoint(database=None, last_event_id=asked)._after == after  # type: ignore[attr-defined]


def test_monitoring_reads_no_state_of_others_from_the_store(stage: Stage) -> None:
    """A store that hangs would hang the scrape, and four of those end all scrapes."""
    asked = list[object]()
    app = stage.app()
    stage.board.share(lambda elsewhere, whole: asked.append(elsewhere))
    stage["undo-storm"].owned = True
    asked.clear()
    for path in ("/metrics", "/healthz", "/probe?target=undo-storm"):
        assert app.get(path).status_code == 200 and asked == [], path
