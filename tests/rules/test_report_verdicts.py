"""The diagnoses of printed reports: what a live poll says of the same trouble, as far as paper can show.

No more certainty than shares give, no false zero, no row counted twice, and words that fit a report.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from collectors.model import RESULT_CACHE_LATCH, SCRIPT, Changes, Delta, NotComparable, Row
from collectors.reports.read import read
from rules.cache_map import cache_map
from rules.context import Known, SignalContext, Unknown
from rules.engine import cannot_tell, diagnose
from rules.judge import NAMING
from rules.model import Confidence, Diagnosis, Severity
from rules.signals import SIGNALS, Subject
from tests.conftest import wanted_reports
from tests.paths import REPORTS
from tests.recordings.reports import make
from tests.rules.contexts import steps_of
from tests.rules.printed import printed, scripted

FILES = sorted(make.told())


@cache
def diagnosed(name: str) -> tuple[Diagnosis, ...]:
    found = read((REPORTS / name).read_bytes(), name)
    return tuple(cannot_tell(one) if isinstance(one, NotComparable) else diagnose(one) for one in found)


def lines(got: Diagnosis) -> Iterator[str]:
    share = got.impact and got.impact.share_of_db_time
    yield f"{got.state}, {got.mechanism}, {'no share' if share is None else f'{share:.4f}'} of DB time: {got.headline}"
    for found in got.findings:
        where = f"{found.cache}, child {found.child}, at {found.location}, {found.identity}"
        signs = ", ".join(f"{sign.signal} {sign.value:.4g} {sign.unit}" for sign in found.evidence)
        yield f"  {found.severity}, {found.confidence}: {found.cause} on {where}; {signs}"
    yield f"  open: {', '.join(one.cause for one in got.undetermined) if got.ruled_out else 'every cause'}"
    yield from (f"  {step.step}: {step.statement}" for step in got.steps if step.step in ("hot child", "cache"))


def test_verdict_on_each_report_is_never_of_high_confidence(golden: Callable[[str, str], None]) -> None:
    told = {name: diagnosed(name) for name in FILES}
    every = [got for several in told.values() for got in several]
    assert [found.cause for got in every for found in got.findings if found.confidence is Confidence.HIGH] == []
    text = (line for name, several in told.items() for got in several for line in (f"== {name}", *lines(got)))
    golden("report-verdicts.txt", "\n".join([*text, ""]))


NAMES = ("undo-storm", "parse-storm", "users-mutex", "nocache-sequence-1", "busy-but-fine", "healthy-19c")
LIVE_WORDS = ("wait for", "capture ", "next interval", "next poll", "two snapshots")


def storm(children: bool = False) -> Delta:
    return printed(scripted("undo-storm", 60.0), children)


def changed(delta: Delta, view: str, *rows: Row) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, rows)})


@pytest.mark.parametrize("children", [False, True])
def test_undo_storm_is_found_from_shares_and_shape_at_low_confidence(children: bool) -> None:
    (top,) = diagnose(storm(children)).findings
    assert (top.cause, top.severity, top.confidence) == ("undo-segments", Severity.CRITICAL, Confidence.LOW)
    assert (top.cache, top.identity, top.child, top.caches) == ("dc_rollback_segments", "candidate", None, ())
    assert diagnose(storm(children)).headline.startswith(
        "Likely cause: too many undo segments on dc_rollback_segments (low confidence); row cache waits cost"
    )


def test_cause_without_a_cache_is_medium_where_views_give_high() -> None:
    delta = scripted("parse-storm", 60.0)
    sure = {one.cause: one.confidence for one in diagnose(delta).findings}
    told = {one.cause: one.confidence for one in diagnose(replace(delta, source="report")).findings}
    assert sure["hard-parse-storm"] is Confidence.HIGH
    assert told["hard-parse-storm"] is Confidence.MEDIUM


@pytest.mark.parametrize("name", NAMES)
def test_way_outs_fit_a_report(name: str) -> None:
    got = diagnose(printed(scripted(name, 60.0)))
    outs = [one.way_out for one in got.undetermined] + [step.statement for step in got.steps if step.step != "remedy"]
    assert [out for out in outs if any(words in out for words in LIVE_WORDS)] == []
    assert not name.startswith("undo") or any(SCRIPT in one.way_out for one in got.undetermined)


def test_signal_way_outs_fit_a_report() -> None:
    quiet = printed(scripted("healthy-19c", 30.0, 10.0), children=True)
    tiny: list[Row] = [{"parameter": "dc_users", "gets": 9, "getmisses": 0, "modifications": 3, "usage": 4}]
    context = SignalContext(changed(changed(quiet, "v$rowcache", *tiny), "v$latch_misses"))
    subject = Subject(("dc_users",), "kqrso", "undo_retention")
    readings = [one.read(context, subject) for one in SIGNALS.values()]
    outs = {one.way_out for one in readings if isinstance(one, Unknown)}
    assert [out for out in outs if any(words in out for words in LIVE_WORDS)] == []
    assert "take a report of a busier hour" in outs


def test_steps_say_what_cannot_be_told_and_go_on() -> None:
    told = steps_of(diagnose(storm()))
    assert told["hot child"].startswith("A report cannot name the child latch: it prints row cache objects as a whole")
    assert "The script that `latchscope script` prints adds the children" in told["hot child"]
    assert "is a guess from shares: of 2,321,430 dictionary gets dc_rollback_segments 68.6 %" in told["cache"]
    assert "dc_rollback_segments holds the most entries, 14,600" in told["cache"]
    assert "gets for each dictionary get, within the 1 to 3 that are possible" in told["cache"]
    assert told["miss location"].startswith("Holders by location: kqrpre: find obj 85.")
    assert "confirming query" in told


def test_child_latches_without_a_map_are_not_tied_to_a_cache_by_gets() -> None:
    delta = storm(children=True)
    assert cache_map(delta).children == {}
    assert cache_map(delta).disagreements == ()
    told = steps_of(diagnose(delta))
    assert told["hot child"].startswith("Child 1 of latch# 270")
    assert "Cannot tell which cache child 1 guards" in told["cache"]
    assert "sums of a parent and its subordinates" in told["cache"]
    assert "guess from shares" in told["cache"]


def test_cache_map_infers_no_cache_from_sums_even_where_one_fits() -> None:
    delta = storm(children=True)
    gets = delta.cell("v$rowcache", "parameter", "dc_users", "gets")
    assert gets is not None
    fits: Row = {"latch#": 270, "child#": 8, "gets": 3 * int(gets), "sleeps": 900}
    assert cache_map(changed(delta, "v$latch_children", fits)).children == {}
    fits_as_subordinate: Row = {**fits, "gets": int(gets)}
    assert cache_map(changed(delta, "v$latch_children", fits_as_subordinate)).children == {}


def test_summed_rows_are_each_counted_once() -> None:
    live, told = SignalContext(scripted("undo-storm", 60.0)), SignalContext(storm())
    for name in ("share_of_lookups", "modification_ratio", "getmiss_ratio", "overall_getmiss_ratio"):
        for subject in (Subject(("dc_users",)), Subject(("dc_rollback_segments",))):
            assert SIGNALS[name].read(told, subject) == SIGNALS[name].read(live, subject), (name, subject)


def test_signals_that_need_children_map_or_sessions_are_unknown_not_zero() -> None:
    context = SignalContext(storm())
    absent = (*NAMING, "hold_anomaly_index", "hottest_child_share_of_sleeps", "exclusive_share_of_lock_waiters")
    for name in (*absent, "row_cache_memory", "shared_pool_shrinks", "tuned_retention_ratio", "cluster_conflict_ratio"):
        reading = SIGNALS[name].read(context, Subject(("dc_rollback_segments",)))
        assert isinstance(reading, Unknown) or name == "cluster_conflict_ratio", name


def test_cache_the_report_omits_has_no_traffic_and_unknown_entries() -> None:
    context, subject = SignalContext(storm()), Subject(("dc_outlines_of_another_day",))
    assert SIGNALS["share_of_lookups"].read(context, subject) == Known(
        0.0, "0 of " + f"{context.sum_of(context.delta.rows('v$rowcache'), 'gets'):,.0f}"
    )
    entries = SIGNALS["entries_used"].read(context, subject)
    assert isinstance(entries, Unknown)
    assert entries.way_out == SCRIPT
    assert isinstance(SIGNALS["entries_used"].read(SignalContext(scripted("undo-storm", 60.0)), subject), Known)


def test_parameter_the_report_does_not_print_is_unknown() -> None:
    rows: Row = {"name": "undo_retention", "value": "900"}
    context = SignalContext(changed(storm(), "v$parameter", rows))
    assert SIGNALS["parameter_value"].read(context, Subject(parameter="undo_retention")) == Known(
        900.0, "undo_retention = 900"
    )
    absent = SIGNALS["parameter_value"].read(context, Subject(parameter="cursor_sharing"))
    assert isinstance(absent, Unknown)
    assert "the report does not print cursor_sharing" in absent.why


def test_severity_follows_the_printed_latch_if_its_event_is_not_printed() -> None:
    delta = changed(storm(), "v$system_event", {"event": "row cache lock", "total_waits": 1, "time_waited_micro": 9})
    got = diagnose(delta)
    assert got.findings[0].severity is Severity.CRITICAL
    views = replace(delta, source="views")
    assert diagnose(views).impact == got.impact, (
        "sleeps prove that sessions waited for the event and that its row is missing"
    )
    calm = changed(replace(views, readings={**views.readings, "v$latch": Changes("v$latch", ())}), "v$latch_children")
    cost = diagnose(calm).impact
    assert cost is not None and cost.waiting_sessions == pytest.approx(0, abs=1e-6), "an event without waits is zero"


def test_slow_neighbours_ignore_a_second_of_rounding() -> None:
    row: Row = {"name": "shared pool", "sleeps": 12, "wait_time": 1_000_000}
    assert SIGNALS["slow_neighbours"].read(SignalContext(changed(storm(), "v$latch", row)), Subject()) == Known(0.0, "")
    live = SignalContext(changed(scripted("undo-storm", 60.0), "v$latch", row))
    assert SIGNALS["slow_neighbours"].read(live, Subject()) == Known(1.0, "shared pool 83 ms")


def test_report_interval_is_given_in_whole_seconds() -> None:
    delta = storm()
    hour = replace(delta, basis=replace(delta.basis, seconds=3614.0))
    assert "over an hour" in diagnose(hour).headline
    basis = diagnose(hour).basis
    assert basis is not None
    assert basis.begin is not None
    assert basis.begin.tzinfo is None


def test_latch_the_report_does_not_list_had_no_activity() -> None:
    delta = storm()
    rows = tuple(row for row in delta.rows("v$latch") if row.get("name") != RESULT_CACHE_LATCH)
    got = diagnose(replace(delta, readings={**delta.readings, "v$latch": Changes("v$latch", rows)}))
    assert {"result-cache-latch", "result-cache-spin-only"} <= {one.cause for one in got.ruled_out}


# The verdicts on the anonymised reports: a report without row cache trouble raises none

MOST = {
    "not involved": Severity.INFO,
    "seen, not a cause": Severity.INFO,
    "noticeable, not the main cause": Severity.NOTICE,
    "cannot tell": Severity.INFO,
}
ORDER = [Severity.INFO, Severity.NOTICE, Severity.WARNING, Severity.CRITICAL]


@pytest.mark.parametrize(("folder", "count"), [("reports", 19), ("reports-3", 3)])
def test_anonymised_reports_are_not_judged_above_their_verdicts(folder: str, count: int) -> None:
    home = wanted_reports(folder)
    verdicts = json.loads((home / "verdicts.json").read_text(encoding="utf-8"))
    assert len(verdicts) == count
    for one in verdicts:
        (delta,) = read((home / one["file"]).read_bytes(), one["file"])
        assert isinstance(delta, Delta)
        diagnosis = diagnose(delta)
        most = ORDER.index(MOST[one["row_cache_is"]])
        assert ORDER.index(diagnosis.severity) <= most, f"{one['file']}: {diagnosis.headline}"
        assert all(ORDER.index(found.severity) <= most for found in diagnosis.findings), one["file"]
        assert all(found.confidence != "high" for found in diagnosis.findings), one["file"]
