"""What the script spools, read back. A whole file is like a live poll. A damaged file says what is missing."""

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.capture import Capture, delta_of
from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.errors import InputError, StatementError
from collectors.model import Delta, Missing, Rows, Snapshot
from collectors.ondemand.blockers import look_for_blockers
from collectors.poll import Answer, poll
from collectors.registry import collectors
from collectors.reports.undo import as_text
from collectors.sqlplus.script import ScriptQuery, sqlplus_script
from collectors.sqlplus.spool import load, looks_like_spool, plain, sections
from rules.engine import diagnose
from rules.hangs.words import EMERGENCY_NOTICE
from tests.collectors.oracle_text import _asciistr
from tests.collectors.scripted import BEGAN, poll_at
from tests.collectors.sqlplus.sqlplus_standin import SICK_AT, Killed, SqlPlus, broken_at, spooled

SICK = {"undo-storm": "undo-segments", "users-mutex": "logon-storm"}


def read(text: str) -> Capture:
    return load(text.encode(), "spool.txt")


def told(capture: Capture) -> tuple[str, str] | None:
    delta = delta_of(capture)
    assert isinstance(delta, Delta)
    found = diagnose(delta).findings
    return (found[0].cause, found[0].confidence.value) if found else None


def same(one: Snapshot, other: Snapshot) -> None:
    """The spooled snapshot equals a poll at that moment, cell by cell and type by type."""
    assert one.taken_at == other.taken_at
    for view, collector in collectors().items():
        if collector.sampled or collector.on_request or collector.optional:
            continue
        spool, live = one.read(view), other.read(view)
        if collector.momentary and isinstance(spool, Missing):
            continue  # read once, after the second snapshot
        if isinstance(live, Missing):
            assert spool == live
            continue
        assert isinstance(spool, Rows) and isinstance(live, Rows), view
        assert len(spool.rows) == len(live.rows), view
        for ours, theirs in zip(spool.rows, live.rows, strict=True):
            assert {n: c for n, c in ours.items() if n in theirs} == {n: c for n, c in theirs.items() if n in ours}, (
                view
            )
            assert all(ours[name] is None for name in set(ours) - set(theirs))
            assert [type(ours[n]) for n in ours if n in theirs] == [type(theirs[n]) for n in ours if n in theirs], view


@pytest.mark.parametrize("name", SICK)
def test_spooled_run_reads_like_a_live_poll(name: str) -> None:
    at, cause = SICK_AT[name], SICK[name]
    capture = read(spooled(name))
    assert capture.database == name.replace("-", "_")
    first, last = capture.snapshots
    same(first, poll_at(name, at))
    same(last, poll_at(name, at + 15))
    assert told(capture) == (cause, "high")


@pytest.mark.parametrize("name", SICK)
def test_looks_are_counted_and_belong_to_the_later_snapshot(name: str) -> None:
    rows = read(spooled(name)).snapshots[-1].rows("v$session")
    assert {row["sample"] for row in rows} == set(range(1, 16))
    assert sum(row["sid"] is None for row in rows) == 15
    assert any(isinstance(row["sid"], int) and isinstance(row["p1"], int) for row in rows)


