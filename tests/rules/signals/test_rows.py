"""Signals over rows as Oracle gives them: repeated, one per container, negative, or counted in two columns."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from collectors.delta import between
from collectors.model import ROW_CACHE_LATCH, Delta, Row, Rows, Snapshot
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.engine import diagnose
from rules.signals import SIGNALS, Subject

BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
Views = Mapping[str, Sequence[Row]]


def snapshot(seconds: int, release: str, views: Views) -> Snapshot:
    instance: Row = {"instance_number": 1, "version": release, "startup_time": "2026-02-20 04:11:00"}
    readings = {view: Rows(view, tuple(rows)) for view, rows in {"v$instance": [instance], **views}.items()}
    return Snapshot("erp1", BEGAN + timedelta(seconds=seconds), readings)


def delta_of(before: Views, after: Views, release: str = "11.2.0.4.0") -> Delta:
    delta = between(snapshot(0, release, before), snapshot(30, release, after))
    assert isinstance(delta, Delta), delta
    return delta


def read(
    name: str, before: Views, after: Views, subject: Subject | None = None, release: str = "11.2.0.4.0"
) -> SignalValue:
    """A signal over two snapshots 30 s apart."""
    return SIGNALS[name].read(SignalContext(delta_of(before, after, release)), subject or Subject())


def known(reading: SignalValue) -> float:
    assert isinstance(reading, Known), reading
    return reading.value


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown), reading
    return reading.why


def place(location: str, sleeps: int) -> Row:
    return {"parent_name": ROW_CACHE_LATCH, "location": location, "sleep_count": sleeps, "wtr_slp_count": 0}


def test_place_that_stands_twice_in_v_latch_misses_keeps_its_share() -> None:
    before = [place("kqrpre: find obj", 5_000), place("kqrpre: find obj", 70), place("kqreqd", 800)]
    after = [place("kqrpre: find obj", 5_500), place("kqrpre: find obj", 170), place("kqreqd", 1_000)]
    at_parent = Subject(location="kqrpre: find obj")
    holders = read("share_of_holders", {"v$latch_misses": before}, {"v$latch_misses": after}, at_parent)
    assert holders == Known(0.75, "600 of 800")


def component(name: str, size: int, con_id: int | None = None) -> Row:
    container: Row = {} if con_id is None else {"con_id": con_id}
    return {**container, "pool": "shared pool", "name": name, "bytes": size}


@pytest.mark.parametrize("containers", [(1, 3), (None, None)], ids=["read today", "captured before con_id was read"])
def test_row_cache_memory_is_that_of_all_containers(containers: tuple[int | None, int | None]) -> None:
    parts = [component("KQR PO", size, con) for size, con in zip((38_000_000, 6_100_000), containers, strict=True)]
    views = {"v$sgastat": [*parts, component("KQR ENQ", 5)]}
    assert known(read("row_cache_memory", views, views, release="19.0.0.0.0")) == 44_100_005


def test_every_granule_that_left_the_shared_pool_counts() -> None:
    moved: Row = {
        "component": "shared pool",
        "start_time": "2026-03-02 08:57:12",
        "oper_type": "SHRINK",
        "initial_size": 2_147_483_648,
        "final_size": 2_130_706_432,
    }
    views = {"v$sga_resize_ops": [moved, dict(moved), dict(moved)]}
    assert read("shared_pool_shrinks", views, views) == Known(3.0, "2026-03-02 08:57:12")


def undo(begin: str, con_id: int | None, **figures: int) -> Row:
    return {**({} if con_id is None else {"con_id": con_id}), "begin_time": f"2026-03-02 {begin}:00", **figures}


CONTAINERS: Views = {
    "v$undostat": [
        undo("08:50", 3, tuned_undoretention=900_000, maxconcurrency=900, unexpiredblks=1, expiredblks=0),
        undo("09:00", 1, tuned_undoretention=1_800, maxconcurrency=20, unexpiredblks=100, expiredblks=900),
        undo("09:00", 3, tuned_undoretention=9_000, maxconcurrency=60, unexpiredblks=300, expiredblks=100),
    ],
    "v$parameter": [{"name": "undo_retention", "value": "900"}],
    "v$rowcache": [{"cache#": 3, "type": "PARENT", "parameter": "dc_rollback_segments", "gets": 9, "usage": 1_600}],
}
"""Local undo: a container whose retention runs away beside the root."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tuned_retention_ratio", Known(10.0, "9,000 s tuned in container 3, 900 s asked for")),
        ("unexpired_share_of_undo", Known(0.75, "300 of 400 blocks in container 3")),
        ("undo_segments_per_transaction", Known(20.0, "1,600 entries, 80 transactions at most")),
    ],
)
def test_undo_of_every_container_is_seen(name: str, expected: Known) -> None:
    assert read(name, CONTAINERS, CONTAINERS, release="19.0.0.0.0") == expected


