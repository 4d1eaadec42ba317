"""The result of each section, on small tables: cuts, wraps, signs for overflow, N/A, several PDBs, wrong percentages."""

import pytest

from collectors.model import Changes, Delta, Missing
from collectors.registry import collectors
from collectors.reports.read import read
from collectors.reports.reader import asked
from collectors.reports.readers import readers
from collectors.reports.sections import osstat
from tests.collectors.reports.test_read import head


def of(*sections: str) -> Delta:
    """A report of these sections, read."""
    (delta,) = read((head() + "\n" + "\n".join(sections)).encode(), "x.txt")
    assert isinstance(delta, Delta)
    return delta


def section(title: str, body: str) -> str:
    return f"{title}  DB/Inst: ERP/erp2  Snaps: 1822-1823\n-> a remark\n\n{body}\n          ---------------\n"


ACTIVITY = """                                           Pct    Avg   Wait                 Pct
                                    Get    Get   Slps   Time       NoWait NoWait
Latch Name                     Requests   Miss  /Miss    (s)     Requests   Miss
------------------------ -------------- ------ ------ ------ ------------ ------
"""
BREAKDOWN = """                                       Get                                 Spin
Latch Name                        Requests       Misses      Sleeps        Gets
-------------------------- --------------- ------------ ----------- -----------
"""
OURS = "row cache objects              100,000    0.5    0.0      2            0    N/A"
LISTED = "row cache objects                  100,000          512          40         480"


def latch(delta: Delta) -> dict[str, object]:
    return next(dict(row) for row in delta.rows("v$latch") if row["name"] == "row cache objects")


def test_sleeps_are_zero_if_the_breakdown_lists_others_unknown_without_it() -> None:
    listed = section("Latch Sleep Breakdown", BREAKDOWN + LISTED.replace("row cache objects", "messages         "))
    assert latch(of(section("Latch Activity", ACTIVITY + OURS), listed))["sleeps"] == 0
    alone = latch(of(section("Latch Activity", ACTIVITY + OURS)))
    assert "sleeps" not in alone and "misses" not in alone
    assert alone["wait_time"] == 2_000_000


def test_misses_of_a_rounded_zero_are_unknown() -> None:
    listed = section("Latch Sleep Breakdown", BREAKDOWN + LISTED.replace("row cache objects", "messages         "))
    assert latch(of(section("Latch Activity", ACTIVITY + OURS), listed))["misses"] == 500
    zero = latch(of(section("Latch Activity", ACTIVITY + OURS.replace("0.5", "0.0")), listed))
    assert "misses" not in zero


def test_section_pages_are_joined() -> None:
    first = section("Latch Activity", ACTIVITY + OURS.replace("row cache objects", "messages         "))
    pages = first.replace("          ---------------\n", "\f") + section("Latch Activity", ACTIVITY + OURS)
    assert {row["name"] for row in of(pages).rows("v$latch")} == {"messages", "row cache objects"}


def test_overflow_is_unknown_and_noted() -> None:
    delta = of(section("Latch Activity", ACTIVITY + OURS.replace("       100,000", "##############")))
    assert "gets" not in latch(delta)
    assert any("too wide" in note and "####" in note for note in delta.notes)


def test_negative_counter_is_an_oddity_and_not_a_figure() -> None:
    delta = of(section("Latch Activity", ACTIVITY + OURS.replace("       100,000", "-4,018,470,645")))
    assert "gets" not in latch(delta)
    (odd,) = delta.oddities
    assert (odd.view, odd.column, odd.what, odd.after) == ("v$latch", "gets", "negative", -4_018_470_645)


def test_section_that_the_file_ends_in_is_not_used() -> None:
    whole = section("Latch Activity", ACTIVITY + OURS)
    delta = of(whole[: whole.rindex("          ---")])
    assert isinstance(delta.read("v$latch"), Missing)
    assert any("ends inside Latch Activity" in note for note in delta.notes)


