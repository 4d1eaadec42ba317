"""What left latchscope: each name of the table is answered with what does its job, and none of them is in the product."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from service.app import create_app
from service.cli.main import cli
from service.config import load
from service.config.settings import AuthSettings, BadSettings, DatabaseSettings, Settings
from service.successors import successors
from tests.service.running import ASK, serve
from tests.service.stage import Client

LEFT = successors()
DATABASES = {"databases": [{"name": "a", "dsn": "demo:undo-storm"}]}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


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


def test_service_starts_with_the_configuration_of_the_release_before(tmp_path: Path) -> None:
    before = {
        "telemetry": {
            "log_format": "json",
            "otlp": "http://127.0.0.1:4318",
            "headers_file": "/run/secrets/otlp",
            "interval": "30s",
        },
        "fleet": {"prometheus": "http://127.0.0.1:9090", "token_file": "/run/secrets/metrics", "timeout": "5s"},
    }
    environment = {f"LATCHSCOPE_{name.replace('.', '__').upper()}": "x" for name in LEFT.settings}
    with serve(tmp_path, **DATABASES, **before, environment=environment) as running:
        running.wait(lambda: len(running.log.read_text().splitlines()) > len(LEFT.settings) + len(before))
        assert [each["name"] for each in running.json("/api/v1/databases")] == ["a"]
        for page, successor in LEFT.pages.items():
            assert ASK.get(f"{running.url}{page}", follow_redirects=True).url == f"{running.url}{successor}"
        lines = [json.loads(line) for line in running.log.read_text().splitlines() if line.startswith("{")]
    warned = [line["message"] for line in lines if line["level"] == "WARNING"]
    for name, successor in LEFT.settings.items():
        said = f": {name} has left latchscope and does nothing. {successor}"
        assert sum(line.endswith(said) for line in warned) == 1 + (name == "fleet" or name.startswith("telemetry."))
        assert f"LATCHSCOPE_{name.replace('.', '__').upper()} in the environment{said}" in warned


@pytest.fixture(scope="module", params=[False, True], ids=["open", "by token"])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("left")
    (folder / "tokens").write_text(f"grafana read {'0' * 64}\n")
    auth = AuthSettings(tokens_file=folder / "tokens" if request.param else None)
    databases = [DatabaseSettings(name="undo-storm", dsn="demo:undo-storm")]
    client = Client(create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=databases, auth=auth)))
    yield client
    client.app.state.close()


@pytest.mark.parametrize("page", LEFT.pages)
def test_page_leads_to_its_successor(app: Client, page: str) -> None:
    answer = app.get(page.format(db="undo-storm"))
    assert (answer.status_code, answer.headers["location"]) == (302, LEFT.pages[page].format(db="undo-storm"))
    assert app.get(answer.headers["location"]).status_code in (200, 401), "it is a page, for those who may read"
    foreign = app.get(page.format(db="%5C%5Cevil%3F%0D%0Ax")).headers["location"]
    assert foreign.startswith("/") and not {"\\", "\r", "\n"} & {*foreign}


@pytest.mark.parametrize("route", LEFT.routes)
@pytest.mark.parametrize("method", METHODS)
def test_route_answers_gone_with_what_to_ask(app: Client, method: str, route: str) -> None:
    answer = app.get(route.format(db="undo-storm"), method)
    assert (answer.status_code, answer.headers["content-type"]) == (410, "application/problem+json")
    if method != "HEAD":
        assert answer.json() == {
            "type": "/docs/problems/gone",
            "title": "Gone",
            "status": 410,
            "detail": LEFT.routes[route],
            "instance": route.format(db="undo-storm"),
        }


# Commands and options: one line says what does their job, whatever follows them, and nothing else knows them

COMMANDS = sorted(LEFT.commands)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("following", [[], ["erp1", "--gets", "0.5"], ["--help"]], ids=["bare", "arguments", "help"])
def test_what_left_answers_with_what_does_its_job(name: str, following: list[str]) -> None:
    told = CliRunner().invoke(cli, [*name.split(), *following], prog_name="latchscope")
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == f"latchscope: {name} has left. {LEFT.commands[name]}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_what_left_is_no_command_and_no_option_and_is_not_suggested(name: str) -> None:
    *path, last = name.split()
    shown = CliRunner().invoke(cli, [*path, "--help"])
    assert shown.exit_code == 0 and last not in shown.stdout.split()
    nearly = CliRunner().invoke(cli, [*path, f"{last}x"], prog_name="latchscope")
    assert nearly.exit_code == 2 and f"did you mean {last}?" not in nearly.stderr


def test_line_that_only_resembles_what_left_is_answered_as_before() -> None:
    told = CliRunner().invoke(cli, ["diagnose", "top", "--formt", "json"], prog_name="latchscope")
    assert told.exit_code == 2 and "did you mean --format?" in told.stderr and "has left" not in told.stderr
