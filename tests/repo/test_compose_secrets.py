"""The secrets of docker-compose.yml: a service generates them, each only for its reader, and the checkout ships none."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.demo.scenarios import scenarios
from service.config.load import read
from service.web.access import read_tokens
from tests.ports import free_port
from tests.repo.compose import COMPOSE, HOME, ROOT, SECRETS, SERVICES, mounts, sources
from tests.repo.processes import fetch
from tests.service.running import answering
from tests.started import Started


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the service `secrets` leaves in its volumes. The test runs its command on a folder instead."""
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


def make(folder: Path) -> None:
    """Run the command of `secrets` here."""
    one = SERVICES["secrets"]
    here = {target: ROOT / source for name, source, target in mounts() if name == "secrets" and source.startswith(".")}
    python, script = one["entrypoint"]
    assert (python, one["command"]) == ("python", ["/generated"])
    subprocess.run([sys.executable, str(here[Path(script).as_posix()]), str(folder)], check=True)


def reader_of(service: str) -> str | None:
    """The folder of `secrets` that is mounted where the service looks for its secrets."""
    written = {source: target for name, source, target in mounts() if name == "secrets"}
    read = [source for name, source, target in mounts() if (name, target) == (service, SECRETS)]
    return Path(written[read[0]]).name if read else None


def texts_of(service: str) -> str:
    """Everything that names the secrets of a service: its own lines, and the files of ours that it mounts."""
    files = [sources(source) for name, source, _ in mounts() if name == service and source.startswith(".")]
    files = [each for one in files for each in (one.glob("*.*") if one.is_dir() else [one]) if each.is_file()]
    return "\n".join([json.dumps(SERVICES[service]), *(each.read_text("utf-8") for each in files)])


def test_secrets_that_are_read_are_written_and_nobody_reads_those_of_others(made: Path) -> None:
    read = {name: set(re.findall(rf"{SECRETS}/([\w.]+)", texts_of(name))) for name in SERVICES}
    assert {name for name, files in read.items() if files} >= {
        "latchscope",
        "prometheus",
        "grafana",
        "postgres",
        "oracle",
    }
    for name, files in read.items():
        reader = reader_of(name)
        assert bool(files) == (reader is not None), name
        if reader is not None:
            assert sorted(file for file in files if not (made / reader / file).is_file()) == [], name
            assert SERVICES[name]["depends_on"]["secrets"] == {"condition": "service_completed_successfully"}, name
    shared = [source for _, source, _ in mounts() if source.startswith("secrets-")]
    by_reader = {name: reader_of(name) for name in SERVICES if reader_of(name)}
    assert by_reader == {
        **{each: each for each in ("latchscope", "prometheus", "grafana", "postgres", "oracle")},
        "oracle-11": "oracle",
    }
    assert len(shared) == len(by_reader) + len({*by_reader.values()}), "a volume of secrets is mounted elsewhere"


