"""From a cause to a Finding: its surface, how its cache is known, its cost there, its rank, and the words about its query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Changes, ConfirmationResult, Delta, Missing, Row
from rules.cause import Cause, catalogue
from rules.confirmation import confirmation_of, confirmed, confirms, number_of, obstacle, seen
from rules.cost import severity
from rules.engine import diagnose
from rules.hangs.model import ChainAction, WaitChain
from rules.hangs.tree import Forest
from rules.judge import CauseVerdict, nearest_bound
from rules.model import Confidence, Diagnosis, Finding, RuledOut, Severity, Undetermined
from rules.remedy import Confirmation, Query
from rules.rivals import rank
from tests.rules.case_files import delta_of_case, verdict_of
from tests.rules.contexts import TOTALS, context_of, delta_of, no_grant
from tests.rules.removals import Removal, removals
from tests.rules.rich import LATCH_WAIT, RICH, waiters

SLEEPS = {"signal": "share_of_sleeps", "role": "identity", "needs": ">= 0.5", "because": "b"}
LOCKS = {"signal": "share_of_lock_waiters", "role": "identity", "needs": ">= 0.5", "because": "b"}
MUTEXES = {"signal": "share_of_mutex_waiters", "role": "identity", "needs": ">= 0.5", "because": "b"}
PROOF = {"signal": "share_of_lookups", "role": "discriminating", "needs": ">= 0.5", "because": "b"}
EVERYWHERE = {"any_of": [SLEEPS, LOCKS, MUTEXES]}


def cause_of(*when: Mapping[str, Any], **fields: Any) -> Cause:
    members = catalogue()["undo-segments"].model_dump()
    surfaces = fields.pop("surfaces", ("latch", "mutex", "lock"))
    return Cause.model_validate({**members, "id": "probe", "when": when, "surfaces": surfaces, **fields})


def verdict(cause: Cause, *others: Cause, release: str = "11.2.0.4.0", **changed: Sequence[Row]) -> CauseVerdict:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    got = diagnose(delta_of(views, release=release), {one.id: one for one in (cause, *others)})
    verdicts: list[CauseVerdict] = [*got.findings, *got.ruled_out, *got.undetermined]
    return next(one for one in verdicts if one.cause == cause.id)


def found(cause: Cause, **changed: Any) -> Finding:
    got = verdict(cause, **changed)
    assert isinstance(got, Finding), got
    return got


def waited(latch: int, lock: int) -> list[Row]:
    return [
        {"event": LATCH_WAIT, "total_waits": 900, "time_waited_micro": latch},
        {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 900, "time_waited_micro": lock},
    ]


OTHERS = waiters(ROW_CACHE_LOCK_EVENT, {0: 30})
OWN = waiters(ROW_CACHE_LOCK_EVENT, {3: 30})


def test_finding_costs_what_the_surface_that_named_its_cache_costs() -> None:
    events = waited(latch=1_000_000, lock=60_000_000)
    by_latch = found(cause_of(EVERYWHERE, PROOF), session=OTHERS, system_event=events)
    assert (by_latch.surface, by_latch.severity, by_latch.identity) == ("latch", Severity.NOTICE, "read")
    by_both = found(cause_of(EVERYWHERE, PROOF), session=OWN, system_event=events)
    assert (by_both.surface, by_both.severity) == ("lock", Severity.CRITICAL)


def test_finding_has_the_condition_closest_to_its_bound_and_a_cause_ruled_out_by_little_the_one_that_fails() -> None:
    got = found(cause_of(SLEEPS, PROOF))
    near = got.nearest_bound
    assert near is not None and near.unit == "ratio"
    held = {sign.signal: (sign.value, sign.value / 0.5) for sign in got.evidence}
    assert (near.value, near.needs) == (held[near.signal][0], ">= 0.5")
    assert held[near.signal][1] == min(times for _, times in held.values()) and len(held) == 2
    share = held["share_of_sleeps"][0]
    for bound, close in ((share * 1.01, True), (share * 2.99, True), (share * 3.01, False)):
        out = verdict(cause_of({**SLEEPS, "needs": f">= {bound}"}, PROOF))
        assert isinstance(out, RuledOut) and (out.signal, out.value) == ("share_of_sleeps", share)
        assert (out.nearest_bound is not None) is close
        if out.nearest_bound:
            assert out.nearest_bound.model_dump() == out.model_dump(include={"signal", "value", "unit", "needs"})


@pytest.mark.parametrize(
    ("readings", "farthest", "signal"),
    [
        ([("a", 9.0, "ms", ">= 3"), ("b", 2.0, "ms", "<= 5")], inf, "b"),
        ([("a", 6.0, "ms", ">= 3"), ("b", 2.0, "ms", "<= 5")], inf, "a"),
        ([("b", 6.0, "ms", ">= 3"), ("a", 6.0, "ms", ">= 3")], inf, "a"),
        ([("a", 0.0, "ms", "<= 5"), ("b", 900.0, "ms", ">= 1")], inf, "b"),
        ([("a", 0.0, "ms", "<= 5")], inf, None),
        ([("a", 5.0, "ms", ">= 0")], inf, None),
        ([("a", 1.0, "ms", ">= 3")], 3.0, "a"),
        ([("a", 0.9, "ms", ">= 3")], 3.0, None),
        ([("a", 9.0, "ms", "<= 3")], 3.0, "a"),
        ([("a", 1.0, "value", ">= 1"), ("b", 7.0, "release update", "<= 7")], inf, None),
        ([], inf, None),
    ],
)
def test_closest_is_the_smallest_ratio_to_a_bound(
    readings: list[tuple[str, float, str, str]], farthest: float, signal: str | None
) -> None:
    near = nearest_bound(readings, farthest)
    assert (near and near.signal) == signal


@pytest.mark.parametrize(
    ("parallel", "sql", "left"),
    [
        ("YES", "alter system set undo_tablespace = UNDO_NEW sid = 'INSTANCE_NAME'", None),
        ("NO", "alter system set undo_tablespace = UNDO_NEW", None),
        (None, "alter system set undo_tablespace = UNDO_NEW", "sid = 'INSTANCE_NAME'"),
    ],
)
def test_remedy_in_a_cluster_is_of_one_instance(parallel: str | None, sql: str, left: str | None) -> None:
    step = found(cause_of(EVERYWHERE, PROOF), instance=[{"parallel": parallel}]).remedy_steps[2]
    assert (step.sql, step.in_cluster) == (sql, left)


def test_finding_says_what_its_entry_is_founded_on() -> None:
    assert found(cause_of(EVERYWHERE, PROOF, status="experimental")).status == "experimental"


def test_surface_the_release_lacks_is_not_an_alternative() -> None:
    nineteen: dict[str, Any] = {
        "release": "19.0.0.0.0",
        "event_name": [{"name": "row cache mutex"}],
        "rowcache": [{**row, "fastgets": 0} for row in RICH["v$rowcache"]],
        "system_event": [row for row in RICH["v$system_event"] if row["event"] != "latch: row cache objects"],
    }
    by_mutex = found(cause_of(EVERYWHERE, PROOF), session=RICH["v$session"][:20], **nineteen)
    assert (by_mutex.surface, by_mutex.identity, by_mutex.child) == ("mutex", "sampled", None)
    assert [one.signal for one in by_mutex.evidence] == ["share_of_mutex_waiters", "share_of_lookups"]
    elsewhere = waiters("row cache mutex", {0: 30})
    assert isinstance(verdict(cause_of(EVERYWHERE, PROOF), session=elsewhere, **nineteen), RuledOut | Undetermined)


def test_surface_that_costs_nothing_leaves_the_decision_to_the_others() -> None:
    few_sleeps = [{**row, "sleeps": 3} for row in RICH["v$latch_children"]]
    by_cost = [
        verdict(
            cause_of(EVERYWHERE, PROOF),
            latch_children=few_sleeps,
            session=OTHERS,
            system_event=waited(latch=latch, lock=60_000_000),
        )
        for latch in (90_000, 50_000_000)
    ]
    assert isinstance(by_cost[0], RuledOut) and by_cost[0].signal == "share_of_lock_waiters"
    assert isinstance(by_cost[1], Undetermined)


def test_sampled_cache_is_the_one_with_most_waiters_and_has_its_rows_and_no_child() -> None:
    got = found(cause_of(LOCKS, PROOF), session=OWN, system_event=waited(0, 60_000_000))
    assert (got.cache, got.child, got.identity) == ("dc_rollback_segments", None, "sampled")
    assert [(one.cache_id, one.type) for one in got.caches] == [(3, "PARENT")]
    both = cause_of({**LOCKS, "needs": ">= 0.4"}, PROOF, caches=("dc_rollback_segments", "dc_tablespaces", "dc_users"))
    crowd = waiters(ROW_CACHE_LOCK_EVENT, {3: 5, 0: 9, 10: 2})
    assert found(both, session=crowd).cache == "dc_tablespaces"


def test_discriminating_waiters_make_no_candidate_when_nobody_looked() -> None:
    agreeing = {**LOCKS, "role": "discriminating"}
    by_proof = found(cause_of(PROOF, agreeing), session=[])
    assert (by_proof.identity, by_proof.confidence, by_proof.cache) == (None, "medium", "dc_rollback_segments")
    assert found(cause_of(PROOF, agreeing), session=OWN).identity == "sampled"
    assert isinstance(verdict(cause_of(PROOF, agreeing), session=OTHERS), RuledOut)


VOLUME = {"signal": "row_cache_share_of_db_time", "needs": ">= 0.001", "because": "b"}


def test_cause_without_a_cache_yields_to_one_that_names_it() -> None:
    special = cause_of(SLEEPS, PROOF).model_copy(update={"id": "special"})
    general = cause_of(VOLUME, caches=(), surfaces=("latch",))
    got = verdict(general, special)
    assert isinstance(got, RuledOut)
    assert "(special)" in got.because
    quiet = special.model_copy(update={"when": cause_of(SLEEPS, {**PROOF, "needs": "<= 0.1"}).when})
    assert isinstance(verdict(general, quiet), Finding)


def test_handbook_entries_are_offered_by_surface_with_or_without_cache() -> None:
    entry = {**catalogue()["undo-segments"].model_dump(), "handbook": True, "when": (), "surfaces": ("latch",)}

    def offered(**fields: Any) -> list[str]:
        causes = {"probe": cause_of(SLEEPS), "entry": Cause.model_validate({**entry, "id": "entry", **fields})}
        return [one.cause for one in diagnose(delta_of(RICH), causes).candidates]

    assert offered(caches=("dc_rollback_segments",)) == ["entry"]
    assert offered(caches=()) == ["entry"]
    assert offered(caches=("dc_users",)) == []
    assert offered(surfaces=("lock",)) == []
    assert offered(releases={"until": "11.2"}) == []


def on_platform(platform: str | None) -> Finding:
    """The finding of the catalogue's undo-segments on a platform, with everything else the same."""
    cloud = {"autonomous": "OLTP", "paas": "PAAS"}.get(platform or "")
    context = {"cdb_name": "RDSCDB" if platform == "rds" else "CDB1", "cloud_service": cloud}
    views = {**RICH, "sys_context": [context]}
    got = diagnose(delta_of(views, release="12.1.0.2.0"), {"undo-segments": catalogue()["undo-segments"]})
    (only,) = got.findings
    return only


