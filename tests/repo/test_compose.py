"""docker-compose.yml: valid by the specification's schema, every file exists, every port matches, no secret is inline."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from service.config.load import read
from tests.repo.compose import COMPOSE, HOME, ROOT, SECRETS, SERVICES, Json, mounts, sources

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


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s["grafana"].update(port=["3000:3000"]),
        lambda s: s["grafana"].update(read_only=7),
        lambda s: s["prometheus"]["healthcheck"].update(interval=[15]),
        lambda s: s["latchscope"].update(depends_on={"postgres": {"condition": "service_green"}}),
    ],
)
def test_schema_notices_a_planted_fault(spoil: Callable[[dict[str, Json]], object]) -> None:
    spoilt = deepcopy(COMPOSE)
    spoil(spoilt["services"])
    assert errors(spoilt)


def test_services_named_in_the_issue_are_there() -> None:
    assert {"latchscope", "prometheus", "alertmanager", "grafana", "postgres"} <= set(SERVICES)
    always = {name for name, one in SERVICES.items() if not one.get("profiles")}
    assert always == {"secrets", "latchscope", "prometheus", "alertmanager", "grafana"}


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    image = SERVICES[name]["image"]
    assert PINNED.fullmatch(image) and "latest" not in image, image


def test_images_stand_in_one_place_with_their_date() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    own = SERVICES["latchscope"]["image"]
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


def test_image_pin_check_notices_unpinned_images() -> None:
    assert not any(PINNED.fullmatch(one) for one in ("grafana/grafana", "grafana/grafana:latest", "postgres:18"))


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "secrets"])
def test_services_that_stay_have_a_health_check(name: str) -> None:
    service = SERVICES[name]
    if "healthcheck" in service:
        assert service["healthcheck"]["test"][0] == "CMD" and not service["healthcheck"].get("disable")
    else:
        assert "build" in service and re.search(
            r"^HEALTHCHECK ", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE
        )


OWN_USER = {"secrets", "latchscope", "oracle", "oracle-11"}
"""Services whose image sets their user: ours (tests/repo/test_image.py checks it), and those of Oracle's databases."""


@pytest.mark.parametrize("name", SERVICES)
def test_services_are_hardened_and_not_root(name: str) -> None:
    service = SERVICES[name]
    assert service.get("security_opt") == ["no-new-privileges:true"] and not service.get("privileged")
    assert service.get("read_only") is True and service.get("cap_drop") == ["ALL"]
    assert "cap_add" not in service and "/tmp" in service["tmpfs"]
    assert (name in OWN_USER and "user" not in service) or int(service["user"].split(":")[0]) > 0


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_published_on_loopback_only(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), port


def test_mounted_files_exist_and_volumes_are_declared() -> None:
    for name, source, _ in mounts():
        if source.startswith("."):
            assert sources(source).exists(), f"{name} mounts {source}"
        else:
            assert source in COMPOSE["volumes"], f"{name} mounts the volume {source}"
    used = {source for _, source, _ in mounts()}
    assert sorted(set(COMPOSE["volumes"]) - used) == []


def test_mounted_files_are_read_only() -> None:
    for service in SERVICES.values():
        for mount in service.get("volumes", []):
            assert not mount.startswith(".") or mount.endswith(":ro"), mount


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


def test_health_checks_use_a_port_the_service_has() -> None:
    for name in ("prometheus", "alertmanager", "grafana"):
        (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)", " ".join(SERVICES[name]["healthcheck"]["test"]))
        assert int(port) in published(name)


@pytest.mark.parametrize("name", SERVICES)
def test_services_have_limits_and_their_logs_end(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"]) and service["pids_limit"] > 0
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}


def test_one_service_builds_the_image_that_two_use() -> None:
    own = SERVICES["latchscope"]["image"]
    assert [name for name, service in SERVICES.items() if service["image"] == own] == ["secrets", "latchscope"]
    assert [name for name, service in SERVICES.items() if "build" in service] == ["latchscope"]


def test_latchscope_waits_for_postgres_where_it_is_started_and_keeps_its_name() -> None:
    assert SERVICES["latchscope"]["depends_on"] == {
        "secrets": {"condition": "service_completed_successfully"},
        "postgres": {"condition": "service_healthy", "required": False},
    }
    assert SERVICES["latchscope"]["hostname"] == "latchscope"