def test_volumes_of_secrets_begin_with_the_user_that_writes_them() -> None:
    """A new volume takes owner and mode of the folder in the image that it is first mounted over."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    (step,) = re.findall(
        r'^RUN \["install", "--directory", "--owner=10001", "--group=10001", (.*)\]$', text, re.MULTILINE
    )
    written = {target for name, source, target in mounts() if name == "secrets" and source in COMPOSE["volumes"]}
    assert written <= set(json.loads(f"[{step}]"))
    assert "COPY --from=build --chown=10001:10001 /generated /generated\n" in text
    assert SERVICES["secrets"]["network_mode"] == "none" and SERVICES["secrets"]["restart"] == "no"


def test_no_password_is_shipped() -> None:
    assert "secrets" not in COMPOSE, "a secret is a file of the checkout"
    secret = re.compile("PASSWORD|SECRET|TOKEN|KEY")
    for name, service in SERVICES.items():
        for key, value in service.get("environment", {}).items():
            if secret.search(key) and value not in ("true", "false"):
                assert re.search("_FILE$", key) and value.startswith(f"{SECRETS}/"), f"{name}: {key}"
    for path in [*HOME.iterdir(), *(ROOT / "tests" / "live" / "setup").iterdir()]:
        assert not re.search(r"latchscope_password = \w|public-(password|token)", path.read_text("utf-8")), path


def test_demo_needs_a_token_and_prometheus_has_it(made: Path) -> None:
    settings = read(HOME / "latchscope.yaml")
    assert not settings.loopback and settings.auth.tokens_file == Path(SECRETS) / "latchscope_tokens"
    assert {one.scripted for one in settings.databases} == set(scenarios())
    assert role(made) == "read"
    (store,) = (target for name, source, target in mounts() if (name, source) == ("latchscope", "store"))
    assert settings.store == f"sqlite:///{store}/latchscope.db"


def role(made: Path) -> str:
    """The role of Prometheus's token in latchscope's list."""
    known = read_tokens(made / "latchscope" / "latchscope_tokens")
    token = (made / "prometheus" / "latchscope_token").read_text("utf-8")
    return known[hashlib.sha256(token.encode()).hexdigest()].role


def files(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


def test_secrets_are_long_of_their_own_and_stay(made: Path, tmp_path: Path) -> None:
    before, other = files(made), tmp_path / "other"
    make(made)
    make(other)
    assert files(made) == before, "a second start changes nothing"
    again = files(other)
    assert again.keys() == before.keys() and not set(again.values()) & set(before.values())
    assert all(len(text) >= 29 for text in before.values())
    assert other.stat().st_mode & 0o777 == 0o700, "on a machine that others use"
    password = before["postgres/postgres_password"]
    assert before["latchscope/pgpass"] == f"postgres:5432:latchscope:latchscope:{password}\n"
    assert (
        before["oracle/latchscope.sql"] == f"define latchscope_password = {before['latchscope/oracle_user_password']}\n"
    )
    # 11.2 accepts none that is longer or begins with a digit.
    assert all(
        re.fullmatch("[A-Z][0-9a-f]{28}", before[name])
        for name in ("oracle/oracle_password", "latchscope/oracle_user_password")
    )
    assert (made / "latchscope" / "pgpass").stat().st_mode & 0o777 == 0o400, "libpq accepts no other mode"
    assert (made / "grafana" / "grafana_admin_password").stat().st_mode & 0o777 == 0o444, "another user reads it"


def test_secrets_cut_off_while_they_were_written_are_made_whole(tmp_path: Path) -> None:
    (tmp_path / "prometheus").mkdir()
    (tmp_path / "prometheus" / "latchscope_token.draft").write_text("hal", "utf-8")
    make(tmp_path)
    assert not list(tmp_path.rglob("*.draft")) and role(tmp_path) == "read"
    (
        tmp_path / "latchscope" / "latchscope_tokens"
    ).unlink()  # killed between writing the token and the list that contains it
    make(tmp_path)
    assert role(tmp_path) == "read"


@pytest.mark.slow
def test_demo_service_answers_prometheus_and_nobody_else(made: Path, tmp_path: Path) -> None:
    port = free_port()
    text = (HOME / "latchscope.yaml").read_text("utf-8")
    for written, here in {
        "0.0.0.0:8000": f"127.0.0.1:{port}",
        SECRETS: str(made / "latchscope"),
        "/var/lib/latchscope": str(tmp_path),
    }.items():
        assert written in text
        text = text.replace(written, here)
    (tmp_path / "latchscope.yaml").write_text(text, "utf-8")
    token, log = (made / "prometheus" / "latchscope_token").read_text("utf-8"), tmp_path / "log"
    process = Started("-m", "service", "serve", "--config", str(tmp_path / "latchscope.yaml"), errors=log)
    with answering(process, port, log) as running:
        assert fetch(f"{running.url}/metrics")[0] == 401
        status, page = fetch(f"{running.url}/metrics", {"Authorization": f"Bearer {token}"})
    assert status == 200 and 'latchscope_up{db="undo-storm"}' in page
