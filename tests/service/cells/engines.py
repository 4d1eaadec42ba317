"""Real engines on a folder of their own, that scrape what a test says; and a server that answers as a test wants."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Thread
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

PROGRAMS = ("prometheus", "victoria-metrics")
Answer = tuple[int, bytes]


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
    server.daemon_threads = False  # what is being answered is waited for
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def engine(program: str, folder: Path, cells: Mapping[str, str]) -> Iterator[str]:
    """An engine that has scraped the metrics of these cells; its address."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
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
        config = folder / "scrape.yml"
        config.write_text(json.dumps({"scrape_configs": jobs}))
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
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
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([program, *words], stdout=log, stderr=log)
        try:
            _has(process, f"http://127.0.0.1:{port}", len(cells), folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _has(process: "subprocess.Popen[bytes]", url: str, cells: int, log: Path) -> None:
    """Wait until every cell was scraped."""
    query = urlencode({"query": "count(count by (cell) (latchscope_up))"})
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"{url}/api/v1/query?{query}", timeout=5) as answer:
                result = json.load(answer)["data"]["result"]
            if result and int(float(result[0]["value"][1])) == cells:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"nothing was scraped: {log.read_text()}")
