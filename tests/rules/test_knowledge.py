"""The texts of causes: releases only as far as a source goes, and what no text may claim."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from collectors.capture import Capture, delta_of
from collectors.model import Delta
from rules.base import LOADER
from rules.cause import HOME, catalogue
from rules.engine import diagnose
from rules.signals import SIGNALS

LIMITS = """
failed-logon-delay | 11.2.0.1.0 12.1.0.2.0 19.21.0.0.0 | 11.1.0.7.0
undo-online-storm | 10.2.0.4.0 11.2.0.4.0 12.1.0.2.0 19.21.0.0.0 | 10.1.0.5.0
undo-retention-runaway | 10.2.0.4.0 11.2.0.4.0 12.1.0.2.0 19.21.0.0.0 | 10.1.0.5.0
object-types | 11.2.0.4.0 12.2.0.1.0 19.21.0.0.0 23.4.0.24.5 | 11.1.0.7.0
adaptive-statistics | 12.1.0.2.0 12.2.0.1.0 19.21.0.0.0 | 11.2.0.4.0
sequence-dynamic-cache | 19.10.0.0.0 21.3.0.0.0 | 19.9.0.0.0 12.2.0.1.0
"""
"""Cause, releases where it can happen, and releases where it cannot."""


@pytest.mark.parametrize("line", LIMITS.strip().splitlines())
def test_releases_include_where_a_source_has_the_cause_and_exclude_where_it_shows_otherwise(line: str) -> None:
    cause, among, beyond = (cell.strip() for cell in line.split("|"))
    releases = catalogue()[cause].releases
    assert all(map(releases.include, among.split())) and not any(map(releases.include, beyond.split()))


def test_a_field_is_written_once() -> None:
    """YAML would keep the last one and say nothing."""
    documents = {
        path.name: yaml.compose(path.read_text(encoding="utf-8"), Loader=LOADER) for path in HOME.glob("*.yaml")
    }
    assert {name: found for name, document in documents.items() if (found := list(doubled(document)))} == {}


def doubled(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        written = Counter(key.value for key, _ in node.value)
        yield from (f"{name} at line {node.start_mark.line + 1}" for name, times in written.items() if times > 1)
        parts = [value for _, value in node.value]
    else:
        parts = node.value if isinstance(node, yaml.SequenceNode) else []
    for part in parts:
        yield from doubled(part)


SPEAKS_OF_NAMES = re.compile(
    r"names of the confirming query|those of the confirming query|confirming query (?:gives|names)|the names are"
)


def test_a_text_speaks_of_names_only_where_a_second_query_gives_them() -> None:
    """A count alone names no sequence, table or session."""
    speaking = set()
    for cause in catalogue().values():
        steps = [words for step in cause.remedy_steps for words in (step.do, step.reading or "")]
        reading = cause.confirm.reading if cause.confirm else ""
        if SPEAKS_OF_NAMES.search(" ".join([cause.check_first or "", *steps, reading]).lower()):
            speaking.add(cause.id)
    assert {"sequence-nocache", "sequence-conflicts", "object-types", "many-partitions"} <= speaking and len(
        speaking
    ) > 30
    assert [name for name in speaking if not (query := catalogue()[name].confirm) or not query.names] == []


# What no text of ours may claim: statements that the sources refute, and promises that nobody can keep

TRAPS = {
    "spinning is no cure": r"(fix|cure|solv|help)\w*[^.]{0,40}_spin_count|(rais|increas)\w*[^.]{0,30}_spin_count",
    "a location is no bug": r"kqrpre: find obj (means|is|proves)\b|find obj means",
    "the result cache latch has shared gets from 11.2 on": r"(no|without|lacks?) shared (gets?|mode)|exclusive only",
    "child numbers are the instance's own": r"child (latch )?number is (always|portable|the same)|always child \d",
    "no licence is assumed": r"\b(v\$active_session_history|dba_hist_\w+|dbms_workload_repository|v\$sql_monitor)\b",
    "nothing is promised": r"\b((?<!retention )guarantee[sd]?|always (fixes|helps)|eliminates? all)\b",
    "a silent latch proves nothing from 12.2 on": r"no row cache contention",
    "forbidden scans are not asked for": r"from (v\$rowcache_(parent|subordinate)|dba_undo_extents|gv\$)",
}
CONFIDENT_BUG = re.compile(r"(?i)\b(it|this) is bug \d")
HIDDEN = re.compile(r"(?<![A-Za-z0-9$#])_[a-z]+(_[a-z]+)+")
UNVERIFIED = "7313166 8666117 6004916 9866045 9278979 11693365 5756769 10511"  # known by hearsay only: hints at best


def texts() -> dict[str, str]:
    """Every word of every cause, as one text each."""
    return {name: " ".join(str(value) for value in cause.model_dump().values()) for name, cause in catalogue().items()}


TEXTS = texts()


@pytest.mark.parametrize("trap", TRAPS)
def test_texts_of_causes_and_signals_avoid_the_trap(trap: str) -> None:
    words = {**TEXTS, **{name: one.about for name, one in SIGNALS.items()}}
    assert {name for name, text in words.items() if re.search(TRAPS[trap], text, re.IGNORECASE)} == set()


def test_hidden_parameters_and_bug_numbers_carry_their_caution() -> None:
    for name, text in TEXTS.items():
        if HIDDEN.search(catalogue()[name].remedy):
            assert "under Oracle Support guidance" in catalogue()[name].remedy, name
        if re.search(r"(?i)\b(bug|MOS note) \d{6,}", text):
            assert re.search(r"(?i)verify on My Oracle Support|on My Oracle Support", text), name
        assert not CONFIDENT_BUG.search(text), name
        hints = [one.title for one in catalogue()[name].references if "an unverified hint" in one.title]
        shown = [number for number in UNVERIFIED.split() if number in text]
        assert all(any(number in hint for hint in hints) and text.count(number) == 1 for number in shown), name


def test_incident_matches_the_symptom_of_a_bug_without_being_called_it(incident: Capture) -> None:
    delta = delta_of(incident)
    assert isinstance(delta, Delta)
    said = diagnose(delta).model_dump_json()
    assert "matches the symptom of bug 5749075" in said
    assert not CONFIDENT_BUG.search(said)
