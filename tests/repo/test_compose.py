"""docker-compose.yml: valid by the specification's schema, every file exists, every port matches; a service generates
the secrets, each only for its reader, and the checkout ships none.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from collectors.demo.scenarios import scenarios
from service.config.load import read
from service.web.access import read_tokens
from tests.ports import free_port
from tests.repo.compose import COMPOSE, HOME, ROOT, SECRETS, SERVICES, Json, mounts, sources
from tests.repo.processes import fetch
from tests.service.running import answering
from tests.started import Started

SCHEMA: Json = json.loads((Path(__file__).parent / "compose-spec" / "compose-spec.json").read_text("utf-8"))
PINNED = re.compile(r"^[a-z0-9./-]+(:[0-9]+)?[a-z0-9./-]*:v?\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$")


def prometheus_files(name: str) -> Json:
    """A file of the Prometheus folder."""
    loaded: Json = yaml.safe_load((ROOT / "dashboards" / "prometheus" / name).read_text("utf-8"))
    return loaded


def errors(compose: Json) -> list[str]:
    """The schema's objections to a file."""
    return [one.message for one in Draft202012Validator(SCHEMA).iter_errors(compose)]


def test_compose_file_is_valid_by_the_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert errors(COMPOSE) == []


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    image = SERVICES[name]["image"]
    assert PINNED.fullmatch(image) and "latest" not in image, image
    assert not any(map(PINNED.fullmatch, ("grafana/grafana", "grafana/grafana:latest", "postgres:18")))


def test_images_stand_in_one_place_with_their_date() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    own = SERVICES["latchscope"]["image"]
    assert [name for name, service in SERVICES.items() if service["image"] == own] == ["secrets", "latchscope"]
    assert [name for name, service in SERVICES.items() if "build" in service] == ["latchscope"]
    assert {f"image: {own}"} == set(re.findall(r"image: [^*\s].*", text)), "a service has an image of its own"
    built_on = set(re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE))
    assert set(COMPOSE["x-images"].values()) == {one["image"] for one in SERVICES.values()} - {own} | built_on
    assert re.search(r"looked up on 20\d\d-\d\d-\d\d", text.partition("x-images:")[0])


def test_grafana_asks_nobody_outside() -> None:
    settings = SERVICES["grafana"]["environment"]
    off = {"ANALYTICS_REPORTING", "ANALYTICS_FEEDBACK_LINKS", "NEWS_NEWS_FEED", "SNAPSHOTS_EXTERNAL"}
    assert {f"GF_{name}_ENABLED" for name in off} <= {name for name, value in settings.items() if value == "false"}
    assert settings["GF_ANALYTICS_CHECK_FOR_UPDATES"] == settings["GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES"] == "false"
    assert settings["GF_PLUGINS_PREINSTALL_DISABLED"] == settings["GF_SECURITY_DISABLE_GRAVATAR"] == "true"
    assert settings["GF_PLUGINS_PUBLIC_KEY_RETRIEVAL_DISABLED"] == "true"
    assert settings["GF_PLUGINS_PLUGIN_ADMIN_ENABLED"] == "false"


ASKED_BY_HTTP = ("prometheus", "alertmanager", "grafana")


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "secrets"])
def test_services_that_stay_have_a_health_check(name: str) -> None:
    service = SERVICES[name]
    if "healthcheck" in service:
        words = service["healthcheck"]["test"]
        assert words[0] == "CMD" and not service["healthcheck"].get("disable")
        asked = re.findall(r"http://127\.0\.0\.1:(\d+)", " ".join(words))
        assert {int(port) for port in asked} <= published(name) and len(asked) == (name in ASKED_BY_HTTP)
    else:
        assert "build" in service and "\nHEALTHCHECK " in (ROOT / "Dockerfile").read_text("utf-8")


OWN_USER = {"secrets", "latchscope", "oracle", "oracle-11"}
"""Services whose image sets their user: ours (tests/repo/test_kubernetes.py checks it), and those of Oracle's databases."""


@pytest.mark.parametrize("name", SERVICES)
def test_services_are_hardened_not_root_limited_and_on_loopback(name: str) -> None:
    service = SERVICES[name]
    assert service.get("security_opt") == ["no-new-privileges:true"] and not service.get("privileged")
    assert service.get("read_only") is True and service.get("cap_drop") == ["ALL"]
    assert "cap_add" not in service and "/tmp" in service["tmpfs"]
    assert (name in OWN_USER and "user" not in service) or int(service["user"].split(":")[0]) > 0
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"]) and service["pids_limit"] > 0
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in service.get("ports", [])), "loopback only"


def test_mounted_files_exist_read_only_and_volumes_are_declared() -> None:
    assert [source for _, source, _ in mounts() if source.startswith(".") and not sources(source).exists()] == []
    assert {source for _, source, _ in mounts() if not source.startswith(".")} == set(COMPOSE["volumes"])
    mounted = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert [mount for mount in mounted if mount.startswith(".") and not mount.endswith(":ro")] == []


def published(name: str) -> set[int]:
    """The ports on which a service listens, as far as they are published."""
    return {int(port.rsplit(":", 1)[1]) for port in SERVICES[name].get("ports", [])}


