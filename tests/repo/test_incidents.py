"""One incident, one group: a RAC whose instances suffer together, and a cause with its symptoms, in a real Alertmanager."""

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.repo.processes import eventually, fetch_json, monitor

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "dashboards" / "prometheus"


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Alertmanager with the shipped routing."""
    folder = tmp_path_factory.mktemp("alertmanager")
    with monitor("alertmanager", folder, free_port(), FOLDER / "alertmanager.yml") as address:
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