def test_latch_figures_of_several_pdbs_are_added_up() -> None:
    row = "<tr><td>row cache objects</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"
    body = row.format("1,000", 10, 2, 8, "PDB1") + row.format("500", 5, 1, 4, "PDB2")
    titles = "".join(
        f"<th>{one}</th>" for one in ("Latch Name", "Get Requests", "Misses", "Sleeps", "Spin Gets", "PDB Name")
    )
    page = f"<html><pre>{head()}</pre>" + (
        "<table><tr><th></th><th>Snap Time</th></tr><tr><td>Begin Snap: 1</td><td>23-Apr-14 18:30:05</td></tr>"
        "<tr><td>End Snap: 2</td><td>23-Apr-14 18:45:06</td></tr></table>"
        f"<h3>Latch Sleep Breakdown</h3><table><tr>{titles}</tr>{body}</table></html>"
    )
    (delta,) = read(page.encode(), "x.html")
    assert isinstance(delta, Delta)
    found = latch(delta)
    assert (found["gets"], found["misses"], found["sleeps"], found["spin_gets"]) == (1500, 15, 3, 12)


CACHES = """                                   Get    Pct    Scan   Pct      Mod      Final
Cache                         Requests   Miss    Reqs  Miss     Reqs      Usage
------------------------- ------------ ------ ------- ----- -------- ----------
"""


def test_dictionary_caches_keep_their_names_and_have_their_misses_derived() -> None:
    body = (
        "dc_users                        10,000    0.5     100  10.0        7         50\n"
        "dc_objects                       2,000    N/A       0   N/A        0         40\n"
        "dc_segments                      2,000 -272.4       0   N/A        0         40"
    )
    delta = of(section("Dictionary Cache Stats", CACHES + body))
    users, objects, segments = delta.rows("v$rowcache")
    assert users == {
        "parameter": "dc_users", "usage": 50, "gets": 10_000, "getmisses": 50, "scans": 100, "scanmisses": 10,
        "modifications": 7,
    }  # fmt: skip
    assert "getmisses" not in objects and objects["scanmisses"] == 0
    assert "getmisses" not in segments
    assert any("-272.4 % misses of dc_segments cannot be right" in note for note in delta.notes)
    assert delta.oddities == ()


def test_cache_listed_twice_with_different_figures_is_not_used() -> None:
    row = "dc_users                        10,000    0.5     100  10.0        7         50"
    delta = of(section("Dictionary Cache Stats", f"{CACHES}{row}\n{row.replace('10,000', '11,000')}"))
    assert delta.rows("v$rowcache") == ()
    assert [(odd.key, odd.what) for odd in delta.oddities] == [(("dc_users",), "repeated")]


EVENTS = """                                                             Avg
                                        %Time Total Wait    wait    Waits   % DB
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
"""


def test_events_of_both_process_kinds_are_added_and_cut_names_restored() -> None:
    front = "latch: cache buffers chain        1,000     0          3       2      0.0     .1"
    back = "latch: cache buffers chain          100     0          0       1      0.0     .1"
    delta = of(
        section("Foreground Wait Events", EVENTS + front),
        section("Background Wait Events", EVENTS + back),
    )
    # 3 s to half a second and 1,000 × 2 ms to half a millisecond have 2.5 s in common; 0 s and 100 × 1 ms about 0.1 s.
    assert delta.rows("v$system_event") == (
        {
            "event": "latch: cache buffers chains", "total_waits": 1_100, "time_waited_micro": 2_600_000,
            "total_waits_fg": 1_000, "time_waited_micro_fg": 2_500_000,
        },
    )  # fmt: skip


def test_event_waited_for_by_background_only_takes_no_session_time() -> None:
    back = "row cache lock                      100     0          3      30      0.0     .1"
    (row,) = of(section("Foreground Wait Events", EVENTS), section("Background Wait Events", EVENTS + back)).rows(
        "v$system_event"
    )
    assert (row["time_waited_micro"], row["time_waited_micro_fg"]) == (3_000_000, 0)
    assert "total_waits_fg" not in row, "the list leaves out short ones, so their number is unknown"


def test_event_list_of_all_processes_does_not_tell_what_sessions_waited() -> None:
    (row,) = of(
        section("Wait Events", EVENTS + "row cache lock                      100     0          3      30")
    ).rows("v$system_event")
    assert "total_waits_fg" not in row and "time_waited_micro_fg" not in row


def test_share_of_db_time_as_printed_narrows_what_sessions_waited() -> None:
    model = """Statistic Name                                       Time (s) % of DB Time
------------------------------------------ ------------------ ------------
DB time                                                  2.0"""
    front = "row cache lock                       40     0          0       1      0.0    1.4"
    (row,) = of(section("Time Model Statistics", model), section("Foreground Wait Events", EVENTS + front)).rows(
        "v$system_event"
    )
    # 40 × 1 ms to half a millisecond allow 20 to 60 ms, 1.35 to 1.45 % of 1.95 to 2.05 s allow 26.3 to 29.7 ms.
    assert row["time_waited_micro_fg"] == 28_025


