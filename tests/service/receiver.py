"""A receiver of webhooks on loopback. It fails as often as a test asks, and remembers everything."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.oracle_standin.deadline import HANGS


@dataclass
class Receiver:
    """The requests, and the answers: the codes of `answers` in turn, then 204. `said` is the body. 0 hangs up without an
    answer.
    """

    url: str = ""
    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    said: bytes = b""
    asked: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, asked: int = 0, taken: int = 0, seconds: float = HANGS) -> None:
        """Wait until this many requests came and this many were accepted, or fail with a list of the requests."""
        with self.changed:
            done = self.changed.wait_for(lambda: len(self.asked) >= asked and len(self.taken) >= taken, seconds)
        assert done, f"{len(self.asked)} of {asked} asked, {len(self.taken)} of {taken} taken after {seconds:g} s"

    def take(self, headers: dict[str, str], body: bytes) -> int:
        """The answer to one request."""
        with self.changed:
            answer = self.answers.pop(0) if self.answers else 204
            self.asked.append((headers, body))
            if answer == 204:
                self.taken.append(json.loads(body or b"{}"))
            self.changed.notify_all()
            return answer


Answer = tuple[int, Mapping[str, str], bytes]


@contextmanager
def http_server(answer: Callable[[str, dict[str, str], bytes], Answer | None]) -> Iterator[str]:
    """The address of a server on loopback. Path, headers and body of a request give status, headers and body; None hangs up."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = answer(self.path, headers, self.rfile.read(int(headers.get("content-length", 0))))
            if found is None:
                self.close_connection = True
                return
            status, more, body = found
            self.send_response(status)
            for name, value in (*more.items(), ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815  a redirect that is followed comes as a GET, and counts

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(60)


@contextmanager
def receiver(*answers: int) -> Iterator[Receiver]:
    """A receiver on a free port, for the length of the block."""
    one = Receiver(answers=list(answers))

    def take(_: str, headers: dict[str, str], body: bytes) -> Answer | None:
        status = one.take(headers, body)
        return (status, one.headers, one.said) if status else None

    with http_server(take) as address:
        one.url = f"{address}/hook/of-a-secret-path"
        yield one
