"""The Helm chart, rendered by Helm's own engine:

it lints, fits the schemas, and equals the kustomize base under other names.
"""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import LOADER
from service.config.load import read
from tests.repo.manifests import refused

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "dashboards" / "helm" / "latchscope"
BASE = ROOT / "dashboards" / "kubernetes"
Json = dict[str, Any]
OWN = {"name": "erp1", "dsn": "erp1.example.org:1521/erp", "password_file": "/run/secrets/latchscope/erp"}
OPERATOR: Json = {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}
SHARED: Json = {
    "replicas": 3,
    "config": {"store": "postgresql+psycopg://latchscope@db/latchscope", "databases": [OWN]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "image": {"repository": "images.example.org/latchscope", "tag": "0.2.0"},
    "imagePullSecrets": [{"name": "registry"}],
    "podAnnotations": {"team": "dba"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dba", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "service": {"type": "LoadBalancer", "port": 80},
}
CLAIMED: Json = {"persistence": {"existingClaim": "history"}, "existingSecret": "passwords"}


@pytest.fixture(scope="module")
def helm() -> Any:
    return pytest.importorskip("helm_python", reason="Helm's engine is not installed; `make test` installs it")


def rendered(helm: Any, values: Mapping[str, object], name: str = "latchscope") -> dict[str, Json]:
    """Kind → manifest, as `helm template` renders them."""
    with helm.Chart.load(CHART) as chart:
        files = chart.render(values=dict(values), name=name, namespace="latchscope")
    manifests = (yaml.load(text, Loader=LOADER) for path, text in files.items() if path.endswith(".yaml"))
    return {manifest["kind"]: manifest for manifest in manifests if manifest}


def base(name: str) -> Json:
    """A resource of the kustomize base."""
    loaded: Json = yaml.load((BASE / f"{name}.yaml").read_text("utf-8"), Loader=LOADER)
    return loaded


def test_helm_lints_the_chart_without_a_warning(helm: Any) -> None:
    told = helm.lint(CHART, strict=True)
    assert [message for message in told["messages"] if message["severity"] >= 2] == [] and told["errors"] == []


def test_what_the_chart_renders_holds_to_the_schemas_of_kubernetes(helm: Any) -> None:
    for values in ({}, OPERATOR, SHARED, CLAIMED):
        manifests = rendered(helm, values, "erp")
        assert [fault for manifest in manifests.values() for fault in refused(manifest)] == [], values
        assert {manifest["metadata"]["name"] for manifest in manifests.values()} == {"erp-latchscope"}
        selector = manifests["Deployment"]["spec"]["selector"]["matchLabels"]
        assert selector == manifests["Service"]["spec"]["selector"]
        assert selector.items() <= manifests["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    spoilt = copy.deepcopy(rendered(helm, {})["Deployment"])
    spoilt["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    assert "livenesProbe" in "".join(refused(spoilt))


def test_chart_as_it_is_gives_what_the_base_gives(helm: Any) -> None:
    made = rendered(helm, OPERATOR)
    pod = made["Deployment"]["spec"]["template"]["spec"]
    pod["containers"][0].pop("imagePullPolicy")
    assert pod == base("deployment")["spec"]["template"]["spec"]
    assert made["Deployment"]["spec"]["strategy"] == base("deployment")["spec"]["strategy"]
    assert made["Service"]["spec"]["ports"] == base("service")["spec"]["ports"]
    assert made["ServiceMonitor"]["spec"]["endpoints"] == base("servicemonitor")["spec"]["endpoints"]
    assert made["PrometheusRule"]["spec"] == base("prometheusrule")["spec"]
    assert made["PersistentVolumeClaim"]["spec"] == base("persistentvolumeclaim")["spec"]
    assert made["ServiceAccount"]["automountServiceAccountToken"] is False
    assert set(rendered(helm, {})) == set(made) - {"ServiceMonitor", "PrometheusRule"}


def test_replicas_share_a_store_and_a_claim_of_ones_own_is_used(helm: Any) -> None:
    made = rendered(helm, SHARED)
    assert made["Deployment"]["spec"]["replicas"] == 3 and "PersistentVolumeClaim" not in made
    assert made["Deployment"]["spec"]["strategy"] == {"type": "RollingUpdate"}
    assert made["ServiceMonitor"]["metadata"]["labels"]["release"] == "prometheus"
    volumes = {
        volume["name"]: volume
        for volume in rendered(helm, CLAIMED)["Deployment"]["spec"]["template"]["spec"]["volumes"]
    }
    assert volumes["store"]["persistentVolumeClaim"] == {"claimName": "history"}
    assert volumes["secrets"]["secret"]["secretName"] == "passwords"


def test_configuration_of_the_chart_is_one_that_the_service_takes(helm: Any, tmp_path: Path) -> None:
    made = rendered(helm, {"config": {"databases": [OWN]}})
    file = tmp_path / "latchscope.yaml"
    file.write_text(made["ConfigMap"]["data"]["latchscope.yaml"], "utf-8")
    settings = read(file)
    container = made["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert settings.port == container["ports"][0]["containerPort"] and not settings.loopback
    mounts = {Path(mount["mountPath"]) for mount in container["volumeMounts"]}
    used = [
        settings.auth.tokens_file,
        Path(settings.store.removeprefix("sqlite:///")),
        settings.databases[0].password_file,
    ]
    assert [path for path in used if path is None or path.parent not in mounts] == []
    other = rendered(helm, {"config": {"databases": [OWN], "defaults": {"interval": 5}}})
    sums = [
        one["Deployment"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"] for one in (made, other)
    ]
    assert sums[0] != sums[1], "a new configuration starts new pods"


def test_chart_refuses_values_it_does_not_know(helm: Any) -> None:
    for said, values in (
        ("additional properties 'replica'", {"replica": 2}),
        ("/config/databases/0", {"config": {"databases": [{**OWN, "password": "tiger"}]}}),
        ("/persistence/size", {"persistence": {"size": "five"}}),
        ("/serviceMonitor/interval", {"serviceMonitor": {"interval": "15"}}),
        ("a SQLite store takes one process", {"replicas": 2}),
    ):
        with pytest.raises(helm.HelmError, match=re.escape(said)):
            rendered(helm, values)


def test_chart_has_the_version_of_the_project() -> None:
    (version,) = re.findall(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    told = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (told["version"], told["appVersion"]) == (version, version)
