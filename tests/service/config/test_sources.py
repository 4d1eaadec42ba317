"""Where settings come from: an unreadable file gives one line, and the demo ignores everything around it."""

from pathlib import Path

import pytest

from service.config import sources
from service.config.settings import BadSettings


def test_read_refuses_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadSettings, match=r"latchscope\.yaml is not valid YAML"):
        sources.read(path)


def test_read_names_the_documentation_for_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"does not exist; `latchscope init` writes one"):
        sources.read(tmp_path / "none.yaml")


def test_demo_serves_loopback_only() -> None:
    told = sources.demo(["undo-storm"], 8123, "sqlite:///x.db", 2.0)
    assert told.loopback
    assert told.port == 8123
    assert [(one.name, one.scripted, told.interval_of(one)) for one in told.databases] == [
        ("undo-storm", "undo-storm", 2.0)
    ]
