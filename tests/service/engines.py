"""Real engines in a separate folder that scrape what a test provides, and a server with the answers of a test."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Thread
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from service import cells as cells_
from service.cells import Engine, EngineSample

RULES = Path(__file__).parents[2] / "dashboards" / "prometheus" / "cells.yml"
PROGRAMS = ("prometheus", "victoria-metrics")
Answer = tuple[int, bytes]


class WithoutRules(Engine):
    """An engine without the rules."""

    def instant(self, query: str, deadline: float) -> list[EngineSample]:
        return [] if query == cells_.RECORDED else super().instant(query, deadline)


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], Answer]) -> Iterator[str]:
    """A server on this machine; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # the server finishes pending answers first
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def engine(program: str, folder: Path, cells: Mapping[str, str], *, ruled: bool = False) -> Iterator[str]:
    """An engine that has scraped the metrics of these cells, `ruled` with the shipped rules for many cells.

    Yields its address.
    """
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (Debian package {program})")
    with serving(lambda asked: (200, cells[asked.path.strip("/")].encode())) as target:
        jobs = [
            {
                "job_name": cell,
                "honor_labels": True,
                "scrape_interval": "1s",
                "metrics_path": f"/{cell}",
                "static_configs": [{"targets": [target.removeprefix("http://")], "labels": {"cell": cell}}],
            }
            for cell in cells
        ]
        config, rules, port = folder / "scrape.yml", folder / "rules.yml", free_port()
        rules.write_text(RULES.read_text(encoding="utf-8").replace("interval: 30s", "interval: 1s"))
        files = {"rule_files": [str(rules)]} if ruled and program == "prometheus" else {}
        config.write_text(json.dumps({"scrape_configs": jobs} | files))
        if program == "prometheus":
            words = [
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ]
        else:
            words = [
                f"-promscrape.config={config}",
                f"-storageDataPath={folder}/data",
                f"-httpListenAddr=127.0.0.1:{port}",
            ]
            words += ["-search.latencyOffset=0s"]
        url = f"http://127.0.0.1:{port}"
        with _running([program, *words], folder / "log") as process:
            _has(process, url, f"count(count by (cell) (latchscope_up)) == {len(cells)}", folder / "log")
            if not ruled:
                yield url
                return
            # A query a second later sees everything scraped until now, and the rules run after that.
            counted = f"fleet:latchscope_counted:time > {time.time() + 1}"
            if program == "prometheus":
                _has(process, url, counted, folder / "log")
                yield url
                return
            with vmalert(url, rules, folder) as evaluating:
                _has(evaluating, url, counted, folder / "vmalert.log")
                yield url


@contextmanager
def vmalert(url: str, rules: Path, folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Evaluates rules on a VictoriaMetrics, which has no rules of its own."""
    if shutil.which("vmalert") is None:
        pytest.skip("vmalert is not installed (Debian package victoria-metrics)")
    words = ["vmalert", f"-rule={rules}", f"-datasource.url={url}", f"-remoteWrite.url={url}"]
    words += [f"-httpListenAddr=127.0.0.1:{free_port()}", "-remoteWrite.flushInterval=200ms"]
    with _running(words, folder / "vmalert.log") as process:
        yield process


def free_port() -> int:
    """A port without a listener."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _running(words: Sequence[str], file: Path) -> "Iterator[subprocess.Popen[bytes]]":
    with file.open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _has(process: "subprocess.Popen[bytes]", url: str, query: str, log: Path) -> None:
    """Wait until the engine answers this query."""
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"{url}/api/v1/query?{urlencode({'query': query})}", timeout=5) as answer:
                if json.load(answer)["data"]["result"]:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{query} has no answer: {log.read_text()}")
