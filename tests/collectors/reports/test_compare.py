"""Compare-periods reports as text: groups of columns named above an indented ruler, one Delta per period."""

# ruff: noqa: E501

from datetime import datetime

import pytest

from collectors.errors import InputError
from collectors.model import Delta, Missing
from collectors.reports.read import read

MARK = "First DB/Inst: ERP/erp1 Snaps: 1-2 (Elapsed time: 901.55 sec),  Second DB/Inst: ERP/erp1 Snaps: 5-6 (Elapsed time: 902 sec)"
END = "                          --------------------------------------\n"
TEXT = f"""
WORKLOAD REPOSITORY COMPARE PERIOD REPORT

Snapshot Set    DB Id    Instance     Inst Num Release     Cluster Host          Std Block Size
------------ ----------- ------------ -------- ----------- ------- ------------ ---------------
First (1st)   2532911053 erp1                1 11.2.0.3.0  NO      dbhost                  8192
Second (2nd)  2532911053 erp1                1 11.2.0.3.0  NO      dbhost                  8192

Snapshot Set  Begin Snap Id Begin Snap Time            End Snap Id End Snap Time              DB time (min)
------------ -------------- ------------------------- ------------ ------------------------- --------------
1st                    1822 23-Apr-14 18:30:05 (Wed)          1823 23-Apr-14 18:45:06 (Wed)           106.7
2nd                    1826 23-Apr-14 19:30:10 (Wed)          1827 23-Apr-14 19:45:13 (Wed)           210.2

Host Configuration Comparison
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                                     1st                  2nd     %Diff
----------------------------------- -------------------- -------------------- ---------
Number of CPUs:                                        8                   16     100.0

Time Model Statistics   {MARK}

                                                       Time (seconds)
                                                ----------------------------------------
Statistic Name                                             1st            2nd      %Diff
---------------------------------------------   -------------- -------------- ----------
DB time                                                6,404.5       12,612.5       96.9
parse time elapsed                                        26.9           57.1      112.4
{END}
Latch Sleep Breakdown   {MARK}

                               Get Requests                 Misses                Spin Gets                  Sleeps
                        -------------------------   ---------------------   ---------------------   -----------------------
Latch Name                       1st          2nd          1st        2nd          1st        2nd           1st         2nd
---------------------   ------------ ------------   ---------- ----------   ---------- ----------   ----------- -----------
row cache objects              8,350       55,238            2         60            2         52             0           8
{END}
Dictionary Cache Statistics   {MARK}

                                  Get Requests            Pct Miss      Scan Requests       Pct Miss          Mod Reqs            Final Usage
                            -------------------------   -------------   ---------------   -------------   -----------------   ---------------------
Cache                                1st          2nd      1st    2nd       1st     2nd      1st    2nd        1st      2nd          1st        2nd
-------------------------   ------------ ------------   ------ ------   ------- -------   ------ ------   -------- --------   ---------- ----------
dc_histogram_defs                     41        5,387     12.2   29.0         0       0      0.0    0.0          0        0        2,024      2,942
{END}"""


def test_compare_report_gives_a_delta_for_each_period() -> None:
    first, second = read(TEXT.encode(), "x.txt")
    assert isinstance(first, Delta) and isinstance(second, Delta)
    assert first.database == second.database == "erp1"
    assert (first.basis.begin, first.basis.seconds) == (datetime(2014, 4, 23, 18, 30, 5), 901.0)  # noqa: DTZ001
    assert (second.basis.end, second.basis.seconds) == (datetime(2014, 4, 23, 19, 45, 13), 903.0)  # noqa: DTZ001
    assert [one.cell("v$sys_time_model", "stat_name", "DB time", "value") for one in (first, second)] == [
        6_404_500_000,
        12_612_500_000,
    ]
    latches = [next(row for row in one.rows("v$latch")) for one in (first, second)]
    assert [(row["gets"], row["misses"], row["spin_gets"], row["sleeps"]) for row in latches] == [
        (8_350, 2, 2, 0),
        (55_238, 60, 52, 8),
    ]
    caches = [next(row for row in one.rows("v$rowcache")) for one in (first, second)]
    assert [(row["gets"], row["getmisses"], row["usage"]) for row in caches] == [(41, 5, 2_024), (5_387, 1_562, 2_942)]
    assert [one.cell("v$osstat", "stat_name", "NUM_CPUS", "level_now") for one in (first, second)] == [8, 16]


def test_compare_report_without_a_readable_section_is_refused_with_the_way_out() -> None:
    head = TEXT[: TEXT.index("Time Model Statistics")]
    with pytest.raises(InputError) as refused:
        read(head.encode(), "x.txt")
    assert str(refused.value) == (
        "x.txt is a compare-periods report without readable latches, dictionary caches or wait events in either "
        "period; make it as HTML (awrddrpt.sql, html), or run awrrpt.sql for each period"
    )


def test_compare_report_does_not_claim_that_a_section_it_cannot_read_is_not_there() -> None:
    for period in read(TEXT.encode(), "x.txt"):
        assert isinstance(period, Delta)
        (note,) = (note for note in period.notes if note.startswith("sections "))
        assert note.startswith("sections not found, or laid out in a way that is not read: ")
        assert "Foreground Wait Events" in note


def test_compare_report_notes_what_it_cannot_tell() -> None:
    (first, _) = read(TEXT.encode(), "x.txt")
    assert isinstance(first, Delta)
    assert first.notes[0] == "layout not verified for AWR compare-periods text of release 11.2.0.3.0"
    assert any("no miss locations" in note for note in first.notes)
    assert isinstance(first.read("v$latch_misses"), Missing)
