"""A figure becomes another number, and what contains it moves with it."""

from collections.abc import Mapping, Sequence

import pytest

from collectors.model import Row
from rules.counter.figures import SESSIONS, PrintedFigure, with_figure
from tests.rules.contexts import SICK, delta_of, with_rows
from tests.rules.rich import RICH, waiters

LATCH = "row cache objects"
CHILD_1 = PrintedFigure("v$latch_children", (("child#", 1),), "sleeps")
LATCH_TIME = PrintedFigure("v$system_event", (("event", "latch: row cache objects"),), "time_waited_micro")


def time_of(name: str) -> PrintedFigure:
    return PrintedFigure("v$sys_time_model", (("stat_name", name),), "value")


def of_latch(column: str) -> PrintedFigure:
    return PrintedFigure("v$latch", (("name", LATCH),), column)


def busy(name: str) -> PrintedFigure:
    return PrintedFigure("v$osstat", (("stat_name", name),), "total")


def child(number: int, column: str) -> PrintedFigure:
    return PrintedFigure("v$latch_children", (("child#", number),), column)


def gets_of(cache: str, kind: str = "PARENT") -> PrintedFigure:
    return PrintedFigure("v$rowcache", (("parameter", cache), ("type", kind)), "gets")


SLEPT = with_rows("v$latch_children", {"child#": 1, "sleeps": 990, "wait_time": 1_800_000}, {"child#": 5, "sleeps": 10})


@pytest.mark.parametrize(
    ("views", "figure", "value", "moved"),
    [
        (SICK, CHILD_1, 490, {of_latch("sleeps"): 500, of_latch("misses"): 4_000, child(5, "sleeps"): 7}),
        (SICK, of_latch("sleeps"), 500, {CHILD_1: 495, child(8, "sleeps"): 1.5, of_latch("gets"): 40_000}),
        (SICK, gets_of("dc_tablespaces"), 7_100, {child(5, "gets"): 21_300, of_latch("gets"): 40_300}),
        (SICK, gets_of("dc_users", "SUBORDINATE"), 300, {child(8, "gets"): 2_700, gets_of("dc_users"): 800}),
        (SICK, LATCH_TIME, 1_000_000, {time_of("DB time"): 99_000_000, of_latch("wait_time"): 1_000_000}),
        (SLEPT, LATCH_TIME, 500_000, {child(1, "wait_time"): 450_000}),
        (
            SICK,
            PrintedFigure("v$system_event", (("event", "library cache: mutex X"),), "time_waited_micro"),
            5_000_000,
            {time_of("parse time elapsed"): 46_000_000, time_of("DB time"): 101_000_000, LATCH_TIME: 2_000_000},
        ),
        (
            SICK,
            time_of("hard parse elapsed time"),
            25_000_000,
            {time_of("parse time elapsed"): 50_000_000, time_of("DB time"): 105_000_000},
        ),
        (
            SICK,
            time_of("DB time"),
            10_000_000,
            {time_of("parse time elapsed"): 10_000_000, time_of("hard parse elapsed time"): 10_000_000},
        ),
        (SICK, busy("BUSY_TIME"), 950, {busy("IDLE_TIME"): 50}),
        (SICK, busy("VM_IN_BYTES"), 500, {busy("VM_OUT_BYTES"): 100, busy("IDLE_TIME"): 100}),
    ],
)
def test_what_contains_a_figure_moves_with_it(
    views: Mapping[str, Sequence[Row]], figure: PrintedFigure, value: float, moved: Mapping[PrintedFigure, float]
) -> None:
    changed = with_figure(delta_of(views), figure, value)
    assert figure.value(changed) == value
    assert {each: each.value(changed) for each in moved} == moved


def test_foreground_time_is_part_of_the_time_of_all() -> None:
    rows = {"event": "row cache lock", "time_waited_micro": 900_000, "time_waited_micro_fg": 500_000}
    named = (("event", "row cache lock"),)
    delta = delta_of(with_rows("v$system_event", rows))
    changed = with_figure(delta, PrintedFigure("v$system_event", named, "time_waited_micro_fg"), 300_000)
    assert PrintedFigure("v$system_event", named, "time_waited_micro").value(changed) == 700_000
    assert time_of("DB time").value(changed) == 99_800_000


def test_inside_a_pdb_the_latch_of_the_whole_container_database_stays() -> None:
    inside = delta_of({**SICK, "sys_context": [{"con_id": 3, "con_name": "ERP"}]})
    assert of_latch("wait_time").value(with_figure(inside, LATCH_TIME, 1_000_000)) == 2_000_000


def test_number_of_waiters_falls_and_rises_and_no_look_is_lost() -> None:
    event = "row cache mutex"
    rows = [*waiters(event, {10: 4, 3: 1}), {"sample": 2, "sid": 9, "event": event, "p1": 10}]
    delta = delta_of({**SICK, "v$session": rows})
    figure = PrintedFigure("v$session", (("event", event), ("p1", 10)), SESSIONS)
    assert figure.value(delta) == 5
    for wanted in (0, 1, 12):
        changed = with_figure(delta, figure, wanted)
        assert (figure.value(changed) or 0) == wanted
        assert {row.get("sample") for row in changed.rows("v$session")} == {1, 2}
        assert PrintedFigure("v$session", (("event", event), ("p1", 3)), SESSIONS).value(changed) == 1


def test_sessions_that_still_wait_are_counted_in_every_row() -> None:
    rows = [{"sid": sid, "event": "row cache lock", "wait_time_micro": 20_000_000, "met": 3} for sid in (1, 2, 3)]
    figure = PrintedFigure("waiting_sessions", (("event", "row cache lock"),), SESSIONS)
    changed = with_figure(delta_of({**SICK, "waiting_sessions": rows}), figure, 1)
    assert [row["met"] for row in changed.rows("waiting_sessions")] == [1]


def test_numeric_parameter_stays_text() -> None:
    figure = PrintedFigure("v$parameter", (("name", "undo_retention"),), "value")
    delta = delta_of({**SICK, "v$parameter": [{"name": "undo_retention", "value": "900"}]})
    assert figure.value(delta) == 900
    assert with_figure(delta, figure, 1800).column("v$parameter", "value") == ["1800"]


def test_figure_that_was_not_captured_changes_nothing() -> None:
    delta = delta_of(refused=["v$latch_children"])
    assert CHILD_1.value(delta) is None
    assert with_figure(delta, CHILD_1, 5) is delta
    assert of_latch("sleeps").value(with_figure(delta_of(RICH, refused=["v$latch"]), CHILD_1, 5)) is None


def test_part_is_limited_by_its_whole() -> None:
    delta = delta_of()
    assert busy("BUSY_TIME").limits(delta) == (0, 1_000)
    assert time_of("parse time elapsed").limits(delta)[0] == 20_000_000
    misses = PrintedFigure("v$rowcache", (("parameter", "dc_rollback_segments"),), "getmisses")
    assert misses.limits(delta) == (0, 12_000)
    assert gets_of("dc_rollback_segments").limits(delta)[0] == 60
