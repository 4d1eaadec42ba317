"""The headline: what is wrong, where, and what it costs, also for the result cache."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Changes, ConfirmationResult, Row
from rules.catalogue import catalogue
from rules.cause import Cause
from rules.engine import diagnose
from rules.model import Diagnosis
from tests.rules.case_files import delta_of_case
from tests.rules.contexts import TOTALS, delta_of
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
        "Perhaps too many undo segments on dc_rollback_segments (low confidence); "
        "row cache waits cost 2.5 % of DB time over an interval of 30.0 s; "
        "beside it the result cache latch costs 3.0 %: cause open"
    )
    few = [{**row, "usage": 14} for row in RICH["v$rowcache"]]
    assert headline("undo-segments", rowcache=few) == (
        "Row cache waits cost 2.5 % of DB time over an interval of 30.0 s, most at child 1 (dc_rollback_segments); "
        "40 sessions were met in one look; beside it the result cache latch costs 3.0 %: cause open; "
        "no known cause explains it"
    )


def test_headline_gives_the_result_cache_its_own_cost() -> None:
    rows: list[Row] = [
        {"name": RESULT_CACHE_LATCH, "gets": 50_000, "misses": 5_000, "sleeps": 2_000, "wait_time": 30_000_000}
    ]
    assert headline("result-cache-latch", latch=rows) == (
        "The single latch of the result cache; result cache waits cost 30.0 % of DB time over an interval of 30.0 s; "
        "beside it dc_rollback_segments (latch: row cache objects) costs 2.0 %: cause open"
    )


def test_headline_without_a_cause_names_the_cache_given_by_the_waiters() -> None:
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 60_000_000}]
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {0: 20, 3: 4})
    nineteen: dict[str, Any] = {"release": "19.0.0.0.0", "event_name": [{"name": "row cache mutex"}]}
    nineteen["mutex_sleep"] = []
    said = headline(system_event=events, session=crowd, latch_children=[], **nineteen)
    assert said == (
        "Row cache waits cost 60.0 % of DB time over an interval of 30.0 s, most for dc_tablespaces; "
        "beside it the result cache latch costs 3.0 %: cause open; no known cause explains it"
    )
    assert "; which cache is not known; " in headline(system_event=events, session=[], latch_children=[], **nineteen)


def test_headline_never_says_that_most_is_for_unknown() -> None:
    views = {view: rows for view, rows in RICH.items() if view not in ("x$kqrst", "v$rowcache")}
    child = diagnose(delta_of(views), {}).headline
    assert "most at child 1; " in child and "unknown" not in child
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 60_000_000}]
    crowd = [{**row, "p1": None} for row in waiters(ROW_CACHE_LOCK_EVENT, {0: 20})]
    nineteen: dict[str, Any] = {"release": "19.0.0.0.0", "event_name": [{"name": "row cache mutex"}]}
    waiting = headline(system_event=events, session=crowd, latch_children=[], **nineteen)
    assert "; which cache is not known; " in waiting and "unknown" not in waiting


def test_headline_of_a_quiet_instance_says_nothing_to_do() -> None:
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 1, "time_waited_micro": 9}]
    quiet = headline(system_event=events, session=[], latch=[], latch_children=[])
    assert quiet.startswith("Nothing to do about the row cache; row cache waits cost < 0.001 % of DB time")


def test_headline_cannot_tell_the_cost_of_totals_of_unknown_age() -> None:
    assert "totals of unknown age do not show what it costs" in headline(basis=TOTALS).lower()


def test_headline_without_any_useful_view_says_cannot_tell() -> None:
    blind = delta_of({})
    assert diagnose(blind).headline == (
        "Cannot tell: it takes latches, mutexes, dictionary caches or wait events, and they could not be read"
    )
    cut = diagnose(replace(blind, cut_off=True))
    assert cut.headline.endswith("and the file is cut off before them")


def test_headline_of_a_file_cut_off_too_early_says_as_far_as_it_goes() -> None:
    quiet: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 1, "time_waited_micro": 9}]
    whole = delta_of({**RICH, "v$system_event": quiet, "v$latch": [], "v$latch_children": [], "v$session": []})
    lacking = {name: one for name, one in whole.readings.items() if name != "v$rowcache"}
    assert diagnose(replace(whole, cut_off=True), {}).headline.startswith("Nothing to do"), "nothing needed is lost"
    cut = diagnose(replace(whole, readings=lacking, cut_off=True), {})
    assert cut.headline.startswith("As far as the file goes: Nothing to do")
    assert diagnose(replace(whole, readings=lacking), {}).headline.startswith("Nothing to do")


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
        "; no cause that could be judged explains it; undo-retention-runaway could not be judged, because v$undostat"
        in told.headline
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
    assert storm.headline.endswith("what was captured fits undo-segments best")
    few = nameless("many short transactions on an ordinary number of undo segments")
    assert (few.headline, few.findings) == (storm.headline, ()), "without that row the two look the same"
