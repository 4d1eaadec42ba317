"""Sessions that hang: what they cost while no wait ends. Nothing counts twice when their waits end."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from collectors.delta import between, since_startup
from collectors.model import Delta, Missing, Reading, Row, Rows, Snapshot
from rules.engine import diagnose
from rules.model import Diagnosis, Severity
from tests.each import each

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SECONDS = 15
LOCK = "row cache lock"
LISTED = 200


def snapshot(
    at: int, *, db_time: float, waits: int = 0, waited: float = 0.0, look: Sequence[Row] | Missing = ()
) -> Snapshot:
    """A poll `at` seconds after the first, with these counters and the look at waiting sessions."""
    tables: dict[str, list[Row]] = {
        "v$instance": [
            {"instance_number": 1, "version": "11.2.0.4.0", "startup_time": "x", "uptime_seconds": 9e5 + at}
        ],
        "v$event_name": [{"name": "latch: row cache objects"}, {"name": LOCK}],
        "v$rowcache": [
            {"cache#": 8, "type": "PARENT", "subordinate#": None, "parameter": "dc_objects", "gets": 9 * at}
        ],
        "v$system_event": [{"event": LOCK, "total_waits": 90 + waits, "time_waited_micro": 1e6 * (9 + waited)}],
        "v$sys_time_model": [
            {"stat_name": "DB time", "value": 1e6 * db_time},
            {"stat_name": "DB CPU", "value": 1e6 * at},
        ],
        "v$osstat": [{"stat_name": "NUM_CPUS", "level_now": 16, "total": None}],
    }
    readings: dict[str, Reading] = {view: Rows(view, tuple(rows)) for view, rows in tables.items()}
    readings["waiting_sessions"] = look if isinstance(look, Missing) else Rows("waiting_sessions", tuple(look))
    return Snapshot("erp", BEGIN + timedelta(seconds=at), readings)


def waiters(sessions: int, seconds: float, met: int | None = None, **more: str | int) -> list[Row]:
    """Rows of the look: sessions that have waited this long for the lock on dc_objects."""
    names = ("blocking_session", "blocking_instance", "final_blocking_session", "final_blocking_instance")
    row: Row = {"serial#": 7, "event": LOCK, "p1": 8, "type": "USER", "wait_time_micro": seconds * 1e6}
    row = {**row, **dict.fromkeys(names), **more}
    return [{"sid": 100 + number, **row, "met": sessions if met is None else met} for number in range(sessions)]


def delta(earlier: Snapshot, later: Snapshot) -> Delta:
    change = between(earlier, later)
    assert isinstance(change, Delta)
    return change


def judged(earlier: Snapshot, later: Snapshot) -> Diagnosis:
    return diagnose(delta(earlier, later))


def lost(got: Diagnosis) -> float:
    """Seconds lost, of the interval."""
    assert got.impact is not None and got.impact.waiting_sessions is not None
    return got.impact.waiting_sessions * SECONDS


def test_hang_with_a_still_counter_is_no_health() -> None:
    """The published case: 240 sessions blocked, 626.88 s each, 4,500 s of DB time in the interval, no wait ended."""
    look = waiters(LISTED, 626.88, met=240, final_blocking_session=312)
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=4_500, look=look))
    assert "Nothing to do" not in got.headline
    assert got.severity is Severity.CRITICAL
    assert "240 sessions wait for the row cache" in got.headline
    assert "for up to 10 minutes; no wait has finished, so v$system_event shows nothing" in got.headline
    assert lost(got) == LISTED * SECONDS
    assert [(one.cause, one.cache) for one in got.findings] == [("row-cache-lock-hang", "dc_objects")]


def test_hang_of_all_listed_sessions_is_told_in_one_sentence() -> None:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=650, look=waiters(38, 671)))
    told = "38 sessions have waited for dc_objects for up to 11 minutes; no wait has finished, so v$system_event shows nothing"
    assert told in got.headline
    assert got.steps[0].statement.startswith(told)
    assert got.impact is not None and got.impact.share_of_db_time == pytest.approx(38 * SECONDS / 650)


def test_hang_that_ends_is_not_counted_a_second_time() -> None:
    """2,360 waits of 626.88 s end. What earlier intervals counted is subtracted."""
    before = snapshot(0, db_time=0, look=waiters(LISTED, 620, met=2_360))
    after = snapshot(SECONDS, db_time=30_000, waits=2_360, waited=2_360 * 626.88)
    assert lost(judged(before, after)) == pytest.approx(2_360 * 6.88)


def test_hang_that_goes_on_beside_one_that_ended_counts_each_for_its_part() -> None:
    before = snapshot(0, db_time=0, look=waiters(3, 100))
    ended, *going = waiters(3, 100 + SECONDS)
    after = snapshot(SECONDS, db_time=60, waits=1, waited=105, look=going)
    assert ended["sid"] == 100
    assert lost(judged(before, after)) == pytest.approx(5 + 2 * SECONDS)


def test_hang_of_an_old_wait_and_a_new_wait_of_the_same_session_are_two() -> None:
    before = snapshot(0, db_time=0, look=waiters(1, 100))
    after = snapshot(SECONDS, db_time=60, waits=1, waited=110, look=waiters(1, 4))
    assert lost(judged(before, after)) == pytest.approx(10 + 4)


def test_hang_without_an_earlier_look_counts_what_finished_as_it_stands() -> None:
    unread = Missing("waiting_sessions", "unread", "not read", "read it")
    before, after = snapshot(0, db_time=0, look=unread), snapshot(SECONDS, db_time=60, waits=1, waited=4)
    assert lost(judged(before, after)) == pytest.approx(4)


@each("look", [waiters(1, 0.003), waiters(40, 900, type="BACKGROUND"), waiters(40, 900, event="latch free", p2=9), []])
def test_hang_needs_sessions_that_wait_long_for_the_row_cache(look: list[Row]) -> None:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=80, look=look))
    assert (got.severity, got.findings) == (Severity.INFO, ())
    assert got.headline.startswith("Nothing to do about the row cache")
    assert not [one for one in got.waiting if one.hanging]


def test_hang_cannot_be_told_without_the_look_where_sessions_wait_for_something() -> None:
    refused = Missing("waiting_sessions", "refused", "ORA-00942", "grant select on sys.v_$session to <user>;")
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=4_500, look=refused))
    assert "without a look at v$session it is unknown whether they hang" in got.headline
    (open_point,) = (one for one in got.undetermined if one.cause == "row-cache-lock-hang")
    assert (open_point.missing, open_point.way_out) == ("waiting_sessions", refused.way_out)
    calm = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=60, look=refused))
    assert "it is unknown whether" not in calm.headline


def test_hang_in_a_single_poll_is_a_trouble_of_now_and_not_of_the_uptime() -> None:
    got = diagnose(since_startup(snapshot(SECONDS, db_time=9e6, look=waiters(38, 671))))
    assert got.severity is Severity.CRITICAL
    assert "38 sessions have waited for dc_objects for up to 11 minutes" in got.headline
    assert "v$system_event counts a wait only when it ends" in got.headline


def test_hang_longer_than_the_db_time_of_the_interval_never_costs_more_than_all_of_it() -> None:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=2, look=waiters(38, 671)))
    assert got.impact is not None and got.impact.share_of_db_time == 1.0


def test_hang_is_known_even_where_the_wait_counters_are_not() -> None:
    later = snapshot(SECONDS, db_time=650, look=waiters(38, 671))
    hidden = Missing("v$system_event", "refused", "ORA-00942", "grant it")
    later = replace(later, readings={**later.readings, "v$system_event": hidden})
    got = judged(snapshot(0, db_time=0), later)
    assert (got.severity, lost(got)) == (Severity.CRITICAL, 38 * SECONDS)


def test_hang_on_a_mutex_without_a_cause_is_an_incident_all_the_same() -> None:
    mutex = waiters(12, 90, event="row cache mutex")
    names = Rows("v$event_name", ({"name": "row cache mutex"}, {"name": LOCK}))
    polls = [snapshot(0, db_time=0), snapshot(SECONDS, db_time=200, look=mutex)]
    got = judged(*(replace(one, readings={**one.readings, "v$event_name": names}) for one in polls))
    assert (got.severity, got.findings) == (Severity.CRITICAL, ())
    assert got.headline.startswith("12 sessions have waited for dc_objects for up to 90 seconds")


def test_hang_behind_one_session_names_it_and_the_waits_of_background_processes() -> None:
    look = [
        *waiters(38, 671, final_blocking_session=312, final_blocking_instance=2),
        *waiters(1, 30, type="BACKGROUND"),
    ]
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=650, look=[*look[:-1], {**look[-1], "sid": 9}]))
    assert "38 of 38 (100.0 %) wait for session 312@2. 1 background process waits too." in got.steps[0].statement
    (group,) = got.waiting
    assert (group.cache, group.sessions, group.hanging, group.longest_seconds) == ("dc_objects", 38, 38, 671.0)


def test_hang_longer_than_the_other_waits_of_the_interval_tells_how_many_ended() -> None:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=650, waits=7, waited=0.1, look=waiters(38, 671)))
    assert "7 other waits for row cache lock finished meanwhile" in got.headline


def test_hang_on_a_cache_that_v_rowcache_does_not_list_is_told_by_its_id() -> None:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=450, look=waiters(30, 60, p1=37)))
    nameless = "cache id 37, not listed in v$rowcache"
    assert f"30 sessions have waited for {nameless}, for up to" in got.headline
    assert [(finding.cause, finding.cache) for finding in got.findings] == [("row-cache-lock-hang", nameless)]
    assert [group.cache for group in got.waiting] == [nameless]


def without(rows: Sequence[Row], column: str, place: int | None = None) -> list[Row]:
    """The rows, one of them or all without a column."""
    return [
        {name: cell for name, cell in row.items() if name != column or place not in (None, at)}
        for at, row in enumerate(rows)
    ]


def of_look(look: Sequence[Row]) -> tuple[list[str], str]:
    got = judged(snapshot(0, db_time=0), snapshot(SECONDS, db_time=650, look=look))
    return [one.cause for one in got.findings], got.headline


def test_one_cell_that_was_not_captured_hides_no_crowd_that_hangs() -> None:
    crowd = waiters(38, 671, final_blocking_session=312, final_blocking_instance=1)
    for column in ("event", "wait_time_micro", "type", "final_blocking_session", "blocking_instance"):
        assert of_look(without(crowd, column, 7))[0] == ["row-cache-lock-hang"], column


def test_hang_is_open_where_the_look_does_not_tell_who_waits_or_for_whom() -> None:
    apart = [waiters(1, 90, sid=sid, final_blocking_session=sid + 9, final_blocking_instance=1)[0] for sid in (1, 2, 3)]
    assert of_look(apart)[0] == []
    for column in ("final_blocking_session", "type"):
        assert of_look(without(apart, column))[0] == [], column


def test_cost_of_a_session_that_does_not_tell_what_it_waits_for_is_unknown() -> None:
    for column in ("event", "wait_time_micro"):
        found, told = of_look(without(waiters(1, 40), column))
        assert (found, told[:11]) == ([], "Cannot tell"), column
