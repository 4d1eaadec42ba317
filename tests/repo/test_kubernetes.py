"""The kustomize base, tested without a cluster: structure, references, and rules equal to those of Prometheus."""

import copy
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import LOADER
from service.config.load import read
from tests.repo.manifests import refused
from tests.repo.processes import need

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "dashboards" / "kubernetes"
PROMETHEUS = ROOT / "dashboards" / "prometheus"
Json = dict[str, Any]


def load(path: Path) -> Json:
    """One YAML document."""
    loaded: Json = yaml.load(path.read_text("utf-8"), Loader=LOADER)
    return loaded


KUSTOMIZATION = load(HOME / "kustomization.yaml")
RESOURCES = {one["kind"]: one for one in map(load, (HOME / name for name in KUSTOMIZATION["resources"]))}
VERSIONS = {
    "Namespace": "v1",
    "ServiceAccount": "v1",
    "PersistentVolumeClaim": "v1",
    "Service": "v1",
    "Deployment": "apps/v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
}


def test_kustomization_names_exactly_the_files_there() -> None:
    generated = {one for each in KUSTOMIZATION["configMapGenerator"] for one in each["files"]}
    named = {*KUSTOMIZATION["resources"], *generated, "kustomization.yaml"}
    assert named == {path.name for path in HOME.glob("*.yaml")}


def test_resources_have_known_versions_and_are_named_latchscope() -> None:
    assert {kind: one["apiVersion"] for kind, one in RESOURCES.items()} == VERSIONS
    assert {one["metadata"]["name"] for one in RESOURCES.values()} == {"latchscope"}
    assert KUSTOMIZATION["namespace"] == RESOURCES["Namespace"]["metadata"]["name"]


def test_resources_hold_to_the_schemas_of_kubernetes() -> None:
    (labels,) = KUSTOMIZATION["labels"]
    deployment = copy.deepcopy(RESOURCES["Deployment"])
    deployment["spec"] |= {"selector": {"matchLabels": labels["pairs"]}}
    deployment["spec"]["template"]["metadata"] = {"labels": labels["pairs"]}
    told = [fault for resource in (RESOURCES | {"Deployment": deployment}).values() for fault in refused(resource)]
    assert told == []
    assert list(refused(RESOURCES["Deployment"])) == ["Deployment.spec: 'selector' is a required property"]


def container(deployment: Json) -> Json:
    """The only container."""
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def faults(deployment: Json) -> Iterator[str]:
    """What a cluster or a careful operator would refuse in the Deployment."""
    pod, one = deployment["spec"]["template"]["spec"], container(deployment)
    if (deployment["spec"].get("replicas"), deployment["spec"].get("strategy")) != (1, {"type": "Recreate"}):
        yield "two processes could watch the same database"
    if not re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", one["image"]):
        yield "image is not pinned"
    shared = pod.get("securityContext", {})
    if not shared.get("runAsNonRoot") or not shared.get("runAsUser") or "seccompProfile" not in shared:
        yield "pod may run as root"
    own = one.get("securityContext", {})
    if (own.get("allowPrivilegeEscalation"), own.get("readOnlyRootFilesystem")) != (False, True):
        yield "container may gain rights or write to its root"
    if own.get("capabilities") != {"drop": ["ALL"]}:
        yield "container keeps capabilities"
    paths = {
        probe: one.get(probe, {}).get("httpGet", {}) for probe in ("livenessProbe", "readinessProbe", "startupProbe")
    }
    if {probe: each.get("path") for probe, each in paths.items()} != {
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
        "startupProbe": "/healthz",
    }:
        yield "probes ask the wrong question"
    if {each.get("port") for each in paths.values()} - {port["name"] for port in one["ports"]}:
        yield "probes ask a port that is not there"
    if "memory" not in one.get("resources", {}).get("limits", {}) or "cpu" not in one["resources"].get("requests", {}):
        yield "no resources"
    if {mount["name"] for mount in one["volumeMounts"]} != {volume["name"] for volume in pod["volumes"]}:
        yield "mounts and volumes differ"
    if any("value" in each and re.search("PASSWORD|TOKEN", each["name"]) for each in one.get("env", [])):
        yield "a secret stands in the file"


def test_deployment_has_no_faults() -> None:
    assert list(faults(RESOURCES["Deployment"])) == []


@pytest.mark.parametrize(
    ("said", "spoil"),
    [
        ("two processes", lambda d: d["spec"].update(replicas=2)),
        ("image", lambda d: container(d).update(image="latchscope:latest")),
        ("pod may", lambda d: d["spec"]["template"]["spec"]["securityContext"].pop("runAsNonRoot")),
        ("container may", lambda d: container(d)["securityContext"].update(readOnlyRootFilesystem=False)),
        ("container keeps", lambda d: container(d)["securityContext"].pop("capabilities")),
        ("probes ask the wrong", lambda d: container(d)["livenessProbe"]["httpGet"].update(path="/readyz")),
        ("probes ask a port", lambda d: container(d)["livenessProbe"]["httpGet"].update(port="web")),
        ("no resources", lambda d: container(d).pop("resources")),
        ("mounts", lambda d: container(d)["volumeMounts"].pop()),
        ("a secret", lambda d: container(d).update(env=[{"name": "ERP_PASSWORD", "value": "tiger"}])),
    ],
)
def test_fault_check_notices_a_planted_fault(said: str, spoil: Callable[[Json], object]) -> None:
    spoilt = copy.deepcopy(RESOURCES["Deployment"])
    spoil(spoilt)
    assert any(one.startswith(said) for one in faults(spoilt))


