"""A Diagnosis in words: the numbers of the model incident, each with its derivation, and no rate where there is none."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.model import NotComparable
from rules.model import Diagnosis
from service.inputs import Diagnosed, diagnose_data
from service.report import as_markdown, as_text
from tests.service.stage import Stage

NAME = "incident-2010.json"


@pytest.fixture
def told(incident: Path) -> list[Diagnosed]:
    return diagnose_data(incident.read_bytes(), NAME).told


SHOWN = (
    "child 1 of latch# 270",
    "99.998 % of the sleeps",
    "24,241,645 of 24,242,220",
    "cache# 3 dc_rollback_segments, parent only",
    "310,995,555 gets = 78.5 % of 395,935,656",
    "85.03 %",
    "10.74 %",
    "4.24 %",
    "24,241,589",
    "kqrpre: find obj",
    "kqreqd: reget",
    "about 11,400 × those of dc_tablespaces",
    "dba_rollback_segs",
    "14,838",
    "matches the symptom of bug 5749075",
    "reported for releases older",
    "ORA-30013",
    "ORA-01555",
    "ORA-01552",
    "Large but partial",
)


@pytest.mark.parametrize("words", SHOWN)
def test_the_model_incident_is_told_with_its_numbers(told: list[Diagnosed], words: str) -> None:
    assert words.lower() in as_text(told).lower()
    assert words.lower() in as_markdown(told).lower()


def test_there_is_no_rate_without_an_interval(told: list[Diagnosed]) -> None:
    for text in (as_text(told), as_markdown(told)):
        assert not re.search(r"per second|/s\b|sessions wait(ing)? on average", text)
        assert "totals since an unknown instance start" in text


def test_the_text_of_the_model_incident_is_frozen(told: list[Diagnosed], golden: Callable[[str, str], None]) -> None:
    golden("incident-2010.txt", as_text(told))


def test_the_json_of_the_model_incident_is_frozen(told: list[Diagnosed], golden: Callable[[str, str], None]) -> None:
    golden("incident-2010.json", told[0].diagnosis.model_dump_json(indent=2) + "\n")


def test_the_json_is_the_contracts(told: list[Diagnosed]) -> None:
    document = json.loads(told[0].diagnosis.model_dump_json())
    assert {
        "database",
        "release",
        "mechanism",
        "basis",
        "severity",
        "headline",
        "impact",
        "steps",
        "findings",
        "ruled_out",
        "undetermined",
    } <= set(document)
    assert document["impact"] is None
    finding = document["findings"][0]
    assert {
        "cause",
        "severity",
        "confidence",
        "child",
        "cache",
        "caches",
        "location",
        "evidence",
        "confirm",
        "remedy",
        "risk",
        "expected_effect",
        "references",
    } <= set(finding)
    assert finding["confirm"]["result"] == 14838
    assert finding["caches"] == [
        {"cache_id": 3, "parameter": "dc_rollback_segments", "type": "PARENT", "subordinate": None}
    ]
    assert Diagnosis.model_validate(document) == told[0].diagnosis


def test_markdown_has_the_same_walk(told: list[Diagnosed]) -> None:
    text = as_markdown(told)
    steps = [one.step for one in told[0].diagnosis.steps]
    assert re.findall(r"^\d+\. \*\*(.+?)\*\*:", text, re.M) == steps
    for line in (one for one in text.splitlines() if one.startswith("|")):
        assert line.endswith("|"), line


def test_a_diagnosis_that_cannot_tell_reads_so(stage: Stage) -> None:
    one = [polled(stage)]
    for text in (as_text(one), as_markdown(one)):
        assert "Cannot tell yet: the first poll has nothing to compare with" in text
        assert "figures are not available yet" in text
        assert "wait for the next poll" in text
        assert "Found" not in text


def polled(stage: Stage) -> Diagnosed:
    diagnosis = stage.poll("undo-storm", at=1).diagnosis
    return Diagnosed("poll", NotComparable("undo-storm", None, "", ""), diagnosis)


def test_several_inputs_are_a_table_and_then_one_after_the_other(told: list[Diagnosed], stage: Stage) -> None:
    several = [*told, polled(stage)]
    text, markdown = as_text(several), as_markdown(several)
    assert re.findall(r"^## (\S+) \((.+)\)$", markdown, re.M) == [("undo-segments", NAME), ("undo-storm", "poll")]
    assert text.count("figures are") == 2
    head, first, second, empty = text.splitlines()[:4]
    assert head.split("  ")[0] == "file" and head.endswith("headline")
    assert re.search(r"incident-2010.json\s+undo-segments\s+totals\s+11.2\s+warning\s+unknown\s+Too many undo", first)
    assert re.search(r"poll\s+undo-storm\s+none\s+11.2.0.4.0\s+info\s+unknown\s+Cannot tell yet", second)
    assert empty == ""
    assert markdown.startswith("| file | database | period | release | severity | DB time lost | headline |\n|---|")


def test_a_bar_in_a_name_does_not_break_the_table(told: list[Diagnosed]) -> None:
    hostile = [replace(one, name="a|b") for one in (*told, *told)]
    assert "| a\\|b | undo-segments |" in as_markdown(hostile)
