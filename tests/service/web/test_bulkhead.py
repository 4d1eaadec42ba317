"""Monitoring gets its answers while every other thread waits for the store."""

import asyncio
from threading import Event

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Stage

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