def test_steps_are_those_of_the_platform() -> None:
    standard = on_platform(None)
    assert any("alter system set undo_tablespace" in text for step in standard.remedy_steps for text in step.texts())
    assert not any(step.elsewhere or step.not_possible for step in standard.remedy_steps)
    assert on_platform("paas").remedy_steps == standard.remedy_steps, "a database of the cloud that is not Autonomous"
    for platform, name in (("rds", "Amazon RDS"), ("autonomous", "Autonomous Database")):
        finding = on_platform(platform)
        assert len(finding.remedy_steps) == len(standard.remedy_steps), "a step that is refused keeps its number"
        refused = [step for step in finding.remedy_steps if step.not_possible]
        assert len(refused) == 5 and all(name in (step.not_possible or "") for step in refused)
        assert not any(step.sql or step.way_back or step.elsewhere for step in refused)
        assert "alter system" not in finding.model_dump_json() and "tablespace" not in finding.remedy


def test_a_step_whose_statement_is_for_newer_releases_is_left_out() -> None:
    steps = [{"do": "Look."}, {"do": "New.", "sql": {"12.1": "select 1 from dual"}, "run_in": "container"}]
    cause = cause_of(EVERYWHERE, PROOF, remedy_steps=steps)
    events = waited(latch=60_000_000, lock=0)
    assert [step.do for step in found(cause, system_event=events).remedy_steps] == ["Look."]
    got = found(cause, system_event=events, release="12.1.0.2.0")
    assert [step.do for step in got.remedy_steps] == ["Look.", "New."]


