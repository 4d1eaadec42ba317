"""The shipped Prometheus and Alertmanager files: their own tools accept them, and every alert is complete and proven."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import LOADER
from rules.model import Severity
from service.metrics.families import FAMILIES
from service.state.episodes import OPEN_AFTER
from tests.repo.known_metrics import of_the_process
from tests.repo.processes import need

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dashboards" / "prometheus"
RULE_FILES = ("recording.yml", "fleet.yml", "alerts.yml")
TEST_FILES = sorted(path.name for path in FOLDER.glob("*.test.yml"))
NAME = re.compile(r"(?<![\w:/.-])[a-z_]*:?latchscope_[a-z0-9_]+(?::[a-z0-9_]+)?")
RECORD = re.compile(
    r"^(db|instance)(_[a-z]+)*:latchscope_[a-z_]+:(rate5m|ratio_rate5m|ratio|sessions|ratio_avg5m|ratio5m|ratio10m|avg5m|max1d|timestamp)$"
)
DURATION = re.compile(r"(\d+)(ms|s|m|h|d)")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
WHOEVER = {"critical": "pager", "warning": "chat", "notice": "digest"}

Rule = Mapping[str, Any]


@cache
def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load((FOLDER / name).read_text(encoding="utf-8"), Loader=LOADER)
    return loaded


def rules(name: str) -> list[Rule]:
    return [rule for group in read(name)["groups"] for rule in group["rules"]]


ALERTS = rules("alerts.yml")
RECORDS = rules("recording.yml")
OF_FLEET = rules("fleet.yml")
ALERT_NAMES = sorted({rule["alert"] for rule in ALERTS})


def run(tool: str, *arguments: str, folder: Path = FOLDER) -> str:
    """The output of a tool. If the tool fails, the test fails with that output."""
    need(tool, {"amtool": "prometheus-alertmanager"}.get(tool, "prometheus"))
    done = subprocess.run([tool, *arguments], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{tool} {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout


def seconds(duration: str) -> float:
    assert re.fullmatch(rf"(?:{DURATION.pattern})+", duration), f"{duration} is no duration"
    return sum(int(count) * UNITS[unit] for count, unit in DURATION.findall(duration))


def texts(rule: Rule) -> str:
    """All parts of a rule that may name a metric."""
    return "\n".join([rule["expr"], *rule.get("annotations", {}).values()])


def proofs() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in TEST_FILES:
        for group in read(name)["tests"]:
            yield name, group


def told(group: Mapping[str, Any], alert: str) -> list[list[str]]:
    """Severities of an alert that a test group expects, in time order."""
    moments = [one for one in group.get("alert_rule_test", ()) if one["alertname"] == alert]
    moments.sort(key=lambda one: seconds(one["eval_time"]))
    return [[fired["exp_labels"]["severity"] for fired in one["exp_alerts"]] for one in moments]


def test_rules_are_accepted_by_promtool() -> None:
    said = run("promtool", "check", "rules", *RULE_FILES)
    assert [f"SUCCESS: {len(one)} rules found" in said for one in (RECORDS, OF_FLEET, ALERTS)] == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", TEST_FILES)
def test_rules_pass_their_promtool_tests(name: str) -> None:
    assert "SUCCESS" in run("promtool", "test", "rules", name)


@pytest.mark.slow
def test_prometheus_configuration_is_accepted_by_promtool(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.yml"):
        shutil.copy(path, tmp_path)
    config = tmp_path / "prometheus.yml"
    (tmp_path / "token").write_text("a token", encoding="utf-8")
    config.write_text(config.read_text(encoding="utf-8").replace("/run/generated/latchscope_token", "token"))
    said = run("promtool", "check", "config", "prometheus.yml", folder=tmp_path)
    assert f"SUCCESS: {len(ALERTS)} rules found" in said


def test_alertmanager_configuration_is_accepted_by_amtool() -> None:
    run("amtool", "check-config", "alertmanager.yml")


def routed_by(route: Mapping[str, Any]) -> set[str]:
    """The labels that a route and its children match on."""
    below = [routed_by(one) for one in route.get("routes", ())]
    return set().union(*below, {re.split("[=!]", one)[0] for one in route.get("matchers", ())})


@pytest.mark.parametrize("rac", ["", "erp"], ids=["single", "rac"])
@pytest.mark.parametrize("severity", sorted({rule["labels"]["severity"] for rule in ALERTS}))
def test_alerts_reach_the_receiver_for_their_severity(severity: str, rac: str) -> None:
    """One query for each path through the routes. Routes match on nothing else."""
    assert routed_by(read("alertmanager.yml")["route"]) == {"severity", "rac", "alertname"}
    labels = [f"severity={severity}", f"rac={rac}", "db=erp1"]
    said = run("amtool", "config", "routes", "test", "--config.file=alertmanager.yml", *labels)
    assert said.split()[-1] == WHOEVER[severity]


@pytest.mark.parametrize("rule", ALERTS)
def test_alert_has_every_label_timing_and_annotation(rule: Rule) -> None:
    assert rule["labels"]["severity"] in {one.value for one in Severity}
    assert seconds(rule["for"]) >= 60
    assert seconds(rule["keep_firing_for"]) >= 60
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "page", "runbook_url"}
    assert notes["runbook_url"] == f"http://127.0.0.1:8000/runbooks/{rule['alert']}"
    assert notes["page"].startswith("http://127.0.0.1:8000/")
    assert notes["summary"].endswith(".") and notes["description"].rstrip("{ -end}").endswith(".")
    of_ours = {"Missing", "ReplicaDown", "DatabasesUnowned", "PollsQueue"}
    of_ours |= {
        "SpoolFilling",
        "PollsLost",
        "ThreadDown",
        "WebhookGaveUp",
        "MostDatabasesDown",
        "StoreDown",
        "RulesMissing",
    }
    if rule["alert"].removeprefix("Latchscope") not in of_ours:  # those are about no single database
        assert "{{ $labels.db }}" in notes["summary"] and "{{ $labels.db }}" in notes["description"]
        assert re.search(r"\d minutes|\bvalue\b", notes["description"], re.IGNORECASE), "no figure, no interval"


@pytest.mark.parametrize("alert", ALERT_NAMES)
def test_severities_of_one_alert_differ_only_in_expr_and_labels(alert: str) -> None:
    same = [{k: v for k, v in rule.items() if k not in ("expr", "labels")} for rule in ALERTS if rule["alert"] == alert]
    severities = [rule["labels"]["severity"] for rule in ALERTS if rule["alert"] == alert]
    assert all(one == same[0] for one in same)
    assert len(set(severities)) == len(severities)


@pytest.mark.parametrize("rule", [*RECORDS, *OF_FLEET, *ALERTS])
def test_rule_names_only_existing_metrics(rule: Rule) -> None:
    recorded = {one["record"] for one in (*RECORDS, *OF_FLEET)}
    named = set(NAME.findall(texts(rule)))
    assert named
    assert named <= set(FAMILIES) | recorded | of_the_process()
    counters = {name for name in named & set(FAMILIES) if FAMILIES[name].type == "counter"}
    for name in counters:
        assert re.search(rf"rate\({name}(\{{[^}}]*\}})?\[", texts(rule)), f"{name} is a total and needs rate()"


def test_recording_rules_are_named_by_their_level_and_each_is_read_by_another_rule_or_a_dashboard() -> None:
    boards = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "dashboards" / "grafana").rglob("latchscope-*.json")
    )
    for rule in RECORDS:
        assert RECORD.match(rule["record"])
        others = [texts(one) for one in (*RECORDS, *OF_FLEET, *ALERTS) if one.get("record") != rule["record"]]
        assert rule["record"] in NAME.findall("\n".join([*others, boards])), f"nothing reads {rule['record']}"
    (said,) = re.findall(r"by (\d+) rules", (ROOT / "docs" / "scale.md").read_text(encoding="utf-8"))
    assert len(RECORDS) == int(said) <= 39, "what each database costs in Prometheus may only fall"


def test_rules_of_the_fleet_are_all_read_by_its_dashboard_and_proven() -> None:
    (file,) = (ROOT / "dashboards" / "grafana").rglob("latchscope-fleet.json")
    board, proven = (path.read_text(encoding="utf-8") for path in (file, FOLDER / "fleet.test.yml"))
    for rule in OF_FLEET:
        reason = rule.get("labels", {}).get("why", "")
        assert rule["record"] in board and reason in board
        assert rule["record"] in proven and reason in proven
    (ranked,) = {count for rule in OF_FLEET for count in re.findall(r"^topk\((\d+),", rule["expr"])}
    assert set(re.findall(r"topk by \(why\) \((\d+),", board)) == {ranked}


def test_divisions_are_all_guarded_against_zero() -> None:
    for rule in RECORDS:
        for divisor in re.findall(r"/ (?:on \([^)]*\) group_left \(\) )?(.*)", rule["expr"]):
            never_zero = divisor.startswith("sum by (cluster, env, region, rac, db) (count_over_time(latchscope_up[")
            assert never_zero or divisor.endswith("> 0)"), f"{rule['record']}: {divisor}"


@pytest.mark.parametrize("alert", ALERT_NAMES)
def test_alert_is_proven_to_fire_to_stay_quiet_and_to_resolve(alert: str) -> None:
    severities = {rule["labels"]["severity"] for rule in ALERTS if rule["alert"] == alert}
    fired: set[str] = set()
    quiet, resolved = [], []
    for _, group in proofs():
        moments = told(group, alert)
        fired |= {severity for moment in moments for severity in moment}
        if moments and not any(moments) and alert in group["name"]:
            quiet.append(group["name"])
        if any(moments) and not moments[0] and not moments[-1]:
            resolved.append(group["name"])
    assert fired <= severities, (
        f"{alert} fires in a test as {sorted(fired - severities)}, which alerts.yml does not know"
    )
    forms = {f"a moment at which it fires as {severity}": severity in fired for severity in sorted(severities)}
    forms[f'a test with "{alert}" in its name, a look-alike, and `exp_alerts: []` at every moment'] = bool(quiet)
    forms["a test with `exp_alerts: []` at its first and last moment and an alert between"] = bool(resolved)
    if lacking := "; ".join(form for form, found in forms.items() if not found):
        pytest.fail(f"{alert}: dashboards/prometheus/*.test.yml lack {lacking}", pytrace=False)


def test_finding_alert_fires_before_its_symptoms_lasts_until_they_end_and_no_longer_than_eight_minutes() -> None:
    """Otherwise Alertmanager could not suppress them, and somebody would get another call when all is over; or a new storm
    would be held back by a cause that has ended."""
    held = {"RowCacheObjectsSleepsHigh", "RowCacheObjectsOneChildDominates", "RowCacheMutexWaits", "RowCacheLockWaits"}
    reached, window, found = seconds("10m") / 4, seconds("5m"), seconds("3m")
    opening = (OPEN_AFTER - 1) * seconds(
        "1m"
    )  # polls are at most a minute apart, which rates over five minutes need anyway
    assert all(
        "[3m])" in rule["expr"] for rule in RECORDS if rule["record"] == "db_cause_cache:latchscope_finding:ratio10m"
    )
    for finding in (rule for rule in ALERTS if rule["alert"] == "LatchscopeFindingActive"):
        for symptom in (rule for rule in ALERTS if rule["alert"] in held):
            assert opening + reached + seconds(finding["for"]) < seconds(symptom["for"])
            stays = found + seconds(finding["keep_firing_for"])
            assert window + seconds(symptom["keep_firing_for"]) <= stays <= seconds("8m")


def test_inhibitions_name_existing_alerts() -> None:
    config = (FOLDER / "alertmanager.yml").read_text(encoding="utf-8")
    named = {one for names in re.findall(r'alertname=~?"([^"]+)"', config) for one in names.split("|")}
    assert named and named <= set(ALERT_NAMES)


def test_critical_alert_is_inhibited_only_by_a_critical_one() -> None:
    for rule in read("alertmanager.yml")["inhibit_rules"]:
        assert {"cluster", "env", "region"} <= set(rule["equal"]), "one environment silences no other"
        if (
            "LatchscopeFindingActive" in rule["source_matchers"][0]
            and 'severity="critical"' not in rule["source_matchers"]
        ):
            assert 'severity=~"warning|notice"' in rule["target_matchers"]
