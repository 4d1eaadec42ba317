"""`latchscope notify test`: a line for each receiver, and one for each mistake."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli
from tests.service.receiver import receiver

SECRET = "zx9mark-of-the-key"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def run(folder: Path, text: str, *names: str) -> Result:
    path = folder / "latchscope.yaml"
    path.write_text(f"databases: [{{name: a, dsn: 'demo:undo-storm'}}]\n{text}", encoding="utf-8")
    return CliRunner().invoke(cli, ["notify", "test", *names, "--config", str(path)])


def test_each_receiver_gets_a_test_and_a_line(tmp_path: Path) -> None:
    with receiver() as to:
        (tmp_path / "address").write_text(to.url.replace("http://", f"json://u:{SECRET}@"), encoding="utf-8")
        (tmp_path / "gone").write_text(f"json://127.0.0.1:1/{SECRET}", encoding="utf-8")
        text = (
            f"public_url: https://latchscope.example.com\nauth: {{audit_file: {tmp_path}/audit}}\n"
            f"webhooks: [{{name: hook, url: '{to.url}'}}]\n"
            f"notifications: [{{name: chat, url_file: {tmp_path}/address, quiet_hours: '22:00-07:00'}},"
            f" {{name: gone, url_file: {tmp_path}/gone}}]\n"
        )
        told = run(tmp_path, text)
        assert told.exit_code == 1
        lines = told.stdout.splitlines()
        assert lines[:2] == ["hook: sent (webhook)", "chat: sent (json)"]
        assert lines[2].startswith("gone: not sent: ") and lines[2].endswith("(json)")
        hook, chat = to.taken
        assert (hook["event"], hook["url"]) == ("test", "https://latchscope.example.com/db/latchscope")
        assert chat["title"] == "latchscope: a test" and chat["type"] == "info"
        assert "You get episodes of every database from warning on." in chat["message"]
        assert "Below critical they wait for the end of 22:00-07:00 (UTC)." in chat["message"]
        audit = (tmp_path / "audit").read_text(encoding="utf-8")
        assert audit.count("notify test") == 3 and '"outcome": "sent"' in audit
        assert SECRET not in told.output + audit and "of-a-secret-path" not in told.output + audit
        assert run(tmp_path, text, "chat").stdout == "chat: sent (json)\n" and len(to.taken) == 3


def test_mistakes_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = f"notifications: [{{name: chat, url_file: {tmp_path}/none}}]"
    unknown = run(tmp_path, one, "chatt")
    assert unknown.exit_code == 2
    assert unknown.stderr == "latchscope: `notifications` and `webhooks` have no chatt; the names are: chat\n"
    nobody = run(tmp_path, "listen: 127.0.0.1:0")
    assert nobody.exit_code == 2 and "has no receivers; add `notifications` or `webhooks`" in nobody.stderr
    unread = run(tmp_path, one)
    assert unread.exit_code == 1 and "chat: not sent: url_file" in unread.stdout and "No such file" in unread.stdout
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    missing = run(tmp_path, one)
    assert missing.exit_code == 2 and "the extra `notify`" in missing.stderr and missing.stderr.count("\n") == 1