DAMAGE = {
    "wrapped at 40": lambda text: broken_at(40, text),
    "wrapped at 60": lambda text: broken_at(60, text),
    "wrapped at 80": lambda text: broken_at(80, text),
    "wrapped at 7": lambda text: broken_at(7, text),
    "wrapped and indented": lambda text: broken_at(72, text).replace("\n", "\n    "),
    "windows lines": lambda text: text.replace("\n", "\r\n"),
    "old mac lines": lambda text: text.replace("\n", "\r"),
    "wrapped, windows lines": lambda text: broken_at(60, text).replace("\n", "\r\n"),
    "prompts": lambda text: text.replace("\n{", "\nSQL> {"),
    "page breaks": lambda text: text.replace("\n", "\n\f\n"),
    "padded": lambda text: "\n".join(line.ljust(200) for line in text.splitlines()),
    "decimal commas around": lambda text: (
        "Dauer 0,35 s, am 02.03.26 09:01:00,000\n"
        + text.replace("reading", "Abgelaufen: 00:00:00,01\n3 Zeilen ausgewählt.\nreading")
    ),
    "banner before, prompt after": lambda text: "SQL*Plus: Release 11.2.0.4.0\n" + text + "SQL> exit\n",
    "run twice, first cut": lambda text: text[:5000] + text,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", SICK)
def test_damage_in_transit_does_not_change_what_is_read(name: str, damage: str) -> None:
    capture = read(DAMAGE[damage](spooled(name)))
    assert capture == read(spooled(name))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_encodings_are_all_recognised_and_read(encoding: str) -> None:
    text = "Sitzung geöffnet\n" + spooled() if encoding == "latin-1" else spooled()
    data = text.encode(encoding)
    assert looks_like_spool(data)
    assert load(data, "spool.txt") == read(spooled())
    assert as_text(data) == text


def test_texts_are_read_back_whatever_they_hold() -> None:
    odd = 'Zoë|~\\ {ls|1|x|end|0|} „日本" 😀'

    def rewrite(view: str, answer: Answer) -> Answer:
        if view != "v$session" or "program" not in answer.columns:
            return answer
        place = answer.columns.index("program")
        return Answer(answer.columns, [(*row[:place], odd, *row[place + 1 :]) for row in answer.rows])

    text = SqlPlus(scenarios()["undo-storm"], 60.0, rewrite=rewrite).run(sqlplus_script(10, 5))
    assert text.isascii()
    rows = read(broken_at(60, text)).snapshots[-1].rows("v$session")
    assert {row["program"] for row in rows if row["sid"] is not None} == {odd}
    assert plain(_asciistr(odd).replace(" ", "~")) == odd.replace("~", " ")


REFUSABLE = [view for view, one in collectors().items() if one.granted_on and not one.optional and view != "x$kqrst"]


@pytest.mark.parametrize("view", REFUSABLE)
def test_missing_privilege_costs_only_that_view(view: str) -> None:
    text = SqlPlus(scenarios()["undo-storm"], 60.0, refused=(view,)).run(sqlplus_script(10, 3))
    last = read(broken_at(60, text)).snapshots[-1]
    missing = last.read(view)
    assert isinstance(missing, Missing)
    assert (missing.kind, missing.way_out) == ("refused", f"grant select on {collectors()[view].granted_on} to <user>;")
    assert "ORA-00942" in missing.why
    others = [one for one in last.readings if isinstance(last.read(one), Missing) and one != view]
    assert others == [], "no other view"


def test_x_kqrst_is_read_by_sys_without_our_view() -> None:
    with_sys = SqlPlus(scenarios()["undo-storm"], 60.0, refused=("x$kqrst",)).run(sqlplus_script(10, 0))
    missing = read(with_sys).snapshots[-1].read("x$kqrst")
    assert isinstance(missing, Missing) and "create view sys.latchscope_kqrst" in missing.way_out
    ours = spooled(looks=1, seconds=10)
    for given in ("once|sys", "once|old", "sys|old"):  # as SYS, as a user with older grants, as a user with ours
        lost = rf"(?m)^\{{ls\|({given})\|x\$kqrst\|(\d|end).*$"
        refused = re.sub(lost, "ORA-00942: table or view does not exist", ours)
        assert read(refused).snapshots[-1].read("x$kqrst") == read(ours).snapshots[-1].read("x$kqrst")


def test_old_release_fails_only_views_whose_columns_it_lacks() -> None:
    """10.2 gets the texts of 11.2. Each view with a column that 10.2 lacks has failed; the others are there."""
    old = SqlPlus(scenarios()["undo-storm"], 60.0, lacks=("location", "wait_time_micro"))
    last = read(old.run(sqlplus_script(10, 3))).snapshots[-1]
    missing = {view: reading for view, reading in last.readings.items() if isinstance(reading, Missing)}
    assert {view: one.kind for view, one in missing.items()} == dict.fromkeys(
        (
            "chain_sessions",
            "library_cache_sessions",
            "library_cache_waiters",
            "row_cache_blockers",
            "v$latch_misses",
            "v$mutex_sleep",
            "v$session",
            "waiting_sessions",
        ),
        "failed",
    )
    assert missing["v$latch_misses"].why == 'v$latch_misses: ORA-00904: "LOCATION": invalid identifier'


def stopped(part: str, view: str, error: Exception) -> str:
    def hook(at_part: str, at_view: str) -> None:
        if (at_part, at_view) == (part, view):
            raise error

    return SqlPlus(scenarios()["undo-storm"], 60.0, hook=hook).run(sqlplus_script(10, 2))


def test_statement_ended_by_ctrl_c_is_failed_and_the_rest_is_read() -> None:
    cancelled = StatementError("ORA-01013: user requested cancel of current operation")
    capture = read(stopped("2", "v$latch_children", cancelled))
    missing = capture.snapshots[-1].read("v$latch_children")
    assert isinstance(missing, Missing)
    assert (missing.kind, missing.why) == ("failed", f"v$latch_children: {cancelled}")
    assert len(capture.snapshots) == 2


OPENED = re.findall(r"\{ls\|(1|2|once|sys|look)\|([^|]+)\|open", sqlplus_script(10, 2))


@pytest.mark.parametrize(("part", "view"), sorted(set(OPENED)))
def test_spool_of_a_killed_program_keeps_what_was_there_before_it_hung(part: str, view: str) -> None:
    text = stopped(part, view, Killed())
    if (part, view) == ("1", "v$instance"):
        with pytest.raises(InputError, match=r"has no rows of any view.*run the script again"):
            read(text)
        return
    capture = read(text)
    last = capture.snapshots[-1]
    assert len(capture.snapshots) == (2 if part in ("once", "sys") else 1)
    if part in ("1", "once"):
        missing = last.read(view)
        assert isinstance(missing, Missing) and missing.kind == "unread" and "hung or was cut off" in missing.why
    notes = [note for reading in last.readings.values() if isinstance(reading, Rows) for note in reading.notes]
    expected = {
        "1": "the file ends before the second snapshot: the first is used, as totals",
        "look": "the file ends before the second snapshot: the first is used, as totals",
        "2": f"the second snapshot is cut off ({view}",
    }
    assert len(notes) == (part in expected)
    assert not notes or notes[0].startswith(expected[part])
    assert isinstance(delta_of(capture), Delta)


def test_record_missing_any_character_makes_its_view_missing() -> None:
    text = spooled(looks=1, seconds=10)
    begin = text.index("{ls|1|v$latch|2/4|")
    for place in range(begin, text.index("\n", begin)):
        lost = text[:place] + text[place + 1 :]
        missing = read(lost).snapshots[0].read("v$latch")
        assert isinstance(missing, Missing), text[begin : place + 1]
        assert missing.kind == "unread"


@pytest.mark.parametrize(
    ("old", "new"),
    [("{ls|1|v$latch|2/4|", "{ls|1|v$latch|9/4|"), ("|end|50|latch#|name|gets", "|end|50|latch#|name|gut")],
)
def test_records_that_do_not_fit_together_are_not_used(old: str, new: str) -> None:
    text = spooled(looks=1, seconds=10)
    assert old in text
    assert isinstance(read(text.replace(old, new)).snapshots[0].read("v$latch"), Missing)


def test_invalid_number_makes_its_view_missing_and_is_named() -> None:
    text = re.sub(r"(\{ls\|1\|v\$latch\|1/4\|\d+\|270\|[^|]+\|)\d", r"\1O", spooled(looks=1, seconds=10))
    missing = read(text).snapshots[0].read("v$latch")
    assert isinstance(missing, Missing)
    assert "gets is" in missing.why and "not a number" in missing.why


def test_notes_tell_that_there_was_no_way_to_wait() -> None:
    capture = read(SqlPlus(scenarios()["undo-storm"], 60.0, packages=()).run(sqlplus_script(10, 5)))
    (notes,) = {reading.notes for reading in capture.snapshots[-1].readings.values() if getattr(reading, "notes", ())}
    assert "grant execute on sys.dbms_lock" in notes[0]
    delta = delta_of(capture)
    assert isinstance(delta, Delta) and delta.basis.seconds == pytest.approx(0.25)


def test_confirmations_are_read() -> None:
    questions = (
        ScriptQuery(("undo-segments", "undo-creation-slow"), ((None, "select count(*) from dba_rollback_segs"),)),
        ScriptQuery(("nothing",), ((None, "select count(*) from dba_users"),)),
        ScriptQuery(("later",), ((None, "select count(*) from v$pdbs"),), "12.1"),
    )
    capture = read(SqlPlus(scenarios()["undo-storm"], 60.0).run(sqlplus_script(10, 0, questions)))
    assert [(one.cause, one.value) for one in capture.confirmations] == [
        ("undo-segments", 14838),
        ("undo-creation-slow", 14838),
    ]
    (notes,) = {reading.notes for reading in capture.snapshots[-1].readings.values() if getattr(reading, "notes", ())}
    assert notes == ("confirming queries without a number: nothing, later",)


def test_hidden_v_instance_leaves_totals() -> None:
    capture = read(SqlPlus(scenarios()["undo-storm"], 60.0, refused=("v$instance",)).run(sqlplus_script(10, 0)))
    delta = delta_of(capture)
    assert isinstance(delta, Delta) and delta.basis.kind == "totals"
    assert capture.database == "spool"


def test_children_are_not_asked_of_an_instance_without_the_latch() -> None:
    text = re.sub(
        r"row~cache~objects(?=\}\n\{ls\|once\|v\$latchname)", "row~cache~objectz", spooled(looks=1, seconds=10)
    )
    text = re.sub(r"\{ls\|[12]\|v\$latch_children\|\d.*\n", "", text)
    missing = read(text).snapshots[-1].read("v$latch_children")
    assert isinstance(missing, Missing) and missing.kind == "not_asked"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no record"),
        (b"select 1 from dual", "has no record"),
        (sqlplus_script().encode(), "it is the script itself, or ends too early"),
        (b"{ls|head|latchscope-spool-7|open|0|}", "was spooled in form 7"),
        (b"{ls|1|v$instance|open|0|}\nORA-01034: ORACLE not available\n", "not available: cure that, run the script"),
        (b"{ls|1|v$instance|open|0|}\nORA-00942: no table\n", "ORA-00942: no table: run the script as a user"),
        (b"x" * (16 * 2**20 + 1), "at most 16 MiB"),
    ],
)
def test_unreadable_input_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as error:
        load(data, "spool.txt")
    assert "\n" not in str(error.value) and str(error.value).startswith("spool.txt ")


