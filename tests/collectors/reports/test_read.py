"""Real reports: every figure of the anonymised set to the digit, HTML compared with text, and each refusal with its reason."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from collectors.errors import InputError

# ruff: noqa: E501
from collectors.model import ROW_CACHE_LATCH, Delta, Missing, NotComparable, number
from collectors.reports import html, text
from collectors.reports.header import header, moment_in, month_of
from collectors.reports.read import looks_like_report, opened, read
from collectors.reports.sections import READERS, fills
from collectors.reports.tables import Document, count, decimals, is_overflow, micro, real, squeeze
from collectors.reports.undo import is_html
from rules.engine import diagnose
from tests import paths
from tests.recordings.reports import make

WITH_FIGURES = ("AWR html",)


@pytest.fixture(scope="module")
def reports(anonymised_reports: Path) -> Path:
    return anonymised_reports


@pytest.fixture(scope="module")
def verdicts(reports: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((reports / "verdicts.json").read_text(encoding="utf-8"))
    assert len(found) == 19
    return found


@pytest.fixture(scope="module")
def deltas(reports: Path, verdicts: list[dict[str, Any]]) -> Mapping[str, Delta]:
    return {one["file"]: only(read((reports / one["file"]).read_bytes(), one["file"])) for one in verdicts}


def only(found: tuple[Delta | NotComparable, ...]) -> Delta:
    (delta,) = found
    assert isinstance(delta, Delta)
    return delta


@cache
def document(path: Path) -> Document:
    (content,) = opened(path.read_bytes(), path.name).reports
    return html.parse(content) if path.suffix == ".html" else text.parse(content)


def listed(path: Path, title: str) -> list[Mapping[str, str]]:
    """The printed rows of a section, by the headings of their columns."""
    tables = [table for table in document(path).tables if table.section == squeeze(title)]
    # Of two columns of one heading the first counts.
    return [
        dict(reversed([*zip(table.headings, row, strict=False)]))
        for table in tables
        for row in dict.fromkeys(table.rows)
    ]


def test_shared_reports_give_begin_end_release_elapsed_and_db_time(
    reports: Path, verdicts: list[dict[str, Any]], deltas: Mapping[str, Delta]
) -> None:
    for one in verdicts:
        delta = deltas[one["file"]]
        assert delta.source == "report"
        assert (delta.release or "").startswith(one["release"]), one["file"]
        if one["format"] not in WITH_FIGURES:
            continue
        begin, end = (datetime.strptime(one[key], "%d-%b-%y %H:%M:%S") for key in ("begin", "end"))  # noqa: DTZ007
        assert (delta.basis.begin, delta.basis.end) == (begin, end), one["file"]
        assert delta.basis.seconds == one["elapsed_s"], one["file"]
        head = header(document(reports / one["file"]))
        assert round((head.db_time_minutes or 0) * 60) == one["db_time_s"], one["file"]
        db_time = (delta.cell("v$sys_time_model", "stat_name", "DB time", "value") or 0) / 1e6
        assert abs(db_time - one["db_time_s"]) <= 0.9, one["file"]
        assert (delta.rows("v$instance")[0]["parallel"] == "YES") is one["rac"], one["file"]


def test_shared_reports_give_every_latch_figure(
    reports: Path, verdicts: list[dict[str, Any]], deltas: Mapping[str, Delta]
) -> None:
    titles = ("latchname", "getrequests", "pctgetmiss", "avgslpsmiss", "waittimes", "nowaitrequests", "pctnowaitmiss")
    for one in (one for one in verdicts if one["format"] in WITH_FIGURES):
        (latch,) = (row for row in deltas[one["file"]].rows("v$latch") if row["name"] == ROW_CACHE_LATCH)
        printed = [r for r in listed(reports / one["file"], "Latch Activity") if r["latchname"] == ROW_CACHE_LATCH]
        wanted = next(value for key, value in one.items() if key.startswith("latch_activity"))
        assert [" | ".join(r[title] for title in titles) for r in printed] == [wanted], one["file"]
        gets, waited = wanted.split(" | ")[1], wanted.split(" | ")[4]
        assert latch["gets"] == int(gets.replace(",", ""))
        assert latch["wait_time"] == int(waited) * 1_000_000
        exact = next(value for key, value in one.items() if key.startswith("latch_sleep_breakdown"))
        columns = ("gets", "misses", "sleeps", "spin_gets")
        told = " | ".join([ROW_CACHE_LATCH, *(f"{latch[column]:,}" for column in columns if column in latch)])
        assert told == exact if exact else latch["sleeps"] == 0, one["file"]


def test_shared_reports_give_every_miss_source_mutex_and_cache(
    reports: Path, verdicts: list[dict[str, Any]], deltas: Mapping[str, Delta]
) -> None:
    for one in (one for one in verdicts if one["format"] in WITH_FIGURES):
        delta = deltas[one["file"]]
        sources = "; ".join(
            f"{row['location']}/{row['nwfail_count']}/{row['sleep_count']}/{row['wtr_slp_count']}"
            for row in delta.rows("v$latch_misses")
            if row["parent_name"] == ROW_CACHE_LATCH
        )
        assert sources == one["miss_sources (where/nowait/sleeps/waiter sleeps)"], one["file"]
        mutexes = "; ".join(
            f"{row['mutex_type']}/{row['location']}/{row['sleeps']}/{(number(row['wait_time']) or 0) / 1000:.0f}"
            for row in delta.rows("v$mutex_sleep")
        )
        assert mutexes == one["row_cache_mutexes (location/sleeps/ms)"], one["file"]
        caches = sorted(delta.rows("v$rowcache"), key=lambda row: -(number(row["gets"]) or 0))[:4]
        printed = {r["cache"]: r for r in listed(reports / one["file"], "Dictionary Cache Stats")}
        top = "; ".join(
            f"{row['parameter']}/{row['gets']:,}/{printed[str(row['parameter'])]['pctmiss']}"
            f"/{row['modifications']:,}/{row['usage']:,}"
            for row in caches
        )
        assert top == one["dictionary_top4 (name/gets/miss %/mods/usage)"], one["file"]


def test_shared_reports_give_every_row_cache_event(
    reports: Path, verdicts: list[dict[str, Any]], deltas: Mapping[str, Delta]
) -> None:
    for one in (one for one in verdicts if one["format"] in WITH_FIGURES):
        wanted = one["row_cache_events (event=waits/seconds/average/% of DB time)"]
        told = []
        front = listed(reports / one["file"], "Foreground Wait Events")
        back = {r["event"]: count(r["waits"]) for r in listed(reports / one["file"], "Background Wait Events")}
        for r in front:
            if r["event"] in ("latch: row cache objects", "row cache lock", "row cache mutex"):
                average = r.get("avgwaitms") or r["avgwait"]
                told.append(f"{r['event']}={r['waits']}/{r['totalwaittimes']}/{average}/{r['dbtime']}")
                waits = deltas[one["file"]].cell("v$system_event", "event", r["event"], "total_waits")
                assert waits == (count(r["waits"]) or 0) + (back.get(r["event"]) or 0), one["file"]
        assert "; ".join(told) == wanted, one["file"]


def test_text_reports_give_the_figures_their_verdicts_name(
    verdicts: list[dict[str, Any]], deltas: Mapping[str, Delta]
) -> None:
    said = {one["file"]: one["verdict"] for one in verdicts}
    mutex = deltas["awr-12.2-parse-heavy.txt"]
    for place, sleeps, ms in re.findall(
        r"(\[\d+\] \w+) ([\d,]+)(?: sleeps)? / (\d+) ms", said["awr-12.2-parse-heavy.txt"]
    ):
        assert mutex.cell("v$mutex_sleep", "location", place, "sleeps") == int(sleeps.replace(",", ""))
        assert mutex.cell("v$mutex_sleep", "location", place, "wait_time") == int(ms) * 1000
    assert mutex.cell("v$system_event", "event", "row cache mutex", "total_waits") == 1390
    waited = mutex.cell("v$system_event", "event", "row cache mutex", "time_waited_micro")
    assert waited == pytest.approx(0.6e6, abs=0.05e6)
    healthy = deltas["statspack-12.1.0.2-healthy.txt"]
    assert healthy.cell("v$latch", "name", ROW_CACHE_LATCH, "gets") == 846_321
    assert healthy.cell("v$latch", "name", ROW_CACHE_LATCH, "sleeps") == 0
    assert not any("idle" in str(row["event"]) for row in healthy.rows("v$system_event"))


def test_shared_reports_have_no_oddities_and_only_expected_notes(deltas: Mapping[str, Delta]) -> None:
    for name, delta in deltas.items():
        assert delta.oddities == (), name
        notes = [note for note in delta.notes if not note.startswith("sections the report does not have")]
        assert notes == (["a window of 153.0 hours: averages over it hide short storms"] if "153" in name else []), name


def test_shared_reports_all_look_like_reports(reports: Path, verdicts: list[dict[str, Any]]) -> None:
    assert all(looks_like_report((reports / one["file"]).read_bytes()) for one in verdicts)
    assert not looks_like_report((reports / "verdicts.json").read_bytes())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \r\n\f", "is empty"),
        (b"\x1f\x8b\x08\0\0\0", "is binary"),
        (b"hello", "is not an AWR or Statspack report"),
        (b"ASH Report For ERP1/erp1\n", "ASH report"),
        (b"   ADDM Report for Task 'TASK_1'\n", "ADDM report"),
        (b"WORKLOAD REPOSITORY SQL Report\n", "AWR SQL report"),
        (b"WORKLOAD REPOSITORY REPORT (RAC)\n", "all instances of a cluster"),
        (b"WORKLOAD REPOSITORY COMPARE PERIOD REPORT (RAC)\n", "awrgrpt.sql for each period"),
        (b"<html><title>AWR SQL Report for DB: A</title>", "AWR SQL report"),
        (b"<html>\n<h1>ASH Report - From 10:00</h1>", "ASH report"),
        (b"WORKLOAD REPOSITORY APPLICATION REPORT\n", "application AWR report"),
        (b"Application-Specific AWR Report\n", "application AWR report"),
        (b"STATSPACK SQL report for Old Hash Value: 1\n", "Statspack SQL report"),
        (b"<html><h1>WORKLOAD REPOSITORY report for</h1></html>", "without its begin and end time"),
        (b"STATSPACK report for\n", "without its begin and end time"),
    ],
)
def test_unreadable_input_is_refused_in_one_line(content: bytes, words: str) -> None:
    with pytest.raises(InputError) as error:
        read(content, "x.html")
    assert str(error.value).startswith("x.html is ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


HEAD = """
WORKLOAD REPOSITORY {kind}report for{what}

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
ERP           1234567890 erp2                2 {started} 11.2.0.4.0  YES

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:      1822 23-Apr-14 18:30:05        58       1.5
  End Snap:      1823 23-Apr-14 18:45:06        59       1.5
   Elapsed:               15.03 (mins)
   DB Time:              106.74 (mins)
