"""Sampled sessions, counted once: how long their waits had lasted, and what they have in a column."""

from collections.abc import Sequence

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Row
from rules.samples import Samples


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


def test_wait_lasts_no_longer_than_its_sample_and_a_background_process_is_left_out() -> None:
    samples = Samples.of(met())
    assert samples.met(ROW_CACHE_LOCK_EVENT) == 84
    assert samples.lasting(ROW_CACHE_LOCK_EVENT, 30.0) == pytest.approx(6 * 12.0)


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