def test_the_step_that_ends_a_session_is_there_where_a_chain_has_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    action = ChainAction(
        kind="kill",
        check="select sid from v$session where sid = 312",
        still="this session",
        command="alter system kill session '312,77,@1' immediate",
        first="collect a hanganalyze",
        where="on any instance",
        risk="its transaction is rolled back",
        why_safe="session 312 on instance 1 is the end of the chain",
    )
    acting, other = (WaitChain(end=None, waiting=40, action=each) for each in (action, None))
    steps = [{"do": "Look."}, {"do": "End it.", "from_chain": True, "run_in": "instance", "risk": "Work is lost."}]
    cause, events = cause_of(EVERYWHERE, PROOF, remedy_steps=steps), waited(latch=60_000_000, lock=0)
    for chains, done in (((), ["Look."]), ((other,), ["Look."]), ((other, acting), ["Look.", "End it."])):
        monkeypatch.setattr("rules.finding.chains_of", lambda context, chains=chains: Forest(chains, 0))
        got = found(cause, system_event=events).remedy_steps
        assert [step.do for step in got] == done, chains
        assert all(step.sql is None for step in got), "the command stands in the chain alone, where its age is known"


NO_FAST_WAY = Removal("column", "v$rowcache", "fastgets")


def without(removal: Removal, case: str) -> Diagnosis:
    (less,) = (delta for one, delta in removals(delta_of_case(case)) if one == removal)
    return diagnose(less)