"""
STARTED = "23-Apr-14 16:33"


def head(kind: str = "", what: str = "", started: str = STARTED) -> str:
    return HEAD.format(kind=kind, what=what, started=started)


def test_head_alone_gives_db_time_and_names_the_missing_sections() -> None:
    delta = only(read(head().encode(), "x.txt"))
    assert delta.database == "ERP/2"
    assert delta.cell("v$sys_time_model", "stat_name", "DB time", "value") == 106.74 * 60e6
    lost, note = delta.notes
    assert delta.lost == "its waits are not read" and lost.startswith(f"lost: {delta.lost}; send the file")
    assert note.startswith("sections the report does not have: ")
    assert all(title in note for title in ("Latch Activity", "Mutex Sleep Summary", "Foreground Wait Events"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_all_read_the_same(encoding: str) -> None:
    text = head().replace("erp2 ", "erpé ").replace("\n", "\r\n")
    assert only(read(text.encode(encoding), "x.txt")).rows("v$instance")[0]["instance_name"] == "erpé"


@pytest.mark.parametrize(
    "content",
    [
        head(started="23-Apr-14 18:40"),
        head() + "\nERROR: Snapshots chosen span an instance shutdown: RESULTS ARE INVALID\n",
    ],
)
def test_restart_within_the_interval_makes_it_not_comparable(content: str) -> None:
    (found,) = read(content.encode(), "x.txt")
    assert isinstance(found, NotComparable)
    assert "restarted" in found.why and "after the restart" in found.way_out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            head(what="\n\nAPPMAP Name: PAYROLL\n"),
            r"application AWR report \(DBMS_AWRAPP\).*; run awrrpt\.sql for the instance",
        ),
        (
            head(kind="PDB ", what=" (PDB snapshots)"),
            r"x\.txt is a report of one PDB.*CDB\$ROOT.*autonomous database, diagnose what `latchscope script`",
        ),
    ],
    ids=["application", "PDB"],
)
def test_report_of_a_part_is_refused_with_the_report_to_make(content: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(content.encode(), "x.txt")


def test_notes_name_an_unknown_layout_and_a_short_window() -> None:
    text = head().replace("11.2.0.4.0", "10.2.0.4.0").replace("15.03", "2.00")
    notes = only(read(text.encode(), "x.txt")).notes
    assert notes[0] == "layout not verified for AWR text of release 10.2.0.4.0"
    assert notes[1].startswith("a window of 120 s")


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


def test_compare_report_notes_what_it_cannot_tell_and_does_not_claim_that_it_is_not_there() -> None:
    for period in read(TEXT.encode(), "x.txt"):
        assert isinstance(period, Delta)
        (note,) = (note for note in period.notes if note.startswith("sections "))
        assert note.startswith("sections not found, or laid out in a way that is not read: ")
        assert "Foreground Wait Events" in note
        assert period.notes[0] == "layout not verified for AWR compare-periods text of release 11.2.0.3.0"
        assert any("no miss locations" in note for note in period.notes)
        assert isinstance(period.read("v$latch_misses"), Missing)


REPORTS = {
    "text": "\nSTATSPACK report for\n",
    "indented": "          ADDM Report for Task 'A'\n",
    "after a mail's head": "From: a\nSubject: slow\n\nWORKLOAD REPOSITORY report for\n",
    "after a prompt": "Using the report name x.html\n\n<html><head><title>AWR Report for DB: A</title>",
    "a page": "<html><body><h1>\r\nWORKLOAD REPOSITORY\r\nreport for\r\n",
    "old line ends": "\rSTATSPACK report for\r",
}
OTHERS = {
    "in quotes": 'HEAD = ["", "WORKLOAD REPOSITORY report for", ""]\n',
    "a page in quotes": "parts = ['<html><head><title>AWR Report for DB: ']\n",
    "in a sentence": "How to read a Statspack report for beginners\n",
    "a page that speaks of one": "<html><body><p>Then the AWR report for DB: ORDERS was made.</p>",
}


@pytest.mark.parametrize("what", [*REPORTS, *OTHERS])
def test_looks_like_report_accepts_a_title_opening_a_line_or_an_element_and_no_quoted_one(what: str) -> None:
    assert looks_like_report((REPORTS | OTHERS)[what].encode()) == (what in REPORTS)


def test_looks_like_report_rejects_report_makers_and_accepts_their_output() -> None:
    written = [path for path in paths.REPORTS.iterdir() if path.suffix in (".html", ".txt")]
    makers = list(Path(make.__file__).parent.glob("*.py"))
    assert written and makers
    assert [path.name for path in written if not looks_like_report(path.read_bytes())] == []
    assert [path.name for path in makers if looks_like_report(path.read_bytes())] == []


def test_large_tables_that_nobody_needs_are_passed_over_and_the_next_one_is_read() -> None:
    rows = "<tr><th>SQL Id</th></tr><tr><td>row cache objects</td></tr>"
    page = (
        f'<h3>SQL ordered by Gets</h3><table summary="This table displays top SQL by gets">{rows}</table>'
        f'<h3>Latch Activity</h3><table summary="This table displays latch statistics">{rows}</table>'
    )
    (table,) = html.parse(page).tables
    assert (table.section, table.rows) == ("latchactivity", (("row cache objects",),))


def test_is_html_wants_a_tag_at_the_start_of_a_line() -> None:
    assert is_html("junk\n  <TABLE border=1>")
    assert not is_html("STATSPACK report for\nselect '<table>' from dual")


# Numbers as reports print them, and texts that are not numbers.


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1,234", 1234), (".5", 0.5), ("-4,018,470,645", -4_018_470_645), ("20.1K", 20_100), ("3M", 3_000_000), ("0", 0),
     ("", None), ("N/A", None), ("#####", None), (".", None), ("-", None), ("12 monkeys", None), ("1" * 99, None),
     ("nan", None), ("inf", None)],
)  # fmt: skip
def test_count_reads_printed_counts(cell: str, value: float | None) -> None:
    assert count(cell) == value
    assert isinstance(count("1,000"), int) and isinstance(real("1,000"), float)


@pytest.mark.parametrize(
    ("cell", "unit", "value"),
    [
        ("109.72us", "ms", 110),
        ("2.98ms", "s", 2_980),
        ("17.74 s", "ms", 17_740_000),
        ("900ns", "s", 1),
        ("13", "s", 13_000_000),
        ("1.2K", "s", 1_200_000_000),
        ("5", "ms", 5_000),
        ("", "s", None),
        ("5 apples", "s", None),
    ],
)
def test_micro_reads_printed_times(cell: str, unit: str, value: int | None) -> None:
    assert micro(cell, unit) == value


def test_hashes_are_a_number_that_does_not_fit_and_decimals_those_that_are_printed() -> None:
    assert is_overflow("######") and not is_overflow("") and not is_overflow("#1")
    assert [decimals(cell) for cell in ("9.23", "26", ".5", "N/A", "")] == [2, 0, 1, None, None]


@pytest.mark.parametrize(
    ("name", "month"),
    [("Jan", 1), ("janv", 1), ("MAI", 5), ("Mär", 3), ("juin", 6), ("juil", 7), ("Dez", 12), ("4月", 4), ("xyz", None)],
)
def test_month_of_knows_the_languages_of_sessions(name: str, month: int | None) -> None:
    assert month_of(name) == month


def test_moment_in_reads_printed_moments() -> None:
    assert str(moment_in("23-Apr-14 18:30:05 (Wed)")) == "2014-04-23 18:30:05"
    assert moment_in("31-Feb-14 18:30:05") is None
    assert moment_in("01-Jan-0001 00:00:00") is None, "nothing can be told of the hour before"
    assert moment_in("soon") is None


# Readers of a section are declared once each, and a wrong one fails loudly.


@pytest.mark.parametrize("view", ["v$nothing", "v$latch"])
def test_readers_reject_a_view_that_nobody_declares_or_that_has_one(view: str) -> None:
    before = dict(READERS)
    with pytest.raises(KeyError, match="has a reader or is declared by no collector"):
        fills(view)(lambda printed: printed.missing(view, ""))
    assert before == READERS


# Whether the file holds all of the report.


@pytest.mark.parametrize("name", ["awr-11.2.0.4.0-undo-storm.html", "awr-11.2.0.4.0-undo-storm.txt"])
def test_cut_off_file_is_recognised_and_its_notes_tell_cut_from_missing(name: str) -> None:
    data = (paths.REPORTS / name).read_bytes()
    assert not only(read(data, name)).lost
    cut = only(read(data[: len(data) * 2 // 5], name))
    notes = " | ".join(cut.notes)
    assert (
        "the file is cut off before " in cut.lost
        and "sections beyond the cut, or not printed: " in notes
        and "does not have" not in notes
    )
    assert diagnose(cut).headline.startswith(("As far as the file goes: ", "Cannot tell: "))
    if name.endswith(".txt"):
        without = only(read(data[: data.index(b"Top 10 Foreground")], "x"))
        assert not diagnose(without).headline.startswith("Nothing to do")