def test_notes_name_the_views_of_a_newer_script() -> None:
    newer = spooled(looks=1, seconds=10) + "{ls|once|v$newer|open|0|}\n{ls|once|v$newer|end|1|a}\n"
    notes = [getattr(one, "notes", ()) for one in read(newer).snapshots[-1].readings.values()]
    assert ("views that this latchscope does not know: v$newer",) in notes


def test_document_example_is_whole() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    (latch,) = (section for key, section in sections(page).items() if key == ("1", "v$latch"))
    assert latch.whole and [row["sleeps"] for row in latch.table()] == ["658", "0"]


def test_echoed_script_does_not_pass_for_its_results() -> None:
    """With ECHO on, the file contains the statements too. They must not pass for results."""
    assert all(section.columns is None for section in sections(sqlplus_script(30, 1)).values())


def test_words_take_a_bounded_part_of_memory() -> None:
    words = "a " * 200_000
    tracemalloc.start()
    assert sections(words + "{ls|1|v$latch|open|0|}" + words)[("1", "v$latch")].opened
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40 * 2 * len(words)


def test_looks_like_spool_rejects_other_files(incident: Capture) -> None:
    root = Path(__file__).resolve().parents[3]
    for path in [*(root / "tests" / "golden").iterdir(), root / "README.md", root / "docs" / "rest.md"]:
        assert not looks_like_spool(path.read_bytes()), path
    assert not looks_like_spool(b"")
    assert looks_like_spool(broken_at(40, spooled()).encode())


