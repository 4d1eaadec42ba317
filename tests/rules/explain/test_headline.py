"""The headline: what is wrong, where, and what it costs, also for the result cache."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import sqlglot

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Changes, ConfirmationResult, Row
from rules.cause import Cause, catalogue
from rules.confirmation import confirming_step, named, record_of
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.headline import at_once, beside, focused, hang_sentence, hang_step, others, waiting_groups
from rules.hangs.words import EMERGENCY_NOTICE, EMERGENCY_PAGE
from rules.model import Diagnosis, Severity
from rules.remedy import Confirmation
from tests.paths import ROOT
from tests.rules.case_files import delta_of_case
from tests.rules.contexts import SICK, TOTALS, context_of, delta_of, with_rows
from tests.rules.rich import RICH, waiters


def headline(*causes: str, basis: Any = None, release: str = "11.2.0.4.0", **changed: Sequence[Row]) -> str:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    known: dict[str, Cause] = {name: catalogue()[name] for name in causes}
    more = {} if basis is None else {"basis": basis}
    return diagnose(delta_of(views, release=release, **more), known).headline


def test_headline_names_the_cause_its_cache_and_the_cost() -> None:
    undo = catalogue()["undo-segments"]
    sleeps_alone = undo.model_copy(update={"when": undo.when[:1]})
    assert diagnose(delta_of(RICH), {undo.id: sleeps_alone}).headline == (
        "Likely cause: too many undo segments on dc_rollback_segments (low confidence); "
        "row cache waits cost 2.5 % of DB time over 30 s; "
        "dc_rollback_segments costs 2.0 %, beside it the result cache latch costs 3.0 %: cause open"
    )
    few = [{**row, "usage": 14} for row in RICH["v$rowcache"]]
    assert headline("undo-segments", rowcache=few) == (
        "Row cache waits cost 2.5 % of DB time over 30 s, most at child 1 (dc_rollback_segments); "
        "40 sessions were met in one sample; beside it the result cache latch costs 3.0 %: cause open; "
        "no known cause explains it"
    )


def test_headline_gives_the_result_cache_its_own_cost() -> None:
    rows: list[Row] = [
        {"name": RESULT_CACHE_LATCH, "gets": 50_000, "misses": 5_000, "sleeps": 2_000, "wait_time": 30_000_000}
    ]
    assert headline("result-cache-latch", latch=rows) == (
        "The single latch of the result cache; result cache waits cost 30.0 % of DB time over 30 s; "
        "beside it dc_rollback_segments (latch: row cache objects) costs 2.0 %: cause open"
    )


def test_headline_never_begins_with_a_harmless_cause_where_the_result_cache_costs_a_lot() -> None:
    still: dict[str, Sequence[Row]] = {
        "latch_children": [{**row, "sleeps": 0} for row in RICH["v$latch_children"]],
        "system_event": [],
        "session": [],
        "latch": [{"name": RESULT_CACHE_LATCH, "gets": 50_000, "misses": 90, "sleeps": 50, "wait_time": 19_000_000}],
    }
    assert headline("undo-segments", **still) == (
        "The result cache latch costs 19.0 %: cause open; nothing to do about the row cache; "
        "row cache waits cost 0 % of DB time over 30 s"
    )


@pytest.mark.parametrize(("seconds", "severity"), [(0.4, Severity.INFO), (5.0, Severity.NOTICE)])
def test_waits_for_any_latch_are_open_only_where_they_cost_something(seconds: float, severity: Severity) -> None:
    free: Row = {"event": "latch free", "total_waits": 900, "time_waited_micro": seconds * 1e6}
    seen = {name: rows for name, rows in SICK.items() if name not in ("v$latch", "v$latch_children", "v$latch_misses")}
    assert diagnose(delta_of({**seen, "v$system_event": [free]})).severity is severity
    rows = [{"name": RESULT_CACHE_LATCH, "gets": 9, "misses": 0, "sleeps": 0, "wait_time": 0}]
    told = diagnose(delta_of({**seen, "v$system_event": [free], "v$latch": rows}))
    assert told.severity is Severity.INFO, "another latch is waited for"


def test_headline_without_a_cause_names_the_cache_given_by_the_waiters() -> None:
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 60_000_000}]
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {0: 20, 3: 4})
    nineteen: dict[str, Any] = {"release": "19.0.0.0.0", "event_name": [{"name": "row cache mutex"}]}
    nineteen["mutex_sleep"] = []
    said = headline(system_event=events, session=crowd, latch_children=[], **nineteen)
    assert said == (
        "Row cache waits cost 60.0 % of DB time over 30 s, most for dc_tablespaces; "
        "beside it dc_rollback_segments (row cache lock) costs 10.0 %: cause open "
        "and the result cache latch costs 3.0 %: cause open; no known cause explains it"
    )
    for met in ([], [{**row, "p1": None} for row in crowd]):
        waiting = headline(system_event=events, session=met, latch_children=[], **nineteen)
        assert "; which cache is not known; " in waiting and "unknown" not in waiting


def test_headline_never_says_that_most_is_at_a_child_of_an_unknown_cache() -> None:
    views = {view: rows for view, rows in RICH.items() if view not in ("x$kqrst", "v$rowcache")}
    child = diagnose(delta_of(views), {}).headline
    assert "most at child 1; " in child and "unknown" not in child


def test_a_larger_wait_for_something_else_is_named_by_state_and_headline_where_it_has_most_of_db_time() -> None:
    def told(seconds: float, lock: float = 0.001, pin: float = 0.0) -> Diagnosis:
        waits = {"library cache lock": seconds, "library cache pin": pin, ROW_CACHE_LOCK_EVENT: lock}
        events: list[Row] = [
            {"event": event, "total_waits": 400, "time_waited_micro": time * 1e6} for event, time in waits.items()
        ]
        quiet: dict[str, Any] = {"v$system_event": events, "v$session": [], "v$latch": [], "v$latch_children": []}
        return diagnose(delta_of({**RICH, **quiet}), {})

    most, half_of_it, dear = told(91.8), told(45.9), told(60.0, lock=30.0)
    beyond, family = told(300.0), told(45.0, pin=44.0)
    assert (most.state, most.severity, most.other_wait and most.other_wait.has_most) == (
        "Elsewhere",
        Severity.INFO,
        True,
    )
    assert most.headline.startswith(
        "91.8 % of database time is library cache lock; nothing to do about the row cache; "
    )
    assert beyond.state == "Elsewhere" and beyond.headline.startswith(
        "100.0 % of database time is library cache lock; "
    )
    family_words = "45.0 % of database time is library cache lock, and 89.0 % with other waits that are read; "
    assert family.state == "Elsewhere" and family.headline.startswith(family_words)
    assert half_of_it.state == "Fine" and half_of_it.other_wait is not None, "a large wait that is not most of DB time"
    assert half_of_it.headline.startswith("Nothing to do about the row cache")
    assert dear.state == "Critical" and "is library cache lock" not in dear.headline, "the row cache comes first"


def test_headline_of_a_cost_or_views_that_nobody_can_know_says_so() -> None:
    assert "totals of unknown age do not show what it costs" in headline(basis=TOTALS).lower()
    blind = delta_of({})
    assert diagnose(blind).headline == (
        "Cannot tell: it takes latches, mutexes, dictionary caches or wait events, and they could not be read"
    )
    assert diagnose(replace(blind, lost="its end is cut off")).headline.endswith("events, and its end is cut off")


def test_a_file_that_lost_something_is_never_fine_and_what_is_dear_is_told_as_far_as_it_goes() -> None:
    quiet: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 1, "time_waited_micro": 9}]
    whole = delta_of({**RICH, "v$system_event": quiet, "v$latch": [], "v$latch_children": [], "v$session": []})
    assert diagnose(whole, {}).headline.startswith("Nothing to do")
    torn = diagnose(replace(whole, lost="lines of it are lost"), {})
    assert torn.headline.startswith("Cannot tell: lines of it are lost; as far as the file goes: Row cache waits cost")
    assert torn.state == "No data" and "othing to do" not in torn.headline
    dear = diagnose(replace(delta_of(RICH), lost="lines of it are lost"), {})
    assert dear.headline.startswith("As far as the file goes: ") and dear.state == "Warning"


def test_confirmation_that_refutes_turns_the_headline_and_the_remedy_waits() -> None:
    undo = {"undo-segments": catalogue()["undo-segments"]}
    counted = {"undo-segments": ConfirmationResult(value=12)}
    got = diagnose(replace(delta_of(RICH), confirmations=counted), undo)
    assert got.headline.startswith(
        "Perhaps too many undo segments on dc_rollback_segments; the confirming query speaks against it: 12; "
    )
    (remedy,) = [step.statement for step in got.steps if step.step == "remedy"]
    assert remedy.startswith("Not yet, for the confirming query speaks against it: 12. If it is proven after all: ")
    proven = {"undo-segments": ConfirmationResult(value=14_838)}
    assert diagnose(replace(delta_of(RICH), confirmations=proven), undo).headline.startswith(
        "Too many undo segments on"
    )


def test_headline_names_the_likeliest_open_cause_and_what_it_needs() -> None:
    few = [{**row, "usage": 14} for row in RICH["v$rowcache"]]
    known = {name: catalogue()[name] for name in ("undo-segments", "undo-retention-runaway", "px-hash-joins")}
    blind = {view: rows for view, rows in RICH.items() if view != "v$undostat"} | {"v$rowcache": few}
    told = diagnose(delta_of(blind), known)
    assert "undo-retention-runaway" in {verdict.cause for verdict in told.undetermined}
    assert (
        "; no cause that could be judged explains it; undo retention tuned to days, so that segments pile up "
        "(undo-retention-runaway) could not be judged, because v$undostat" in told.headline
    )
    judged = {name: cause for name, cause in known.items() if name != "undo-retention-runaway"}
    assert diagnose(delta_of(blind), judged).headline.endswith("no known cause explains it")


def nameless(case: str) -> Diagnosis:
    """A case of undo segments without the row of their cache in v$rowcache."""
    delta = delta_of_case(f"undo-segments: {case}")
    rows = tuple(row for row in delta.rows("v$rowcache") if row.get("parameter") != "dc_rollback_segments")
    return diagnose(replace(delta, readings={**delta.readings, "v$rowcache": Changes("v$rowcache", rows)}))


def test_headline_names_what_fits_best_where_no_cache_has_a_name() -> None:
    storm = nameless("thousands of undo segments under a parallel load")
    assert "most at child 1; cannot tell which cache: capture every row of v$rowcache; " in storm.headline
    assert storm.headline.endswith("what was captured fits too many undo segments (undo-segments) best")
    few = nameless("many short transactions on an ordinary number of undo segments")
    assert (few.headline, few.findings) == (storm.headline, ()), "without that row the two look the same"


def hung(*seconds: float, p1: int | None = 3, waits: int = 0, met: int | None = None, **more: object) -> SignalContext:
    """The sick instance with sessions that have waited this long for the lock, and this many waits that ended."""
    rows: list[Row] = [
        {
            "sid": sid,
            "event": ROW_CACHE_LOCK_EVENT,
            "p1": p1,
            "wait_time_micro": waited * 1e6,
            "met": met or len(seconds),
        }
        for sid, waited in enumerate(seconds)
    ]
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": waits, "time_waited_micro": 0}]
    return context_of({**SICK, "v$system_event": events, "waiting_sessions": rows}, **more)


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            hung(671, 40),
            "2 sessions have waited for dc_rollback_segments for up to 11 minutes; no wait has finished, so ",
        ),
        (
            hung(671, 40, 9.9),
            "3 sessions wait for dc_rollback_segments, 2 of them for 10 seconds or longer and up to 11 minutes; no wait ",
        ),
        (hung(11), "1 session has waited for dc_rollback_segments for up to 11 seconds; "),
        (hung(671, p1=37), "1 session has waited for cache id 37, not listed in v$rowcache, for up to 11 minutes; "),
        (hung(70, 2, p1=37), "2 sessions wait for cache id 37, not listed in v$rowcache, 1 of them for 10 seconds or "),
        (hung(671, p1=None), "1 session has waited for row cache lock for up to 11 minutes; "),
        (
            hung(8000, met=300),
            "300 sessions wait for the row cache or a latch, and of the 1 longest waits 1 are for dc_rollback_segments, ",
        ),
    ],
)
def test_hang_sentence_begins_with_how_many_for_what_and_how_long(context: SignalContext, words: str) -> None:
    assert (hang_sentence(context) or "").startswith(words)


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (hung(671), "no wait has finished, so v$system_event shows nothing"),
        (hung(671, waits=1), "1 other wait for row cache lock finished meanwhile"),
        (hung(671, waits=90), "90 other waits for row cache lock finished meanwhile"),
        (hung(671, basis=TOTALS), "v$system_event counts a wait only when it ends"),
        (hung(671, refused=["v$system_event"]), "v$system_event counts a wait only when it ends"),
    ],
)
def test_hang_sentence_ends_with_what_the_counter_shows(context: SignalContext, words: str) -> None:
    assert (hang_sentence(context) or "").endswith(words)


@pytest.mark.parametrize("context", [hung(9.9), hung(), context_of()])
def test_hang_step_needs_somebody_who_hangs(context: SignalContext) -> None:
    assert (hang_sentence(context), hang_step(context)) == (None, None)


def test_hang_step_and_groups_have_the_sessions_the_longest_wait_and_brief_waits_apart() -> None:
    step = hang_step(hung(671, 40))
    assert step is not None and step.statement.endswith("Oracle names no session that blocks them.")
    assert [(figure.value, figure.unit) for figure in step.figures] == [(2, "sessions"), (671.0, "s")]
    (group,) = waiting_groups(hung(671, 0.002))
    assert (group.sessions, group.hanging, group.longest_seconds) == (2, 1, 671.0)
    assert waiting_groups(context_of()) == ()


TEXT = (ROOT / EMERGENCY_PAGE).read_text(encoding="utf-8")
FENCES = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", TEXT, re.S | re.M)


def test_page_is_named_by_notice_and_runbooks_and_tells_what_to_collect_before_what_may_be_killed() -> None:
    for runbook in ("RowCacheLockWaits", "LatchscopeDatabaseDown"):
        assert EMERGENCY_PAGE in (ROOT / "dashboards" / "runbooks" / f"{runbook}.md").read_text(encoding="utf-8")
    assert EMERGENCY_PAGE in EMERGENCY_NOTICE and EMERGENCY_NOTICE.count(".") == 2
    told = ("sqlplus -s / as sysdba @latchscope-hang.sql", "What not to kill", "You may end one foreground session")
    assert sorted(told, key=TEXT.index) == list(told)
    assert not re.search(r"kill -9 \d|kill session '", TEXT)


def test_dumps_each_have_their_risk() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `oradebug ")]
    assert len(rows) == 6
    assert all(len(line.split(" | ")) == 3 and len(line.split(" | ")[2]) > 20 for line in rows)
    shown = set(re.findall(r"^oradebug (\w+)", "\n".join(body for _, body in FENCES), re.M))
    assert shown == {"setorapname", "setmypid", "unlimit", "hanganalyze", "tracefile_name"}, (
        "a text ready to copy must be harmless"
    )


def test_statements_only_read_and_need_no_licence() -> None:
    statements = [body for language, body in FENCES if language == "sql"]
    assert len(statements) == 6
    for statement in statements:
        assert sqlglot.parse_one(statement.replace("&holder", "1"), read="oracle").key == "select"
        assert not re.search(r"dba_hist_|active_session_history", statement)


def test_causes_named_on_the_page_exist() -> None:
    named = set(re.findall(r"causes show ([a-z-]+)", TEXT))
    named |= set(re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", TEXT.partition("## 6.")[2].partition("## 7.")[0]))
    assert {"row-cache-library-deadlock", "ddl-invalidation"} <= named
    assert named - {"time-out"} <= set(catalogue())


ASKED = Confirmation(sql="select count(*) from cdb_sequences", reading="Sequences.", needs=">= 1")


def test_step_of_a_query_is_its_text_and_reading_what_keeps_it_from_running_or_the_record() -> None:
    assert confirming_step(ASKED).statement == "select count(*) from cdb_sequences. Sequences."
    closed = ASKED.model_copy(update={"obstacle": "needs select on cdb_sequences; so"})
    assert confirming_step(closed).statement == (
        "select count(*) from cdb_sequences. It cannot run here: needs select on cdb_sequences; so. Sequences."
    )
    rows = ({"con_id": 3.0, "owner": "APP", "name": "S1", "last_number": 4711.0}, {"owner": "APP", "name": "S2"})
    done = ASKED.model_copy(
        update={"result": 37.0, "seen": "in CDB$ROOT, over all containers", "names": rows, "confirms": True}
    )
    assert confirming_step(done).statement == (
        "select count(*) from cdb_sequences; the record has 37 (in CDB$ROOT, over all containers): "
        "APP S1 con_id 3, last_number 4,711; APP S2. Sequences."
    )


@pytest.mark.parametrize(("needs", "blind"), [(">= 1", True), (None, False)])
def test_record_says_that_a_number_too_small_proves_nothing_where_others_were_not_seen(
    needs: str | None, blind: bool
) -> None:
    done = ASKED.model_copy(update={"result": 0.0, "seen": "in PDB ERP1 only", "needs": needs})
    assert ("proves nothing, as other containers were not seen" in record_of(done)) is blind


def test_record_says_why_names_did_not_come_and_leaves_out_what_is_null() -> None:
    done = ASKED.model_copy(update={"result": 2.0, "unnamed": "ORA-01013", "confirms": True})
    assert record_of(done) == "2, without names (ORA-01013)"
    assert named({"final_blocking_session": None, "sessions": 3.0}) == "sessions 3"


def test_second_hot_child_is_told_beside_the_first_with_its_cost() -> None:
    sleeps = {1: 540, 5: 0, 8: 460}
    rows = [{**row, "sleeps": sleeps[row["child#"]]} for row in SICK["v$latch_children"]]
    events = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 50_000_000}
    views = {**with_rows("v$latch_children", *rows), "v$system_event": [events]}
    context = context_of(views)
    findings = diagnose(delta_of(views)).findings
    assert findings[0].cache == "dc_rollback_segments"
    both = "dc_rollback_segments costs 27.0 %, beside it dc_users (latch: row cache objects) costs 23.0 %: cause open"
    assert beside(context, findings) == both
    (other,) = others(context, findings)
    assert focused(context, other).hot_child == 8


def test_nothing_is_told_beside_a_single_trouble() -> None:
    assert beside(context_of(), diagnose(delta_of()).findings) is None
    assert at_once(context_of()) is None


def test_headline_names_the_cache_of_the_dearest_wait_and_not_the_hottest_child() -> None:
    """Child 1 sleeps most, but nearly all time is lost in row cache lock, whose waiters name another cache."""
    events: list[Row] = [
        {"event": "latch: row cache objects", "total_waits": 900, "time_waited_micro": 500_000},
        {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 40_000_000},
    ]
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {0: 20})
    said = headline(system_event=events, session=crowd)
    assert ", most for dc_tablespaces" in said and "child 1" not in said, said
    latch = [{**events[0], "time_waited_micro": 50_000_000}, {**events[1], "time_waited_micro": 500_000}]
    assert ", most at child 1 (dc_rollback_segments)" in headline(system_event=latch, session=crowd)


def test_open_cause_of_a_wait_whose_cost_is_unknown_is_named() -> None:
    """While the cost is unknown and causes are open, nobody can say that no known cause explains it."""
    without = {view: rows for view, rows in RICH.items() if view not in ("v$system_event", "v$latch", "v$latch_misses")}
    got = diagnose(delta_of(without), {"undo-segments": catalogue()["undo-segments"]})
    assert got.undetermined and not got.findings
    assert "no known cause explains it" not in got.headline, got.headline
