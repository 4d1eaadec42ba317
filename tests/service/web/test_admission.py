"""Admission: of every route that is not a mere read, no body is read before Host, token, role and size are checked."""

import asyncio
import inspect
import os
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from starlette.routing import BaseRoute, Mount

from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, ReportSettings, Settings
from service.web.access import MOST_BODY, READS, Access, Admission, most_body
from service.web.schemas import Problem
from tests.oracle_standin.deadline import HANGS
from tests.service.running import serve
from tests.service.stage import Client
from tests.service.web.test_access import LOOPBACK, OPERATE, READ, bearer, digest

CHUNK = 4096
MOST_READ = 64 * 2**20
"""An address that reads more of an endless body would take all memory of the machine, so the test stops it here."""
FILE = b'--y\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
OF_STRANGERS = {"/sign-in", "/sign-out"}
"""Whoever signs in has no cookie yet."""
Told = tuple[int, dict[str, str], bytes, int]
"""Status, headers and body of an answer, and bytes of the request's body that were read for it."""


def app_of(folder: Path, tokens: str | None) -> Client:
    file = folder / "tokens"
    if tokens:
        file.write_text(tokens, encoding="utf-8")
    settings = Settings(
        store=f"sqlite:///{folder}/store.db",
        auth=AuthSettings(tokens_file=file if tokens else None),
        reports=ReportSettings(max_bytes=1024),
        databases=[DatabaseSettings(name="demo", dsn="demo:busy-but-fine")],
    )
    return Client(create_app(settings))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """With tokens."""
    lines = f"grafana read {digest(READ)}\nnight-shift operate {digest(OPERATE)}\n"
    app = app_of(tmp_path_factory.mktemp("guarded"), lines).app
    yield app
    app.state.close()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """Without tokens, on loopback."""
    app = app_of(tmp_path_factory.mktemp("local"), None).app
    yield app
    app.state.close()


def takers(app: FastAPI) -> list[tuple[str, str, int]]:
    """Method, path and limit of each route of REST and pages that may take a body."""
    found = [
        (method, path, most_body(route))
        for route in app.router.routes
        if (path := getattr(route, "path", None)) and not path.startswith(("/static", "/docs"))
        for method in sorted((getattr(route, "methods", None) or set()) - READS)
    ]
    assert len(found) > 12
    return found


def every_address(app: FastAPI) -> dict[str, list[BaseRoute]]:
    """Path → its routes: those of the OpenAPI document, of the pages and of files, and some that are none's."""
    found: dict[str, list[BaseRoute]] = {
        each: [] for each in ("/nothing", "/api/v1/nothing", "/healthz/", "//", "/db/")
    }
    for route in app.router.routes:
        path = getattr(route, "path", "")
        found.setdefault(f"{path}/nothing" if isinstance(route, Mount) else path, []).append(route)
    assert set(app.openapi()["paths"]) < set(found) and {"/", "/sign-in", "/static/nothing", "/docs/nothing"} < set(
        found
    )
    return found


def ask(app: Any, method: str, path: str, headers: dict[str, str], size: int | None = None) -> Told:
    """The answer to a request with an endless body of blanks, in a file if it is an upload, or one of `size` bytes."""
    place = re.sub(r"{[^}]+}", "x", path.replace("{db}", "demo").replace("{id}", "0" * 64))
    read, sent = 0, list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        nonlocal read
        head = b"" if read or not path.endswith("/reports") else FILE
        some = head + b" " * (CHUNK if size is None else min(CHUNK, size - read))
        read += len(some)
        assert read < MOST_READ, f"{method} {path} reads on and on"
        return {"type": "http.request", "body": some, "more_body": size is None or read < size}

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in {**LOOPBACK, **headers}.items()]
    scope = {"type": "http", "method": method, "path": place, "raw_path": place.encode(), "query_string": b"", "headers": given, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 9), "root_path": ""}  # fmt: skip # noqa: E501
    asyncio.run(app(scope, receive, send))
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(one.get("body", b"") for one in sent[1:]), read


def media(path: str) -> dict[str, str]:
    """What a sender of this address says that its body is."""
    if path.endswith("/reports"):
        return {"content-type": "multipart/form-data; boundary=y"}
    return {"content-type": "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"}


def test_every_documented_operation_with_a_body_is_among_the_tested(guarded: FastAPI) -> None:
    tested = {(method, path) for method, path, _ in takers(guarded)}
    documented = {
        (method.upper(), path)
        for path, methods in guarded.openapi()["paths"].items()
        for method, operation in methods.items()
        if method != "get" or "requestBody" in operation
    }
    assert len(documented) >= 7 and documented <= tested


