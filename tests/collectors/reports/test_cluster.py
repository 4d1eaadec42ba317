"""A report over all instances of a cluster: what it prints of each is read, and what it does not print is unknown."""

from datetime import timedelta

import pytest

from collectors.errors import InputError
from collectors.model import Delta, Missing, NotComparable
from collectors.reports.read import looks_like_report, read
from rules.engine import diagnose
from tests.paths import REPORTS
from tests.recordings.reports import clusters, stories
from tests.recordings.reports.interval import Interval, Wait

SICK = stories.sequence().on("19.0.0.0.0", cluster=True)
QUIET = stories.idle().on("19.0.0.0.0", database=SICK.database, begin=SICK.begin, minutes=SICK.minutes, cluster=True)
BOTH = (SICK, QUIET)
LAYOUTS = {
    "HTML": clusters.page(BOTH),
    "text": clusters.text(BOTH),
    "text without marks": clusters.text(BOTH, beside=False),
}


def instances(content: str) -> list[Delta]:
    found = read(content.encode(), "x")
    assert all(isinstance(one, Delta) for one in found)
    return [one for one in found if isinstance(one, Delta)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_instance_is_read_with_its_own_figures(layout: str) -> None:
    found = instances(LAYOUTS[layout])
    assert looks_like_report(LAYOUTS[layout].encode())
    assert [one.database for one in found] == [f"{SICK.database}/1", f"{SICK.database}/2"]
    for which, (told, delta) in enumerate(zip(BOTH, found, strict=True), 1):
        (row,) = delta.rows("v$instance")
        assert (row["instance_number"], row["instance_name"]) == (which, f"{SICK.database}{which}")
        assert delta.dbid == "3141592653" and delta.release == "19.0.0.0.0"
        assert delta.basis.begin == told.begin.replace(second=0), "printed to the minute"
        assert delta.basis.seconds is not None and abs(delta.basis.seconds - told.seconds) <= 1
        check_figures(told, delta)


def check_figures(told: Interval, delta: Delta) -> None:
    times = {**told.time_model, "DB time": told.db_time}
    for name in ("DB time", "DB CPU", "parse time elapsed", "hard parse elapsed time"):
        read_back = delta.cell("v$sys_time_model", "stat_name", name, "value")
        assert read_back is not None and abs(read_back - 1e6 * times[name]) <= 5_000, name
    for name in ("user calls", "execute count", "parse count (total)", "logons cumulative"):
        assert delta.cell("v$sysstat", "name", name, "value") == told.activity[name]
    assert delta.cell("v$osstat", "stat_name", "NUM_CPUS", "level_now") == told.cpus
    for name in ("BUSY_TIME", "IDLE_TIME"):
        assert delta.cell("v$osstat", "stat_name", name, "total") == told.host[name][0]
    settings = {row["name"]: row["value"] for row in delta.rows("v$parameter")}
    assert settings == {"open_cursors": "600", "cpu_count": f"{told.cpus}"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_listed_events_are_read_and_the_others_are_unknown_not_zero(layout: str) -> None:
    sick, quiet = instances(LAYOUTS[layout])
    listed = {wait.event: wait for wait in clusters.listed(SICK, both=True)}
    for row in sick.rows("v$system_event"):
        told = listed.get(str(row["event"]))
        assert row.get("total_waits") == (told.waits if told else None), row
        assert told or row.get("time_waited_micro") is None
    assert sick.cell("v$system_event", "event", "row cache lock", "time_waited_micro_fg")
    assert isinstance(quiet.read("v$system_event"), Missing)
    for view in ("v$latch", "v$mutex_sleep", "v$rowcache"):
        gap = sick.read(view)
        assert isinstance(gap, Missing) and "awrrpti.sql" in gap.way_out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sick_instance_is_judged_and_the_quiet_one_is_not_called_fine(layout: str) -> None:
    sick, quiet = (diagnose(one) for one in instances(LAYOUTS[layout]))
    assert "cost 30.0 % of DB time" in sick.headline and "cannot tell which cache" in sick.headline
    assert quiet.headline.startswith("Cannot tell") and quiet.state == "No data"


def test_notes_say_what_is_of_the_whole_cluster_and_how_long_an_unlisted_wait_may_be() -> None:
    sick, quiet = instances(LAYOUTS["HTML"])
    assert "over all instances: row cache lock, 2,944.1 s waited" in sick.notes
    assert any(note.startswith("none of the ") and "at most" in note for note in quiet.notes)
    assert not any(note.startswith("none of the ") for note in sick.notes)


def test_rows_that_do_not_fit_their_headings_are_not_read() -> None:
    whole = clusters.page(BOTH)
    begin = whole.index("Time Model</h3>")
    cut = whole[:begin] + whole[begin:].replace("<th>DB CPU (s)</th>", "", 1)
    (sick, _) = instances(cut)
    assert sick.cell("v$sys_time_model", "stat_name", "DB CPU", "value") is None
    assert sick.cell("v$sys_time_model", "stat_name", "DB time", "value") == pytest.approx(1e6 * SICK.db_time, abs=3e5)


def test_instance_that_restarted_is_not_comparable_and_the_other_is_read() -> None:
    started = SICK.on(SICK.release, startup=SICK.begin + timedelta(minutes=20))
    first, second = read(clusters.page((started, QUIET)).encode(), "x")
    assert isinstance(first, NotComparable) and isinstance(second, Delta)
    with pytest.raises(InputError, match=r"^x is a report over all instances .* run awrrpti\.sql"):
        read(b"WORKLOAD REPOSITORY REPORT (RAC)\n", "x")


def test_awr_reports_of_two_instances_name_their_instances() -> None:
    name = "awr-11.2.0.4.0-cluster-sequence.html"
    one = (REPORTS / name).read_text(encoding="utf-8")
    cells = "<td class='awrnc'>ORDERS1</td><td class='awrnc'>1</td>"
    assert cells in one
    (first,), (second,) = (
        read(text.encode(), name) for text in (one, one.replace(cells, cells.replace("1</td>", "2</td>")))
    )
    assert isinstance(first, Delta) and isinstance(second, Delta)
    assert [delta.database for delta in (first, second)] == ["ORDERS/1", "ORDERS/2"]


def test_statspack_of_a_cluster_names_its_instance() -> None:
    text = (REPORTS / "statspack-11.2.0.3.0-undo-storm.txt").read_text(encoding="utf-8")
    line = next(line for line in text.split("\n") if " 3141592653 " in line)
    marked = line.replace("NO", "YES").replace(" 1 ", " 2 ", 1)
    assert marked != line
    (first,), (second,) = (read(content.encode(), "x") for content in (text, text.replace(line, marked)))
    assert isinstance(first, Delta) and isinstance(second, Delta)
    (row,) = second.rows("v$instance")
    assert (row["instance_number"], row["parallel"]) == (2, "YES")


@pytest.mark.parametrize(
    ("name", "damaged"),
    [("Event</th>", "Ereignis</th>"), ("row cache lock", "row cache lokc"), ("Waits<", "Wartezeiten<")],
)
def test_damaged_name_in_a_cluster_report_is_unknown_not_zero(name: str, damaged: str) -> None:
    for one in instances(LAYOUTS["HTML"].replace(name, damaged)):
        for row in one.rows("v$system_event"):
            assert row.get("total_waits") != 0 and row.get("time_waited_micro") != 0
        assert not [found for found in diagnose(one).findings if found.confidence == "high"]


def test_event_of_the_list_alone_counts_for_its_instance_even_if_its_number_is_blank() -> None:
    waits = (Wait("db file sequential read", 10, 400.0, wait_class="User I/O"), Wait("row cache lock", 7, 70.0))
    own = SICK.on(SICK.release, foreground=waits, background=())
    for content in (clusters.page((own, QUIET)), clusters.text((own, QUIET))):
        sick, quiet = instances(content)
        assert sick.cell("v$system_event", "event", "row cache lock", "total_waits") == 7
        assert isinstance(quiet.read("v$system_event"), Missing)
