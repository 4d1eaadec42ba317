"""`latchscope mcp`: every mistake is one line, and only the protocol goes to stdout."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from service.web.server import PatientProtocol
from tests.service.test_client import service


def test_mistakes_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    nobody, token = "http://127.0.0.1:1", str(tmp_path / "none")
    expected = {
        ("--url", "127.0.0.1:8000"): "is not the address of a service",
        ("--token-file", token): "cannot be read: No such file or directory",
        ("--http", "here"): "here is not an address; write 127.0.0.1:8765",
        ("--http", "127.0.0.1:99999"): "127.0.0.1:99999 has no port from 0 to 65535; write 127.0.0.1:8765",
        ("--http", "127.0.0.1:-1"): "127.0.0.1:-1 has no port from 0 to 65535",
        ("--files", token): f"--files {token} is not a folder; make it, or name the folder of your reports",
        ("--http", "127.0.0.1:0", "--token-file", token): "each caller sends their own token",
        ("--http", "0.0.0.0:0", "--url", nobody): "does not answer: Connection refused",
    }
    for arguments, said in expected.items():
        told = CliRunner().invoke(cli, ["mcp", *arguments])
        assert told.exit_code == 2 and said in told.stderr, (arguments, told.output)
        assert told.stderr.count("\n") == 1 and told.stdout == "", arguments
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    told = CliRunner().invoke(cli, ["mcp"])
    assert told.exit_code == 2 and "the extra `mcp`" in told.stderr and told.stderr.count("\n") == 1


def test_service_without_tokens_is_not_opened_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("service.cli.mcp._open_to_all", lambda url: True)
    with service() as url:
        told = CliRunner().invoke(cli, ["mcp", "--http", "0.0.0.0:0", "--url", url])
    assert told.exit_code == 2 and "needs no token, so everybody who reaches 0.0.0.0:0 could read" in told.stderr


def test_http_is_served_against_slow_and_many_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[object] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server: served.append(server.config))
    told = CliRunner().invoke(cli, ["mcp", "--http", "127.0.0.1:0"])
    assert told.exit_code == 0, told.output
    assert [config.http for config in served] == [PatientProtocol]  # type: ignore[attr-defined]
