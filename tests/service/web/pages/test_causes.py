"""Which alerts hold now: by the last polls and the bounds of the alert rules, and no statement where the polls cannot tell."""

import re
from pathlib import Path

from service.state.board import Failure, PeerReport
from service.web.pages.causes import HANGING, JUDGES, LOSES, AlertNow, firing, runbook_names
from service.web.pages.words import STATES
from tests.service.stage import Stage

ALERTS = Path(__file__).parents[4] / "dashboards/prometheus/alerts.yml"


def test_alerts_hold_by_the_last_poll_and_the_page_names_their_databases(stage: Stage) -> None:
    for name, moments in (("undo-storm", (40, 60, 75)), ("ddl-hang", (72, 74, 76)), ("busy-but-fine", (40, 42))):
        for at in moments:
            stage.poll(name, at)
    stage.at = 76
    stage["users-mutex"].failure = Failure("login", "ORA-01017", 0.0, None)
    found = firing(stage.board)
    assert {alert: held for alert, held in found.items() if held} == {
        "LatchscopeDatabaseDown": [AlertNow("users-mutex", "critical")],
        "LatchscopeLoginStopped": [AlertNow("users-mutex", "warning")],
        "LatchscopeFindingActive": [AlertNow("ddl-hang", "critical"), AlertNow("undo-storm", "critical")],
        "RowCacheHang": [AlertNow("ddl-hang", "critical")],
        "RowCacheLockWaits": [AlertNow("ddl-hang", "critical")],
        "RowCacheObjectsSleepsHigh": [AlertNow("undo-storm", "critical")],
    }
    text = stage.app().get("/runbooks").text.replace("\N{NO-BREAK SPACE}", " ")
    rows = {row[1]: row[2] for row in re.finditer(r'<a href="/runbooks/(\w+)">(.*?)</tr>', text, re.S)}
    assert 'href="/db/ddl-hang"' in rows["RowCacheHang"] and "busy-but-fine" not in rows["LatchscopeFindingActive"]
    assert "See Prometheus" in rows["UndoSegmentsGrowing"] and "See Prometheus" not in rows["RowCacheMutexWaits"]
    assert "6 alerts would fire now" in text
    assert list(rows)[:1] != ["LatchscopeCollectorFailing"], "those that hold come first"
    stage["healthy-19c"].peer_report = PeerReport(1.0, None)
    assert firing(stage.board)["RowCacheHang"] is None, "another replica polls one of them, and its figures are there"


def test_bounds_are_those_of_the_alert_rules() -> None:
    assert set(JUDGES) <= set(runbook_names())
    rules = ALERTS.read_text(encoding="utf-8").split("- alert: ")[1:]
    hang = [re.search(r"hanging_sessions\) >= (\d+)", rule) for rule in rules if rule.startswith("RowCacheHang\n")]
    assert [int(bound[1]) for bound in hang if bound] == [enough for _, enough in HANGING]
    lock = [rule for rule in rules if rule.startswith("RowCacheMutexWaits\n")][:2]
    bounds = [re.search(r"ratio_avg5m\{surface=\"mutex\"\} >= ([\d.]+)", rule) for rule in lock]
    assert [float(bound[1]) for bound in bounds if bound] == [share for _, share, _ in LOSES]


def test_runbooks_tell_the_worst_severity_of_their_alerts(still: Stage) -> None:
    row = r'<a href="/runbooks/(\w+)">.*?<td data-l="Severity"><span class="state (\w+)">'
    shown = dict(re.findall(row, still.app().get("/runbooks").text))
    ruled: dict[str, set[str]] = {}
    for rule in ALERTS.read_text(encoding="utf-8").split("- alert: ")[1:]:
        severity = re.search(r"\n {10}severity: (\w+)", rule)
        assert severity, rule[:60]
        ruled.setdefault(rule.split()[0], set()).add(severity[1])
    assert shown == {name: min(found, key=list(STATES).index) for name, found in ruled.items()}
    assert still.app().get(f"/runbooks/{'a' * 256}").status_code == 404
