"""One figure and one set of words on the page, in REST, in the metric, in the recording rule and in the alerts."""

import json
import re
import subprocess
from datetime import datetime
from html import unescape
from pathlib import Path

import pytest

from rules.cause import catalogue, hedged
from rules.model import Confidence
from tests.repo.processes import need
from tests.repo.test_prometheus import RULE_FILES, read, write_rules
from tests.service.stage import Client, Stage

SHARE = re.compile(r"<dt>of DB time lost[^<]*</dt><dd>([^<]*)</dd>")
SESSIONS = re.compile(r"<dt>sessions wait, on average</dt><dd>([^<]*)</dd>")
CARD = {
    "title": '<h1 id="v">([^<]*)</h1>',
    "eyebrow": '<span class="eyebrow">([^<]*)</span>',
    "since": r' since <time datetime="([^"]+)">',
    "do": '<p class="do">([^<]*)</p>',
    "warn": '<p class="warn">([^<]*)</p>',
}
TROUBLES = {
    "undo-storm": (60.0, 75.0, 90.0),
    "users-mutex": (60.0, 75.0, 90.0),
    "nocache-sequence-1": (60.0, 75.0, 90.0),
    "ads-result-cache": (60.0, 75.0, 90.0),
    "ddl-hang": (75.0, 90.0, 105.0),
}
"""Database → when to poll it, in the middle of its trouble: latch, mutex, lock, result cache, and waits without an end."""


def samples(client: Client, db: str) -> dict[str, str]:
    """Every series of one database as /metrics gives it."""
    lines = [line for line in client.get("/metrics").text.splitlines() if f'{{db="{db}"' in line]
    return {name: value for name, _, value in (line.rpartition(" ") for line in lines)}


def told_by_rules(series: dict[str, str], db: str, folder: Path) -> str:
    """What promtool finds after twenty minutes without a change, where the test expects nothing."""
    groups = [read(name)["groups"] for name in RULE_FILES]
    expected = {"alertname": "LatchscopeFindingActive", "eval_time": "20m", "exp_alerts": []}
    ratio = {"expr": f'db:latchscope_impact:ratio{{db="{db}"}}', "eval_time": "20m", "exp_samples": []}
    case = {
        "rule_files": list(RULE_FILES),
        "evaluation_interval": "1m",
        "group_eval_order": list(dict.fromkeys(group["name"] for file in groups for group in file)),
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": f"{value}x20"} for name, value in series.items()],
                "alert_rule_test": [expected],
                "promql_expr_test": [ratio],
            }
        ],
    }
    write_rules(
        folder, "LatchscopeFindingActive db:latchscope_impact:ratio", dict(zip(RULE_FILES, RULE_FILES, strict=True))
    )
    (folder / "case.yml").write_text(json.dumps(case), "utf-8")
    done = subprocess.run(
        [need("promtool", "prometheus"), "test", "rules", "case.yml"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 1, "a finding and a cost were expected"
    return done.stdout + done.stderr


def verdict_in(series: dict[str, str]) -> dict[str, str]:
    """The labels of the verdict, as on the first screen of a dashboard."""
    (name,) = (name for name in series if name.startswith("latchscope_verdict_info"))
    return dict(re.findall(r'(\w+)="([^"]*)"', name))


def verdict_on(page: str) -> dict[str, str]:
    """The same of a page."""
    found = {name: re.search(pattern, page) for name, pattern in CARD.items()}
    return {name: unescape(one[1]).replace("\N{NO-BREAK SPACE}", " ") if one else "" for name, one in found.items()}


@pytest.mark.parametrize("db", TROUBLES)
def test_cost_is_the_same_to_its_printed_digits_everywhere(db: str, stage: Stage, tmp_path: Path) -> None:
    for moment in TROUBLES[db]:
        stage.poll(db, moment)
    client = stage.app()
    page = client.get(f"/db/{db}").text
    diagnosis = client.get(f"/api/v1/databases/{db}/diagnosis").json()
    impact = diagnosis["impact"]
    share, sessions = f"{impact['share_of_db_time'] * 100:.1f} %", impact["waiting_sessions"]
    # A hang shows how many sessions hang and for how long, not the average of waiting sessions.
    averages = [] if db == "ddl-hang" else [f"{sessions:,.1f}"]
    assert ([" ".join(one.split()) for one in SHARE.findall(page)], SESSIONS.findall(page)) == ([share], averages)
    assert impact["share_of_db_time"] > 0.02, "without trouble there is no proof"
    series = samples(client, db)
    shown, card = verdict_in(series), verdict_on(page)
    known = catalogue()[shown["cause"]]
    unsure = "Look first: " if card["eyebrow"] == "Look first" else ""
    do = known.do_now if known.measured_do_now else card["do"]
    assert (shown["action"], shown["check"]) == (f"{unsure}{do}", card["warn"])
    (since,) = (float(value) for name, value in series.items() if name.startswith("latchscope_trouble_since"))
    assert since == round(datetime.fromisoformat(card["since"]).timestamp())
    sure = Confidence(diagnosis["findings"][0]["confidence"])
    plain = hedged(known.title, known.hedge_after, sure, against=False)
    assert shown["title"] == (plain if known.measured_title else card["title"])
    assert float(series[f'latchscope_impact_ratio{{db="{db}"}}']) == impact["share_of_db_time"]
    wanted = {
        name: value for name, value in series.items() if re.match(r"latchscope_(up|finding|impact|verdict_info)", name)
    }
    told = told_by_rules(wanted, db, tmp_path)
    recorded = re.search(r'got: \{__name__="db:latchscope_impact:ratio"[^}]*\} (\S+)', told)
    assert recorded and float(recorded[1]) == impact["share_of_db_time"], told
    assert f"the waits cost {share} of DB time. It says that {sessions:,.2f} sessions wait on average." in told
    assert f"{db}: {shown['title']} (" in told and f"Do now: {shown['action']}" in told