@pytest.mark.parametrize(
    ("name", "view", "row"),
    [
        ("logons_per_second", "v$sysstat", {"name": "logons cumulative", "value": 60}),
        ("host_busy_ratio", "v$osstat", {"stat_name": "BUSY_TIME", "level_now": None, "total": 900}),
        ("parse_share_of_db_time", "v$sys_time_model", {"stat_name": "DB time", "value": 5_000}),
        (
            "lock_share_of_db_time",
            "v$system_event",
            {"event": "row cache lock", "total_waits": 9, "time_waited_micro": 5},
        ),
        ("share_of_sleeps", "v$latch_children", {"latch#": 270, "child#": 1, "sleeps": 500}),
        ("entries_used", "v$rowcache", {"cache#": 3, "type": "PARENT", "parameter": "dc_users", "usage": 5}),
    ],
)
def test_repeat_that_nobody_expected_makes_signals_unknown(name: str, view: str, row: Row) -> None:
    before: Row = {key: 0 if isinstance(cell, int) and "#" not in key else cell for key, cell in row.items()}
    reading = read(name, {view: [before]}, {view: [row, dict(row)]}, Subject(("dc_users",)))
    assert "occurs more than once, which is unexpected" in why(reading)
    told = diagnose(delta_of({view: [before]}, {view: [row, dict(row)]}))
    assert not [out for out in told.ruled_out if SIGNALS.get(out.signal) and SIGNALS[out.signal].of == view]
    assert sum("occurs more than once" in note for note in told.notes) == 1


def setting(value: str, con_id: int | None = None) -> Row:
    return {**({} if con_id is None else {"con_id": con_id}), "name": "result_cache_mode", "value": value}


@pytest.mark.parametrize(
    ("rows", "needs", "expected"),
    [
        ([setting("MANUAL", 0), setting("FORCE", 3)], ">= 1", Known(1.0, "FORCE in con_id 3, MANUAL in con_id 0")),
        ([setting("MANUAL", 0), setting("FORCE", 3)], "<= 0", Known(0.0, "MANUAL in con_id 0, FORCE in con_id 3")),
        ([setting("FORCE", 0), setting("FORCE", 4)], ">= 1", Known(1.0, "FORCE")),
        (
            [setting("MANUAL", 0), *(setting("FORCE_TEMP", con_id) for con_id in range(3, 10))],
            ">= 1",
            Known(1.0, "FORCE_TEMP in con_id 3 and 4 and 5 and 6 and 7 and 2 more, MANUAL in con_id 0"),
        ),
        ([setting("FORCE_TEMP")], ">= 1", Known(1.0, "FORCE_TEMP")),
        ([setting("MANUAL_TEMP")], ">= 1", Known(0.0, "MANUAL_TEMP")),
    ],
)
def test_setting_of_one_container_is_seen_and_named(rows: list[Row], needs: str, expected: Known) -> None:
    subject = Subject(parameter="result_cache_mode", needs=needs)
    told = Known(expected.value, f"result_cache_mode = {expected.derivation}")
    assert read("parameter_value", {"v$parameter": rows}, {"v$parameter": rows}, subject, "19.0.0.0.0") == told


def test_tuned_retention_is_held_against_what_its_container_asked_for() -> None:
    asked = [
        {"con_id": con_id, "name": "undo_retention", "value": value} for con_id, value in ((0, "900"), (3, "9000"))
    ]
    views = {**CONTAINERS, "v$parameter": asked}
    told = Known(2.0, "1,800 s tuned in container 1, 900 s asked for")
    assert read("tuned_retention_ratio", views, views, release="19.0.0.0.0") == told


