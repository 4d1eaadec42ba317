"""Text on a terminal: colour and width there. A pipe or NO_COLOR gives the same characters as before."""

import json
import re
import subprocess
import sys
import tomllib
from contextvars import copy_context
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.common import fit_to_terminal, show
from service.cli.dashboards import EXPORTED
from service.cli.main import cli
from service.render.parts import wrapped


class Screen(StringIO):
    """Standard output, on a terminal or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


def told(*, terminal: bool, **environment: str) -> str:
    """What a command writes there, sixty columns wide."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": "60", **environment}.items():
            patch.setenv(name, value)
        patch.setattr("sys.stdout", screen := Screen(terminal))
        copy_context().run(printed)
    return screen.getvalue()


def printed() -> None:
    fit_to_terminal()
    found = ["WARNING: hot", *wrapped("Found: " + "word " * 30)]
    show("\n".join([*found, "a" * 30 + "   " + "b" * 40, "Note: " + "long " * 20, "Do: switch", "Do not: drop"]))


def widest(text: str) -> int:
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    return max(len(line) for line in plain.splitlines() if not line.startswith("aaa"))


@pytest.mark.parametrize("how", [{"terminal": True}, {"terminal": False, "FORCE_COLOR": "1"}])
def test_terminal_has_colours_and_text_that_fits_it_and_no_colour_wins(how: dict[str, object]) -> None:
    coloured, plain = told(**how), told(**how, NO_COLOR="1")  # type: ignore[arg-type]
    assert "\x1b[1;33mWARNING\x1b[0m: hot" in coloured and "\x1b[1mFound\x1b[0m" in coloured
    assert "\x1b[1;32mDo\x1b[0m: switch\n\x1b[1;31mDo not\x1b[0m: drop\n" in coloured, "told apart by colour"
    assert plain.startswith("WARNING: hot\n") and "\x1b" not in plain
    assert 50 < widest(coloured) <= 60 and 50 < widest(plain) <= 60
    assert f"{'a' * 30}   {'b' * 40}\n" in plain, "a table is not torn"


def test_piped_text_has_no_colour_and_the_width_of_a_document() -> None:
    text = told(terminal=False)
    assert "\x1b" not in text and widest(text) > 60


# `latchscope dashboards export`: the files of this version. The wheel has all of them

ROOT = Path(__file__).parents[3]


def test_export_writes_dashboards_rules_and_runbooks_and_replaces_nothing(tmp_path: Path) -> None:
    told = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path / "new")])
    assert told.exit_code == 0, told.output
    written = {str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert {"prometheus/alerts.yml", "prometheus/recording.yml", "mixin/mixin.libsonnet"} <= written
    assert {f"runbooks/{path.name}" for path in (ROOT / "dashboards/runbooks").glob("*.md")} <= written
    assert not [name for name in written if name.endswith((".py", ".test.yml"))]
    for name in written:
        if name.endswith(".json"):
            assert json.loads((tmp_path / "new" / name).read_text(encoding="utf-8"))["title"]
    again = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path / "new")])
    assert again.exit_code == 2 and "exists already; name another folder, or replace it with --force" in again.stderr
    replaced = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path / "new"), "--force"])
    assert replaced.exit_code == 0 and "earlier version" not in replaced.stderr


def test_export_names_the_successor_of_a_file_of_an_earlier_version(tmp_path: Path) -> None:
    old = tmp_path / "prometheus" / "cells.yml"
    old.parent.mkdir()
    old.write_text("groups: []\n", encoding="utf-8")
    told = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path)])
    new = tmp_path / "prometheus" / "fleet.yml"
    assert told.exit_code == 0 and new.exists() and old.read_text(encoding="utf-8") == "groups: []\n"
    assert f"{old} is of an earlier version; load {new} in its place, then delete prometheus/cells.yml" in told.stderr


@pytest.mark.slow
def test_export_puts_your_own_address_everywhere(tmp_path: Path) -> None:
    own, wiki = "https://latchscope.example.org/cell", "https://wiki.example.org/runbooks"
    both = ["--address", f"{own}/", "--runbooks", wiki]
    for folder, options in (("shipped", []), ("own", both[:2]), ("wiki", both)):
        told = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path / folder), *options])
        assert told.exit_code == 0, told.output
    shipped, ours = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "shipped", tmp_path / "own")
    )
    assert shipped.keys() == ours.keys() and sum(text.count(own.encode()) for text in ours.values()) > 50
    assert not [name for name, text in ours.items() if b"127.0.0.1:8000" in text]
    alerts = (tmp_path / "wiki/prometheus/alerts.yml").read_text(encoding="utf-8")
    assert f"{wiki}/LatchscopeMissing\n" in alerts and f"{own}/runbooks" not in alerts and f"{own}/db/" in alerts
    unchanged = {path: (ROOT / "dashboards" / path).read_bytes() for path in shipped}
    assert shipped == unchanged
    for kind, folder in (("prometheus", "prometheus"), ("grafana", "grafana/dashboards")):
        (built := tmp_path / kind).mkdir()
        program = ROOT / "dashboards" / kind / "build.py"
        subprocess.run(
            [sys.executable, "-B", str(program), "--address", own, "--output", str(built)], cwd=ROOT, check=True
        )
        names = [path.name for path in built.iterdir()]
        assert names and [name for name in names if ours[Path(folder) / name] != (built / name).read_bytes()] == []


@pytest.mark.parametrize(
    ("folder", "options", "why"),
    [
        *(
            ("new", ("--address", address), "is not an address; write https://latchscope.example.com")
            for address in ("latchscope.example.org", "https://a b", 'https://a"b', "https://{{x}}", "ftp://a")
        ),
        ("file", (), "is a file; name a folder"),
        ("file/below", (), "cannot be written"),
    ],
)
def test_address_or_folder_that_is_none_is_one_line(
    tmp_path: Path, folder: str, options: tuple[str, ...], why: str
) -> None:
    (tmp_path / "file").touch()
    told = CliRunner().invoke(cli, ["dashboards", "export", str(tmp_path / folder), *options])
    assert told.exit_code == 2 and not (tmp_path / "new").exists()
    assert why in told.stderr and told.stderr.count("\n") == 1


def test_wheel_holds_everything_that_is_exported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {f"dashboards/{part}": f"service/dashboards/{part}" for part in EXPORTED}