def test_prometheus_scrapes_latchscope_and_notifies_alertmanager() -> None:
    configured = prometheus_files("prometheus.yml")
    settings = read(HOME / "latchscope.yaml")
    jobs = {one["job_name"]: one for one in configured["scrape_configs"]}
    assert jobs["latchscope"]["static_configs"][0]["targets"] == [f"latchscope:{settings.port}"]
    assert settings.port in published("latchscope")
    token = Path(jobs["latchscope"]["authorization"]["credentials_file"])
    assert token.parent == Path(SECRETS)
    (told,) = configured["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert told == "alertmanager:9093" and 9093 in published("alertmanager")
    folder = next(
        sources(source) for name, source, target in mounts() if (name, target) == ("prometheus", "/etc/prometheus")
    )
    assert all((folder / one).is_file() for one in configured["rule_files"])


def test_service_commands_name_mounted_files() -> None:
    targets = {name: [Path(target) for each, _, target in mounts() if each == name] for name in SERVICES}
    for name in ("prometheus", "alertmanager"):
        for argument in SERVICES[name]["command"]:
            flag, _, value = argument.partition("=")
            if flag in ("--config.file", "--storage.path", "--storage.tsdb.path"):
                path = Path(value)
                assert any(path == one or one in path.parents for one in targets[name]), argument
    assert Path("/etc/latchscope/latchscope.yaml") in targets["latchscope"]


def test_grafana_finds_its_data_source_and_its_dashboards() -> None:
    provisioning = ROOT / "dashboards" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text("utf-8"))["datasources"]
    assert source["url"] == "http://prometheus:9090" and 9090 in published("prometheus")
    assert source["jsonData"]["timeInterval"] == prometheus_files("prometheus.yml")["global"]["scrape_interval"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "latchscope.yml").read_text("utf-8"))["providers"]
    mounted = {target: sources(source) for name, source, target in mounts() if name == "grafana"}
    assert sorted(mounted[provider["options"]["path"]].glob("*.json"))
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (mounted[str(home.parent)] / home.name).is_file()
    for kind in ("datasources", "dashboards"):
        assert mounted[f"/etc/grafana/provisioning/{kind}"] == provisioning / kind


# The secrets


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the service `secrets` leaves in its volumes. The test runs its command on a folder instead."""
    return make(tmp_path_factory.mktemp("made"))


def make(folder: Path) -> Path:
    """Run the command of `secrets` here."""
    one = SERVICES["secrets"]
    here = {target: ROOT / source for name, source, target in mounts() if name == "secrets" and source.startswith(".")}
    python, script = one["entrypoint"]
    assert (python, one["command"]) == ("python", ["/generated"])
    subprocess.run([sys.executable, str(here[Path(script).as_posix()]), str(folder)], check=True)
    return folder


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
    own = ("latchscope", "prometheus", "grafana", "postgres", "oracle")
    by_reader = {name: reader for name in SERVICES if (reader := reader_of(name))}
    assert by_reader == {**dict(zip(own, own, strict=True)), "oracle-11": "oracle"}
    assert {name for name, files in read.items() if files} == set(by_reader)
    for name, reader in by_reader.items():
        assert sorted(file for file in read[name] if not (made / reader / file).is_file()) == [], name
        assert SERVICES[name]["depends_on"]["secrets"] == {"condition": "service_completed_successfully"}, name
    shared = [source for _, source, _ in mounts() if source.startswith("secrets-")]
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
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def test_secrets_are_long_of_their_own_and_stay(made: Path, tmp_path: Path) -> None:
    before, other = files(made), make(tmp_path / "other")
    assert files(make(made)) == before, "a second start changes nothing"
    again = files(other)
    assert again.keys() == before.keys() and not set(again.values()) & set(before.values())
    assert all(len(text) >= 29 for text in before.values())
    assert other.stat().st_mode & 0o777 == 0o700, "on a machine that others use"
    password = before["postgres/postgres_password"]
    assert before["latchscope/pgpass"] == f"postgres:5432:latchscope:latchscope:{password}\n"
    of_user, of_oracle = before["latchscope/oracle_user_password"], before["oracle/oracle_password"]
    assert before["oracle/latchscope.sql"] == f"define latchscope_password = {of_user}\n"
    # 11.2 accepts none that is longer or begins with a digit.
    assert all(re.fullmatch("[A-Z][0-9a-f]{28}", password) for password in (of_user, of_oracle))
    assert (made / "latchscope" / "pgpass").stat().st_mode & 0o777 == 0o400, "libpq accepts no other mode"
    assert (made / "grafana" / "grafana_admin_password").stat().st_mode & 0o777 == 0o444, "another user reads it"


def test_secrets_cut_off_while_they_were_written_are_made_whole(tmp_path: Path) -> None:
    (tmp_path / "prometheus").mkdir()
    (tmp_path / "prometheus" / "latchscope_token.draft").write_text("hal", "utf-8")
    make(tmp_path)
    assert not list(tmp_path.rglob("*.draft")) and role(tmp_path) == "read"
    # killed between writing the token and the list that contains it
    (tmp_path / "latchscope" / "latchscope_tokens").unlink()
    assert role(make(tmp_path)) == "read"


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
