"""The log: one visible line each, as text or JSON. The audit log: a line an action, also in a file if one is set."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from service.config.logs import Audit, configure, unwritable


def test_audit_file_has_one_json_line_per_action(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "audit.jsonl"
    audit = Audit(file)
    with caplog.at_level(logging.INFO, "latchscope.audit"):
        audit.record("night shift", "resume login", "erp1", "resumed")
        audit.record("day\nshift", "resume login", "erp1", "was not stopped")
    first, second = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert first.keys() == {"at", "caller", "action", "database", "outcome"}
    assert (first["caller"], first["action"], first["database"]) == ("night shift", "resume login", "erp1")
    assert second["caller"] == "day\nshift"
    assert (datetime.now(UTC) - datetime.fromisoformat(first["at"])).total_seconds() < 600
    assert "night shift: resume login on erp1: resumed" in caplog.text


def test_audit_file_that_cannot_be_written_does_not_stop_the_action(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Audit(tmp_path / "no" / "folder").record("somebody", "resume login", "erp1", "resumed")
    assert "the audit file cannot be written: No such file or directory" in caplog.text


def test_audit_goes_to_the_log_without_a_file(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "latchscope.audit"):
        Audit().record("this machine", "resume login", "erp1", "resumed")
    assert len(caplog.records) == 1


def test_audit_file_that_cannot_be_written_is_known_before_the_first_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "audit.jsonl"
    assert unwritable(file) is None and not file.exists(), "a look writes nothing"
    assert unwritable(tmp_path / "no/audit.jsonl") == (
        f"there is no folder {tmp_path}/no; create it, or correct auth.audit_file"
    )
    assert unwritable(tmp_path) == "it is a folder; name a file in it"
    monkeypatch.setattr(
        "service.config.logs.os.access", lambda *_: False
    )  # tests may run as root, who may write anywhere
    assert f"may not write in {tmp_path}; change the owner" in str(unwritable(file))
    file.touch()
    assert "may not write it; change the owner" in str(unwritable(file))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_message_is_one_line_without_control_characters(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure(form=form)  # type: ignore[arg-type]
    logging.getLogger("latchscope.x").warning("erp1: %s", "\x1b[2J\nsecond line\u202e")
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and "\x1b" not in line and "\u202e" not in line


def test_json_line_holds_time_level_logger_message_and_trace(capsys: pytest.CaptureFixture[str]) -> None:
    configure(form="json")
    try:
        raise ValueError("broke")
    except ValueError:
        logging.getLogger("latchscope.x").exception("erp1: %d polls", 3)
    told = json.loads(capsys.readouterr().err)
    assert (told["level"], told["logger"], told["message"]) == ("ERROR", "latchscope.x", "erp1: 3 polls")
    assert told["at"].endswith("Z") and "ValueError: broke" in told["trace"]
