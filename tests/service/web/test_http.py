"""HEAD answers as GET does, without a body. /metrics comes in gzip on request, and before polls."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from prometheus_client import Counter
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from starlette.types import Receive, Scope, Send

from service.metrics.exposition import exposition, own_registry
from service.web.http import ScrapesFirst
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Client, Stage


@pytest.fixture
def app(stage: Stage) -> Client:
    for moment in (10.0, 25.0):
        stage.poll("undo-storm", moment)
    return stage.app()


@pytest.mark.parametrize(
    "path", ["/metrics", "/probe?target=undo-storm", "/healthz", "/", "/db/undo-storm", "/api/v1/databases"]
)
def test_head_answers_as_get_without_a_body(path: str, app: Client) -> None:
    whole, head = app.get(path, headers={"accept-encoding": "identity"}), app.get(path, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert app.get("/db/another", "HEAD").status_code == 404


@pytest.mark.parametrize("path", ["/metrics", "/probe?target=undo-storm"])
def test_metrics_are_compressed_for_who_takes_it_and_plain_for_others(path: str, app: Client) -> None:
    plain = app.get(path, headers={"accept-encoding": "identity"})
    squeezed = app.get(path, headers={"accept-encoding": "gzip;q=1.0,identity;q=0.5"})
    assert "content-encoding" not in plain.headers and squeezed.headers["content-encoding"] == "gzip"
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert plain.headers["vary"] == squeezed.headers["vary"] == "Accept-Encoding"
    assert int(squeezed.headers["content-length"]) < len(plain.content) / 4
    assert int(plain.headers["content-length"]) == len(plain.content)
    assert 'latchscope_up{db="undo-storm"} 1' in squeezed.text
    names = [[line.rpartition(" ")[0] for line in answer.text.splitlines()] for answer in (plain, squeezed)]
    assert names[0] == names[1] and len(names[0]) > 100, "the same samples, whose values are of another moment"
    for refused in ("gzip;q=0", "identity", "br"):
        assert "content-encoding" not in app.get(path, headers={"accept-encoding": refused}).headers


def test_openmetrics_names_units_and_no_page_has_the_begin_of_counters(app: Client) -> None:
    text = app.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"}).text
    for family in ("latch_wait_seconds", "data_age_seconds", "impact_ratio"):
        assert f"# UNIT latchscope_{family} {family.rpartition('_')[2]}\n" in text
    assert "# UNIT" not in app.get("/metrics").text
    registry = own_registry()
    Counter("latchscope_example", "An example.", registry=registry)
    for accept in ("", "application/openmetrics-text; version=1.0.0"):
        page, _ = exposition([], registry, accept)
        assert b"latchscope_example_total 0.0" in page and b"_created" not in page


@pytest.mark.parametrize(("path", "expected"), [("/metrics", [True]), ("/api/v1/databases", [False])])
def test_scrape_alone_goes_before_polls_and_its_end_is_told(path: str, expected: list[bool]) -> None:
    ahead, seen, scraped = [False], [], []

    @contextmanager
    def first() -> Iterator[None]:
        ahead[0] = True
        yield
        ahead[0] = False

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(ahead[0])

    first_of_all = ScrapesFirst(app, first, lambda: scraped.append(ahead[0]))
    asyncio.run(first_of_all({"type": "http", "path": path}, None, None))  # type: ignore[arg-type]
    assert (seen, ahead) == (expected, [False])
    assert scraped == [False] * sum(expected), "polls stand back no longer when the collection is planned"


CALLERS = 60
OUTSIDE = {
    "/healthz": 200,
    "/metrics": 200,
    "/probe?target=undo-storm": 200,
    "/probe?target=nobody": 404,
    "/readyz": 503,
}


async def crowded(app: FastAPI, told: Event) -> tuple[dict[str, int], set[int]]:
    """The answers to monitoring while the crowd waits for the store, and the crowd's answers in the end."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", timeout=None) as client:
        threads, answers = current_default_thread_limiter(), {}
        crowd = [asyncio.create_task(client.get("/api/v1/databases/undo-storm/episodes")) for _ in range(CALLERS)]
        in_line = CALLERS - int(threads.total_tokens)
        while threads.statistics().tasks_waiting < in_line:
            await asyncio.sleep(0.01)
        for path in OUTSIDE:
            asked = asyncio.create_task(client.get(path))
            while not asked.done() and threads.statistics().tasks_waiting == in_line:
                await asyncio.sleep(0.01)
            answers[path] = asked.result().status_code if asked.done() else 0
        told.set()
        return answers, {each.status_code for each in await asyncio.gather(*crowd)}


def test_monitoring_waits_for_nobody_who_waits_for_the_store(still: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Event()

    def hangs(engine: Engine) -> None:
        told.wait(HANGS)
        raise OperationalError("select", {}, ConnectionError("it was frozen"))

    app = still.app().app
    monkeypatch.setattr(Engine, "connect", hangs)
    try:
        answers, crowd = asyncio.run(asyncio.wait_for(crowded(app, told), HANGS))
    finally:
        told.set()
    assert (answers, crowd) == (OUTSIDE, {503})
