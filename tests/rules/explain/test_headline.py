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
from rules.explain.headline import hang_step, waiting_groups
from rules.hangs.words import EMERGENCY_NOTICE, EMERGENCY_PAGE
from rules.model import Diagnosis
from rules.remedy import Confirmation
from tests.paths import ROOT
from tests.rules.case_files import delta_of_case
from tests.rules.contexts import SICK, context_of, delta_of, waiting_for_the_lock
from tests.rules.rich import RICH


def headline(*causes: str, basis: Any = None, release: str = "11.2.0.4.0", **changed: Sequence[Row]) -> str:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    known: dict[str, Cause] = {name: catalogue()[name] for name in causes}
    more = {} if basis is None else {"basis": basis}
    return diagnose(delta_of(views, release=release, **more), known).headline


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
    rows = waiting_for_the_lock(*seconds, p1=p1, met=met)
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": waits, "time_waited_micro": 0}]
    return context_of({**SICK, "v$system_event": events, "waiting_sessions": rows}, **more)


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


def test_open_cause_of_a_wait_whose_cost_is_unknown_is_named() -> None:
    """While the cost is unknown and causes are open, nobody can say that no known cause explains it."""
    without = {view: rows for view, rows in RICH.items() if view not in ("v$system_event", "v$latch", "v$latch_misses")}
    got = diagnose(delta_of(without), {"undo-segments": catalogue()["undo-segments"]})
    assert got.undetermined and not got.findings
    assert "no known cause explains it" not in got.headline, got.headline
