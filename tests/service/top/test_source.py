"""Where figures come from: a service over HTTP with its errors in one sentence, and databases polled directly."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from service.client import ServiceClient, ServiceRefused, token_of
from service.config import load
from service.top.source import PolledDirectly, RunningService
from tests.oracle_standin.deadline import HANGS

ANSWERS = {
    "/api/v1/databases": (200, [{"name": "erp 1"}]),
    "/api/v1/causes/undo-segments": (200, {"id": "undo-segments"}),
    "/api/v1/databases/erp%201": (200, {"name": "erp 1"}),
    "/api/v1/databases/erp%201/diagnosis": (200, {"headline": "fine"}),
    "/api/v1/databases/erp%201/latches": (200, {"children": []}),
    "/api/v1/databases/erp%201/caches": (200, {"caches": []}),
    "/api/v1/moved": (302, "/api/v1/databases"),
    "/api/v1/databases/nobody": (404, {"detail": "no database named nobody; watched are: erp 1"}),
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("LATCHSCOPE_TOKEN", raising=False)


@contextmanager
def service() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers.get("authorization") == "Bearer mine"
            status, body = ANSWERS.get(self.path, (200, None)) if known else (401, {"detail": "no"})
            self.send_response(status)
            if status == 302:
                self.send_header("Location", str(body))
            self.end_headers()
            self.wfile.write(json.dumps(body).encode() if body is not None else b"<html>")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_service_is_asked_with_a_token_and_its_refusals_are_sentences() -> None:
    with service() as url:
        source = RunningService(ServiceClient(f"{url}/", "mine"))
        assert source.where == url.removeprefix("http://")
        assert source.fleet() == [{"name": "erp 1"}]
        assert source.database("erp 1").diagnosis == {"headline": "fine"}
        with pytest.raises(ServiceRefused, match="no database named nobody; watched are: erp 1") as refused:
            source.database("nobody")
        assert refused.value.status == 404
        with pytest.raises(
            ServiceRefused, match="needs a token: name a file with --token-file, or set LATCHSCOPE_TOKEN"
        ):
            RunningService(ServiceClient(url)).fleet()
        with pytest.raises(ServiceRefused, match="answers, but not as latchscope does"):
            ServiceClient(url, "mine").get("/other")
        with pytest.raises(
            ServiceRefused, match="redirects to another address \\(302\\); use that one, because a token is not sent on"
        ):
            ServiceClient(url, "mine").get("/moved")
    with pytest.raises(ServiceRefused, match=r"does not answer: Connection refused; is `latchscope serve` running\?"):
        source.fleet()
    with pytest.raises(ServiceRefused, match=r"is not the address of a service; write http://127\.0\.0\.1:8000"):
        ServiceClient("localhost:8000")


def test_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_of(None) is None
    monkeypatch.setenv("LATCHSCOPE_TOKEN", "of the environment")
    assert token_of(None) == "of the environment"
    file = tmp_path / "token"
    with pytest.raises(ServiceRefused, match="cannot be read: No such file"):
        token_of(file)
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(ServiceRefused, match="is empty"):
        token_of(file)
    file.write_text("mine\n", encoding="utf-8")
    assert token_of(file) == "mine"


def test_databases_are_polled_from_here_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = PolledDirectly(load.demo(["healthy-19c"], 0, "sqlite://", 0.2), "demo")
    try:
        until = time.monotonic() + HANGS
        while source.database("healthy-19c").diagnosis["basis"] is None and time.monotonic() < until:
            time.sleep(0.05)
        (only,) = source.fleet()
        assert (only["name"], only["severity"], only["up"]) == ("healthy-19c", "info", True)
        assert source.database("healthy-19c").caches["caches"]
        with pytest.raises(ServiceRefused, match="no database named nobody"):
            source.database("nobody")
    finally:
        source.close()
    assert list(tmp_path.iterdir()) == []
