"""Runbooks: each is listed with the worst severity of its alert."""

import re
from pathlib import Path

from service.web.pages.words import STATES
from tests.service.stage import Stage

ALERTS = Path(__file__).parents[4] / "dashboards/prometheus/alerts.yml"


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