def test_references_lead_somewhere() -> None:
    pod = RESOURCES["Deployment"]["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert pod["serviceAccountName"] == RESOURCES["ServiceAccount"]["metadata"]["name"]
    assert volumes["config"]["configMap"]["name"] == KUSTOMIZATION["configMapGenerator"][0]["name"]
    claimed = volumes["store"]["persistentVolumeClaim"]["claimName"]
    assert claimed == RESOURCES["PersistentVolumeClaim"]["metadata"]["name"]
    (labels,) = KUSTOMIZATION["labels"]
    assert labels["includeSelectors"] is True
    selected = RESOURCES["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert selected.items() <= labels["pairs"].items()


def test_ports_paths_and_files_match_the_service() -> None:
    settings = read(HOME / "latchscope.yaml")
    one = container(RESOURCES["Deployment"])
    (port,) = one["ports"]
    (offered,) = RESOURCES["Service"]["spec"]["ports"]
    (endpoint,) = RESOURCES["ServiceMonitor"]["spec"]["endpoints"]
    assert settings.port == port["containerPort"] == offered["port"]
    assert (
        offered["targetPort"] == port["name"] and endpoint["port"] == offered["name"] and endpoint["path"] == "/metrics"
    )
    mounts = [Path(mount["mountPath"]) for mount in one["volumeMounts"]]
    used = [Path(one["args"][-1]), settings.auth.tokens_file, Path(settings.store.removeprefix("sqlite:///"))]
    used += [each.password_file for each in settings.databases]
    assert [path for path in used if path is None or path.parent not in mounts] == []
    assert not settings.loopback


def test_image_and_user_are_those_of_compose_and_the_dockerfile() -> None:
    compose = load(ROOT / "docker-compose.yml")
    one = container(RESOURCES["Deployment"])
    assert one["image"] == compose["services"]["latchscope"]["image"]
    (user,) = re.findall(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    shared = RESOURCES["Deployment"]["spec"]["template"]["spec"]["securityContext"]
    assert (str(shared["runAsUser"]), str(shared["runAsGroup"])) == user


def test_secret_in_the_docs_has_every_key_that_is_used() -> None:
    settings = read(HOME / "latchscope.yaml")
    files = {settings.auth.tokens_file, *(one.password_file for one in settings.databases)}
    (endpoint,) = RESOURCES["ServiceMonitor"]["spec"]["endpoints"]
    keys = {path.name for path in files if path} | {endpoint["authorization"]["credentials"]["key"]}
    told = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    assert [key for key in sorted(keys) if f"--from-file={key}=" not in told] == []
    secrets = RESOURCES["Deployment"]["spec"]["template"]["spec"]["volumes"][1]["secret"]["secretName"]
    assert f"create secret generic {secrets} " in told


def test_base_ships_no_secret_and_the_docs_make_one_from_files_that_are_written() -> None:
    assert "Secret" not in RESOURCES and "secretGenerator" not in KUSTOMIZATION
    told = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    made = re.findall(r"--from-file=\w+=made/(\S+)", told)
    script = (ROOT / "dashboards" / "compose" / "make_secrets.py").read_text("utf-8")
    assert sorted(made) == ["latchscope/latchscope_tokens", "prometheus/latchscope_token"]
    assert [one for one in made if f'"{one}"' not in script] == []


def test_prometheus_rule_holds_the_rules_of_prometheus(tmp_path: Path) -> None:
    expected = [
        group for name in ("recording.yml", "fleet.yml", "alerts.yml") for group in load(PROMETHEUS / name)["groups"]
    ]
    assert RESOURCES["PrometheusRule"]["spec"]["groups"] == expected
    subprocess.run([sys.executable, str(HOME / "build.py"), str(tmp_path)], check=True)
    for kept in (HOME / "prometheusrule.yaml", ROOT / "dashboards/helm/latchscope/files/rules.yaml"):
        made = (tmp_path / kept.name).read_text("utf-8")
        assert made == kept.read_text("utf-8"), "run `python dashboards/kubernetes/build.py`"


def test_prometheus_accepts_the_rules_as_one_file(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump(RESOURCES["PrometheusRule"]["spec"]), "utf-8")
    checked = subprocess.run(
        [need("promtool", "prometheus"), "check", "rules", str(rules)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_service_monitor_scrapes_as_the_job_of_prometheus() -> None:
    configured = load(PROMETHEUS / "prometheus.yml")
    (job,) = [one for one in configured["scrape_configs"] if one["job_name"] == "latchscope"]
    (endpoint,) = RESOURCES["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["interval"] == job.get("scrape_interval", configured["global"]["scrape_interval"])
    assert endpoint["scrapeTimeout"] == job.get("scrape_timeout", configured["global"]["scrape_timeout"])
    (labels,) = KUSTOMIZATION["labels"]
    assert labels["pairs"][RESOURCES["ServiceMonitor"]["spec"]["jobLabel"]] == job["job_name"]
