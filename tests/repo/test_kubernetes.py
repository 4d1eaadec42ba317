"""The kustomize base, tested without a cluster: structure, references, and rules equal to those of Prometheus."""

import copy
import re
import subprocess
import sys
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


def test_deployment_is_one_process_without_rights_with_probes_limits_and_no_secret() -> None:
    deployment = RESOURCES["Deployment"]
    pod, one = deployment["spec"]["template"]["spec"], container(deployment)
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"}), (
        "two processes could watch the same database"
    )
    assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", one["image"])
    shared, own = pod["securityContext"], one["securityContext"]
    assert shared["runAsNonRoot"] and shared["runAsUser"] and shared["seccompProfile"]
    assert (own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"]) == (False, True)
    assert own["capabilities"] == {"drop": ["ALL"]}
    asked = {probe: one[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe", "startupProbe")}
    assert [each["path"] for each in asked.values()] == ["/healthz", "/readyz", "/healthz"]
    assert {each["port"] for each in asked.values()} <= {port["name"] for port in one["ports"]}
    assert "memory" in one["resources"]["limits"] and "cpu" in one["resources"]["requests"]
    assert {mount["name"] for mount in one["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    secret = re.compile("PASSWORD|TOKEN")
    assert [each["name"] for each in one.get("env", []) if "value" in each and secret.search(each["name"])] == []


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
        assert made == kept.read_text("utf-8"), f"{kept.relative_to(ROOT)} is not as its template says: run `make docs`"


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