def cache(number: int, name: str, gets: int, fastgets: int | None = None, **more: int) -> Row:
    fast: Row = {} if fastgets is None else {"fastgets": fastgets}
    return {"cache#": number, "type": "PARENT", "subordinate#": None, "parameter": name, "gets": gets, **fast, **more}


FAST: Sequence[Row] = (
    cache(10, "dc_users", 953, 13_473, getmisses=20, modifications=0),
    cache(0, "dc_tablespaces", 1_232, 14_466, getmisses=12, modifications=0),
    cache(2, "dc_segments", 4_374, 7_308, getmisses=2_087, modifications=14),
    cache(16, "dc_histogram_defs", 60_851, 0, getmisses=15_000, modifications=0),
)
"""A 19c instance as it was published: F. Hoogland, March 2020; misses and modifications are ours."""
WORK: Views = {
    "v$sysstat": [{"name": "parse count (total)", "value": 1_000}, {"name": "execute count", "value": 5_000}]
}
ALL_LOOKUPS = 953 + 13_473 + 1_232 + 14_466 + 4_374 + 7_308 + 60_851


def from_zero(rows: Sequence[Row]) -> list[Row]:
    counters = ("gets", "fastgets", "getmisses", "modifications", "value")
    return [{name: 0 if name in counters else cell for name, cell in row.items()} for row in rows]


def read_work(name: str, rows: Sequence[Row], *caches: str, release: str = "19.0.0.0.0") -> SignalValue:
    before: Views = {"v$rowcache": from_zero(rows), "v$sysstat": from_zero(WORK["v$sysstat"])}
    return read(name, before, {"v$rowcache": rows, **WORK}, Subject(caches), release)


LOOKUPS_ASKED = [
    ("dc_users", "lookups_per_execution", 2.8852),
    ("dc_users", "share_of_lookups", 14_426 / ALL_LOOKUPS),
    ("dc_segments", "getmiss_ratio", 2_087 / 11_682),
    ("dc_segments", "modification_ratio", 14 / 11_682),
    ("dc_users", "overall_getmiss_ratio", 17_119 / ALL_LOOKUPS),
]


@pytest.mark.parametrize(("caches", "name", "value"), LOOKUPS_ASKED)
def test_work_is_weighed_by_gets_and_fastgets(caches: str, name: str, value: float) -> None:
    assert known(read_work(name, FAST, caches)) == pytest.approx(value)


def test_caches_are_asked_together_by_their_lookups() -> None:
    assert known(read_work("evenness_of_lookups", FAST, "dc_users", "dc_tablespaces")) == pytest.approx(14_426 / 15_698)


@pytest.mark.parametrize(("caches", "name", "value"), LOOKUPS_ASKED)
def test_work_cannot_be_told_where_fastgets_are_missing(caches: str, name: str, value: float) -> None:
    without = [{column: cell for column, cell in row.items() if column != "fastgets"} for row in FAST]
    assert why(read_work(name, without, caches)) == "v$rowcache has no fastgets here"
    assert why(read_work(name, without, caches, release="12.2.0.1.0")) == "v$rowcache has no fastgets here"
    assert isinstance(read_work(name, without, caches, release="12.1.0.2.0"), Known), "no fast way before 12.2"
    lacking = [{column: cell for column, cell in row.items() if column != "gets"} for row in FAST]
    assert why(read_work(name, lacking, caches)) == "v$rowcache has no gets here"


def test_pressure_is_that_of_gets_alone() -> None:
    assert known(read_work("gets_per_parse", FAST, "dc_users")) == pytest.approx(0.953)
    context = SignalContext(delta_of({"v$rowcache": from_zero(FAST)}, {"v$rowcache": FAST}, "19.0.0.0.0"))
    assert dict(context.by_name("gets")) == {
        "dc_histogram_defs": 60_851, "dc_segments": 4_374, "dc_tablespaces": 1_232, "dc_users": 953,
    }  # fmt: skip
    assert context.by_name("lookups")["dc_users"] == 14_426