def test_stranger_is_refused_before_the_body_is_read(guarded: FastAPI) -> None:
    for method, path, _ in takers(guarded):
        if path not in OF_STRANGERS:
            status, headers, body, read = ask(guarded, method, path, media(path))
            assert (status, read) == (401, 0), (method, path, body)
            assert "www-authenticate" in headers and Problem.model_validate_json(body).status == 401
            claimed = ask(guarded, method, path, media(path) | {"content-length": str(3 * 10**8)})
            assert (claimed[0], claimed[3]) == (401, 0), "who asks is checked before how much they send"


def test_reader_is_refused_before_the_body_of_an_action_is_read(guarded: FastAPI) -> None:
    for method, path, _ in takers(guarded):
        if path not in OF_STRANGERS:
            status, _, body, read = ask(guarded, method, path, bearer(READ) | media(path))
            assert (status, read) == (403, 0), (method, path, body)


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}]
)
def test_foreign_page_is_refused_before_the_body_is_read(local: FastAPI, headers: dict[str, str]) -> None:
    for method, path, _ in takers(local):
        status, _, body, read = ask(local, method, path, media(path) | headers)
        assert (status, read) == (403, 0), (method, path, body)


def test_request_that_says_it_is_too_large_is_refused_unread(guarded: FastAPI) -> None:
    for method, path, most in takers(guarded):
        said = bearer(OPERATE) | media(path) | {"content-length": str(most + 1)}
        status, headers, body, read = ask(guarded, method, path, said)
        assert (status, read, headers["content-type"]) == (413, 0, "application/problem+json"), (method, path, body)
        problem = Problem.model_validate_json(body)
        assert (problem.type, problem.status) == ("/docs/problems/too-large", 413)
        assert f"{most:,} bytes" in problem.detail and "send less at a time" in problem.detail


@pytest.mark.parametrize("lie", [{}, {"content-length": "2"}, {"content-length": "-1"}, {"content-length": "\u0661"}])
def test_request_that_does_not_say_its_size_is_read_up_to_the_limit(guarded: FastAPI, lie: dict[str, str]) -> None:
    refused = set[str]()
    longest = CHUNK + len(FILE)
    for method, path, most in takers(guarded):
        status, _, body, read = ask(guarded, method, path, bearer(OPERATE) | media(path) | lie)
        assert read <= most + longest, (method, path, body)
        if read:
            assert status == 413 and Problem.model_validate_json(body).type == "/docs/problems/too-large", (path, body)
            refused.add(path)
    assert {"/sign-in", "/reports", "/api/v1/reports", "/db/{db}/marks", "/db/{db}/confirmations"} <= refused
    assert {f"/api/v1/databases/{{db}}/{name}" for name in ("marks", "holders", "confirmations")} <= refused


@pytest.mark.parametrize("headers", [{}, bearer(READ), bearer(OPERATE)], ids=["nobody", "reader", "operator"])
def test_no_address_reads_more_than_a_chunk_of_a_body_that_it_does_not_take(
    guarded: FastAPI, headers: dict[str, str]
) -> None:
    """With any method, and also where the answer is that there is nothing, or that the method is wrong."""
    taken = {(method, path): most for method, path, most in takers(guarded)}
    answers = Counter[int]()
    for path, routes in every_address(guarded).items():
        allowed = {method for route in routes for method in getattr(route, "methods", None) or ()}
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"):
            status, _, body, read = ask(guarded, method, path, headers | media(path))
            may = headers == bearer(OPERATE) or path in OF_STRANGERS
            most = taken.get((method, path), 0) + len(FILE) if may else 0
            if path.endswith("/stream"):
                most = MOST_BODY  # it listens for the end of its client
            assert read <= most + CHUNK, (method, path, status, body[:200])
            assert status < 500 and (not routes or allowed or status in (401, 404, 405)), (method, path, body[:200])
            answers[status] += 1
    assert answers[404] >= 20 and answers[405] >= 200, answers


