"""Figures over time: what is kept of each poll, what a span without a figure means, roll-ups, and Deltas from the store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import event

from collectors.delta import between
from collectors.model import Changes, Delta, Missing, NotComparable, number
from rules.engine import diagnose
from service.config.settings import HistorySettings
from service.store.record import COUNTED, counters_of
from service.store.repository import Repository
from service.store.rows import NameTables
from service.store.series import BadCursor, History, HistoryPage, SeriesSelector, StoredSeries
from tests.service.stage import BEGAN, Kept, Stage
from tests.service.store.figures_in import figures_in
from tests.service.stores import SLOW_ON_POSTGRESQL, Place

pytestmark = SLOW_ON_POSTGRESQL
DB = "undo-storm"
SLEEPS = SeriesSelector("v$latch_children", "sleeps")
GETS = SeriesSelector("v$latch_children", "gets")
LATE = BEGAN + timedelta(days=1)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def keep(store: Repository, stage: Stage, *moments: float) -> list[Delta]:
    """Poll at these moments into the store. Returns the resulting Deltas."""
    kept = stage.keeper = Kept([])
    published = [stage.poll(DB, moment) for moment in moments]
    kept.write_to(store)
    stage.keeper = store  # type: ignore[assignment]
    return [one.delta for one in published if one.delta is not None]


def rate(points: HistoryPage, series: StoredSeries, place: int) -> float | None:
    """A series per second in one bucket of its page; None if it is unknown."""
    value = float(points.rates(series)[place])
    return None if np.isnan(value) else value


def stored(series: StoredSeries) -> int:
    return int(np.count_nonzero(~np.isnan(series.totals)))


def total(deltas: list[Delta], view: str, column: str) -> float:
    return sum(number(row.get(column)) or 0.0 for delta in deltas for row in delta.rows(view))


def test_points_have_a_span_per_poll_a_value_per_change_and_zero_is_not_stored(store: Repository, stage: Stage) -> None:
    deltas = keep(store, stage, 40, 42, 45)
    points = store.history.points(DB, [SLEEPS], BEGAN, LATE, "poll")
    assert [(one.at, one.seconds) for one in points.spans] == [(at(40), None), (at(42), 2.0), (at(45), 3.0)]
    assert points.spans[0].why == "the first poll has nothing to compare with"
    for place, delta in enumerate(deltas, 1):
        by_child = {one.key["child#"]: rate(points, one, place) for one in points.series}
        for row in delta.rows("v$latch_children"):
            grown = (row["sleeps"] or 0) / points.spans[place].seconds  # type: ignore[operator]
            assert by_child.get(row["child#"], 0.0) == pytest.approx(grown)
    assert all(rate(points, one, 0) is None for one in points.series), "without an interval there is no rate"
    assert [row for row in figures_in(store) if row[3] == 0 and not row[2][3]] == []
    points = store.history.points(DB, [GETS, SeriesSelector("v$sysstat", "value")], BEGAN, LATE, "poll")
    still = points.still("v$latch_children", '{"never":"seen"}', "gets")
    assert rate(points, still, 1) == 0.0


def test_unreadable_view_is_not_zero(store: Repository, stage: Stage) -> None:
    keep(store, stage, 40, 42)
    stage.refused = {DB: ("v$latch_children",)}
    keep(store, stage, 44)
    points = store.history.points(DB, [SLEEPS, GETS], BEGAN, LATE, "poll")
    busy = next(one for one in points.series if one.key["child#"] == 1 and one.column == "gets")
    first, read, refused = range(3)
    assert "v$latch_children" in points.spans[refused].missing
    assert (rate(points, busy, first), rate(points, busy, refused)) == (None, None)
    assert rate(points, busy, read)
    store.upkeep.sum_hours(LATE)
    (bucket,) = store.history.points(DB, [GETS], BEGAN, LATE, "5m").spans
    assert "v$latch_children" in bucket.missing, "a bucket with a gap in a view has no figure for it"


def test_fallen_counter_is_not_zero(store: Repository, stage: Stage) -> None:
    keep(store, stage, 40)
    before = stage[DB].published
    assert before is not None
    reading = before.snapshot.readings["v$latch_children"]
    raised = [dict(row) | ({"gets": row["gets"] + 10**9} if row["child#"] == 1 else {}) for row in reading.rows]  # type: ignore[union-attr, operator]
    snapshot = replace(
        before.snapshot, readings={**before.snapshot.readings, "v$latch_children": replace(reading, rows=tuple(raised))}
    )
    stage[DB].published = replace(before, snapshot=snapshot)
    keep(store, stage, 42)
    points = store.history.points(
        DB, [SeriesSelector("v$latch_children", "misses", {"child#": 1}), GETS], BEGAN, LATE, "poll"
    )
    (misses,) = [one for one in points.series if one.column == "misses"]
    assert rate(points, misses, 1)
    gets = points.still(misses.view, misses.name, "gets")
    assert rate(points, gets, 1) is None, "its fall is known, its change is not"


def test_levels_are_kept_when_they_change_and_every_hour(store: Repository, stage: Stage, place: Place) -> None:
    keep(store, stage, 40)
    usage = SeriesSelector("v$rowcache", "usage")
    first = store.history.points(DB, [usage], BEGAN, LATE, "poll").series
    assert len(first) > 10 and all(one.gauge for one in first)
    keep(store, stage, 40.5, 3601)
    each = [stored(one) for one in store.history.points(DB, [usage], BEGAN, LATE, "poll").series]
    assert min(each) == 2, "an unchanged level is stored once an hour"
    assert max(each) <= 3


def test_poll_kept_twice_changes_nothing(
    store: Repository, stage: Stage, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, stage, 40, 42)
    before = figures_in(store)
    again = Stage(monkeypatch, stage.folder)
    keep(store, again, 40, 42)
    assert figures_in(store) == before != []
    assert place.execute("select count(*) from polls") == [(2,)]


def test_roll_ups_are_the_sums_of_the_polls(store: Repository, stage: Stage) -> None:
    deltas = keep(store, stage, *range(10, 4000, 200))
    assert store.upkeep.sum_hours(LATE) == 13 + 2
    for resolution, buckets in (("5m", 13), ("1h", 2)):
        points = store.history.points(DB, [SLEEPS, GETS], BEGAN, LATE, resolution)  # type: ignore[arg-type]
        assert len(points.spans) == buckets
        assert sum(one.polls for one in points.spans) == len(deltas) + 1
        assert sum(one.seconds or 0 for one in points.spans) == pytest.approx(3800)
        for column in ("sleeps", "gets"):
            sums = sum(np.nansum(one.totals) for one in points.series if one.column == column)
            assert sums == pytest.approx(total(deltas, "v$latch_children", column))
    hot = next(one for one in points.series if one.key["child#"] == 1 and one.column == "gets")
    rates = [
        number(row["gets"]) / 200
        for delta in deltas
        for row in delta.rows("v$latch_children")
        if row["child#"] == 1  # type: ignore[operator]
    ]
    assert np.nanmax(hot.mosts) == pytest.approx(max(rates))


def test_roll_up_writes_once_and_again_only_if_a_poll_comes_late(store: Repository, stage: Stage, place: Place) -> None:
    deltas = keep(store, stage, 10, 20, 30)
    asked: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        asked.append(statement.lower().split()[0] if "figures_5m" in statement else "")

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        store.upkeep.sum_hours(LATE)
    finally:
        event.remove(store.engine, "before_cursor_execute", note)
    before = figures_in(store, "5m")
    assert len({row[2][0] for row in before}) > 1 and asked.count("insert") == 1, "the rows of all views at once"
    assert store.upkeep.sum_hours(LATE) == 0
    deltas += keep(store, stage, 40)
    assert store.upkeep.sum_hours(LATE) == 2
    after = figures_in(store, "5m")
    gets = figures_in(store, "5m", lambda item: item[0] == "v$latch_children" and item[2] == "gets")
    assert after != before and sum(row[3] for row in gets) == pytest.approx(total(deltas, "v$latch_children", "gets"))
    place.execute("delete from figures")
    keep(store, stage, 50)
    store.upkeep.sum_hours(LATE, raw_since=LATE)
    assert figures_in(store, "5m") == after, "a bucket whose polls are gone is kept"


def test_roll_up_waits_for_an_open_bucket(store: Repository, stage: Stage) -> None:
    keep(store, stage, 10, 20)
    assert store.upkeep.sum_hours(at(301)) == 0, "its database may still be late"
    keep(store, stage, 302)
    assert store.upkeep.sum_hours(at(303)) == 1, "now it is past it"
    assert store.upkeep.sum_hours(at(600) + timedelta(minutes=10)) == 1, "the silent one closes after some time"


def test_roll_up_ends_early_where_it_is_told(store: Repository, stage: Stage) -> None:
    keep(store, stage, *range(10, 1000, 100))
    spent: list[float] = []

    def rest(seconds: float) -> bool:
        spent.append(seconds)
        return True

    assert store.upkeep.sum_hours(LATE, rest=rest) == 1
    assert store.upkeep.sum_hours(LATE) == 4
    assert spent[0] > 0


def test_cursor_pages_hold_everything_once_and_a_bad_cursor_or_time_is_refused(store: Repository, stage: Stage) -> None:
    keep(store, stage, *range(10, 30, 2))
    whole = store.history.points(DB, [GETS], BEGAN, LATE, "poll")
    cursor, spans, values = None, [], 0
    for _ in range(10):
        part = store.history.points(DB, [GETS], BEGAN, LATE, "poll", cursor, limit=3)
        spans += part.spans
        values += sum(stored(one) for one in part.series)
        cursor = part.cursor
        if cursor is None:
            break
    assert spans == list(whole.spans)
    assert values == sum(stored(one) for one in whole.series)
    with pytest.raises(BadCursor):
        store.history.points(DB, [GETS], BEGAN, LATE, "poll", "yesterday")
    assert len(store.history.points("nobody", [GETS], BEGAN, LATE).spans) == 0
    assert store.history.polls("nobody", BEGAN, LATE) == ()
    with pytest.raises(Exception, match="no time zone"):
        store.history.polls(DB, datetime(2026, 3, 1), datetime.now(UTC))  # noqa: DTZ001  the point of the test


@pytest.mark.parametrize(
    ("hours", "ago", "chosen"),
    [(1, 1, "poll"), (24, 24, "5m"), (24 * 20, 24 * 20, "1h"), (1, 24 * 3, "5m"), (1, 24 * 30, "1h")],
)
def test_resolution_fits_the_window_and_what_is_kept(store: Repository, hours: int, ago: int, chosen: str) -> None:
    history = History(store.engine, NameTables(store.engine), HistorySettings())
    begin = LATE - timedelta(hours=ago)
    assert history.resolution(begin, begin + timedelta(hours=hours), now=LATE) == chosen


def test_impact_is_a_series_of_its_own(store: Repository, stage: Stage) -> None:
    keep(store, stage, 40, 42, 44)
    share = SeriesSelector("impact", "share_of_db_time")
    points = store.history.points(DB, [share], BEGAN, LATE, "poll")
    polls = store.history.polls(DB, BEGAN, LATE)
    assert polls[-1].share and polls[-1].severity == "critical"
    assert rate(points, points.series[0], -1) == pytest.approx(polls[-1].share)
    store.upkeep.sum_hours(LATE)
    rolled = store.history.points(DB, [share], BEGAN, LATE, "1h")
    expected = sum((one.share or 0) * (one.seconds or 0) for one in polls) / 4
    assert rate(rolled, rolled.series[0], 0) == pytest.approx(expected), "weighted by time"


# delta_over


def test_delta_over_is_the_difference_of_two_kept_snapshots_or_not_comparable(store: Repository, stage: Stage) -> None:
    keep(store, stage, 40, 42, 44, 46)
    told = store.snapshots.delta_over(DB, at(40), at(46))
    newest, *_, oldest = store.snapshots.latest(DB, 4)
    whole = between(oldest, newest)
    assert isinstance(told, Delta) and isinstance(whole, Delta)
    assert told == replace(whole, notes=told.notes)
    assert told.notes == ("the difference of the snapshots at both ends",)
    told = store.snapshots.delta_over(DB, LATE, LATE + timedelta(days=1))
    assert isinstance(told, NotComparable) and "nothing of undo-storm is kept" in told.why
    assert isinstance(store.snapshots.delta_over(DB, LATE, BEGAN), NotComparable)


@pytest.mark.parametrize("source", ["poll", "5m", "1h"])
def test_delta_over_is_the_sum_of_figures_without_snapshots(
    store: Repository, stage: Stage, place: Place, source: str
) -> None:
    keep(store, stage, *range(120, 3721, 240))
    snapshots = store.snapshots.latest(DB, 100)
    whole = between(snapshots[-1], snapshots[0])
    assert isinstance(whole, Delta)
    store.upkeep.sum_hours(LATE)
    place.execute("delete from snapshots")
    if source != "poll":
        place.execute("delete from figures")
        place.execute("delete from polls")
    if source == "1h":
        place.execute("delete from figures_5m")
        place.execute("delete from buckets where width = 300")
    told = store.snapshots.delta_over(DB, at(0), at(3721) if source == "poll" else at(3900))
    assert isinstance(told, Delta)
    assert told.basis.seconds == pytest.approx(3600 if source != "1h" else 3360 + 240)
    for view in COUNTED:
        real, again = whole.read(view), told.read(view)
        if isinstance(real, Missing):
            assert isinstance(again, Missing), view
            continue
        assert isinstance(again, Changes), (view, again)
        for column in counters_of_view(view):
            assert total([told], view, column) == pytest.approx(total([whole], view, column)), (view, column)
    assert any(source_word in told.notes[0] for source_word in ("polls", "five minutes", "an hour"))
    causes = [one.cause for one in diagnose(told).findings]
    assert causes[:1] == [diagnose(whole).findings[0].cause], "its verdict on the trouble is the same"


def counters_of_view(view: str) -> tuple[str, ...]:
    from collectors.registry import collectors

    return counters_of(collectors()[view])


def test_delta_over_lacks_a_view_that_is_missing_in_some_polls_and_notes_gaps(
    store: Repository, stage: Stage, place: Place
) -> None:
    keep(store, stage, 40, 42)
    stage.refused = {DB: ("v$sysstat",)}
    keep(store, stage, 44)
    stage.refused = {}
    keep(store, stage, 46, 48)
    stage[DB].published = None
    keep(store, stage, 60, 62)
    place.execute("delete from snapshots")
    told = store.snapshots.delta_over(DB, at(41), at(48.5))
    assert isinstance(told, Delta)
    reading = told.read("v$sysstat")
    assert isinstance(reading, Missing) and "was missing in 2 of 4" in reading.why
    assert told.rows("v$latch_children")
    told = store.snapshots.delta_over(DB, at(46.5), at(62.5))
    assert isinstance(told, Delta) and told.basis.seconds == 4
    assert any(note.startswith("4 of 16 s were watched") for note in told.notes)
    assert any("the first poll has nothing to compare with" in note for note in told.notes)
