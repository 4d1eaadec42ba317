"""Published cases of row cache trouble, and of other trouble: our conclusion and what their authors did. Only the published
numbers count (tests/rules/published.py). With too few numbers the answer must be "cannot tell", with what is missing. If the
trouble was elsewhere, the answer must not blame the row cache.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from collectors.model import Changes, Delta, Missing, Row
from rules.cache_map import cache_map
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from tests.paths import DATA
from tests.rules.contexts import INTERVAL
from tests.rules.published import compared, delta_from, delta_of


@dataclass(frozen=True)
class Answer:
    """The right conclusion of a case, and why no more than that."""

    conclude: str
    severity: Severity
    cause: str | None
    """The cause that is found, or that stays open."""
    cache: str | None
    """The cache that a finding or the waiters name."""
    missing: str | None
    """The view without which the cause stays open."""
    release: str | None
    """The release that the numbers are from, if a case names several."""
    why: str


TABLE = """
case | conclude | severity | cause | cache | missing | release | why
C01 | found | critical | upgrade-parse-volume | - | - | 11.2 | events and miss sources; the child was not published
C03 | cannot tell | info | vpd-policy-check | - | v$latch_children | 11.2.0.3 | “many” sessions are no number
C04 | cannot tell | info | vpd-policy-check | - | v$latch_children | 11.2.0.3 | a child number without a count
C06 | found | critical | undo-online-storm | dc_rollback_segments | - | 11.1.0.6 | the enqueue of undo segments gives it away
C07 | cannot tell | info | undo-online-storm | - | v$latch_children | 11.2 | events and a stack by name, no number
C09 | cannot tell | info | px-hash-joins | - | v$latch_children | 12.1 | a share of samples; gets of neither cache
C11 | cannot tell | info | sequence-nocache | - | v$system_event | 10.2 | an alert log line
C12 | found | warning | sequence-conflicts | dc_sequences | - | - | conflicts between instances by cache
C13 | cannot tell | info | sequence-nocache | dc_sequences | v$system_event | - | one wait of a trace; who waited is named
C14 | cannot tell | info | sequence-nocache | - | v$system_event | 11.2.0.4 | times of one call, no total
C16 | cannot tell | info | logon-storm | dc_users | v$session | 12.2 | 25 sleeps and one session, below any minimum
C17 | cannot tell | info | failed-logons | dc_users | v$rowcache | - | the cache is named; nothing says why they wait
C19 | cannot tell | info | failed-logons | dc_users | v$session | 11.1.0.7 | one session of a hang; who waited is named
C20 | quiet | info | - | - | - | 12.1.0.2 | a test of 60 gets
C21 | quiet | info | - | dc_props | - | 12.2 | a test, without counts; who waited is named
C22 | quiet | info | - | - | - | 12.1.0.2 | a test of 1,500 gets
C23 | quiet | info | - | - | - | 12.1 | a test, without counts
C24 | quiet | info | - | - | - | 19 | a test, without counts
C25 | quiet | notice | downstream-of-library-cache | - | - | - | library cache lock is waited for 35 times as long
C26 | quiet | notice | downstream-of-library-cache | - | - | 23.26.1 | library cache mutexes are waited for twice as long
C28 | quiet | info | - | - | - | 19.3 | 90 sleeps
C30 | cannot tell | info | sequence-nocache | dc_sequences | v$system_event | - | one sampled wait; who waited is named
C31 | quiet | info | - | - | - | - | a row that contradicts itself, and is said to
C32 | quiet | info | - | - | - | - | totals since the start, without any wait
C33 | quiet | info | - | - | - | - | numbers of rows
C34 | quiet | info | - | - | - | - | a cold cache misses, and nobody waits
C35 | quiet | info | - | - | - | - | a test of some thousand gets
C36 | quiet | info | - | - | - | - | a test that counts latches
C37 | quiet | info | - | - | - | - | a stack
C38 | cannot tell | info | ddl-invalidation | - | v$session | 19.7 | a text without numbers
C39 | quiet | notice | - | - | - | 12.1 | latch free is not the row cache latch; which latch it is was not published
C40 | cannot tell | info | sequence-nocache | - | v$system_event | - | a text without numbers
C41 | quiet | info | - | dc_tablespaces | - | - | one wait of a trace; who waited is named
C42 | cannot tell | info | dc-users-mutex-bug | - | v$session | 19 | a list of bug fixes
C43 | quiet | info | - | - | - | - | one short wait
"""
"""Our answer to each case. All ROOT cases that stay open are here, with what their publication lacks."""


def _answer(conclude: str, severity: str, *cells: str) -> Answer:
    """A line of the table; a hyphen means empty."""
    cause, cache, missing, release, why = (None if cell == "-" else cell for cell in cells)
    return Answer(conclude, Severity(severity), cause, cache, missing, release, why or "")


_LINES = (map(str.strip, line.split("|")) for line in TABLE.strip().splitlines()[1:])
ANSWERS = {name: _answer(*cells) for name, *cells in _LINES}


@pytest.fixture(scope="module")
def published() -> Mapping[str, Mapping[str, Any]]:
    """Case id → case."""
    return {case["id"]: case for case in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def diagnoses(published: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Diagnosis]:
    """Case id → our Diagnosis."""
    return {name: diagnose(delta_of(published[name], answer.release)) for name, answer in ANSWERS.items()}


def named_caches(diagnosis: Diagnosis) -> set[str | None]:
    """Caches that a finding or a waiting session names."""
    return {one.cache for one in diagnosis.findings} | {one.cache for one in diagnosis.who}


def test_answers_cover_every_published_case(published: Mapping[str, Mapping[str, Any]]) -> None:
    assert set(ANSWERS) == set(published)
    assert {one.conclude for one in ANSWERS.values()} == {"found", "cannot tell", "quiet"}


@pytest.mark.parametrize("name", ANSWERS)
def test_diagnosis_concludes_only_what_the_numbers_support(name: str, diagnoses: Mapping[str, Diagnosis]) -> None:
    answer, got = ANSWERS[name], diagnoses[name]
    loud = [one.cause for one in got.findings if one.severity is not Severity.INFO]
    assert got.severity is answer.severity, got.headline
    named = answer.cause if answer.conclude == "found" or answer.severity is Severity.NOTICE else None
    assert loud == ([named] if named else [])
    if answer.cache is not None:
        assert answer.cache in named_caches(got)
    if answer.missing is not None:
        (open_one,) = (one for one in got.undetermined if one.cause == answer.cause)
        assert open_one.missing == answer.missing
        assert open_one.way_out


def test_headline_has_the_cache_waiters_name_though_its_cause_is_open(
    diagnoses: Mapping[str, Diagnosis],
) -> None:
    assert "dc_users" in diagnoses["C17"].headline
    assert "Nothing to do" not in diagnoses["C17"].headline


@pytest.mark.parametrize("action", ["create_1782_undo_segments_s(10.2,11.1)", "online_s"])
@pytest.mark.parametrize(("column", "release"), [(0, "10.2.0.3"), (1, "11.1.0.6")])
def test_undo_online_storm_is_found_whatever_the_event(
    published: Mapping[str, Mapping[str, Any]], action: str, column: int, release: str
) -> None:
    given = published["C06"]["numbers"][action]
    got = diagnose(delta_from("C06", compared(given, column), release))
    assert [one.cause for one in got.findings if one.severity is not Severity.INFO] == ["undo-online-storm"]
    assert got.findings[0].cache == "dc_rollback_segments"
    assert got.severity is Severity.CRITICAL


def test_waits_for_an_unknown_latch_are_told_with_their_cost(diagnoses: Mapping[str, Diagnosis]) -> None:
    assert diagnoses["C39"].headline.startswith(
        "Cannot tell: the time of Result Cache: RC Latch was not captured, and latch free, which counts it among others, "
        "takes 53.1 % of DB time"
    )
    assert diagnoses["C39"].state == "Notice"


def test_notes_report_a_row_that_contradicts_itself(diagnoses: Mapping[str, Diagnosis]) -> None:
    assert [note for note in diagnoses["C31"].notes if "508,432 misses on 76,843 gets" in note]
    assert not [note for note in diagnoses["C32"].notes if "cannot be" in note]


@pytest.mark.parametrize("setting", ["10.2.0.3 literals 1000 statements", "11g"])
def test_load_model_fits_the_published_laboratory(published: Mapping[str, Mapping[str, Any]], setting: str) -> None:
    lab = published["C35"]["numbers"][setting]
    children = enumerate(zip(lab["dict_gets"].items(), lab["child_latch_gets"], strict=True), start=1)
    caches: list[Row] = []
    latches: list[Row] = []
    for child, ((name, gets), latch_gets) in children:
        caches.append({"cache#": child, "type": "PARENT", "subordinate#": None, "parameter": name, "gets": gets})
        latches.append({"child#": child, "gets": latch_gets})
    read: list[Row] = [{**one, "child#": one["cache#"]} for one in caches]
    views = {"v$rowcache": caches, "v$latch_children": latches, "x$kqrst": read}
    readings: dict[str, Changes | Missing] = {view: Changes(view, tuple(rows)) for view, rows in views.items()}
    got = cache_map(Delta("lab", "11.2", INTERVAL, readings))
    assert len(got.children) == len(latches)
    assert got.disagreements == ()
