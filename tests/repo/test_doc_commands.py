"""Every latchscope, make and curl command on a page runs here, or doc_commands.py says why it does not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from service.cli.main import cli
from tests.repo.doc_commands import NOT_RUN, ROOT, DocCommand, doc_commands
from tests.service.stage import Client, Stage

COMMANDS = doc_commands()
UNUSUAL = {
    "/nobody": {404},  # shows the form of a problem
    "/compare": {404, 409},  # no mark yet, no history; tests/service/web has both
}


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Client]:
    """The demo, 40 s after its start."""
    stage = Stage(monkeypatch, tmp_path)
    stage.poll_all(40, 42)
    yield stage.app()
    stage.close()


def of(program: str) -> list[DocCommand]:
    """The commands of one program that run here."""
    found = [one for one in COMMANDS if one.words[0] == program and one.why_not_run is None]
    assert found
    return found


def test_reasons_for_not_running_a_command_are_all_needed() -> None:
    assert {one.why_not_run for one in COMMANDS} - {None} == set(NOT_RUN)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    asked = {one.words[1] for one in COMMANDS if one.words[0] == "make"}
    assert asked <= targets and "demo" in asked


def test_options_of_every_latchscope_command_exist() -> None:
    group = typer.main.get_command(cli)
    for one in (each for each in COMMANDS if each.words[0] == "latchscope"):
        command, rest = group, list(one.words[1:])
        while rest and rest[0] in getattr(command, "commands", {}):
            command = command.get_command(typer.Context(command), rest.pop(0))  # type: ignore[attr-defined]
        assert not getattr(command, "commands", {}), f"{one.page}: {one.text} is no command"
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} <= known, f"{one.page}: {one.text}"


def test_latchscope_commands_succeed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    done: set[str] = set()
    for one in of("latchscope"):
        if one.text in done:
            continue
        done.add(one.text)
        words, _, output = one.text.removeprefix("latchscope ").partition(" > ")
        named = [str(path) for word in words.split() for path in (sorted(Path().glob(word)) if "*" in word else [word])]
        result = CliRunner().invoke(cli, named, prog_name="latchscope")
        assert result.exit_code == 0, f"{one.page}: {one.text}: {result.output[-300:]}"
        if output:
            assert len(result.output) > 100


def test_curl_commands_are_answered(app: Client) -> None:
    for one in of("curl"):
        path = next(word for word in one.words if "127.0.0.1:8000" in word).partition("127.0.0.1:8000")[2]
        path = path.replace("/erp1", "/undo-storm")
        after = dict(zip(one.words, one.words[1:], strict=False))
        body = after.get("--json", after.get("-d"))
        more: dict[str, object] = {}
        if body is not None:
            more = {"content": body, "headers": {"content-type": "application/json"}}
        if "-F" in after:
            file = ROOT / after["-F"].partition("@")[2]
            more = {"files": {"file": (file.name, file.read_bytes())}}
        method = after.get("-X", "POST" if more else "GET")
        status = app.get(path, method, **more).status_code
        place = path.partition("?")[0]
        expected = next((odd for end, odd in UNUSUAL.items() if place.endswith(end)), {200, 201, 202})
        assert status in expected, f"{one.page}: {one.text}: {status}"
