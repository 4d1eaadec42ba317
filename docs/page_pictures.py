"""Takes pictures of the pages, and the moving picture of one storm: part of `make screenshots`, which is
`python -m docs.page_pictures` for them.

The service runs with the scripted databases from the calm before the undo storm until its remedy is verified, which takes up to
ten minutes. chromium must be installed.
"""

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, FloatRect, Page, ViewportSize, sync_playwright

OUTPUT = Path(__file__).with_name("images")
WAIT_SECONDS = 240.0
HIGH_SECONDS = 30.0
"""How long a storm lasts before its pictures are taken, so that the last hour has something to show."""
WIDE: ViewportSize = {"width": 1440, "height": 900}
FRONT: ViewportSize = {"width": 1280, "height": 540}
"""What the first screen of README.md has room for."""
COLOURS = 256
STORM = "/db/undo-storm"


@dataclass(frozen=True)
class Shot:
    """A picture of one page, or of the card of that selector."""

    name: str
    path: str
    size: ViewportSize = field(default_factory=lambda: WIDE)
    card: str = ""
    typed: str = ""
    """What Ctrl-K is asked before the picture is taken."""


IN_THE_STORM = (
    Shot("page-front", STORM, FRONT),
    Shot("page-fleet", "/"),
    Shot("page-chain", STORM, card="[data-live=chain]"),
    Shot("page-fix", STORM, card="[data-live=fix]"),
    Shot("page-changes", f"{STORM}#changes"),
    Shot("page-find", STORM, FRONT, typed="dc_rollback_segments"),
    Shot("page-differs", f"{STORM}/history?begin=-30s", card="#differs"),
    Shot("page-runbook", "/runbooks/RowCacheObjectsOneChildDominates"),
)
VERIFIED = (Shot("page-compare", f"{STORM}/compare?mark=last"),)

FILM = "storm.webp"
FRAME: ViewportSize = {"width": 1200, "height": 700}
CAPTION_PIXELS = 48
MOST_BYTES = 1_500_000


def main() -> None:
    """Start the demo, take every picture at its moment, stop the demo."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        sys.exit("chromium is not installed (Debian package chromium)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "service", "demo", "--port", str(port), "--interval", "2"]
        demo = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=_environment(folder))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox", "--disable-gpu"])
                _take(browser, f"http://127.0.0.1:{port}")
                browser.close()
        finally:
            demo.terminate()
            demo.wait(30)


def _environment(folder: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": folder, "LATCHSCOPE_DEFAULTS__BUDGET": "1"}


def _take(browser: Browser, url: str) -> None:
    film: list[tuple[Image.Image, float]] = []

    def frame(seconds: float, caption: str, path: str = STORM, card: str = "") -> None:
        drawn = _page(browser, url, Shot("", path, FRAME), card)
        film.append((_captioned(drawn, caption), seconds))

    _until(url, lambda now: now["state"] == "Fine" and not now["easing"])
    frame(2, "A database of Oracle 11.2 on a calm day")
    _until(url, lambda now: now["state"] == "Critical")
    frame(2.5, "The storm begins, and the fleet page says so", "/?q=undo-storm")
    time.sleep(HIGH_SECONDS)
    frame(4, "The verdict: what is wrong, what it costs, what to do, what not to do")
    frame(3, "How the wait leads to the cause, each link measured", card="[data-live=chain]")
    frame(3, "The commands, each with its risk; latchscope runs none of them", card="[data-live=fix]")
    for shot in IN_THE_STORM:
        _save(_page(browser, url, shot), shot.name)
    _until(url, lambda now: now["easing"])
    frame(2, "The DBA has switched the undo tablespace: recovering")
    _until(
        url, lambda now: "prediction" in (now["last_mark"]["verdict"] or "") and now["last_mark"]["outcome"] == "helped"
    )
    frame(3.5, "Verified: the waits are gone, and the prediction held")
    for shot in VERIFIED:
        _save(_page(browser, url, shot), shot.name)
    _write(film)


def _until(url: str, holds: Callable[[Mapping[str, Any]], object]) -> None:
    """Until a poll shows the database in that state."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/api/v1/databases/undo-storm") as answer:
                if holds(json.load(answer)):
                    return
        except OSError:
            pass  # it still starts
        time.sleep(1)
    sys.exit("the storm did not come or did not end; the demo may be too slow on this machine")


def _page(browser: Browser, url: str, shot: Shot, scroll_to: str = "") -> Image.Image:
    """The picture of a page as a reader with this window sees it, with the card of a selector at the top."""
    context = browser.new_context(viewport=shot.size, color_scheme="light")
    page = context.new_page()
    page.goto(f"{url}{shot.path}")
    if shot.typed:
        page.keyboard.press("Control+k")
        with page.expect_response(lambda answer: answer.url.endswith(f"/find?q={shot.typed}")):
            page.get_by_role("combobox").fill(shot.typed)
        page.wait_for_timeout(500)  # to draw the answer
    clip = _card(page, shot.card) if shot.card else None
    if scroll_to:
        page.locator(scroll_to).first.evaluate("card => window.scrollTo(0, card.offsetTop - 12)")
    drawn = Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=clip is not None))).convert("RGB")
    context.close()
    return drawn


def _card(page: Page, selector: str) -> FloatRect:
    """A card with a little of the page around it, at most as high as a screen."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None, f"no {selector} on {page.url}"
    edge = 12
    height = min(box["height"] + 2 * edge, WIDE["height"])
    return {"x": box["x"] - edge, "y": box["y"] - edge, "width": box["width"] + 2 * edge, "height": height}


def _save(drawn: Image.Image, name: str) -> None:
    """As PNG with a palette, which has all colours of a page and a third of the size."""
    path = OUTPUT / f"{name}.png"
    drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    sys.stdout.write(f"{path}\n")


def _captioned(drawn: Image.Image, caption: str) -> Image.Image:
    """The picture over a line that says what it shows."""
    whole = Image.new("RGB", (drawn.width, drawn.height + CAPTION_PIXELS), "#16202e")
    whole.paste(drawn)
    font = ImageFont.load_default(22)
    ImageDraw.Draw(whole).text((24, drawn.height + 10), caption, fill="white", font=font)
    return whole


def _write(film: list[tuple[Image.Image, float]]) -> None:
    """One moving picture, which plays for ever. Ends the program if it is too large for a page."""
    path = OUTPUT / FILM
    first, *rest = [drawn for drawn, _ in film]
    shown = [round(seconds * 1000) for _, seconds in film]
    first.save(path, save_all=True, append_images=rest, duration=shown, loop=0, quality=80, method=6)
    if path.stat().st_size > MOST_BYTES:
        sys.exit(f"{path} has {path.stat().st_size} bytes, more than {MOST_BYTES}; lower its quality")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