def test_hang_is_told_by_a_spooled_file_with_who_holds_it() -> None:
    (hang,) = scenarios()["ddl-hang"].hangs
    scenario = replace(scenarios()["ddl-hang"], hangs=(replace(hang, in_library_cache=5),))
    got = diagnose(delta_of(read(SqlPlus(scenario, 90.0).run(sqlplus_script(10, 3)))))  # type: ignore[arg-type]
    short = diagnose(delta_of(read(SqlPlus(scenario, 90.0).run(sqlplus_script(10, hang=True)))))  # type: ignore[arg-type]
    assert short.severity == got.severity and short.blockers and got.blockers
    for one, other in zip(short.blockers.chains, got.blockers.chains, strict=True):
        assert (one.end, one.action) == (other.end, other.action) and one.action is not None
    assert (got.severity, [one.cause for one in got.findings]) == ("critical", ["row-cache-lock-hang"])
    live = diagnose(hung_polls(scenario))
    assert [(one.cause, one.severity) for one in live.findings] == [(one.cause, one.severity) for one in got.findings]
    assert got.blockers is not None and live.blockers is not None
    for one, other in zip(got.blockers.blockers, live.blockers.blockers, strict=True):
        same = ("held_at_least_seconds", "kill_risk")  # undo to roll back is read over a connection alone
        assert one == other.model_copy(update={name: getattr(one, name) for name in same})
    assert EMERGENCY_NOTICE in next(step.statement for step in got.steps if step.step == "blocker")
    assert "38 sessions have waited for dc_objects for up to" in got.headline
    (blocker,) = got.blockers.blockers
    assert (blocker.sid, blocker.object, blocker.kill) == (
        312,
        "ORDERS of user number 93",
        "alter system cancel sql '312, 48211, @1'",
    )
    assert [(one.event, one.sessions, one.final_sid) for one in got.blockers.library_cache] == [
        ("library cache lock", 5, 312)
    ]


def hung_polls(scenario: Scenario) -> Delta:
    """Two polls during the hang, ten seconds apart, the second with a look for blockers."""
    now = [90.0]
    database = ScriptedDatabase(scenario, BEGAN, lambda: now[0])
    first = poll("ddl_hang", database)
    now[0] += 10
    last = poll("ddl_hang", database, first)
    delta = between(first, replace(last, readings={**last.readings, **look_for_blockers(database, last.release)}))
    assert isinstance(delta, Delta)
    return delta