def test_events_are_missing_without_the_foreground_list() -> None:
    reading = of(section("Background Wait Events", EVENTS)).read("v$system_event")
    assert isinstance(reading, Missing)
    assert "list of top events proves no absence" in reading.why


@pytest.mark.parametrize(
    ("title", "unit", "printed", "micro"),
    [("Mutex Sleep Summary", "(ms)", "548", 548_000), ("Mutex Sleep", "(s)", "2.5", 2_500_000)],
)
def test_mutex_waits_are_milliseconds_in_awr_and_seconds_in_statspack(
    title: str, unit: str, printed: str, micro: int
) -> None:
    rulers = f"""                                                                         Wait
Mutex Type            Location                               Sleeps    Time {unit}
--------------------- -------------------------------- ------------ ------------
Cursor Pin            kkslce [KKSCHLPIN2]                     8,448        8,797
Row Cache             [19] kqrpre                             1,032 {printed:>12}"""
    (row,) = of(section(title, rulers)).rows("v$mutex_sleep")
    assert row == {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 1032, "wait_time": micro}


def test_section_that_says_it_has_no_data_is_an_empty_view() -> None:
    reading = of(section("Mutex Sleep Summary", "    No data exists for this section of the report.")).read(
        "v$mutex_sleep"
    )
    assert isinstance(reading, Changes) and reading.rows == ()


def test_child_latches_are_read_where_printed_and_missing_elsewhere() -> None:
    assert isinstance(missing := of().read("v$latch_children"), Missing)
    assert "empty at the default statistics level" in missing.why and "latchscope script" in missing.way_out
    body = """                          Child          Get                               Spin
Latch Name                  Num     Requests       Misses      Sleeps      Gets
---------------------- -------- ------------ ------------ ----------- ---------
row cache objects             1    1,000,000        9,000         700     8,300
messages                      1        1,000            1           0         1"""
    assert of(section("Child Latch Statistics", body)).rows("v$latch_children") == (
        {"child#": 1, "gets": 1_000_000, "misses": 9_000, "sleeps": 700, "spin_gets": 8_300},
    )


def test_time_model_statistics_that_are_not_listed_did_not_grow() -> None:
    body = """Statistic Name                                       Time (s) % of DB Time
------------------------------------------ ------------------ ------------
parse time elapsed                                       26.9           .4
DB time                                               6,404.5"""
    delta = of(section("Time Model Statistics", body))
    assert delta.cell("v$sys_time_model", "stat_name", "parse time elapsed", "value") == 26_900_000
    assert delta.cell("v$sys_time_model", "stat_name", "failed parse elapsed time", "value") == 0


def test_parameters_take_the_end_value_and_only_those_we_read_are_kept() -> None:
    body = """                                                                End value
Parameter Name                Begin value                       (if different)
----------------------------- --------------------------------- --------------
_rollback_segment_count       3000                              4000
undo_retention                900
audit_trail                   DB"""
    assert of(section("init.ora Parameters", body)).rows("v$parameter") == (
        {"name": "_rollback_segment_count", "value": "4000", "isdefault": "FALSE"},
        {"name": "undo_retention", "value": "900", "isdefault": "FALSE"},
    )


def test_undo_rows_get_the_year_and_lose_the_oldest() -> None:
    body = """                Num Undo    Number of Max Qry  Max Tx Tun Ret STO/    uS/uR/uU/
End Time          Blocks Transactions Len (s)   Concy  (mins) OOS     eS/eR/eU
------------ ----------- ------------ ------- ------- ------- ----- ------------
23-Apr 18:43      10,617      123,638     338      20      20 0/0   0/0/0/0/0/0"""
    assert of(section("Undo Segment Stats", body)).rows("v$undostat") == (
        {"begin_time": "2014-04-23 18:33:00", "txncount": 123_638, "maxconcurrency": 20, "maxquerylen": 338,
         "tuned_undoretention": 1_200},
    )  # fmt: skip


def test_readers_give_only_columns_their_view_declares() -> None:
    assert set(osstat.LEVELS) < set(asked("v$osstat"))
    for view in readers():
        names = {column.name for column in collectors()[view].columns}
        for row in of().rows(view):
            assert set(row) <= names
