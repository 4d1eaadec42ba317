"""The log: one line each, as text or as JSON, with every character visible."""

import json
import logging
from collections.abc import Iterator

import pytest

from service.config.logs import configure


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
