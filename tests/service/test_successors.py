"""What left latchscope: each name of the table is answered with what does its job, and none of them is in the product."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import cli
from service.config import load
from service.config.settings import BadSettings, every_setting
from service.successors import successors

LEFT = successors()
DATABASES = {"databases": [{"name": "a", "dsn": "demo:undo-storm"}]}


def setting(name: str, value: object) -> dict[str, Any]:
    """The groups that lead to a setting, with its value."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return value


def written(folder: Path, *parts: Mapping[str, object]) -> Path:
    """A configuration of one database and these settings."""
    path = folder / "latchscope.yaml"
    path.write_text("".join(yaml.safe_dump(part) for part in (DATABASES, *parts)), encoding="utf-8")
    return path


def one_warning(path: Path, name: str, where: str) -> None:
    """The file is used, and warns of this setting alone."""
    found = load.checked(path)
    assert found.mistakes == () and found.settings is not None and len(found.settings.databases) == 1
    assert found.settings.left == (f"{where}: {name} has left latchscope and does nothing. {LEFT.settings[name]}",)
    assert list(load.warnings(found.settings)) == list(found.settings.left)


@pytest.mark.parametrize("name", LEFT.settings)
@pytest.mark.parametrize("value", ["x", 5, [1], {"any": "thing"}], ids=str)
def test_setting_in_the_file_is_a_warning_with_its_line(tmp_path: Path, name: str, value: object) -> None:
    path = written(tmp_path, setting(name, value))
    line = 1 + next(
        at
        for at, text in enumerate(path.read_text().splitlines())
        if text.strip().startswith(f"{name.split('.')[-1]}:")
    )
    one_warning(path, name, f"line {line}")
    told = CliRunner().invoke(cli, ["config", "validate", str(path)])
    assert told.exit_code == 0 and f"{path}: note: line {line}: {name} has left latchscope" in told.stderr


@pytest.mark.parametrize("name", LEFT.settings)
def test_setting_in_the_environment_is_a_warning_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    group, *below = name.split(".")
    variables = {
        f"LATCHSCOPE_{name.replace('.', '__').upper()}": "x",
        f"LATCHSCOPE_{name.replace('.', '__').upper()}__ANY": "x",
        f"Latchscope_{group.upper()}": json.dumps(setting(".".join(below), "x") if below else {"any": "x"}),
    }
    path = written(tmp_path)
    for variable, value in variables.items():
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            one_warning(path, name, f"{variable} in the environment")


def test_rest_of_a_group_is_read_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, {"telemetry": {"otlp": "http://127.0.0.1:4318", "log_format": "json"}})
    assert load.read(path).telemetry.log_format == "json"
    path = written(tmp_path, {"telemetry": {"otlp": "http://127.0.0.1:4318", "log_fromat": "json"}})
    with pytest.raises(BadSettings, match=r":5: telemetry\.log_fromat: no such setting; did you mean log_format\?"):
        load.read(path)
    monkeypatch.setenv("LATCHSCOPE_TELEMETRY", '{"otlp": "x", "log_format": "xml"}')
    with pytest.raises(BadSettings, match=r"telemetry\.log_format \(from LATCHSCOPE_TELEMETRY .*'xml' is not a choice"):
        load.read(written(tmp_path))


def test_no_setting_of_the_table_exists() -> None:
    names = {name for name, _ in every_setting()}
    assert not {name for name in LEFT.settings if any(f"{each}.".startswith(f"{name}.") for each in names)}
