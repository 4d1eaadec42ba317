"""Sessions that may hang unseen: many wait for something, and there was no look."""

from dataclasses import replace

import pytest

from rules.context import SignalContext
from rules.unseen import unseen_waiters
from tests.rules.contexts import context_of, delta_of, with_rows


def times(db_time: float, cpu: float = 0.0) -> dict[str, list[dict[str, object]]]:
    names = {"DB time": db_time, "DB CPU": cpu}
    rows = [{"stat_name": name, "value": value * 1e6} for name, value in names.items()]
    return dict(with_rows("v$sys_time_model", *rows))  # type: ignore[arg-type]


@pytest.mark.parametrize(("db_time", "cpu", "waiting"), [(4_500, 0, 150.0), (4_500, 4_000, None), (900, 0, None)])
def test_unseen_waiters_are_more_than_two_for_each_processor(db_time: float, cpu: float, waiting: float | None) -> None:
    assert unseen_waiters(context_of(times(db_time, cpu))) == waiting  # type: ignore[arg-type]


def test_unseen_waiters_are_none_where_somebody_looked_or_a_report_was_read() -> None:
    looked = {**times(4_500), "waiting_sessions": []}
    assert unseen_waiters(context_of(looked)) is None  # type: ignore[arg-type]
    printed = replace(delta_of(times(4_500)), source="report")  # type: ignore[arg-type]
    assert unseen_waiters(SignalContext(printed)) is None
