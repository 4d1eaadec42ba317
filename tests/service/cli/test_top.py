"""`latchscope top`: every mistake is one line and no screen."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.main import cli


def test_mistakes_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    empty, none = tmp_path / "empty.yaml", tmp_path / "none.yaml"
    empty.touch()
    expected = {
        ("--url", "http://127.0.0.1:1"): "does not answer: Connection refused; is `latchscope serve` running?",
        ("--url", "127.0.0.1:8000"): "is not the address of a service",
        ("--url", "http://127.0.0.1:1", "--token-file", str(none)): "cannot be read: No such file or directory",
        ("--config", str(none)): "does not exist",
        ("--config", str(empty)): "names no database",
    }
    for arguments, said in expected.items():
        told = CliRunner().invoke(cli, ["top", *arguments])
        assert told.exit_code == 2 and said in told.stderr, (arguments, told.output)
        assert told.stderr.count("\n") == 1 and told.stdout == "", arguments
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    told = CliRunner().invoke(cli, ["top", "--demo"])
    assert told.exit_code == 2 and "the extra `top`" in told.stderr and told.stderr.count("\n") == 1
