"""Drives a headless Chromium through its debugging pipe: no driver, no port, nothing to install beside the browser."""

import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.oracle_standin.deadline import HANGS

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
    "--remote-debugging-pipe",
)


class Chromium:
    """One browser with one page. `complaints` gathers what its console and its policy objected to."""

    def __init__(self, binary: str, seconds: float = HANGS) -> None:
        self._seconds = seconds
        self._folder = tempfile.TemporaryDirectory(prefix="latchscope-chromium-", ignore_cleanup_errors=True)
        read_by_it, self._to = os.pipe()
        self._from, written_by_it = os.pipe()
        command = [binary, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        # The browser reads commands from descriptor 3 and writes to 4, whatever numbers the pipes have here.
        shell = f'exec "$@" 3<&{read_by_it} 4>&{written_by_it}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *command],
            pass_fds=(read_by_it, written_by_it),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(read_by_it)
        os.close(written_by_it)
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.events: list[dict[str, Any]] = []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """A command of the DevTools protocol, and its result."""
        self._last += 1
        message: dict[str, object] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self._seconds
        while True:
            told = self._next(until)
            if told.get("id") == self._last:
                assert "error" not in told, told["error"]
                result: dict[str, Any] = told["result"]
                return result

    def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression on the page; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def click(self, selector: str) -> None:
        """Click an element and wait until the page it leads to is loaded."""
        self.events.clear()
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait_for("Page.loadEventFired")

    def choose(self, selector: str, file: Path) -> None:
        """Choose a file in a file input, as its reader would in the dialogue."""
        node = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")
        self.call("DOM.setFileInputFiles", files=[str(file)], objectId=node["result"]["objectId"])

    def until(self, script: str, seconds: float = HANGS) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never so: {script}"
            time.sleep(0.05)

    def wait_for(self, method: str) -> None:
        """Wait for an event."""
        until = time.monotonic() + self._seconds
        while not any(one["method"] == method for one in self.events):
            self._next(until)

    def close(self) -> None:
        """End the browser."""
        os.close(self._to)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(60)
        os.close(self._from)
        self._folder.cleanup()

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"the browser said nothing for {self._seconds:g} s"
            read = os.read(self._from, 65536)
            assert read, f"the browser ended with {self._process.poll()}"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        if "method" in told:
            self.events.append(told)
            self._note(told)
        return told

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        if event["method"] == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("http://127.0.0.1", "data:", "about:")):
                self.complaints.append(f"asked {url}")
