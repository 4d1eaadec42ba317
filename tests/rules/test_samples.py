"""Sampled sessions, counted once: what follows from a change of some rows is what counting all of them again would give."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Row
from rules.counter.figures import SESSIONS, PrintedFigure, in_order, with_figure
from rules.met_waiting import met_waiting
from rules.samples import Samples
from tests.rules.contexts import INTERVAL, SICK, context_of


def met(looks: int = 12, sessions: int = 7) -> list[Row]:
    """Each look meets these sessions, whose waits go on, and a background process; a last look meets nobody."""
    rows: list[Row] = [
        {
            "sample": look,
            "sid": sid,
            "serial#": 1,
            "event": ROW_CACHE_LOCK_EVENT,
            "p1": sid % 2,
            "p3": 3,
            "sql_id": f"s{sid % 3}",
            "program": "oracle@db1 (SMON)" if sid == 0 else "JDBC",
            "wait_time_micro": 1e6 * look * sid,
        }
        for look in range(1, looks + 1)
        for sid in range(sessions)
    ]
    return [*rows, {"sample": looks + 1}]


FIGURE = PrintedFigure("v$session", (("event", ROW_CACHE_LOCK_EVENT), ("p1", 1)), SESSIONS)


@pytest.mark.parametrize("wanted", [0, 1, 20, 36, 37, 71, 72, 73, 300])
def test_other_numbers_of_some_rows_give_what_counting_again_gives(wanted: int) -> None:
    context = context_of({**SICK, "v$session": met()})
    own = in_order(context, FIGURE)
    assert len(own) == 36
    changed = with_figure(context.delta, FIGURE, wanted)
    resized, again = context.samples.resized(own, wanted), Samples.of(changed.rows("v$session"))
    assert (resized.looks, resized.alike, resized.per_sample) == (again.looks, again.alike, again.per_sample)
    assert resized.met(ROW_CACHE_LOCK_EVENT) == 84 - 36 + wanted
    first, second = (_told(each) for each in (resized, again))
    assert first == second


def _told(samples: Samples) -> tuple[float, ...]:
    (waiting,) = met_waiting(samples, INTERVAL, [ROW_CACHE_LOCK_EVENT]).values()
    return waiting.average, waiting.doubt, waiting.lasting


@pytest.mark.parametrize("than", [0.0, 40.0, 70.0, 200.0])
def test_fewer_sessions_outlast_as_their_seconds_say(than: float) -> None:
    context = context_of({**SICK, "v$session": met()})
    for samples in (context.samples, context.samples.resized(in_order(context, FIGURE), 4)):
        assert samples.outlast(than, ROW_CACHE_LOCK_EVENT, 30.0) is (samples.lasting(ROW_CACHE_LOCK_EVENT, 30.0) > than)
    with_all = replace(context.samples, among=None)
    assert with_all.lasting(ROW_CACHE_LOCK_EVENT, 30.0) == pytest.approx(6 * 12.0), (
        "a wait lasts no longer than its look"
    )


def rows_of(*lacking: str) -> Sequence[Row]:
    return [{name: cell for name, cell in row.items() if name not in lacking} for row in met()]


def test_column_that_was_not_captured_is_empty_and_lacks() -> None:
    without = Samples.of(rows_of("sql_id"))
    assert without.by_cell(ROW_CACHE_LOCK_EVENT, "sql_id") == {None: 84}
    assert without.lack(ROW_CACHE_LOCK_EVENT, "sql_id") and not without.lack(ROW_CACHE_LOCK_EVENT, "p3")
    assert Samples.of(met()).by_cell(ROW_CACHE_LOCK_EVENT, "sql_id") == {"s0": 36, "s1": 24, "s2": 24}


def test_dozens_at_once_are_those_of_one_look() -> None:
    assert Samples.of(met()).most_at_once([ROW_CACHE_LOCK_EVENT]) == 7
    assert Samples.of(met()).most_at_once(["row cache mutex"]) == 0
    assert len(Samples.of(met()).looks) == 13