def test_stream_ends_for_a_client_that_goes_on_sending(guarded: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    status, _, body, read = ask(guarded, "GET", "/api/v1/episodes/stream", bearer(READ))
    assert (status, body[:6]) == (200, b"retry:") and read <= MOST_BODY + CHUNK
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_no_route_takes_an_address(guarded: FastAPI) -> None:
    document = guarded.openapi()
    given = [
        each["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for each in operation.get("parameters", ())
    ]
    bodies = re.findall(r"'requestBody': .*?'\$ref': '#/components/schemas/(\w+)'", str(document["paths"]))
    given += [name for body in bodies for name in document["components"]["schemas"][body]["properties"]]
    assert {"db", "target", "text"} <= set(given)
    assert not [name for name in given if re.search("ur[il]|host|dsn|addr|server|port|proxy", name, re.IGNORECASE)]
    for target in ("127.0.0.1:1521/x", "http://127.0.0.1/", "demo:undo-storm", "//192.0.2.1"):
        told = Client(guarded).get("/probe", headers=bearer(READ), params={"target": target})
        assert told.status_code == 404 and "a target is a name, not an address" in told.json()["detail"]


def test_body_up_to_the_limit_reaches_its_route(guarded: FastAPI) -> None:
    status, _, body, read = ask(guarded, "POST", "/api/v1/databases/{db}/holders", bearer(OPERATE), MOST_BODY)
    assert (status, read) == (422, MOST_BODY), body


def test_browser_is_told_on_a_page(guarded: FastAPI) -> None:
    said = bearer(OPERATE) | {"accept": "text/html", "content-length": "9000"}
    status, headers, body, _ = ask(guarded, "POST", "/db/{db}/marks", said)
    assert status == 413 and headers["content-type"].startswith("text/html") and b"8,192 bytes" in body


def test_route_that_declares_no_rule_is_for_operators_unless_it_reads() -> None:
    """Whoever forgets the rule of a new route opens nothing."""
    app = FastAPI()
    app.post("/new")(lambda body: body)
    app.get("/open")(lambda: "here")
    lacking = Access({digest(READ): None})  # type: ignore[dict-item]

    def refused(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse(error.detail, error.status_code)

    app.add_middleware(Admission, access=lacking, routes=app.router.routes, refused=refused)
    assert ask(app, "POST", "/new", {})[::3] == (401, 0)
    assert ask(app, "GET", "/open", {})[0] == 200


def test_admission_heeds_every_rule_that_routes_can_declare() -> None:
    declarable = {
        name for name, kind in inspect.getmembers(Access, inspect.iscoroutinefunction) if not name.startswith("_")
    }
    assert declarable == {"reader", "operator", "own_page"}, "a new rule also belongs into rule_of"


BODIES, SIZE = 6, 300 * 10**6
MOST_GROWTH = 32 * 2**20
"""Bytes of memory for all of them. One body that is kept takes ten times as much."""


@pytest.mark.soak
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
@pytest.mark.parametrize("token", [None, OPERATE], ids=["stranger", "operator"])
def test_bodies_of_300_mb_leave_no_memory_behind(tmp_path: Path, token: str | None, declared: bool) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"night-shift operate {digest(OPERATE)}\n", encoding="utf-8")
    databases = [{"name": "demo", "dsn": "demo:busy-but-fine"}]
    with serve(tmp_path, databases=databases, auth={"tokens_file": str(file)}, fresh=True) as running:
        assert oversized(running.url, token, declared=declared) <= {
            b"401",
            b"413",
            b"",
        }  # what is loaded once is loaded
        before, answers = resident(running.process.pid), set[bytes]()
        for _ in range(BODIES):
            answers |= oversized(running.url, token, declared=declared)
        after = resident(running.process.pid)
    print(f"{BODIES} bodies of 300 MB: {before >> 20} MiB before, {after >> 20} after, answers {answers}")  # noqa: T201  figures for `make soak`
    assert (b"413" if token else b"401") in answers and after - before < MOST_GROWTH


def oversized(url: str, token: str | None, *, declared: bool) -> set[bytes]:
    """The statuses for one body of blanks to each of two routes. Empty if the service hung up before they were read."""
    host, port = url.removeprefix("http://").split(":")
    found = set[bytes]()
    for path in ("/api/v1/databases/demo/holders", "/api/v1/databases/demo/marks"):
        who = f"Authorization: Bearer {token}\r\n" if token else ""
        length = f"Content-Length: {SIZE}" if declared else "Transfer-Encoding: chunked"
        head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{who}Content-Type: application/json\r\n{length}\r\n\r\n"
        part = b" " * 2**16 if declared else b"10000\r\n" + b" " * 2**16 + b"\r\n"
        with socket.create_connection((host, int(port)), timeout=HANGS) as sender:
            sender.sendall(head.encode())
            with suppress(ConnectionError):
                for _ in range(SIZE // 2**16):
                    sender.sendall(part)
            with suppress(ConnectionError):
                found.add(sender.recv(4096)[9:12])
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
