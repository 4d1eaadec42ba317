"""Errors outside any route: a system without free threads gives one line in the log, and an answer."""

import pytest

from tests.service.stage import Stage


def test_lack_of_threads_is_answered_and_said_once(
    still: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    client = still.app()
    monkeypatch.setattr("anyio._backends._asyncio.WorkerThread.start", refuse)
    answers = [client.get("/api/v1/databases") for _ in range(3)]
    assert [each.status_code for each in answers] == [503, 503, 503], answers[0].text
    assert answers[0].json()["detail"] == "No thread is left for this request; try again later."
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) == 1 and "Traceback" not in caplog.text
