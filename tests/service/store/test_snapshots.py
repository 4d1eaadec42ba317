"""Polls, hours and snapshots over time: what is kept of each poll, what is unknown, sums, thinning, and Deltas from the store."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from collectors.delta import between, together
from collectors.model import Changes, Delta, Missing, NotComparable, number
from collectors.registry import collectors
from rules.engine import diagnose
from rules.model import Severity
from service.config.settings import HistorySettings
from service.state.board import PollRecord
from service.store.polls import BadCursor, Curves
from service.store.record import from_bytes, record_of, to_bytes
from service.store.repository import Repository
from service.store.rows import NameTables
from service.store.tables import MEANS, NUMBERS, SUMS
from tests.service.stage import BEGAN, Kept, Stage
from tests.service.stores import SLOW_ON_POSTGRESQL, Place

pytestmark = SLOW_ON_POSTGRESQL
DB = "undo-storm"
LATE = BEGAN + timedelta(days=1)
CHILDREN = "v$latch_children"


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def keep(store: Repository, stage: Stage, *moments: float) -> list[Delta]:
    """Poll at these moments into the store. Returns the resulting Deltas."""
    kept = stage.keeper = Kept([])
    published = [stage.poll(DB, moment) for moment in moments]
    kept.write_to(store)
    return [one.delta for one in published if one.delta is not None]


def total(deltas: Sequence[Delta], view: str, column: str, **key: object) -> float:
    rows = (row for delta in deltas for row in delta.rows(view))
    return sum(number(row.get(column)) or 0.0 for row in rows if key.items() <= row.items())


def expected(deltas: Sequence[Delta]) -> dict[str, float]:
    """The sums of the chosen figures, by plain loops over the rows."""

    def work(name: str) -> float:
        return total(deltas, "v$sysstat", "value", name=name)

    return {
        "db_time": total(deltas, "v$sys_time_model", "value", stat_name="DB time") / 1e6,
        "db_cpu": total(deltas, "v$sys_time_model", "value", stat_name="DB CPU") / 1e6,
        "latch_time": total(deltas, "v$system_event", "time_waited_micro", event="latch: row cache objects") / 1e6,
        "lock_time": total(deltas, "v$system_event", "time_waited_micro", event="row cache lock") / 1e6,
        **{name: total(deltas, "v$rowcache", name) for name in ("gets", "getmisses", "modifications")},
        "latch_gets": total(deltas, "v$latch", "gets", name="row cache objects"),
        "sleeps": total(deltas, "v$latch", "sleeps", name="row cache objects"),
        "hot_child_sleeps": total(deltas, CHILDREN, "sleeps", **{"child#": 1}),
        "executions": work("execute count"),
        "hard_parses": work("parse count (hard)"),
        "commits": work("user commits"),
    }


# Figures of polls and hours


def test_figures_of_polls_steps_and_hours_are_sums_over_the_rows_of_their_deltas(
    store: Repository, stage: Stage, place: Place
) -> None:
    deltas = keep(store, stage, *range(10, 4000, 200))
    assert store.upkeep.sum_hours(LATE) == 2
    names = (*MEANS, *SUMS)
    for tier, many in (("poll", 20), ("5m", 13), ("1h", 2)):
        page = store.history.page(DB, names, BEGAN, LATE, tier)  # type: ignore[arg-type]
        assert len(page) == many and int(page.polls.sum()) == len(deltas) + 1
        assert np.nansum(page.seconds) == pytest.approx(3800)
        for name, value in expected(deltas).items():
            assert np.nansum(page.values[name] * page.seconds) == pytest.approx(value), (tier, name)
    for table in ("polls", "hours"):
        assert place.execute(f"select distinct hot_child from {table} where hot_child is not null") == [(1,)]
    polls, hours = (store.history.page(DB, ("gets", "share"), BEGAN, LATE, tier) for tier in ("poll", "1h"))  # type: ignore[arg-type]
    for name in ("gets", "share"):
        assert np.nanmax(hours.highest[name]) == pytest.approx(np.nanmax(polls.values[name])), name
    weighed = np.nansum(polls.values["share"] * polls.seconds) / 3800
    assert np.nansum(hours.values["share"] * hours.seconds) / 3800 == pytest.approx(weighed)


def test_first_poll_has_no_figures_and_what_cannot_be_read_is_unknown_and_not_zero(
    store: Repository, stage: Stage, place: Place
) -> None:
    keep(store, stage, 40, 42)
    stage.refused = {DB: ("v$rowcache", CHILDREN)}
    keep(store, stage, 44)
    page = store.history.page(DB, ("gets", "sleeps", "hot_child_sleeps"), BEGAN, LATE, "poll")
    assert [np.isnan(page.seconds).tolist(), page.seconds[1]] == [[True, False, False], 2.0]
    assert (
        np.isnan(page.values["gets"]).tolist()
        == np.isnan(page.values["hot_child_sleeps"]).tolist()
        == [True, False, True]
    )
    assert page.values["sleeps"][2] > 0
    store.upkeep.sum_hours(LATE)
    hour = store.history.page(DB, ("gets", "sleeps"), BEGAN, LATE, "1h")
    assert np.isnan(hour.values["gets"]).all() and hour.values["sleeps"][0] > 0, (
        "an hour with a gap in a view has no sum of it"
    )
    (first, *_, last) = store.history.polls(DB, BEGAN, LATE)
    assert (first.why, first.kind) == ("the first poll has nothing to compare with", "first_poll")
    assert last.share and last.severity == "critical"
    assert place.execute("select missing from polls order by at desc limit 1") == [
        ('[["v$latch_children"],["v$rowcache"]]',)
    ]


def test_counter_that_fell_is_unknown_and_an_event_that_never_waited_is_zero(store: Repository, stage: Stage) -> None:
    (delta,) = keep(store, stage, 40, 42)
    rows = [row for row in delta.rows("v$rowcache") if row.get("parameter") != "dc_users"]
    lost = replace(
        delta, readings={**delta.readings, "v$rowcache": Changes("v$rowcache", (*rows, {"parameter": "dc_users"}))}
    )
    snapshot = stage[DB].snapshot
    assert snapshot is not None
    record = record_of(snapshot, diagnose(delta), PollRecord(lost))
    assert record is not None
    told = dict(zip(NUMBERS, record.numbers, strict=True))
    assert (told["gets"], told["mutex_time"], told["share"]) == (
        None,
        0.0,
        pytest.approx(diagnose(delta).impact.share_of_db_time),
    )  # type: ignore[union-attr]
    assert to_bytes(from_bytes(to_bytes(record))) == to_bytes(record)


def test_poll_kept_twice_changes_nothing_and_pages_hold_everything_once(
    store: Repository, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, stage, *range(10, 30, 2))
    whole = store.history.page(DB, ("gets",), BEGAN, LATE, "poll")
    keep(store, Stage(monkeypatch, stage.folder), *range(10, 30, 2))
    cursor, times, values = None, list[int](), list[float]()
    for _ in range(10):
        part = store.history.page(DB, ("gets",), BEGAN, LATE, "poll", cursor, limit=3)
        times += part.times.tolist()
        values += part.values["gets"].tolist()
        if (cursor := part.cursor) is None:
            break
    assert times == whole.times.tolist() and values[1:] == whole.values["gets"].tolist()[1:]
    with pytest.raises(BadCursor):
        store.history.page(DB, ("gets",), BEGAN, LATE, "poll", "yesterday")
    assert (
        len(store.history.page("nobody", ("gets",), BEGAN, LATE))
        == len(store.history.polls("nobody", BEGAN, LATE))
        == 0
    )
    with pytest.raises(Exception, match="no time zone"):
        store.history.polls(DB, datetime(2026, 3, 1), datetime.now(UTC))  # noqa: DTZ001  the point of the test


@pytest.mark.parametrize(
    ("hours", "ago", "chosen"),
    [(1, 1, "poll"), (24, 24, "5m"), (24 * 20, 24 * 20, "1h"), (1, 24 * 3, "poll"), (1, 24 * 30, "1h")],
)
def test_resolution_fits_the_window_and_what_is_kept(store: Repository, hours: int, ago: int, chosen: str) -> None:
    history = Curves(store.engine, NameTables(store.engine), HistorySettings())
    begin = LATE - timedelta(hours=ago)
    assert history.resolution(begin, begin + timedelta(hours=hours), now=LATE) == chosen


def test_hour_is_summed_when_it_is_over_again_after_a_late_poll_and_after_a_crash(
    store: Repository, stage: Stage, place: Place
) -> None:
    assert store.upkeep.sum_hours(LATE) == 0
    keep(store, stage, 10, 20)
    assert store.upkeep.sum_hours(at(3600)) == 0, "its database may still be late"
    assert store.upkeep.sum_hours(at(4200)) == 1 and store.upkeep.sum_hours(LATE) == 0
    keep(store, stage, 40)
    assert store.upkeep.sum_hours(LATE) == 1
    assert place.execute("select polls from hours") == [(3,)]
    keep(store, stage, 60)
    crashed = Repository(place.url)
    assert crashed.upkeep.sum_hours(LATE) == 1, "a new process compares the last days once"
    crashed.close()
    assert place.execute("select polls from hours") == [(4,)]
    place.execute("delete from polls")
    keep(store, stage, 50)
    store.upkeep.sum_hours(LATE)
    assert place.execute("select polls from hours") == [(4,)], "an hour whose polls are gone stays"


def test_after_a_start_nothing_counts_twice(store: Repository, stage: Stage, place: Place) -> None:
    """The interval begins at the last snapshot, and the polls after that have counted a part of it."""
    deltas = keep(store, stage, 40, 42, 44, 46)
    place.execute(
        "delete from snapshots where taken_at > '2026-03-01 12:00:43+00'"
        if place.kind != "sqlite"
        else "delete from snapshots where taken_at > '2026-03-01 12:00:43'"
    )
    started = Repository(place.url)
    stage[DB].published = None
    stage[DB].resume = lambda: started.last_snapshot(DB)
    deltas += keep(started, stage, 50, 52)
    page = started.history.page(DB, ("gets", "share"), BEGAN, LATE, "poll")
    assert page.seconds.tolist()[1:] == [2, 2, 2, 4, 2]
    whole = [*deltas[:1], *deltas[3:]]
    assert [delta.basis.seconds for delta in whole] == [2, 8, 2]
    assert np.nansum(page.values["gets"] * page.seconds) == pytest.approx(expected(whole)["gets"])
    assert 0 <= page.values["share"][4] < 1
    started.close()


# Snapshots as they grow old


def test_old_snapshots_are_thinned_beside_marks_episodes_and_restarts(
    store: Repository, stage: Stage, place: Place
) -> None:
    keep(store, stage, *range(0, 1800, 60))
    store.marks.add(DB, at(750), "a change", "anna")
    times = store.snapshots.times(DB, BEGAN, LATE)
    assert store.upkeep.thin(BEGAN + timedelta(days=1)) == 0, "nothing is thinned below its setting"
    began = {one.begin for one in store.episodes.between(DB, BEGAN, LATE).items}
    store.upkeep._thinned.clear()
    assert store.upkeep.thin(BEGAN + timedelta(days=3)) > 0
    five = store.snapshots.times(DB, BEGAN, LATE)
    assert {at(240), at(540), at(720), at(780), at(1740)} | began <= {*five} < {*times}
    store.upkeep._thinned.clear()
    store.upkeep.thin(BEGAN + timedelta(days=20))
    hour = store.snapshots.times(DB, BEGAN, LATE)
    assert {at(720), at(780), at(1740)} | began <= {*hour} < {*five}
    told = store.snapshots.delta_over(DB, at(0), at(750), not_after=at(750))
    assert isinstance(told, Delta) and told.basis.end == at(720), "before the mark nothing of after it"


# delta_over and details


def test_delta_over_is_the_difference_of_the_nearest_snapshots_or_says_that_there_are_none(
    store: Repository, stage: Stage
) -> None:
    keep(store, stage, 40, 42, 44, 46)
    told = store.snapshots.delta_over(DB, at(40), at(46))
    newest, *_, oldest = store.snapshots.latest(DB, 4)
    whole = between(oldest, newest)
    assert isinstance(told, Delta) and isinstance(whole, Delta)
    assert told == replace(whole, notes=told.notes) and told.notes == ("the difference of the snapshots at both ends",)
    rounded = store.snapshots.delta_over(DB, at(40.9), at(44.9))
    assert isinstance(rounded, Delta) and (rounded.basis.begin, rounded.basis.end) == (at(40), at(44))
    assert rounded.notes[1] == "the nearest that are kept: 2026-03-01 12:00:40 and 2026-03-01 12:00:44 UTC"
    short = store.snapshots.delta_over(DB, at(42.2), at(42.6))
    assert isinstance(short, Delta) and (short.basis.begin, short.basis.end) == (at(42), at(44)), "the two around it"
    nothing = store.snapshots.delta_over(DB, LATE, LATE + timedelta(days=1))
    assert isinstance(nothing, NotComparable) and "nothing of undo-storm is kept" in nothing.why
    assert isinstance(store.snapshots.delta_over(DB, LATE, BEGAN), NotComparable)


def test_delta_over_a_restart_is_the_sum_of_its_parts(store: Repository, stage: Stage) -> None:
    first = keep(store, stage, *range(10, 30, 2))
    stage.began += timedelta(seconds=5)
    later = keep(store, stage, *range(30, 50, 2))
    told = store.snapshots.delta_over(DB, at(10), at(53))
    assert isinstance(told, Delta) and told.basis.seconds == 18 + 18
    assert any("the instance restarted" in note and "is summed" in note for note in told.notes)
    for view in ("v$sysstat", CHILDREN, "v$rowcache", "v$system_event"):
        for column in collectors()[view].counters:
            assert total([told], view, column) == pytest.approx(total([*first, *later], view, column)), (view, column)
    assert diagnose(told).severity is Severity.CRITICAL


def test_together_lacks_what_one_part_lacks(store: Repository, stage: Stage) -> None:
    first, second = keep(store, stage, 40, 42, 44)
    gap = Missing("v$sysstat", "refused", "no right", "grant it")
    assert together([first]) == first
    assert together([first.without({"v$sysstat": gap}), second]).read("v$sysstat") == gap
    bare = tuple({name: cell for name, cell in row.items() if name != "gets"} for row in second.rows(CHILDREN))
    told = together([first, replace(second, readings={**second.readings, CHILDREN: Changes(CHILDREN, bare)})])
    assert {"gets" in row for row in told.rows(CHILDREN)} == {False} and total([told], CHILDREN, "misses") > 0


def test_snapshot_whose_frame_is_lost_is_left_out(store: Repository, stage: Stage, place: Place) -> None:
    keep(store, stage, 40, 42, 44)
    place.execute("delete from frames")
    assert isinstance(store.snapshots.delta_over(DB, at(40), at(44)), NotComparable)
    assert store.snapshots.latest(DB, 3) == ()
    assert len(store.snapshots.details(DB, [(CHILDREN, "gets")], BEGAN, LATE).times) == 0


def test_details_over_any_stretches_are_what_the_deltas_say_and_levels_hold(store: Repository, stage: Stage) -> None:
    deltas = keep(store, stage, *range(10, 70, 2))
    found = store.snapshots.details(
        DB, [(CHILDREN, "gets"), ("v$rowcache", "usage")], BEGAN, at(100), stage[DB].snapshot
    )
    assert len(found.times) == len(deltas) + 1
    begins, ends = found.times[:-1:3], found.times[3::3]
    begins = begins[: len(ends)]
    for series in found.series[CHILDREN, "gets"]:
        parts = [
            total(deltas[3 * n : 3 * n + 3], CHILDREN, "gets", **{"child#": series.key["child#"]})
            for n in range(len(ends))
        ]
        assert (found.rates(series, begins, ends) * 6).tolist() == pytest.approx(parts)
    (undo,) = [one for one in found.series["v$rowcache", "usage"] if one.key.get("parameter") == "dc_rollback_segments"]
    assert found.levels(undo, found.times).tolist() == undo.totals.tolist()
    few = store.snapshots.details(DB, [(CHILDREN, "gets")], BEGAN, at(100), most=5)
    assert len(few.times) <= 6 and (few.times[0], few.times[-1]) == (found.times[0], found.times[-1])
    assert np.isnan(found.rates(found.series[CHILDREN, "gets"][0], begins - 10**9, ends - 10**9)).all()
