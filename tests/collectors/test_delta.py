"""between(): changes between two snapshots. Restarts, falls, wraps and gaps have names, and nothing is clamped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from collectors.delta import between, since_startup
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Binds, Delta, MadeOnRequest, Missing, NotComparable, Oddity, Reading, Row, Rows, Snapshot
from collectors.poll import Answer, Grouping, poll
from collectors.registry import collectors, groups
from service.store.record import numbers_of
from tests.collectors.scripted import BEGAN

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
STARTED = "2026-02-20 04:11:00"
INSTANCE: Row = {"instance_number": 1, "version": "11.2.0.4.0", "startup_time": STARTED, "uptime_seconds": 3_600}


def snapshot(seconds: float | None = 0, instance: Row | None = INSTANCE, **more: Reading) -> Snapshot:
    """A snapshot `seconds` after the first. Arguments name views with `_` for `v$`."""
    taken_at = None if seconds is None else BEGIN + timedelta(seconds=seconds)
    rows = {} if instance is None else {"v$instance": Rows("v$instance", (instance,))}
    return Snapshot("erp1", taken_at, {**rows, **{name.replace("_", "v$", 1): one for name, one in more.items()}})


def latch(*rows: Row) -> Rows:
    return Rows("v$latch", rows)


def delta_of(earlier: Snapshot, later: Snapshot) -> Delta:
    delta = between(earlier, later)
    assert isinstance(delta, Delta), delta
    return delta


def latch_change(before: Sequence[Row], after: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Oddity, ...]]:
    delta = delta_of(snapshot(0, _latch=latch(*before)), snapshot(30, _latch=latch(*after)))
    return delta.rows("v$latch"), delta.oddities


def row(name: str = "row cache objects", **counters: float | None) -> Row:
    return {"name": name, **counters}


def test_counters_become_differences_and_the_interval_is_the_database_clock() -> None:
    rows, oddities = latch_change([row(gets=1_000, sleeps=5)], [row(gets=1_700, sleeps=5)])
    assert rows == ({"name": "row cache objects", "gets": 700, "sleeps": 0},)
    assert oddities == ()
    delta = delta_of(snapshot(0), snapshot(30.5))
    assert (delta.basis.kind, delta.basis.seconds) == ("interval", 30.5)
    assert (delta.basis.begin, delta.basis.end) == (BEGIN, BEGIN + timedelta(seconds=30.5))
    assert (delta.database, delta.release) == ("erp1", "11.2.0.4.0")


def test_gauges_and_texts_come_from_the_later_snapshot() -> None:
    def cache(usage: int, name: str) -> Rows:
        base: Row = {"cache#": 3, "type": "PARENT", "subordinate#": None}
        return Rows("v$rowcache", ({**base, "parameter": name, "usage": usage, "gets": usage * 10},))

    delta = delta_of(snapshot(0, _rowcache=cache(90, "old")), snapshot(30, _rowcache=cache(80, "new")))
    (one,) = delta.rows("v$rowcache")
    assert (one["parameter"], one["usage"]) == ("new", 80)
    assert "gets" not in one
    assert [str(oddity.what) for oddity in delta.oddities] == ["fell"]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (900, 100, "fell"),
        (2**32 - 5, 10, "wrapped"),
        (2**31, 0, "fell"),
        (2**31 - 1, 3, "fell"),
        (2**32, 3, "fell"),
        (2**32 - 1, 2**31, "fell"),
        (10, -4_018_470_645, "negative"),
        (-3, 10, "negative"),
    ],
)
def test_counter_that_misbehaves_is_named_and_not_used(before: int, after: int, what: str) -> None:
    rows, oddities = latch_change([row(gets=before, sleeps=1)], [row(gets=after, sleeps=4)])
    assert rows == ({"name": "row cache objects", "sleeps": 3},)
    assert oddities == (Oddity("v$latch", ("row cache objects",), "gets", what, before, after),)  # type: ignore[arg-type]


def test_null_and_absent_cells_have_no_change_and_no_oddity() -> None:
    rows, oddities = latch_change([row(gets=None, sleeps=1)], [row(gets=7, misses=3, sleeps=None)])
    assert rows == ({"name": "row cache objects"},)
    assert oddities == ()


def test_rows_of_a_latch_that_stands_twice_are_summed() -> None:
    before = [row(gets=1, sleeps=1, misses=7), row(gets=10, sleeps=3)]
    rows, oddities = latch_change(before, [row(gets=2, sleeps=3, misses=9), row("messages"), row(gets=30, sleeps=3)])
    assert rows == ({"name": "row cache objects", "gets": 21, "sleeps": 2}, {"name": "messages"})
    assert oddities == ()


def test_copies_before_an_upgrade_of_latchscope_are_held_against_their_sum() -> None:
    rows, _ = latch_change([row(gets=1, sleeps=1), row(gets=10, sleeps=3)], [row(gets=20, sleeps=9)])
    assert rows == (row(gets=9, sleeps=5),)


def test_corrupt_copy_is_not_hidden_in_a_sum() -> None:
    rows, oddities = latch_change([row(gets=1)], [row(gets=9_000), row(gets=-2)])
    assert rows == (row(),)
    assert [(odd.what, odd.after) for odd in oddities] == [("negative", -2)]


def statistics(*values: int, name: str = "execute count") -> Rows:
    return Rows("v$sysstat", tuple({"name": name, "value": value} for value in values))


@pytest.mark.parametrize(("before", "after"), [((1,), (2, 3)), ((1, 2), (3,)), ((1, 1), (2, 2))])
def test_repeat_that_nobody_expected_makes_the_view_missing(before: Sequence[int], after: Sequence[int]) -> None:
    delta = delta_of(snapshot(0, _sysstat=statistics(*before)), snapshot(30, _sysstat=statistics(*after)))
    reading = delta.read("v$sysstat")
    assert isinstance(reading, Missing) and reading.kind == "failed"
    assert "v$sysstat row execute count occurs more than once, which is unexpected" in reading.why
    assert [one.what for one in delta.oddities] == ["repeated"]
    alone = since_startup(snapshot(0, _sysstat=statistics(2, 3))).read("v$sysstat")
    assert isinstance(alone, Missing) and reading.way_out == alone.way_out


def test_same_text_twice_is_one_text_and_another_text_is_a_repeat() -> None:
    def names(*texts: str) -> Rows:
        return Rows("v$latchname", tuple({"latch#": 270, "name": text} for text in texts))

    latches = ("row cache objects", "row cache objects")
    assert len(since_startup(snapshot(_latchname=names(*latches))).rows("v$latchname")) == 1
    assert isinstance(since_startup(snapshot(_latchname=names(*latches, "other"))).read("v$latchname"), Missing)


def test_every_resize_counts_though_several_look_alike() -> None:
    moved: Row = {"component": "shared pool", "start_time": "2026-03-02 08:57:12", "initial_size": 64, "final_size": 48}
    resizes = Rows("v$sga_resize_ops", (moved, moved, moved))
    delta = delta_of(snapshot(0, _sga_resize_ops=resizes), snapshot(30, _sga_resize_ops=resizes))
    assert delta.rows("v$sga_resize_ops") == (moved,) * 3


def test_new_row_of_a_view_that_starts_at_zero_counts_from_zero() -> None:
    event = Rows("v$system_event", ({"event": "row cache lock", "total_waits": 4, "time_waited_micro": 900},))
    delta = delta_of(snapshot(0, _system_event=Rows("v$system_event", ())), snapshot(30, _system_event=event))
    assert delta.rows("v$system_event") == event.rows
    assert delta.oddities == ()


def test_view_without_counters_loses_rows_silently() -> None:
    def parameters(*names: str) -> Rows:
        return Rows("v$parameter", tuple({"name": name, "value": "1"} for name in names))

    delta = delta_of(
        snapshot(0, _parameter=parameters("cpu_count", "sga_target")), snapshot(30, _parameter=parameters("cpu_count"))
    )
    assert (len(delta.rows("v$parameter")), delta.oddities) == (1, ())


REFUSED = Missing("v$latch", "refused", "v$latch: ORA-00942", "grant select")


def test_view_missing_now_stays_missing() -> None:
    delta = delta_of(snapshot(0, _latch=latch(row(gets=1))), snapshot(30, _latch=REFUSED))
    assert delta.read("v$latch") is REFUSED


def test_view_missing_before_has_no_change_yet() -> None:
    delta = delta_of(snapshot(0, _latch=REFUSED), snapshot(30, _latch=latch(row(gets=1))))
    reading = delta.read("v$latch")
    assert isinstance(reading, Missing)
    assert reading.why == "v$latch was missing at the start of the interval (v$latch: ORA-00942)"
    assert (reading.kind, reading.way_out) == ("refused", "grant select")
    assert isinstance(delta_of(snapshot(0), snapshot(30, _latch=latch(row(gets=1)))).read("v$latch"), Missing)


@pytest.mark.parametrize("started", [STARTED, "2026-02-20 04:11:02"])
def test_another_instance_is_not_comparable_even_with_the_same_start(started: str) -> None:
    """Behind SCAN the next session may reach another instance, and instances of a cluster often start in the same second."""
    gap = between(snapshot(0), snapshot(30, {**INSTANCE, "instance_number": 2, "startup_time": started}))
    assert isinstance(gap, NotComparable), "subtracted counters of two instances"
    assert gap.why == "the session was on instance 1 of the cluster and is on instance 2 now, which counts for itself"
    assert "give each instance its own connection" in gap.way_out and "INSTANCE_NAME" in gap.way_out


def test_instance_that_is_not_named_is_taken_for_the_same() -> None:
    nameless = {name: value for name, value in INSTANCE.items() if name != "instance_number"}
    assert isinstance(between(snapshot(0), snapshot(30, nameless)), Delta)
    assert isinstance(between(snapshot(0, nameless), snapshot(30)), Delta)


def test_restart_is_not_comparable_and_says_what_to_wait_for() -> None:
    restarted = {**INSTANCE, "startup_time": "2026-03-02 08:59:58", "uptime_seconds": 2}
    gap = between(snapshot(0), snapshot(30, restarted))
    assert isinstance(gap, NotComparable)
    assert (
        gap.why == "the instance restarted (started 2026-02-20 04:11:00, now 2026-03-02 08:59:58); counters began again"
    )
    assert gap.way_out == "wait for the second poll after the restart"
    assert (gap.database, gap.release) == ("erp1", "11.2.0.4.0")


@pytest.mark.parametrize(
    ("earlier", "later", "why"),
    [
        (snapshot(0), snapshot(0), "not later by the database's clock"),
        (snapshot(30), snapshot(0), "not later by the database's clock"),
        (snapshot(None), snapshot(30), "a snapshot has no time"),
        (snapshot(0), snapshot(None), "a snapshot has no time"),
        (snapshot(0, None), snapshot(30), "no startup_time"),
        (snapshot(0), snapshot(30, None), "no startup_time"),
        (snapshot(0), replace(snapshot(30), database="erp2"), "one snapshot is of erp1, the other of erp2"),
        (snapshot(0), snapshot(30, {**INSTANCE, "version": "12.1.0.2.0"}), "changed from 11.2.0.4.0 to 12.1.0.2.0"),
    ],
)
def test_between_refuses_incomparable_snapshots_and_says_why(earlier: Snapshot, later: Snapshot, why: str) -> None:
    gap = between(earlier, later)
    assert isinstance(gap, NotComparable)
    assert why in gap.why
    assert gap.way_out


def mutex(wait_time: int) -> Rows:
    return Rows(
        "v$mutex_sleep", ({"mutex_type": "Row Cache", "location": "kqrpre", "sleeps": 9, "wait_time": wait_time},)
    )


@pytest.mark.parametrize(
    ("before", "after", "change"), [(-500, -300, 200), (-100, 50, 150), (-300, -500, None), (50, -100, None)]
)
def test_wait_time_of_a_mutex_may_be_below_zero_and_still_rises(before: int, after: int, change: int | None) -> None:
    delta = delta_of(snapshot(0, _mutex_sleep=mutex(before)), snapshot(30, _mutex_sleep=mutex(after)))
    (row,) = delta.rows("v$mutex_sleep")
    assert row.get("wait_time") == change
    assert [odd.what for odd in delta.oddities] == ([] if change else ["fell"])


def test_total_wait_time_below_zero_is_no_time() -> None:
    delta = since_startup(snapshot(0, _mutex_sleep=mutex(-493_302)))
    assert "wait_time" not in delta.rows("v$mutex_sleep")[0]
    assert [odd.what for odd in delta.oddities] == ["negative"]


def test_since_startup_with_a_known_start_is_the_change_since_then() -> None:
    delta = since_startup(snapshot(0, _latch=latch(row(gets=1_000))))
    assert (delta.basis.kind, delta.basis.seconds) == ("since_startup", 3_600.0)
    assert (delta.basis.begin, delta.basis.end) == (BEGIN - timedelta(hours=1), BEGIN)
    assert delta.rows("v$latch") == (row(gets=1_000),)


@pytest.mark.parametrize(
    "one",
    [snapshot(0, {**INSTANCE, "uptime_seconds": None}), snapshot(None), snapshot(0, None)],
    ids=["no uptime", "no clock", "no instance"],
)
def test_since_startup_without_a_known_start_is_totals_of_unknown_age(one: Snapshot) -> None:
    basis = since_startup(one).basis
    assert (basis.kind, basis.begin, basis.seconds) == ("totals", None, None)


def test_negative_total_is_named_and_not_used() -> None:
    delta = since_startup(snapshot(0, _latch=latch(row(gets=-4_018_470_645, sleeps=2))))
    assert delta.rows("v$latch") == (row(sleeps=2),)
    assert [oddity.what for oddity in delta.oddities] == ["negative"]


def test_notes_are_kept() -> None:
    assumed = Rows("v$latch", (row(gets=2),), ("assumed",))
    reading = delta_of(snapshot(0, _latch=latch(row(gets=1))), snapshot(30, _latch=assumed)).read("v$latch")
    assert not isinstance(reading, Missing)
    assert reading.notes == ("assumed",)


def test_rows_belong_together_by_key_in_whatever_order_a_view_gives_them() -> None:
    before = [row("a", gets=10), row("b", gets=1_000), row("c", gets=5)]
    after = [row("b", gets=1_007), row("a", gets=12), row("d", gets=3)]
    rows, oddities = latch_change(before, after)
    assert rows == ({"name": "b", "gets": 7}, {"name": "a", "gets": 2}, {"name": "d"})
    assert oddities == (Oddity("v$latch", ("c",), "", "vanished", None, None),)


def test_text_where_a_number_belongs_is_no_change() -> None:
    rows, oddities = latch_change([{**row(gets=10), "sleeps": "many"}], [{**row(gets=12), "sleeps": 4}])
    assert (rows, oddities) == (({"name": "row cache objects", "gets": 2},), ())


# Rows of groups, which get their names only when somebody asks: what they give is what rows with names give.

VIEWS = ("v$latch", "v$rowcache", "v$mutex_sleep", "v$system_event", "v$sys_time_model", "v$sysstat")
CELLS: Mapping[str, Callable[[Any], Any]] = {
    "falls": lambda total: total // 2,
    "is NULL": lambda total: None,
    "is text": lambda total: "7",
    "is no number": lambda total: float("nan"),
    "is endless": lambda total: float("inf"),
    "is too large": lambda total: 2**65,
    "is below zero": lambda total: -4,
    "is true": lambda total: True,
}
ROWS: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "one is gone": lambda rows: rows[1:],
    "one comes": lambda rows: [
        *rows,
        (rows[0][0], *("new" if isinstance(cell, str) else cell for cell in rows[0][1:])),
    ],
    "one comes twice": lambda rows: [*rows, rows[0]],
    "two change places": lambda rows: [rows[1], rows[0], *rows[2:]],
}


class Tampered:
    """A scripted database whose answers to groups are changed in one view."""

    def __init__(self, database: ScriptedDatabase, view: str, change: Callable[[list[Any]], list[Any]]) -> None:
        self._database, self._view, self._change = database, view, change

    def query(self, sql: str, binds: Binds) -> Answer:
        answer = self._database.query(sql, binds)
        own = [row for row in answer.rows if row[0] == self._view]
        others = [row for row in answer.rows if row[0] != self._view]
        return replace(answer, rows=[*self._change(own), *others]) if answer.columns[0] == "of_view" and own else answer

    def close(self) -> None:
        """Nothing to release."""


def polls_of(view: str, change: Callable[[list[Any]], list[Any]]) -> tuple[Snapshot, Snapshot]:
    """The second and the third poll of a healthy database; the third has this change."""
    at, grouping, polls = 40.0, Grouping("healthy-19c"), list[Snapshot]()
    database = ScriptedDatabase(scenarios()["healthy-19c"], BEGAN, lambda: at)
    for at in (40.0, 55.0, 70.0):
        connection = Tampered(database, view, change) if at == 70.0 else database
        polls.append(poll("healthy-19c", connection, polls[-1] if polls else None, grouping=grouping))
        if len(polls) == 2:
            between(*polls)  # looks the rows through, as the service does
    return polls[1], polls[2]


def agree(earlier: Snapshot, later: Snapshot) -> Delta:
    """The change, which is the same as that of rows with names, for the store too."""
    delta = delta_of(earlier, later)
    named = delta_of(*(replace(one, readings={**one.readings}) for one in (earlier, later)))
    numbers = numbers_of(delta, None)
    for name in ("basis", "readings", "oddities", "at_begin"):
        assert getattr(delta, name) == getattr(named, name), name
    assert numbers == numbers_of(named, None)
    assert named.steady or not delta.steady
    return delta


def test_going_on_is_steady_and_gives_what_rows_with_names_give() -> None:
    delta = agree(*polls_of("v$latch", list))
    assert delta.steady and delta.oddities == ()
    assert isinstance(delta.readings, MadeOnRequest) and {*VIEWS} <= delta.readings.of.keys()


@pytest.mark.parametrize("view", VIEWS)
def test_whatever_changes_in_rows_of_a_group_is_seen(view: str) -> None:
    counter = collectors()[view].counters[0]

    def in_one(change: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
        place = dict(groups()["counters"].text("19.0.0.0.0").views[view])[counter]  # type: ignore[union-attr]
        most = max(rows, key=lambda row: row[place])
        return [(*row[:place], change(row[place]), *row[place + 1 :]) if row is most else row for row in rows]

    for name, change in {**{name: partial(in_one, each) for name, each in CELLS.items()}, **ROWS}.items():
        before, after = polls_of(view, change)
        unsteady = not agree(before, after).steady
        summed = name == "one comes twice" and collectors()[view].repeats == "sum"
        assert unsteady or summed, f"{view}: {name}"
