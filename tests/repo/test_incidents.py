"""One incident, one call: a storm that comes and goes, and a RAC whose instances suffer together."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import loads, scenarios
from collectors.model import Delta, Snapshot
from collectors.poll import poll
from rules.cache_map import cache_map
from rules.engine import examine
from service.config.settings import DatabaseSettings
from service.metrics.exposition import render
from service.state.episodes import Episodes
from tests.ports import free_port
from tests.repo.processes import eventually, fetch, fetch_json, need, running
from tests.repo.test_prometheus import ALERTS, RULE_FILES, read, write_rules

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "dashboards" / "prometheus"
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
TWO_HOURS = 7200
READ_BY_THE_RULES = (
    "latchscope_latch_sleeps_total", "latchscope_latch_wait_seconds_total", "latchscope_db_time_seconds_total",
    "latchscope_wait_event_seconds_total", "latchscope_finding", "latchscope_impact", "latchscope_surface_impact",
    "latchscope_hanging_sessions",
)  # fmt: skip


def storm(cycle: int, share: float) -> Scenario:
    """A storm that lasts a share of each cycle; the cycle begins healthy."""
    loop = ((cycle * (1 - share), loads()["healthy"]), (cycle * share, loads()["storm"]))
    return replace(scenarios()["undo-storm"], loop=loop)


def hang(cycle: int, length: float) -> Scenario:
    """Sessions that hang for some minutes of each cycle behind one DDL."""
    script = scenarios()["ddl-hang"]
    hangs = (replace(script.hangs[0], begin=cycle - length, end=cycle - 1.0),)
    return replace(script, loop=((cycle, script.ordinary),), hangs=hangs)


def polls(script: Scenario, length: int, interval: int) -> Iterator[Mapping[str, bytes]]:
    """The samples of a scripted database on /metrics, poll by poll."""
    now = 0.0
    database = ScriptedDatabase(script, BEGAN, lambda: now)
    settings, episodes = DatabaseSettings(name="erp1", dsn="demo:undo-storm"), Episodes()
    previous: Snapshot | None = None
    for moment in range(0, length + 1, interval):
        now = float(moment)
        snapshot = poll("erp1", database, previous, lambda: 0.0)
        if previous is not None:
            change = between(previous, snapshot)
            assert isinstance(change, Delta)
            examined = examine(change)
            diagnosis = examined.verdict
            episodes.update(diagnosis, examined.open_causes)
            yield render(settings, snapshot, cache_map(change), diagnosis, episodes.open)
        previous = snapshot


def series(told: Sequence[Mapping[str, bytes]], length: int) -> list[dict[str, str]]:
    """The samples of many polls as input series of promtool of that length, with `_` for a missing sample."""
    found: dict[str, list[str]] = {}
    for place, families in enumerate(told):
        for family, text in families.items():
            if not family.startswith(READ_BY_THE_RULES):
                continue
            for line in text.decode().splitlines():
                name, _, value = line.rpartition(" ")
                found.setdefault(name, ["_"] * place).append(value)
        for values in found.values():
            values.extend(["stale" if values[-1] not in ("_", "stale") else "_"] * (place + 1 - len(values)))
    found['latchscope_up{db="erp1"}'] = ["1"] * len(told)
    return [
        {"series": name, "values": " ".join(repeated(values, len(told) // 2, length, "_total{" in name))}
        for name, values in found.items()
    ]


def repeated(values: list[str], cycle: int, length: int, total: bool) -> list[str]:
    """This many samples of a series: its second cycle repeats, and a total grows by the same amount each time."""
    grown = float(values[-1]) - float(values[-1 - cycle]) if total else 0.0
    while len(values) < length:
        values.append(repr(float(values[-cycle]) + grown) if total else values[-cycle])
    return values


FIRING = 'alertstate="firing",db="erp1"'
CRITICAL = f'{FIRING},severity="critical"'
CAUSE = f'{CRITICAL},alertname="LatchscopeFindingActive"'


def symptom(names: str) -> str:
    return f'{FIRING},alertname=~"{names}"'


def minutes(some: str, without: str, offset: str = "", step: str = "1m") -> str:
    """In how many minutes (or steps) of two hours some alerts fired and others did not."""
    return f"count_over_time((group(ALERTS{{{some}}}) unless group(ALERTS{{{without}}}{offset}))[2h:{step}])"


def opened(alerts: str) -> str:
    """How often such an alert began within two hours."""
    return minutes(alerts, alerts, " offset 1m")


def asked(expr: str, value: float | None) -> dict[str, Any]:
    """An expression after two hours and its one value; None if it must have none."""
    expected = [] if value is None else [{"labels": "{}", "value": value}]
    return {"expr": expr, "eval_time": f"{TWO_HOURS}s", "exp_samples": expected}


LATCH, LOCK = "RowCacheObjectsSleepsHigh", "RowCacheLockWaits|RowCacheHang"
RECURRING = {
    "200-seconds": (storm(200, 0.4), LATCH, 200, 40, 1),
    "15-minutes": (storm(900, 0.5), LATCH, 900, 60, 1),
    "60-minutes": (storm(3600, 0.5), LATCH, 3600, 60, 2),
    "hang-of-5-in-15-minutes": (hang(900, 300.0), LOCK, 900, 30, 8),
}
"""Script, the symptoms of its trouble, seconds of a cycle, seconds between polls, and calls: one that ended eight minutes ago is
another."""


@pytest.mark.parametrize("name", RECURRING)
def test_recurring_trouble_calls_once_while_its_pauses_are_short(name: str, tmp_path: Path) -> None:
    promtool = need("promtool", "prometheus")
    script, symptoms, cycle, interval, calls = RECURRING[name]
    told = list(polls(script, 2 * cycle, interval))
    groups = list(dict.fromkeys(group["name"] for name in RULE_FILES for group in read(name)["groups"]))
    case = {
        "rule_files": list(RULE_FILES),
        "evaluation_interval": f"{interval}s",
        "group_eval_order": groups,
        "tests": [
            {
                "name": name,
                "interval": f"{interval}s",
                "input_series": series(told, TWO_HOURS // interval + 1),
                "promql_expr_test": [
                    asked(opened(CAUSE), calls),
                    asked(opened(CRITICAL), calls),
                    asked(minutes(symptom(symptoms), CAUSE, step=f"{interval}s"), None),
                    asked(minutes(symptom(symptoms), 'db="another"') + " > bool 10", 1),
                ],
            }
        ],
    }
    (tmp_path / "storm.yml").write_text(json.dumps(case), encoding="utf-8")
    asked_about = {one["alert"] for one in ALERTS if one["labels"]["severity"] == "critical"}
    write_rules(tmp_path, f"{symptoms} {' '.join(asked_about)}", dict(zip(RULE_FILES, RULE_FILES, strict=True)))
    done = subprocess.run([promtool, "test", "rules", "storm.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Alertmanager with the shipped routing."""
    program = need("prometheus-alertmanager", "prometheus-alertmanager")
    folder, port = tmp_path_factory.mktemp("alertmanager"), free_port()
    command = [program, f"--config.file={FOLDER}/alertmanager.yml", f"--storage.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with running(command, folder / "log"):
        address = f"http://127.0.0.1:{port}"
        eventually(lambda: fetch(f"{address}/-/ready")[0] == 200 or None, (folder / "log").read_text)
        yield address


def post(address: str, alerts: Sequence[Mapping[str, str]]) -> None:
    body = json.dumps([{"labels": dict(labels)} for labels in alerts]).encode()
    request = urllib.request.Request(
        f"{address}/api/v2/alerts", data=body, headers={"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=60) as told:
        assert told.status == 200


def alert(name: str, db: str, severity: str = "critical", **labels: str) -> dict[str, str]:
    return {"alertname": name, "db": db, "severity": severity, **labels}


def groups_of(address: str, receiver: str, db: str, alerts: int) -> list[dict[str, Any]]:
    """The groups of a receiver with alerts on databases with this prefix, once there are that many alerts."""

    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = [
            one
            for one in fetch_json(f"{address}/api/v2/alerts/groups?receiver={receiver}")
            if any(each["labels"].get("db", "").startswith(db) for each in one["alerts"])
        ]
        return found if sum(len(one["alerts"]) for one in found) == alerts else None

    return eventually(look, lambda: f"{alerts} alerts never reached {receiver}")


def test_rac_incident_opens_one_group(alertmanager: str) -> None:
    cause = {"cause": "sequence-nocache", "cache": "dc_sequences", "rac": "shop"}
    told = [alert("LatchscopeFindingActive", "shop1", **cause)]
    told += [alert("RowCacheLockWaits", f"shop{instance}", rac="shop", surface="lock") for instance in (1, 2, 3)]
    post(alertmanager, told)
    (group,) = groups_of(alertmanager, "pager", "shop", 4)
    assert group["labels"] == {"rac": "shop"}
    paged = [one["labels"]["alertname"] for one in group["alerts"] if not one["status"]["inhibitedBy"]]
    assert paged == ["LatchscopeFindingActive"], "only the cause on one instance calls, not the symptoms of the others"


def test_database_outside_a_rac_has_a_group_of_its_own(alertmanager: str) -> None:
    post(alertmanager, [alert("LatchscopeDatabaseDown", f"single{number}", env="prod") for number in (1, 2)])
    found = groups_of(alertmanager, "pager", "single", 2)
    assert sorted(one["labels"]["db"] for one in found) == ["single1", "single2"]


HELD = [
    ("undo-segments", "RowCacheObjectsSleepsHigh", True),
    ("result-cache-adaptive", "ResultCacheLatchWaits", True),
    ("undo-segments", "ResultCacheLatchWaits", False),
    ("undo-segments", "RowCacheLockWaits", False),
    ("undo-segments", "RowCacheHang", False),
    ("sequence-nocache", "RowCacheLockWaits", True),
    ("row-cache-lock-hang", "RowCacheHang", True),
]


def test_cause_holds_back_its_symptoms_and_no_other_matter(alertmanager: str) -> None:
    for number, (cause, symptom, _) in enumerate(HELD):
        db = f"held{number}"
        post(alertmanager, [alert("LatchscopeFindingActive", db, cause=cause), alert(symptom, db)])
    found = groups_of(alertmanager, "pager", "held", 2 * len(HELD))
    inhibited = {
        each["labels"]["db"]: bool(each["status"]["inhibitedBy"])
        for group in found
        for each in group["alerts"]
        if each["labels"]["alertname"] != "LatchscopeFindingActive"
    }
    assert inhibited == {f"held{number}": held for number, (_, _, held) in enumerate(HELD)}
    assert len(found) == len(HELD), "cause and symptom of a database are one group"