def test_cause_is_found_or_open_without_a_share_of_the_work_as_waiters_name_its_cache() -> None:
    got = without(NO_FAST_WAY, "sequence-nocache: the same on 19c")
    (one,) = (one for one in got.findings if one.cause == "sequence-nocache")
    assert "v$rowcache has no fastgets here" in one.unknown
    got = without(NO_FAST_WAY, "histogram-hard-parse: the same, and nobody looked who waits")
    verdict, details = verdict_of(got, "object-grants")
    assert verdict == "undetermined"
    assert (details["by"], details["why"]) == ("v$rowcache", "v$rowcache has no fastgets here")


HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


def test_severity_is_the_gate_within_the_cap_and_from_shares_alone_at_most_a_warning() -> None:
    context = context_of()
    assert context.gate is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.CRITICAL) is Severity.WARNING
    assert severity(context, ("latch", "lock"), Severity.INFO) is Severity.INFO
    assert severity(context, ("lock",), Severity.CRITICAL) is Severity.NOTICE
    assert severity(context_of(basis=TOTALS), ("latch",), Severity.CRITICAL) is Severity.WARNING


def finding(cause: str, grade: Severity, sure: Confidence) -> Finding:
    about = catalogue()["undo-segments"]
    words = {name: getattr(about, name) for name in ("title", "explanation", "remedy", "risk", "expected_effect")}
    known = {"child": None, "cache": None, "caches": (), "identity": None, "location": None, "confirm": None}
    rest = {"surface": "latch", "evidence": (), "references": (), "false_positives": about.false_positives}
    return Finding.model_validate({"cause": cause, "severity": grade, "confidence": sure, **words, **known, **rest})


def test_rank_puts_the_finding_to_act_on_first() -> None:
    findings = [
        finding("d", Severity.INFO, HIGH),
        finding("c", Severity.WARNING, LOW),
        finding("b", Severity.WARNING, HIGH),
        finding("a", Severity.WARNING, HIGH),
        finding("e", Severity.CRITICAL, LOW),
    ]
    causes = {one.cause: catalogue()["undo-segments"] for one in findings}
    assert [one.cause for one in rank(findings, causes)] == ["e", "a", "b", "c", "d"]
    assert rank(reversed(findings), causes) == rank(findings, causes)


SEQUENCES = catalogue()["sequence-nocache"]
QUERY = Query(
    sql={"11.2": "select count(*) from dba_users", "12.1": "select count(*) from cdb_users"},
    reads=("dba_users", "cdb_users"),
    reading="Users.",
    needs=">= 1",
)


