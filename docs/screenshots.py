"""Takes pictures of the terminal view: `make screenshots`, which is `python -m docs.screenshots`.

The scripted databases run on a clock of their own, so that the pictures show the undo storm at its height.
"""

import asyncio
import re
import sys
from pathlib import Path

from collectors.demo.scenarios import scenarios
from service.config import load
from service.top.app import TopApp
from service.top.source import PolledDirectly

OUTPUT = Path(__file__).with_name("images")
STORM_SECONDS = 45.0


async def take(source: PolledDirectly) -> None:
    """The fleet, and the undo storm with its hot children."""
    app = TopApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await asyncio.sleep(STORM_SECONDS)
        _save(app, "top-fleet")
        await pilot.press("s")
        names = sorted(one["name"] for one in source.fleet())
        await pilot.press(*["up"] * len(names), *["down"] * names.index("undo-storm"), "enter", "2")
        await asyncio.sleep(5)
        _save(app, "top-database")


def _save(app: TopApp, name: str) -> None:
    drawn = app.export_screenshot(title="latchscope top")
    text = re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL)  # whoever looks asks nobody outside for a font
    (OUTPUT / f"{name}.svg").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{OUTPUT / name}.svg\n")


if __name__ == "__main__":
    watched = PolledDirectly(load.demo(list(scenarios()), 0, "sqlite://", 2.0), "demo")
    try:
        asyncio.run(take(watched))
    finally:
        watched.close()
