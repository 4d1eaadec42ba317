"""Where passwords come from. No error shows any part of one."""

import sys
from pathlib import Path

import pytest

from collectors.errors import SetupError
from service.config.load import fingerprint, password_of
from service.config.settings import DatabaseSettings
from tests.oracle_standin.deadline import HANGS

WORD = "Tr0ub4dor&3"


def database(**source: object) -> DatabaseSettings:
    return DatabaseSettings(name="erp1", dsn="h:1/s", **source)  # type: ignore[arg-type]


def command(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_password_comes_from_a_file_the_environment_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_bytes(f" {WORD} ü\r\n".encode())
    monkeypatch.setenv("ERP1_PASSWORD", WORD)
    assert password_of(database(password_file=file)) == f" {WORD} ü", "only the line end is taken off"
    assert password_of(database(password_env="ERP1_PASSWORD")) == WORD
    assert password_of(database(password_command=command(f"print({WORD!r})"))) == WORD


def test_password_follows_a_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first", encoding="utf-8")
    before = password_of(database(password_file=file))
    file.write_text("second", encoding="utf-8")
    assert (before, password_of(database(password_file=file))) == ("first", "second")


def test_password_failure_is_one_line_without_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + WORD.encode())
    said_aloud = f"import sys; print({WORD!r}); print({WORD!r}, file=sys.stderr); "
    wrong = {
        "^erp1: no password; set": {},
        "cannot be read: No such file": {"password_file": tmp_path / "none"},
        "cannot be read: it is not text": {"password_file": tmp_path / "binary"},
        "the environment has no NOT_SET": {"password_env": "NOT_SET"},
        "exit code 3": {"password_command": command(said_aloud + "sys.exit(3)")},
        "longer than 0.2 s": {"password_command": command(said_aloud + "import time; time.sleep(99)")},
        "cannot be run: No such file": {"password_command": ["/no/such/program", WORD]},
    }
    for expected, source in wrong.items():
        hangs = expected == "longer than 0.2 s"
        monkeypatch.setattr("service.config.load.COMMAND_SECONDS", 0.2 if hangs else HANGS)
        with pytest.raises(SetupError, match=expected) as caught:
            password_of(database(**source))
        assert "erp1" in str(caught.value) and "\n" not in str(caught.value)
        assert WORD not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_fingerprint_distinguishes_credentials_and_reveals_nothing() -> None:
    assert fingerprint("A", "B") == fingerprint("A", "B")
    assert len({fingerprint("A", "B"), fingerprint("A", "C"), fingerprint("AB", ""), fingerprint("", "AB")}) == 4
    assert WORD not in fingerprint("A", WORD)