def asked_in(
    container: str | None, con_id: int | None, results: Mapping[str, ConfirmationResult] | None = None, **refused: str
) -> Delta:
    """An interval of 19c, polled in a container; views that the user may not read."""
    delta = replace(delta_of(), release="19.0.0.0.0", confirmations=dict(results or {}))
    place = Changes("sys_context", ({"db_unique_name": "ERP", "con_id": con_id, "con_name": container},))
    closed: dict[str, Changes | Missing] = {view: no_grant(view) for view in refused.values()}
    return replace(delta, readings={**delta.readings, **({"sys_context": place} if container else {}), **closed})


def of(delta: Delta, cause: str = "sequence-nocache") -> Confirmation:
    confirmation = confirmation_of(catalogue()[cause], delta)
    assert confirmation is not None
    return confirmation


ROOT, PDB = ("CDB$ROOT", 1), ("ERP1", 3)


def test_text_is_that_of_the_release_and_reads_all_containers() -> None:
    assert "from cdb_sequences" in of(asked_in(*ROOT)).sql and "con_id" in (of(asked_in(*ROOT)).names_sql or "")
    old = replace(asked_in(None, None), release="11.2.0.4.0")
    assert "from dba_sequences" in of(old).sql and "con_id" not in (of(old).names_sql or "")


@pytest.mark.parametrize(
    ("place", "value", "proves"),
    [(ROOT, 0.0, False), (PDB, 0.0, None), (PDB, 3.0, True), (ROOT, 3.0, True), ((None, None), 0.0, None)],
)
def test_number_that_misses_the_bound_speaks_only_for_the_containers_it_saw(
    place: tuple[str | None, int | None], value: float, proves: bool | None
) -> None:
    delta = asked_in(*ROOT, {"sequence-nocache": ConfirmationResult(value, *place)})
    if place[1] is None:
        delta = replace(delta, readings={name: view for name, view in delta.readings.items() if name != "sys_context"})
    assert confirmed(SEQUENCES, delta) is proves
    assert of(delta).confirms is proves


def test_result_without_a_container_was_read_where_the_polls_are() -> None:
    given = {"sequence-nocache": ConfirmationResult(0.0)}
    assert confirmed(SEQUENCES, asked_in(*ROOT, given)) is False
    assert confirmed(SEQUENCES, asked_in(*PDB, given)) is None
    assert of(asked_in(*PDB, given)).seen == "in PDB ERP1 only"


@pytest.mark.parametrize(
    ("reads", "place", "told"),
    [
        ("cdb_users", ROOT, "in CDB$ROOT, over all containers"),
        ("cdb_users", PDB, "in PDB ERP1 only"),
        ("audit_unified_enabled_policies", ROOT, "in CDB$ROOT only"),
        ("v$osstat", PDB, "in PDB ERP1, of the whole instance"),
        ("cdb_users", ("ERP", 0), None),
        ("cdb_users", (None, None), None),
    ],
)
def test_seen_names_the_container_and_how_far_it_sees(
    reads: str, place: tuple[str | None, int | None], told: str | None
) -> None:
    query = Query(sql=f"select count(*) from {reads}", reads=(reads,), reading="Rows.")
    assert seen(query, "19.0.0.0.0", *place) == told


@pytest.mark.parametrize(
    ("decides", "met", "missed", "blind", "words"),
    [
        ("both", True, False, True, "1 or more speaks for this cause, less against it."),
        ("for", True, None, False, "1 or more speaks for this cause; less decides nothing."),
        ("against", None, False, True, "1 or more decides nothing; less speaks against this cause."),
    ],
)
def test_bound_decides_on_the_sides_that_it_names_and_says_so(
    decides: str, met: bool | None, missed: bool | None, blind: bool, words: str
) -> None:
    query = Query.model_validate(QUERY.model_dump() | {"needs": ">= 1", "decides": decides, "bands": ()})
    assert [confirms(query, "19", ConfirmationResult(of), 1) for of in (5.0, 0.0)] == [met, missed]
    assert query.scale == f"{QUERY.reading} {words}"
    seen_in_part = Confirmation(sql="", needs=">= 1", decides=query.decides, result=0.0)
    assert ("other containers" in number_of(seen_in_part)) is blind
    assert "other containers" not in number_of(seen_in_part.model_copy(update={"result": 5.0}))


