"""Takes pictures of the pages: part of `make screenshots`, which is `python -m docs.page_pictures` for them.

The service runs with the scripted databases until the undo storm is at its height; chromium must be installed.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

OUTPUT = Path(__file__).with_name("images")
WAIT_SECONDS = 120.0
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SHOTS = (
    ("page-fleet", "/", WIDE, "light"),
    ("page-fleet-dark", "/", WIDE, "dark"),
    ("page-database", "/db/undo-storm", WIDE, "light"),
    ("page-database-dark", "/db/undo-storm", WIDE, "dark"),
    ("page-phone", "/db/undo-storm", PHONE, "light"),
    ("page-changes", "/db/undo-storm#changes", WIDE, "light"),
    ("page-compare", "/db/undo-storm/compare?before=-60s..-48s&after=-12s..now", WIDE, "light"),
    ("page-cause", "/causes/undo-segments", WIDE, "light"),
)


def main() -> None:
    """Start the demo, wait for the storm, take every picture, stop the demo."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        sys.exit("chromium is not installed (Debian package chromium)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "service", "demo", "--port", str(port), "--interval", "2"]
        demo = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=_environment(folder))
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url)
            _take(url, binary)
        finally:
            demo.terminate()
            demo.wait(30)


def _environment(folder: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": folder, "LATCHSCOPE_DEFAULTS__BUDGET": "1"}


def _wait(url: str) -> None:
    """Until the storm has lasted a while, so that the last hour has something to show."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        time.sleep(2)
        try:
            with urllib.request.urlopen(f"{url}/api/v1/databases/undo-storm") as answer:
                found = json.load(answer)
        except OSError:
            continue
        if found["state"] == "Critical" and found["since"]:
            time.sleep(30)
            return
    sys.exit("the storm did not come")


def _take(url: str, binary: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox", "--disable-gpu"])
        for name, path, size, scheme in SHOTS:
            context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"{url}{path}")
            page.screenshot(path=OUTPUT / f"{name}.png")
            context.close()
            sys.stdout.write(f"{OUTPUT / name}.png\n")
        browser.close()


if __name__ == "__main__":
    main()
