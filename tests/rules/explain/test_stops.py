"""The stops on each surface: their sentences, their links, and the words when little is known."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    Row,
)
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.stops import child, stops
from rules.model import ChainLink, Surface
from tests.rules.contexts import SICK, context_of, delta_of, steps_of, with_rows
from tests.rules.rich import RICH, waiters
from tests.rules.test_demo_verdicts import diagnosed as demo

LATCH_ROW: Row = {"name": "row cache objects", "gets": 41, "misses": 0, "sleeps": 0, "wait_time": 0}


def told(surface: Surface, refused: tuple[str, ...] = (), **changed: Sequence[Row]) -> Mapping[str, str]:
    views: dict[str, Any] = {**RICH, **{f"v${view}": rows for view, rows in changed.items()}}
    context = context_of(views, release="19.0.0.0.0", refused=refused)
    steps = (stop.step for stop in stops(context, surface, None, {}))
    return {step.step: step.statement for step in steps if step is not None}


FEW: list[Row] = [{"location": "[32] kqrsfd", "sleeps": 9, "wait_time": 2_000}]
NOBODY = "No session slept for a row cache mutex over 30 s."
LOCKED: Row = {"event": ROW_CACHE_LOCK_EVENT, "total_waits": 20_139, "time_waited_micro": 25_900_000}


def rowcache(hot: int | None = None, **cells: int) -> dict[str, list[Row]]:
    """The rich rows of v$rowcache with these cells, all or those of one cache; then the others have one change each."""
    one: Row = {"modifications": 1}
    return {"rowcache": [{**row, **(cells if hot in (None, row["cache#"]) else one)} for row in RICH["v$rowcache"]]}


@pytest.mark.parametrize(
    ("surface", "changed", "step", "words"),
    [
        (
            "mutex",
            {},
            "hot location",
            "Row cache mutexes: 400 sleeps and 1.2 s waited over 30 s, at [19] kqrpre 75.0 % / [10] kqreqd "
            "25.0 % (normal: look-ups by key, the usual place, which points to no cause among those that look up).",
        ),
        (
            "mutex",
            {"mutex_sleep": FEW},
            "hot location",
            "Row cache mutexes: 9 sleeps and 0.0 s waited over 30 s, at [32] kqrsfd 100.0 % (too few sleeps for "
            "a shape, at least 100 are needed)",
        ),
        ("mutex", {"mutex_sleep": []}, "hot location", NOBODY),
        ("mutex", {"mutex_sleep": [{"location": "x", "sleeps": 0}]}, "hot location", NOBODY),
        (
            "mutex",
            {},
            "cache",
            "Waiters name their cache in P1: dc_rollback_segments 80.0 %, dc_tablespaces 20.0 % of 20 met in 1 sample.",
        ),
        (
            "mutex",
            {},
            "confirmation",
            "Most gets in v$rowcache: dc_rollback_segments 60.0 %, dc_tablespaces 35.0 %, dc_users 5.0 % of 20,000 over 30 s",
        ),
        (
            "lock",
            {},
            "confirmation",
            "Most modifications in v$rowcache: dc_rollback_segments 80.0 %, dc_tablespaces 20.0 %",
        ),
        ("lock", rowcache(modifications=0), "confirmation", "v$rowcache counted no modifications"),
        ("lock", {}, "hot wait", "row cache lock: 10 waits and 0.5 s over 30 s, 50.0 ms each."),
        ("lock", {"system_event": []}, "hot wait", "Cannot tell how long row cache lock was waited for"),
        (
            "lock",
            {"system_event": [{**LOCKED, "total_waits_fg": 19_939}]},
            "hot wait",
            "row cache lock: 20,139 waits, 19,939 of them in foreground sessions, and 25.9 s over",
        ),
        (
            "lock",
            {"system_event": [{**LOCKED, "total_waits_fg": 20_139}]},
            "hot wait",
            "row cache lock: 20,139 waits and 25.9 s over",
        ),
        (
            "lock",
            {},
            "cluster",
            "Between instances, dc_rollback_segments had 40 conflicts on 400 cluster lock requests (10.0 %) over 30 s",
        ),
        (
            "lock",
            {"session": [], **rowcache(3, modifications=990)},
            "cache",
            "Most likely dc_rollback_segments, which has 99.698 % of the changes, but not for certain: ",
        ),
        ("lock", {"session": []}, "cache", "Cannot tell for certain which cache: "),
        (
            "result-cache",
            {},
            "hot latch",
            "Result Cache: RC Latch: 50,000 gets, 200 sleeps, 3.0 s waited over 30 s. Its waits have no event "
            "of their own; they appear as latch free.",
        ),
        (
            "result-cache",
            {},
            "miss location",
            "Holders by location: kqrpre: find obj 90.0 % / Result Cache: Serialization12 10.0 % of 10,000 sleeps.",
        ),
        ("result-cache", {"latch": [LATCH_ROW]}, "hot latch", f"{RESULT_CACHE_LATCH} was not read."),
    ],
)
def test_step_of_a_surface(surface: Surface, changed: Mapping[str, Sequence[Row]], step: str, words: str) -> None:
    assert told(surface, **changed)[step].startswith(words)


@pytest.mark.parametrize(
    ("surface", "view", "step", "words"),
    [
        (
            "mutex",
            "v$mutex_sleep",
            "hot location",
            "Cannot tell where sessions sleep: v$mutex_sleep: ORA-00942. grant select",
        ),
        ("mutex", "v$session", "cache", "Cannot tell for certain which cache: v$session: ORA-00942"),
        ("lock", "v$rowcache", "confirmation", "v$rowcache cannot confirm it"),
    ],
)
def test_step_without_access_says_so(surface: Surface, view: str, step: str, words: str) -> None:
    assert told(surface, refused=(view,))[step].startswith(words)


@pytest.mark.parametrize(
    ("surface", "changed", "step"),
    [
        ("mutex", {"latch": []}, "not the latch"),
        ("lock", rowcache(dlm_requests=0), "cluster"),
        ("lock", rowcache(dlm_requests=1_204, dlm_conflicts=11), "cluster"),  # 0.9 % has nothing to do with the waits
        ("result-cache", {"latch_misses": []}, "miss location"),
    ],
)
def test_step_that_has_nothing_to_say_is_left_out(
    surface: Surface, changed: Mapping[str, Sequence[Row]], step: str
) -> None:
    assert step not in told(surface, **changed)


def test_mutex_steps_say_that_the_silent_latch_means_nothing_and_whose_waiters_name_a_cache() -> None:
    said = told("mutex", latch=[LATCH_ROW])["not the latch"]
    assert "(41 gets over 30 s)" in said and "zeros in them show nothing" in said
    other = told("mutex", session=waiters(ROW_CACHE_LOCK_EVENT, {3: 20}))["cache"]
    assert "no session waiting for row cache mutex was met" in other and "only its waiters name one" in other


def test_cache_step_counts_subordinates_and_reports_a_doubtful_map() -> None:
    users = [{**row, "sleeps": 5_000 if row["child#"] == 8 else 1} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *users))))
    assert told["cache"].startswith("Child 8 → cache# 10 dc_users, with 1 subordinate (read")
    off = [{**row, "gets": 60_000} if row["child#"] == 1 else row for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *off))))
    assert "but child 1 had 60,000 latch gets where dc_rollback_segments predict 36,000 (+67%)" in told["cache"]


def test_hot_child_step_dismisses_few_sleeps_and_names_none_without_sleeps() -> None:
    few = [{**row, "sleeps": 3} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *few))))["hot child"]
    assert told.startswith("All children of `row cache objects` together slept ") and "%" not in told
    assert told.endswith(" times over 30 s, too few to tell a hot one.")
    none = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *none))))
    assert told["hot child"] == "No child of `row cache objects` slept over 30 s."


def test_hot_child_step_omits_an_unknown_latch_number() -> None:
    bare = [{name: cell for name, cell in row.items() if name != "latch#"} for row in SICK["v$latch_children"]]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_children", *bare))))
    assert told["hot child"].startswith("Child 1 (row cache objects) has 99.0 % of the sleeps")


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"kqrpre: find obj": 99}, "(too few sleeps for a shape, at least 100 are needed)"),
        ({"kqrpre: find obj": 900, "kqreqd": 100}, "(chain: holders search for the entry"),
        ({"kqreqd: reget": 800, "kqrpre: find obj": 100, "kqreqd": 100}, "(normal: the ordinary mix"),
    ],
)
def test_miss_location_step_describes_the_shape_of_the_holders(held: dict[str, int], said: str) -> None:
    rows: list[Row] = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": slept} for place, slept in held.items()
    ]
    told = steps_of(diagnose(delta_of(with_rows("v$latch_misses", *rows))))
    assert said in told["miss location"]
    assert told["miss location"].endswith("so these are shares over the whole latch.")


def test_no_other_child_or_cache_is_hot_where_the_sleeps_of_one_are_not_known() -> None:
    first, *others = SICK["v$latch_children"]
    children = [{name: cell for name, cell in first.items() if name != "sleeps"}, *others]
    dear = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 40_000_000}
    got = diagnose(delta_of({**SICK, "v$latch_children": children, "v$system_event": [dear]}))
    said = steps_of(got)
    assert "at child" not in got.headline and "dc_tablespaces" not in got.headline, got.headline
    assert said["hot child"].startswith("Cannot tell which child is hot: v$latch_children has no sleeps")
    assert "cache" not in said and "confirmation" not in said, "a step that does not know the child names no cache"
    assert {finding.child for finding in got.findings} <= {None}


def test_cache_of_a_map_that_does_not_fit_is_named_as_certain_by_nobody() -> None:
    swapped = [{**row, "child#": {1: 5, 5: 1}.get(int(str(row["child#"])), row["child#"])} for row in SICK["x$kqrst"]]
    dear = {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 40_000_000}
    got = diagnose(delta_of({**SICK, "x$kqrst": swapped, "v$system_event": [dear]}), {})
    said = steps_of(got)
    assert "most at child 1 (its cache is in doubt)" in got.headline
    assert said["cache"].startswith(
        "Cannot tell which cache child 1 guards: x$kqrst says dc_tablespaces, but child 1 had"
    )
    assert "confirmation" not in said


def _link(kind: str, chain: tuple[ChainLink, ...]) -> ChainLink:
    return next(link for link in chain if link.kind == kind)


def test_verb_says_how_many_of_the_sleeps_are_there() -> None:
    verbs = []
    for slept in ((990, 5, 5), (600, 200, 200), (400, 300, 300)):
        rows = [{**row, "sleeps": n} for row, n in zip(SICK["v$latch_children"], slept, strict=True)]
        link = child(SignalContext(delta_of(with_rows("v$latch_children", *rows)))).link
        assert link is not None
        verbs.append(link.verb)
    assert verbs == ["nearly all on", "mostly on", "most often on"]


def test_child_that_was_not_read_is_not_certain_and_none_is_told_where_none_slept() -> None:
    place = child(SignalContext(delta_of(SICK, refused=["v$latch_children"]))).link
    assert place is not None and (place.certain, place.value) == (False, None)
    assert place.unknown is not None and "v$latch_children" in place.unknown
    assert place.way_out
    calm = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    assert child(SignalContext(delta_of(with_rows("v$latch_children", *calm)))).link is None


def test_place_where_every_lookup_passes_has_a_caveat_and_a_holder_of_the_whole_latch_too() -> None:
    assert _link("place", demo("users-mutex").chain).caveat is not None
    caveat = _link("holder", diagnose(delta_of(SICK)).chain).caveat
    assert caveat is not None and "does not separate children" in caveat


def test_cache_that_was_inferred_is_certain_with_a_caveat() -> None:
    link = _link("cache", diagnose(delta_of(SICK, refused=["x$kqrst"])).chain)
    assert (link.name, link.certain) == ("dc_rollback_segments", True)
    assert link.caveat is not None and "inferred" in link.caveat


def test_cache_that_waiters_name_is_a_share_of_them() -> None:
    link = _link("cache", demo("users-mutex").chain)
    assert (link.verb, link.name, link.of, link.numerator, link.denominator) == ("for", "dc_users", "waiters", 117, 126)
    assert link.views == ("v$session",)


def test_cache_without_a_waiter_is_likely_by_its_share_and_says_what_is_missing() -> None:
    link = _link("cache", demo("users-mutex", looks=0).chain)
    assert (link.verb, link.name, link.of, link.certain) == ("most likely for", "dc_users", "gets", False)
    assert link.unknown is not None and link.unknown.startswith("what the waiters name: ")
    assert link.way_out


def test_unknown_cache_of_a_lock_blames_no_child_latch() -> None:
    events: list[Row] = [{"event": ROW_CACHE_LOCK_EVENT, "total_waits": 90, "time_waited_micro": 60_000_000}]
    for crowd in ([], [{"sample": 1, "sid": sid, "event": ROW_CACHE_LOCK_EVENT, "p1": None} for sid in range(20)]):
        views = {**RICH, "v$system_event": events, "v$session": crowd, "v$latch_children": []}
        chain = diagnose(delta_of(views, release="19.0.0.0.0"), {}).chain
        (cache,) = [link for link in chain if link.kind == "cache"]
        assert cache.unknown is not None and cache.unknown.startswith("which cache they wait for: "), cache