def test_query_without_a_bound_confirms_nothing_and_a_cause_without_a_query_has_no_confirmation() -> None:
    free = QUERY.model_copy(update={"needs": None})
    assert confirms(free, "19", ConfirmationResult(5.0), 1) is None
    assert confirms(QUERY, "19", ConfirmationResult(5.0), 1) is True
    assert confirmation_of(catalogue()["spin-only"], asked_in(*ROOT)) is None


def test_obstacle_names_the_view_that_polls_may_not_read_and_is_none_where_nothing_is_known_or_a_number_came() -> None:
    assert of(asked_in(*ROOT)).obstacle is None
    told = of(asked_in(*ROOT, view="v$osstat"), "starved-host")
    assert told.obstacle == "needs read or select on v$osstat; `latchscope grants --confirm` prints the grant"
    given = {
        "sequence-nocache": ConfirmationResult(3.0, *ROOT),
        "sequence-conflicts": ConfirmationResult(None, refused=("cdb_sequences",)),
    }
    assert of(asked_in(*ROOT, given)).obstacle is None


def test_obstacle_of_a_refusal_names_the_view_and_the_grant() -> None:
    given = {"sequence-nocache": ConfirmationResult(None, refused=("cdb_sequences",))}
    told = of(asked_in(*ROOT, given))
    assert told.obstacle == "needs read or select on cdb_sequences; `latchscope grants --confirm` prints the grant"
    assert (told.result, told.seen, told.confirms) == (None, None, None)
    assert confirmed(SEQUENCES, asked_in(*ROOT, given)) is None


def test_obstacle_is_shared_by_the_causes_that_read_the_only_refused_view() -> None:
    given = {"sequence-conflicts": ConfirmationResult(None, refused=("cdb_sequences",))}
    assert of(asked_in(*ROOT, given)).obstacle is not None
    assert of(asked_in(*ROOT, given), "undo-segment-floor").obstacle is None
    given = {"other": ConfirmationResult(None, refused=("cdb_sequences", "cdb_users"))}
    assert of(asked_in(*ROOT, given)).obstacle is None


def test_obstacle_tells_the_container_and_the_releases_a_text_is_for() -> None:
    assert of(asked_in(*PDB), "cdb-services").obstacle == (
        "inside the PDB ERP1 its number means nothing; run it in CDB$ROOT"
    )
    assert of(asked_in(*ROOT), "cdb-services").obstacle is None
    old = replace(asked_in(None, None), release="11.1.0.7.0")
    assert obstacle(SEQUENCES, QUERY, old) == "it is written for 11.2 and newer, and this is 11.1.0.7.0"
    assert of(old, "cdb-services").obstacle == ("cdb-services is unknown on 11.1.0.7.0, and its query may not fit")


def test_query_about_now_says_that_it_tells_nothing_of_the_time_of_a_printed_report() -> None:
    printed = replace(delta_of(), release="11.2.0.4.0", source="report")
    now, lasting = of(printed, "logon-storm").reading, of(printed, "undo-segments").reading
    assert now.startswith(
        "Run it while the problem lasts. It shows the present, not the time of the report. Current sessions"
    )
    assert lasting.startswith("Undo segments of all tablespaces"), "they are still there"
    assert of(replace(printed, source="views"), "logon-storm").reading.startswith("Current sessions")
    last = {name for name, cause in catalogue().items() if cause.confirm and cause.confirm.lasts("11.2.0.4.0")}
    assert {"undo-segments", "sequence-nocache", "many-partitions", "vpd-policy-check"} <= last
    assert not last & {"segment-churn", "statistics-gathering", "refresh-lock-order", "row-cache-lock-hang"}


def test_queries_of_dictionary_views_run_on_every_release_a_report_is_read_of() -> None:
    for release in ("9.2.0.6.0", "10.2.0.4.0", "11.1.0.7.0"):
        printed = replace(delta_of(), release=release, source="report")
        for cause in ("undo-segments", "sequence-nocache", "dictionary-managed", "statistics-gathering"):
            assert of(printed, cause).obstacle is None, "was: written for 11.2 and newer"
