"""A page, a question and a POST are answered while the store hangs, and none that is refused in line is carried out later."""

import asyncio
from itertools import count
from threading import Event

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from service.store import probe
from service.web import patience
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Stage

HOME = "http://127.0.0.1:8000"
PAGE = "/db/undo-storm/history"
MARKS = "/api/v1/databases/undo-storm/marks"
ASKED = (
    ("GET", "/api/v1/databases/undo-storm/episodes", "Polls go on and wait for it; try again later."),
    ("GET", PAGE, "Polls go on and wait for it; try again later."),
    ("POST", MARKS, "What you sent may still be carried out: look before you send it again."),
)


async def crowded(app: FastAPI, told: Event) -> tuple[list[httpx.Response | None], int]:
    """The answers to more requests than there are threads while the store hangs, and how many threads there are."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=HOME, timeout=None) as client:
        threads = int(current_default_thread_limiter().total_tokens)
        crowd = [
            asyncio.create_task(
                client.request(
                    method,
                    path,
                    headers={"accept": "text/html" if path == PAGE else "application/json", "origin": HOME},
                    json={"text": "undo tablespace recreated"} if method == "POST" else None,
                )
            )
            for _ in range(threads)
            for method, path, _ in ASKED
        ]
        await asyncio.wait(crowd, timeout=HANGS)
        answers = [each.result() if each.done() else None for each in crowd]
        told.set()
        while current_default_thread_limiter().borrowed_tokens:
            await asyncio.sleep(0.01)
        return answers, threads


def test_nobody_waits_for_a_store_that_hangs(still: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    told, tried = Event(), count()

    def hangs(engine: Engine) -> None:
        next(tried)
        told.wait()
        raise OperationalError("select", {}, ConnectionError("it was frozen"))

    monkeypatch.setattr(patience, "STORE_SECONDS", 0.05)
    monkeypatch.setattr(patience, "PATIENCE", 0.05)
    app = still.app().app
    monkeypatch.setattr(Engine, "connect", hangs)
    monkeypatch.setattr(probe, "PATIENCE", 0.05)
    try:
        answers, threads = asyncio.run(crowded(app, told))
    finally:
        told.set()
    assert [answer and answer.status_code for answer in answers] == [503] * len(answers)
    for (method, path, said), answer in zip(ASKED * threads, answers, strict=True):
        assert answer is not None and answer.headers["retry-after"] == "30", (method, path)
        assert said in (answer.text if path == PAGE else answer.json()["detail"]), (method, path)
    assert next(tried) <= threads + 2, "one that was refused in line ran later"
