"""What no text of ours may claim: statements that the sources refute, and promises that nobody can keep."""

import re

import pytest

from collectors.capture import Capture, delta_of
from collectors.model import Delta
from rules.cause import catalogue
from rules.engine import diagnose
from rules.signals import SIGNALS

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
