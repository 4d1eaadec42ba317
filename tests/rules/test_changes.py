"""The timeline of changes: what two polls and a reading show, in which order, and in words that blame nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from collectors.model import Missing, Reading, Row, Rows, Snapshot
from collectors.ondemand.changes import gaps, not_read, views
from rules.changes import MOST, Change, between_polls, from_readings, nearest_to, order, timeline, told

AT = datetime(2026, 3, 1, 14, 2, 20, tzinfo=UTC)


def poll(
    at: datetime, parameters: Reading | None = None, started: str = "2026-03-01 02:00:00", **instance: str | int
) -> Snapshot:
    row: Row = {"version": "19.0.0.0.0", "startup_time": started, "uptime_seconds": 600, **instance}
    readings: dict[str, Reading] = {"v$instance": Rows("v$instance", (row,))}
    return Snapshot("db", at, readings | ({"v$parameter": parameters} if parameters else {}))


def settings(read_at: datetime | None = None, **values: str) -> Rows:
    rows = tuple({"con_id": 0, "name": name, "value": value} for name, value in values.items())
    return Rows("v$parameter", rows, read_at=read_at)


def ddl(seconds: float, name: str = "ORDERS", **more: datetime | str) -> Change:
    at = AT + timedelta(seconds=seconds)
    return Change(at=at, kind="ddl", text=f"TABLE APP.{name} changed by DDL", source="dba_objects", **more)  # type: ignore[arg-type]


def test_parameter_that_differs_lies_between_its_two_readings() -> None:
    earlier = poll(AT, settings(optimizer_mode="ALL_ROWS", undo_retention="900"))
    later = poll(
        AT + timedelta(minutes=5), settings(optimizer_mode="FIRST_ROWS_10", undo_retention="900", open_cursors="9")
    )
    first, second = between_polls(earlier, later)
    assert (first.text, second.text) == ("open_cursors: not set → 9", "optimizer_mode: ALL_ROWS → FIRST_ROWS_10")
    assert (second.kind, second.at, second.not_before) == ("parameter", later.taken_at, AT)


def test_parameters_that_a_poll_carries_over_or_could_not_read_are_no_reading() -> None:
    earlier = poll(AT, settings(AT - timedelta(minutes=1), undo_retention="900"))
    carried = poll(AT + timedelta(seconds=15), settings(AT - timedelta(minutes=1), undo_retention="900"))
    assert between_polls(earlier, carried) == ()
    refused = Missing("v$parameter", "refused", "ORA-00942", "grant")
    assert between_polls(poll(AT, refused), poll(AT + timedelta(minutes=5), settings(undo_retention="9"))) == ()
    assert between_polls(None, poll(AT, settings(undo_retention="9"))) == ()


def test_start_of_the_instance_has_its_own_time() -> None:
    (change,) = between_polls(poll(AT), poll(AT + timedelta(minutes=20), started="2026-03-01 14:12:20"))
    assert (change.kind, change.at) == ("instance_start", AT + timedelta(minutes=10))


def test_start_has_no_time_of_its_own_where_the_clock_of_sql_has_another_zone() -> None:
    zone = settings(time_at_dbtimezone="USER_SQL")
    (change,) = between_polls(poll(AT, zone), poll(AT + timedelta(minutes=20), zone, started="2026-03-01 14:12:20"))
    assert (change.at, change.not_before) == (AT + timedelta(minutes=20), AT)


def test_newer_release_update_is_a_patch() -> None:
    later = poll(AT + timedelta(minutes=9), version_full="19.19.0.0.0")
    (change,) = between_polls(poll(AT, version_full="19.18.0.0.0"), later)
    assert (change.kind, change.text) == ("patch", "release: 19.18.0.0.0 → 19.19.0.0.0")


READINGS: dict[str, tuple[Row, str]] = {
    "dba_objects": (
        {"con_id": 3, "owner": "APP", "object_name": "ORDERS", "object_type": "TABLE", "is_new": "NO"},
        "TABLE APP.ORDERS changed by DDL in container 3",
    ),
    "dba_optstat_operations": (
        {"operation": "gather_table_stats", "target": "APP.ORDERS"},
        "statistics: gather_table_stats on APP.ORDERS began",
    ),
    "dba_scheduler_job_run_details": ({"owner": "APP", "job_name": "NIGHTLY"}, "job APP.NIGHTLY began"),
    "jobs_begun": ({"owner": "APP", "job_name": "NIGHTLY"}, "job APP.NIGHTLY began"),
    "dba_scheduler_window_log": (
        {"window_name": "MONDAY_WINDOW", "operation": "OPEN"},
        "window MONDAY_WINDOW: OPEN",
    ),
    "v$pdbs": ({"con_id": 1, "name": "SALES", "open_mode": "READ WRITE"}, "container SALES opened READ WRITE"),
    "patches_applied": (
        {"patch_id": 24340679, "action": "APPLY", "status": "WITH ERRORS"},
        "patch 24340679 applied, status WITH ERRORS",
    ),
}


def test_every_view_of_a_reading_has_words() -> None:
    assert set(READINGS) == set(views())


@pytest.mark.parametrize("view", READINGS)
def test_row_of_a_reading_is_a_change_in_words(view: str) -> None:
    row, words = READINGS[view]
    read = {view: Rows(view, ({**row, "happened_at": "2026-03-01 14:02:00"},))}
    (change,) = from_readings(read, poll(AT))
    assert (change.text, change.at, change.source, change.unsure) == (words, AT - timedelta(seconds=20), view, None)


def test_time_of_ddl_is_unsure_where_the_clock_of_sql_has_another_zone_and_that_of_statistics_is_not() -> None:
    found = {view: Rows(view, ({**READINGS[view][0], "happened_at": "2026-03-01 14:02:00"},)) for view in READINGS}
    unsure = {
        change.source
        for change in from_readings(found, poll(AT, settings(time_at_dbtimezone="USER_SQL")))
        if change.unsure
    }
    assert unsure == {"dba_objects", "v$pdbs", "patches_applied"}


@pytest.mark.parametrize("at", [None, "0001-01-01 00:00:00", "9999-12-31 23:59:59"])
def test_row_without_a_time_that_can_be_is_left_out(at: str | None) -> None:
    row = {**READINGS["dba_objects"][0], "happened_at": at}
    assert from_readings({"dba_objects": Rows("dba_objects", (row,))}, poll(AT)) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (ddl(-20), "14:02:00 TABLE APP.ORDERS changed by DDL, 20 s before the waits began"),
        (ddl(0), "14:02:20 TABLE APP.ORDERS changed by DDL, as the waits began"),
        (ddl(300), "14:07:20 TABLE APP.ORDERS changed by DDL, 5 min after the waits began"),
        (
            ddl(60, not_before=AT - timedelta(minutes=4)),
            "between 13:58:20 and 14:03:20 TABLE APP.ORDERS changed by DDL, before or after the waits began is unknown: they "
            "began between two readings",
        ),
        (
            ddl(-20, unsure="time_at_dbtimezone = USER_SQL may put the clock of SQL into another time zone"),
            "14:02:00 TABLE APP.ORDERS changed by DDL, before or after the waits began is unknown: time_at_dbtimezone = USER_SQL "
            "may put the clock of SQL into another time zone",
        ),
    ],
)
def test_change_is_told_with_its_order_and_no_blame(change: Change, words: str) -> None:
    assert told(change, AT) == words


def test_change_without_waits_has_no_order() -> None:
    assert order(ddl(-20), None) == "" and told(ddl(-20), None) == "14:02:00 TABLE APP.ORDERS changed by DDL"


def test_timeline_begins_an_hour_before_the_waits_ends_with_the_newest_and_keeps_the_nearest() -> None:
    changes = [ddl(600), ddl(-3601, "OLD"), ddl(-3599, "FIRST"), ddl(1200, "FUTURE")]
    assert [one.text for one in timeline(changes, AT, AT + timedelta(seconds=700))] == [
        "TABLE APP.FIRST changed by DDL",
        "TABLE APP.ORDERS changed by DDL",
    ]
    many = [ddl(-second, f"T{second}") for second in range(1, 80)]
    kept = timeline(many, AT, AT + timedelta(hours=2))
    assert (
        len(kept) == MOST
        and kept[0].text == f"TABLE APP.T{MOST} changed by DDL"
        and kept[-1].text == "TABLE APP.T1 changed by DDL"
    )
    assert [one.at for one in nearest_to([ddl(-90), ddl(50), ddl(10)], AT, 2)] == [
        AT + timedelta(seconds=s) for s in (10, 50)
    ]


def test_what_is_refused_failed_or_not_read_is_a_gap_and_what_the_release_lacks_is_none() -> None:
    readings: dict[str, Reading] = dict(not_read())
    assert len(gaps(readings)) == len(views()) == len(gaps({}))
    readings = {
        view: Missing(view, "not_asked", f"{view} needs a newer release", "nothing to do on this release")
        for view in views()
    }
    assert gaps(readings) == ()
    readings["dba_objects"] = Missing(
        "dba_objects", "refused", "ORA-00942", "grant select on sys.dba_objects to <user>;"
    )
    (line,) = gaps(readings)
    assert line.endswith("not readable: grant select on sys.dba_objects to <user>")
