"""Every synthetic report gives back its original figures: counts exactly, times as precisely as they are printed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import pytest

from collectors.model import Changes, Delta, Missing, NotComparable, Row, number
from collectors.registry import collectors
from collectors.reports.read import read
from collectors.reports.sections import LATCHES
from collectors.views.system_event import ORDINARY_WAITS
from tests.paths import REPORTS
from tests.recordings.reports import make
from tests.recordings.reports.interval import Interval, Latch
from tests.recordings.reports.time_sections import together

TOLD = make.told()
FILES = sorted(name for name, one in TOLD.items() if not one.restarted)
RESTARTED = sorted(name for name, one in TOLD.items() if one.restarted)
COMPARED = "awrdd-11.2.0.4.0-before-and-during.html"
VERIFIED = (
    *("awr-11.2.0.3.0-", "awr-11.2.0.4.0-", "awr-12.1.0.2.0-undo-storm.html", "awr-12.2.0.1.0-", "day-"),
    *("awr-19.0.0.0.0-users-mutex.html", "awr-19.0.0.0.0-cluster-", "awr-19.0.0.0.0-idle.html"),
    *("statspack-11.2.0.3.0-", "statspack-12.1.0.2.0-"),
)
"""Layouts that real reports proved."""


def of_each(names: Sequence[str]) -> Callable[[Callable[[str], None]], Callable[[], None]]:
    """One test over all these reports. A failure names the report."""

    def made(check: Callable[[str], None]) -> Callable[[], None]:
        def test() -> None:
            assert names
            for name in names:
                try:
                    check(name)
                except AssertionError as error:
                    error.add_note(name)
                    raise

        return test

    return made


@cache
def report(name: str) -> Delta:
    (delta,) = read((REPORTS / name).read_bytes(), name)
    assert isinstance(delta, Delta), delta
    return delta


def asked(view: str) -> str:
    """The newest statement of a view. A report prints more columns than it selects, and the reader takes only those."""
    return list(collectors()[view].statements.values())[-1]


def rows_of(delta: Delta, view: str, key: str) -> Mapping[str, Row]:
    reading = delta.read(view)
    assert isinstance(reading, Changes), reading
    names = [str(row[key]) for row in reading.rows]
    assert len(names) == len(set(names)), f"{view} repeats {names}"
    return dict(zip(names, reading.rows, strict=True))


def near(value: object, wanted: float, within: float) -> bool:
    return isinstance(value, int | float) and abs(value - wanted) <= within + 1e-6 * abs(wanted)


def is_text(name: str) -> bool:
    return name.endswith(".txt")


def test_maker_writes_exactly_the_kept_files() -> None:
    kept = {path.name: path.read_bytes() for path in REPORTS.iterdir() if path.suffix in (".html", ".txt")}
    made = {name: text.encode() for name, text in make.written().items()}
    assert sorted(kept) == sorted(made)
    assert [name for name in kept if kept[name] != made[name]] == []
    path, name = make.OF_THE_INCIDENT
    assert path.read_bytes() == made[name]


@of_each(FILES)
def test_head_gives_the_database_and_the_interval(name: str) -> None:
    told, delta = TOLD[name], report(name)
    assert delta.source == "report" and delta.dbid == "3141592653"
    assert delta.database.partition("/")[0] == told.database
    assert delta.release == told.release
    assert delta.basis.kind == "interval"
    assert delta.basis.begin == told.begin and delta.basis.end == told.end
    assert near(delta.basis.seconds, told.seconds, 1.0)
    (row,) = delta.rows("v$instance")
    assert row["instance_name"] == told.instance
    assert row["parallel"] == ("YES" if told.cluster else "NO")


@of_each(FILES)
def test_latches_are_read_back(name: str) -> None:
    found = rows_of(report(name), "v$latch", "name")
    wanted = [one for one in TOLD[name].latches if one.name in LATCHES]
    assert sorted(found) == sorted(one.name for one in wanted)
    for one in wanted:
        row = found[one.name]
        assert row["gets"] == one.gets
        assert near(row["wait_time"], 1e6 * one.seconds, 0.5e6)
        if one.sleeps:
            assert (row["misses"], row["sleeps"], row["spin_gets"]) == (one.misses, one.sleeps, one.spin_gets)
        else:
            check_without_sleeps(row, one)


def check_without_sleeps(row: Row, one: Latch) -> None:
    """The breakdown lists only latches with sleeps. Misses of the others are a rounded share, or unknown."""
    if row.get("misses") is not None:
        assert near(row["misses"], one.misses, 0.0005 * one.gets)
    if row.get("sleeps") is not None:
        assert near(row["sleeps"], 0, 0.05 * one.misses + 0.5)


@of_each(FILES)
def test_miss_sources_are_read_back(name: str) -> None:
    wanted = [one for one in TOLD[name].sources if one.latch == "row cache objects"]
    if not wanted:
        assert [row for row in report(name).rows("v$latch_misses") if row["parent_name"] == "row cache objects"] == []
        return
    found = rows_of(report(name), "v$latch_misses", "location")
    assert len(found) == len(wanted)
    for one in wanted:
        row = found[one.where]
        assert (row["sleep_count"], row["wtr_slp_count"], row["nwfail_count"]) == (one.sleeps, one.waiter_sleeps, 0)


@of_each(FILES)
def test_caches_are_read_back(name: str) -> None:
    told, found = TOLD[name], rows_of(report(name), "v$rowcache", "parameter")
    assert sorted(found) == sorted(one.name for one in told.caches)
    for one in told.caches:
        row = found[one.name]
        assert (row["gets"], row["usage"], row["modifications"]) == (one.gets, one.usage, one.modifications)
        assert near(row["getmisses"], one.misses, (0.0005 if is_text(name) else 0.00005) * one.gets + 1)
        if len(f"{one.scans:,}") > 7 and is_text(name):
            assert "scans" not in row, "the column printed hashes"
        else:
            assert row["scans"] == one.scans


@of_each([name for name in FILES if TOLD[name].cluster])
def test_caches_in_a_cluster_are_read_back_with_their_dlm_columns(name: str) -> None:
    told, found = TOLD[name], rows_of(report(name), "v$rowcache", "parameter")
    for one in told.caches:
        printed = one.cluster if told.version < (12, 2) else None
        keys = ("dlm_requests", "dlm_conflicts", "dlm_releases")
        assert tuple(found[one.name].get(key) for key in keys) == (printed or (None, None, None))


@of_each([name for name in FILES if TOLD[name].version >= (11,)])
def test_mutexes_are_read_back(name: str) -> None:
    wanted = {one.location: one for one in TOLD[name].mutexes if one.kind == "Row Cache"}
    if not wanted:
        assert report(name).rows("v$mutex_sleep") == ()
        return
    found = rows_of(report(name), "v$mutex_sleep", "location")
    assert sorted(found) == sorted(wanted)
    for location, one in wanted.items():
        assert found[location]["sleeps"] == one.sleeps
        assert near(found[location]["wait_time"], 1000 * one.milliseconds, 50_000 if "statspack" in name else 500)


@of_each(FILES)
def test_events_of_sessions_and_background_processes_are_read_together(name: str) -> None:
    found = rows_of(report(name), "v$system_event", "event")
    told = TOLD[name]
    # Before 11g the first list includes the background processes.
    wanted = [wait for wait in together(told) if f"'{wait.event}'" in asked("v$system_event")]
    followed = {event for event in found if f"'{event}'" in asked("v$system_event")}
    assert followed == {wait.event for wait in wanted}
    for wait in wanted:
        row = found[wait.event]
        assert row["total_waits"] == wait.waits
        assert near(row["time_waited_micro"], 1e6 * wait.seconds, 1e6), wait.event
    if told.version < (11,):
        assert found.keys() - followed <= {wait.event for wait in together(told)}, "of the list of the longest"
        return
    ordinary = [wait for wait in told.foreground if wait.event in ORDINARY_WAITS]
    assert found.keys() & set(ORDINARY_WAITS) == {wait.event for wait in ordinary}
    for wait in ordinary:
        assert near(found[wait.event]["time_waited_micro_fg"], 1e6 * wait.seconds, 1e6), wait.event


@of_each(FILES)
def test_events_of_sessions_alone_are_read_where_printed(name: str) -> None:
    told, own = TOLD[name], {wait.event: wait for wait in TOLD[name].foreground}
    for event, row in rows_of(report(name), "v$system_event", "event").items():
        if told.version < (11,):
            assert not {"total_waits_fg", "time_waited_micro_fg"} & row.keys()
        elif event in own:
            assert row["total_waits_fg"] == own[event].waits
            assert near(row["time_waited_micro_fg"], 1e6 * own[event].seconds, 0.5e6), event
        else:
            assert row["time_waited_micro_fg"] == 0 and "total_waits_fg" not in row


@of_each([name for name in FILES if TOLD[name].time_model])
def test_time_model_is_read_back(name: str) -> None:
    found = rows_of(report(name), "v$sys_time_model", "stat_name")
    told = {**TOLD[name].time_model, "DB time": TOLD[name].db_time}
    wanted = {stat: seconds for stat, seconds in told.items() if f"'{stat}'" in asked("v$sys_time_model")}
    assert sorted(found) == sorted(wanted)
    for stat, seconds in wanted.items():
        assert near(found[stat]["value"], 1e6 * seconds, 50_000 if is_text(name) else 5_000), stat


def test_time_model_is_missing_on_9i() -> None:
    assert isinstance(report("statspack-9.2.0.6.0-undo-storm.txt").read("v$sys_time_model"), Missing)


@of_each(FILES)
def test_activity_is_read_back(name: str) -> None:
    found = rows_of(report(name), "v$sysstat", "name")
    wanted = {stat: value for stat, value in TOLD[name].activity.items() if f"'{stat}'" in asked("v$sysstat")}
    assert {stat: row["value"] for stat, row in found.items()} == wanted


@of_each([name for name in FILES if TOLD[name].host])
def test_host_figures_are_read_back(name: str) -> None:
    found = rows_of(report(name), "v$osstat", "stat_name")
    for stat, (begin, end) in TOLD[name].host.items():
        if f"'{stat}'" not in asked("v$osstat"):
            continue
        level = stat in ("NUM_CPUS", "NUM_CPU_CORES", "LOAD", "PHYSICAL_MEMORY_BYTES", "SWAP_FREE_BYTES")
        value = number(found[stat].get("level_now" if level else "total"))
        assert value in ((begin, end) if stat == "LOAD" else (begin,)), stat
        assert found[stat].get("total" if level else "level_now") is None


@of_each([name for name in FILES if TOLD[name].parameters])
def test_parameters_are_read_back(name: str) -> None:
    found = rows_of(report(name), "v$parameter", "name")
    wanted = {key: value for key, value in TOLD[name].parameters.items() if f"'{key}'" in asked("v$parameter")}
    assert {key: row["value"] for key, row in found.items()} == wanted


def test_children_are_read_where_printed() -> None:
    name = "statspack-11.2.0.3.0-undo-storm-level-10.txt"
    found = {row["child#"]: row for row in report(name).rows("v$latch_children")}
    for one in TOLD[name].children:
        row = found[one.number]
        assert (row["gets"], row["misses"], row["sleeps"], row["spin_gets"]) == (
            *(one.gets, one.misses, one.sleeps),
            one.spin_gets,
        )
    assert len(found) == len(TOLD[name].children)


@of_each([name for name in FILES if not TOLD[name].children])
def test_children_not_printed_are_missing_and_the_script_is_named(name: str) -> None:
    missing = report(name).read("v$latch_children")
    assert isinstance(missing, Missing)
    assert "latchscope script" in missing.way_out


@of_each(FILES)
def test_layout_without_a_real_report_is_noted_as_not_verified(name: str) -> None:
    said = [note for note in report(name).notes if "not verified" in note]
    if name.startswith(VERIFIED):
        assert said == []
    elif not name.startswith(("awr-18", "awr-12.1.0.2.0-")):
        assert len(said) == 1


@pytest.mark.parametrize("name", RESTARTED)
def test_report_across_a_restart_is_not_comparable(name: str) -> None:
    (found,) = read((REPORTS / name).read_bytes(), name)
    assert isinstance(found, NotComparable)
    assert "restart" in found.why and found.way_out and found.dbid == "3141592653"


def test_compare_report_gives_both_hours() -> None:
    found = read((REPORTS / COMPARED).read_bytes(), COMPARED)
    assert len(found) == 2
    for told, delta in zip(make.compared(), found, strict=True):
        assert isinstance(delta, Delta)
        check_compared(told, delta)


def check_compared(told: Interval, delta: Delta) -> None:
    assert (delta.basis.begin, delta.basis.end, delta.dbid) == (told.begin, told.end, "3141592653")
    assert delta.database == told.database and delta.release == told.release
    latches = rows_of(delta, "v$latch", "name")
    for one in wanted_latches(told.latches):
        row = latches[one.name]
        assert (row["gets"], row["misses"], row["sleeps"]) == (one.gets, one.misses, one.sleeps)
        assert row["spin_gets"] == one.spin_gets
        assert "wait_time" not in row, "its unit is in doubt"
    caches = rows_of(delta, "v$rowcache", "parameter")
    assert {one.name: (one.gets, one.usage) for one in told.caches} == {
        name: (row["gets"], row["usage"]) for name, row in caches.items()
    }


def wanted_latches(latches: Iterable[Latch]) -> list[Latch]:
    return [one for one in latches if one.name in LATCHES]
