"""The first steps of a report: the latch as a whole, caches by their gets, and whether latch and dictionary gets agree."""

from dataclasses import replace

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.context import SignalContext
from rules.explain.report import as_printed, guessed_cache, no_child, quiet
from tests.rules.contexts import delta_of, with_rows


def context(**views: list[Row]) -> SignalContext:
    rows: dict[str, list[Row]] = {
        "v$latch": [{"name": ROW_CACHE_LATCH, "gets": 20_000, "sleeps": 1_000}],
        "v$rowcache": [
            {"parameter": "dc_users", "gets": 9_000, "usage": 9},
            {"parameter": "dc_segments", "gets": 1_000, "usage": 700},
        ],
        "v$latch_misses": [],
        **{f"v${view}": told for view, told in views.items()},
    }
    return SignalContext(replace(delta_of(rows), source="report"))


def test_no_child_describes_the_latch_as_a_whole() -> None:
    step = no_child(context())
    assert "as a whole, with 1,000 sleeps over an interval of 30.0 s." in step.statement
    assert [(one.name, one.value) for one in step.figures] == [("sleeps", 1_000)]
    assert no_child(context(latch=[])).figures == ()


def test_guessed_cache_lists_the_busiest_cache_first_with_its_share() -> None:
    step = guessed_cache(context())
    assert "of 10,000 dictionary gets dc_users 90.0 %, dc_segments 10.0 %" in step.statement
    assert "too few sleeps by location" in step.statement
    assert [one.value for one in step.figures] == [0.9, 0.1]


@pytest.mark.parametrize(
    ("gets", "words"),
    [
        (20_000, "2.00 gets for each dictionary get, within the 1 to 3"),
        (30_000, "3.00 gets for each dictionary get, within the 1 to 3"),
        (31_400, "3.14 gets for each dictionary get, near enough to the 1 to 3 that are possible"),
        (33_000, "near enough to the 1 to 3"),
        (9_000, "near enough to the 1 to 3"),
        (34_000, "where one to three are possible: some of these counters are wrong"),
        (8_000, "where one to three are possible"),
    ],
)
def test_guessed_cache_uses_latch_gets_only_to_check_the_figures(gets: int, words: str) -> None:
    assert words in guessed_cache(context(latch=[{"name": ROW_CACHE_LATCH, "gets": gets}])).statement


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("kqrpre: find obj", "a long list is walked under the latch, and dc_segments holds the most entries, 700."),
        ("kqrso", "subordinate entries are searched"),
    ],
)
def test_guessed_cache_adds_the_meaning_of_the_shape(place: str, words: str) -> None:
    held: Row = {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": 900}
    assert words in guessed_cache(context(latch_misses=[held])).statement


def test_guessed_cache_cannot_tell_without_gets() -> None:
    assert guessed_cache(context(rowcache=[])).statement.startswith("Cannot tell which cache: v$rowcache has no gets")
    assert "10,000" not in guessed_cache(SignalContext(delta_of(with_rows("v$rowcache")))).statement


def test_as_printed_repeats_the_figures_of_the_report_unchanged() -> None:
    latch = {"name": ROW_CACHE_LATCH, "gets": 9, "misses": 8, "sleeps": 7, "spin_gets": 1, "wait_time": 3_000_000}
    held: Row = {"parent_name": ROW_CACHE_LATCH, "location": "kqrso", "sleep_count": 7, "wtr_slp_count": 5}
    waits: Row = {
        "event": "row cache lock", "total_waits": 90, "time_waited_micro": 9_000_000,
        "total_waits_fg": 80, "time_waited_micro_fg": 1_600_000,
    }  # fmt: skip
    model: list[Row] = [{"stat_name": "DB time", "value": 100_000_000}]
    step = as_printed(context(latch=[latch], latch_misses=[held], system_event=[waits], sys_time_model=model))
    assert step is not None
    for words in (
        "DB time 100.0 s.",
        "Waits: row cache lock 80 waits, 2 s (1.60 % of DB time).",
        "Latch row cache objects 9 gets, 8 misses, 7 sleeps, 1 spin get, 3 s.",
        "Miss sources: kqrso 7 sleeps, 5 waiter sleeps.",
        "Busiest dictionary caches: dc_users 9,000 gets, modifications not known, 9 entries;",
    ):
        assert words in step.statement
    figures = {one.name: (one.value, one.unit) for one in step.figures}
    assert figures["row cache lock: time waited"] == (1.6, "s")
    assert figures["row cache objects: spin gets"] == (1, "spin gets")
    assert "dc_users: modifications" not in figures


def test_as_printed_says_what_is_not_printed_instead_of_zero() -> None:
    views = ["v$system_event", "v$sys_time_model", "v$latch_misses", "v$rowcache", "v$latch"]
    step = as_printed(SignalContext(replace(delta_of(refused=views), source="report")))
    assert step is not None and step.figures == ()
    assert step.statement == (
        "DB time is not printed. Row cache waits are not printed. The latch row cache objects is not printed. "
        "Miss sources are not printed. Dictionary caches are not printed."
    )
    empty = as_printed(context(latch_misses=[], system_event=[]))
    assert empty is not None and "No wait for the row cache is listed. " in empty.statement
    assert "misses not known" in empty.statement, "a share of the gets is no printed figure"


LOCKED: Row = {"event": "row cache lock", "total_waits": 90, "time_waited_micro": 9_000_000}
MUTEX: dict[str, list[Row]] = {
    "event_name": [{"name": "row cache mutex"}],
    "mutex_sleep": [{"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 101, "wait_time": 142_000}],
}


@pytest.mark.parametrize(
    ("views", "words"),
    [
        (
            {"system_event": [{**LOCKED, "time_waited_micro_fg": 0}]},
            "Waits: row cache lock by background processes alone.",
        ),
        ({"system_event": [LOCKED]}, "90 waits, 9 s, background processes perhaps among them."),
        (MUTEX, "Row Cache mutexes: [19] kqrpre 101 sleeps, 142 ms."),
        (MUTEX, "Latch row cache objects 20,000 gets."),
        (
            {"rowcache": [{"parameter": "dc_users", "gets": 1, "modifications": 2, "usage": 1}]},
            "dc_users 1 get, 2 modifications, 1 entry",
        ),
    ],
)
def test_as_printed_says_whose_waits_and_what_guards(views: dict[str, list[Row]], words: str) -> None:
    step = as_printed(context(**views))
    assert step is not None and words in step.statement
    assert views is not MUTEX or "iss source" not in step.statement


def test_as_printed_is_none_for_views() -> None:
    assert as_printed(SignalContext(delta_of())) is None


def test_quiet_report_gives_no_guessed_cache_and_no_script_advice() -> None:
    event: Row = {"event": "latch: row cache objects", "total_waits": 1, "time_waited_micro": 9}
    calm = context(system_event=[event])
    assert quiet(calm)
    for step in (no_child(calm), guessed_cache(calm)):
        assert "guess" not in step.statement and "script" not in step.statement
    assert guessed_cache(calm).statement.startswith("There is no need to name a cache")
    assert not quiet(SignalContext(replace(calm.delta, source="views")))
