"""Clients that are slow, many or rude: each has a time limit, and the others get their answers in the meantime."""

import asyncio
import logging
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from service.store import engine as engine_
from service.web import server
from service.web import server as module
from service.web.server import PatientProtocol, Server, provide_descriptors
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Stage
from tests.service.standin import becomes

LARGE = 64 * 2**20
"""More than the buffers of two sockets hold."""


class App:
    """Answers /large with much, /wait after a signal, /refused without its body, all else at once. Counts its requests."""

    def __init__(self) -> None:
        self.state = SimpleNamespace(feed=SimpleNamespace(stop=lambda: None))
        self.let = threading.Event()
        self.asked: list[str] = []
        self.received = 0
        self.peer = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.asked.append(scope["path"])
        self.peer = scope["client"][0]
        while scope["path"] != "/refused":
            message = await receive()
            self.received += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        if scope["path"] == "/wait":
            while not self.let.is_set():
                await asyncio.sleep(0.01)
        body = bytes(LARGE) if scope["path"] == "/large" else b"here"
        length = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def port(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(module, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(module, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(app)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
    thread.start()
    becomes(lambda: server.started, "the server listens")
    yield listener.getsockname()[1]
    app.let.set()
    server.should_exit = True
    thread.join(HANGS)
    assert not thread.is_alive()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=HANGS)


def ended(connection: socket.socket) -> bool:
    """Whether the other side ends the connection sooner or later. Its remaining bytes are read."""
    with suppress(ConnectionError):
        while connection.recv(65536):
            pass
    return True


def answered(port: int) -> bool:
    with closing(connected(port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return b"200 OK" in connection.recv(4096)


def answer_of(connection: socket.socket) -> bool:
    """Whether the next answer is good. It is read to its end."""
    read = b""
    while not read.endswith(b"here") and (some := connection.recv(4096)):
        read += some
    return read.startswith(b"HTTP/1.1 200 OK") and read.endswith(b"here")


def dripping(connection: socket.socket, text: bytes) -> bool:
    """Whether sending fails, byte after byte, long after every time limit."""
    pause = threading.Event()
    try:
        for byte in text * 1000:
            connection.sendall(bytes([byte]))
            if pause.wait(0.05):
                break
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize(
    "begins",
    [
        b"GET / HTTP/1.1\r\n",
        pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", marks=pytest.mark.slow),
    ],
)
def test_head_or_body_that_drips_in_is_cut_off(port: int, app: App, begins: bytes) -> None:
    with closing(connected(port)) as silent, closing(connected(port)) as connection:
        connection.sendall(begins)
        assert dripping(connection, b"a"), "the connection is ended"
        assert ended(silent), "and one that says nothing"
    assert (app.asked == []) == begins.startswith(b"GET") and answered(port)


def test_connection_is_kept_for_the_next_request_and_no_longer(port: int, app: App) -> None:
    with closing(connected(port)) as connection:
        for _ in range(2):
            connection.sendall(b"GET /again HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_of(connection)
        connection.sendall(b"GET /half HTTP/1.1\r\n")
        assert ended(connection)
    assert app.asked == ["/again", "/again"]


def test_refused_sender_reads_the_answer_and_cannot_go_on(port: int, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the answer is dropped up to a bound, so that the answer is not lost to a reset."""
    monkeypatch.setattr(module, "HEADER_SECONDS", HANGS)
    monkeypatch.setattr(module, "MOST_LEFT_OVER", 2**20)
    with closing(connected(port)) as connection:
        connection.sendall(b"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 600000\r\n\r\n" + bytes(600_000))
        assert answer_of(connection)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer_of(connection), "the rest is dropped, and the connection serves the next request"
        connection.sendall(b"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n")
        assert answer_of(connection)
        with pytest.raises(ConnectionError):
            connection.sendall(bytes(LARGE))
    assert app.asked == ["/refused", "/", "/refused"] and app.received == 0 and answered(port)


@pytest.mark.slow
def test_answer_that_nobody_takes_is_given_up(port: int) -> None:
    with closing(connected(port)) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        becomes(lambda: _cut(connection), "the connection is ended although nothing was read")


def _cut(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"x")
    except ConnectionError:
        return True
    return False


def test_work_that_takes_long_is_not_cut_off(port: int, app: App) -> None:
    with closing(connected(port)) as connection:
        connection.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        becomes(lambda: app.asked == ["/wait"], "it was asked")
        threading.Timer(3 * module.HEADER_SECONDS, app.let.set).start()
        assert b"200 OK" in connection.recv(4096)


def test_whoever_idles_makes_room_for_others(port: int, monkeypatch: pytest.MonkeyPatch, app: App) -> None:
    monkeypatch.setattr(module, "HEADER_SECONDS", HANGS)
    monkeypatch.setattr(PatientProtocol, "most_connections", 5)
    idle = [connected(port) for _ in range(40)]
    assert answered(port)
    assert all(ended(each) for each in idle[:30]), "the first has waited the longest"
    for each in idle:
        each.close()


def test_connections_beyond_what_is_served_are_refused(port: int, monkeypatch: pytest.MonkeyPatch, app: App) -> None:
    monkeypatch.setattr(PatientProtocol, "most_connections", 2)
    busy = [connected(port) for _ in range(2)]
    for each in busy:
        each.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
    becomes(lambda: len(app.asked) == 2, "both are asked")
    with closing(connected(port)) as more:
        assert ended(more)
    app.let.set()
    for each in busy:
        assert b"200 OK" in each.recv(4096), "a request in progress runs to its end"
        each.close()


@pytest.mark.parametrize(
    "rude", [b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"]
)
def test_rude_clients_write_nothing_into_the_log(port: int, rude: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with closing(connected(port)) as connection:
        connection.sendall(rude + b"\r\n\r\n")
        assert ended(connection)
    assert answered(port)
    assert [each.message for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_lack_of_descriptors_is_said_once(app: App, caplog: pytest.LogCaptureFixture) -> None:
    server, loop = Server(app), asyncio.new_event_loop()
    for _ in range(1000):
        server._loop_failed(loop, {"message": "socket.accept() out of system resource", "exception": OSError(24, "x")})
    server._loop_failed(loop, {"message": "something else"})
    loop.close()
    assert len(caplog.records) == 2
    assert "no file descriptor is left" in caplog.records[0].message and "something else" in caplog.records[1].message


@pytest.mark.parametrize(
    ("limits", "connections", "raised", "said"),
    [
        ((1024, 1048576), 500, 4096, False),
        ((65536, 65536), 500, None, False),
        ((256, 256), 10, None, True),
        ((512, 600), 307, 600, True),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 500, None, False),
    ],
)
def test_low_limit_of_descriptors_is_raised_or_said(
    limits: tuple[int, int],
    connections: int,
    raised: int | None,
    said: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    given: list[int] = []
    monkeypatch.setattr(PatientProtocol, "most_connections", 0)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: given.append(pair[0]))
    provide_descriptors(5)
    assert PatientProtocol.most_connections == connections
    assert given == ([] if raised is None else [raised])
    assert ("raise" in caplog.text or "set the limit" in caplog.text) is said


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

        def ask(method: str, path: str) -> "asyncio.Task[httpx.Response]":
            headers = {"accept": "text/html" if path == PAGE else "application/json", "origin": HOME}
            sent = {"text": "undo tablespace recreated"} if method == "POST" else None
            return asyncio.create_task(client.request(method, path, headers=headers, json=sent))

        crowd = [ask(method, path) for method, path, _ in ASKED * threads]
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

    monkeypatch.setattr(server, "STORE_SECONDS", 0.05)
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    app = still.app().app
    monkeypatch.setattr(Engine, "connect", hangs)
    monkeypatch.setattr(engine_, "PATIENCE", 0.05)
    try:
        answers, threads = asyncio.run(crowded(app, told))
    finally:
        told.set()
    assert [answer and answer.status_code for answer in answers] == [503] * len(answers)
    for (method, path, said), answer in zip(ASKED * threads, answers, strict=True):
        assert answer is not None and answer.headers["retry-after"] == "30", (method, path)
        assert said in (answer.text if path == PAGE else answer.json()["detail"]), (method, path)
    assert next(tried) <= threads + 2, "one that was refused in line ran later"


@pytest.fixture
def _environment_that_trusts_every_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")


@pytest.mark.usefixtures("_environment_that_trusts_every_proxy")
def test_caller_does_not_choose_the_address_that_a_request_comes_from(app: App, port: int) -> None:
    """A proxy adds the true address at the end. What stands before it comes from the caller."""
    for said, peer in (("127.0.0.1, 192.0.2.7", "192.0.2.7"), ("192.0.2.7, 127.0.0.1", "192.0.2.7"), ("", "127.0.0.1")):
        httpx.get(f"http://127.0.0.1:{port}/", headers={"x-forwarded-for": said} if said else {}, timeout=HANGS)
        assert app.peer == peer, said
