"""Takes pictures of what a terminal shows: part of `make screenshots`, which is `python -m docs.screenshots` for them.

`latchscope top` shows the scripted databases at the height of the undo storm. `latchscope check` looks at a database on the
stand-in of the tests, which refuses one view.
"""

import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from queue import SimpleQueue

import yaml
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from collectors.demo.scenarios import scenarios
from service.cli import top
from service.cli.main import cli
from service.config import load
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.standin import idle

OUTPUT = Path(__file__).with_name("images")
STORM_SECONDS = 45.0
WIDTH = 100
DRAWN = ("check.svg", "top-database.svg", "top-fleet.svg")
"""What `make screenshots` renews here."""


def take(source: top.Source) -> None:
    """The fleet, and the undo storm with its steps."""
    seen = top.State("demo", 2.0)
    time.sleep(STORM_SECONDS)
    look(source, seen, "top-fleet")
    seen.chosen = "undo-storm"
    seen.press("enter")
    look(source, seen, "top-database")


def look(source: top.Source, seen: top.State, name: str) -> None:
    """Ask, and draw the screen."""
    answers: SimpleQueue[tuple[str | None, object]] = SimpleQueue()
    top.ask(source, seen.database, answers)
    seen.take(*answers.get())
    console = Console(record=True, width=seen.size[0], height=seen.size[1], file=io.StringIO())
    console.print(top.screen(seen), height=seen.size[1])
    _write(console.export_svg(title="latchscope top"), name)


def check() -> None:
    """What `latchscope check` says of a user who lacks one grant."""
    service = idle("undo-storm")
    service.backend.refused = {"v$latch_misses"}  # type: ignore[attr-defined]  # a scripted backend
    os.environ["ERP1_PASSWORD"] = PASSWORD
    with Listener({"erp1": service}) as listener, tempfile.TemporaryDirectory() as folder:
        database = {"name": "erp1", "dsn": listener.dsn("erp1"), "user": USER, "password_env": "ERP1_PASSWORD"}
        config = Path(folder) / "latchscope.yaml"
        config.write_text(yaml.safe_dump({"databases": [database]}), encoding="utf-8")
        said = CliRunner().invoke(cli, ["check", "erp1", "--config", str(config)]).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text(f"$ latchscope check erp1\n{said.replace(listener.dsn('erp1'), 'db1.example.com:1521/erp')}"))
    _write(console.export_svg(title="latchscope check"), "check")


def _write(drawn: str, name: str) -> None:
    text = re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL)  # whoever looks asks nobody outside for a font
    (OUTPUT / f"{name}.svg").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{OUTPUT / name}.svg\n")


if __name__ == "__main__":
    check()
    with top.polled(load.demo(list(scenarios()), 0, "sqlite://", 2.0)) as watched:
        take(watched)
