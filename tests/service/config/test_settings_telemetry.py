"""The settings of telemetry: off by default, and one line for each mistake."""

from pathlib import Path

import pytest

from service.config import load
from service.config.settings import BadSettings, Settings


def test_nothing_is_sent_unless_a_collector_is_named() -> None:
    assert Settings().telemetry.otlp is None and Settings().telemetry.log_format == "text"


def test_telemetry_mistake_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    for written in (
        "otlp: 'grpc://collector:4317'",
        "otlp: 'http://me:secret@collector'",
        "interval: 1s",
        "log_format: xml",
    ):
        path.write_text(f"telemetry: {{{written}}}", encoding="utf-8")
        with pytest.raises(BadSettings) as error:
            load.read(path)
        assert "telemetry" in str(error.value) and "\n" not in str(error.value), written
