"""The chain from the wait to the cause: its links in order, their numbers, what is not certain, and SQL that is Oracle's."""

import sqlglot

from collectors.demo.scenarios import scenarios
from rules.context import SignalContext
from rules.engine import diagnose
from rules.explain.chain import place_link, summed
from rules.formatting import within
from rules.model import ChainLink
from tests.rules.contexts import SICK, delta_of, with_rows
from tests.rules.test_demo_verdicts import SICK_AT, diagnosed

STILL = [{**row, "modifications": 0} if row.get("modifications") else row for row in SICK["v$rowcache"]]
"""Without segments that go online, which would be another cause."""


def _links(*kinds: str, of: tuple[ChainLink, ...]) -> list[ChainLink]:
    return [link for link in of if link.kind in kinds]


def test_latch_chain_leads_from_the_wait_over_child_cache_and_holder_to_the_cause() -> None:
    chain = diagnose(delta_of(with_rows("v$rowcache", *STILL))).chain
    assert [link.kind for link in chain] == ["wait", "place", "cache", "holder", "cause"]
    wait, place, cache, holder, cause = chain
    assert (wait.name, wait.value, wait.numerator, wait.denominator) == ("latch: row cache objects", 0.02, 2.0, 100.0)
    assert (place.verb, place.name, place.numerator, place.denominator) == ("nearly all on", "child latch 1", 990, 1000)
    assert (cache.verb, cache.name, cache.value) == ("which guards", "dc_rollback_segments", 0.6)
    assert (holder.name, holder.value) == ("kqrpre: find obj", 0.85)
    assert (cause.value, cause.unit) == (14_600, "entries")
    assert cause.bound is not None and (cause.bound.operator, cause.bound.value) == (">=", 2500)
    assert all(link.certain for link in chain)


def test_bars_are_at_most_four_and_mark_what_the_link_speaks_of() -> None:
    for link in diagnose(delta_of(with_rows("v$rowcache", *STILL))).chain:
        assert len(link.bars) <= 4
        if link.bars:
            assert sum(bar.hot for bar in link.bars) >= 1
            assert next(bar.value for bar in link.bars if bar.hot) == link.value


def test_child_without_a_map_makes_a_link_that_is_not_certain_and_names_the_way_out() -> None:
    odd = [{**row, "gets": 77_777} for row in SICK["v$latch_children"]]
    chain = diagnose(delta_of(with_rows("v$latch_children", *odd), refused=["x$kqrst"])).chain
    (cache,) = _links("cache", of=chain)
    assert not cache.certain
    assert cache.unknown is not None and "ORA-00942" in cache.unknown
    assert cache.way_out


def test_chain_is_empty_where_nothing_is_in_trouble() -> None:
    calm = [{"event": "latch: row cache objects", "total_waits": 1, "time_waited_micro": 1_000}]
    told = diagnose(delta_of(with_rows("v$system_event", *calm)))
    assert (told.state, told.chain) == ("Fine", ())
    assert told.funnel is not None and (told.funnel.requests, told.funnel.sleeps) == (40_000, 1_000)


def test_demo_databases_chain_ends_at_their_cause_and_all_sql_parses_as_oracle() -> None:
    for name in scenarios():
        told = diagnosed(name, SICK_AT.get(name, 30.0))
        if told.state in ("Fine", "No data"):
            assert told.chain == (), name
            continue
        assert (told.chain[0].kind, told.chain[-1].kind) == ("wait", "cause"), name
        assert told.chain[-1].name == within(told.findings[0].name), name
        for link in told.chain:
            if link.sql is not None:
                sqlglot.parse_one(link.sql, read="oracle")
            if link.unit == "ratio" and link.numerator is not None and link.denominator:
                assert link.value is not None and abs(link.numerator / link.denominator - link.value) < 1e-9, name
                assert link.of, f"{name}: nothing says what {link.name} is a share of"


def test_hang_is_told_by_sessions_and_by_who_holds() -> None:
    wait, cache, blocker, cause = diagnosed("ddl-hang", SICK_AT.get("ddl-hang", 30.0)).chain
    assert (wait.verb, wait.value, wait.unit) == ("Sessions wait for", 38, "sessions")
    assert cache.name == "dc_objects"
    assert (blocker.name, blocker.unit) == ("session 312 on instance 1", "s")
    assert cause.kind == "cause"


def test_storm_that_is_cured_leaves_nothing_unusual_of_what_its_chain_called_unusual() -> None:
    during, cured = diagnosed("undo-storm", 40.0), diagnosed("undo-storm", 180.0)
    assert (during.state, cured.state) == ("Critical", "Fine")
    (cause,) = (finding for finding in during.findings if finding.cause == "undo-segments")
    beyond = {sign.signal for sign in cause.evidence if sign.usual and sign.value > (sign.usual.high or sign.value)}
    assert {"share_of_holders", "entries_used"} <= beyond
    assert "share_of_lookups" not in beyond, "the load goes on after the cure, and so does its share of gets"
    assert next(link.usual for link in during.chain if link.kind == "cache") is None


def _link(kind: str, chain: tuple[ChainLink, ...]) -> ChainLink:
    return next(link for link in chain if link.kind == kind)


def test_verb_says_how_many_of_the_sleeps_are_there() -> None:
    verbs = []
    for slept in ((990, 5, 5), (600, 200, 200), (400, 300, 300)):
        rows = [{**row, "sleeps": n} for row, n in zip(SICK["v$latch_children"], slept, strict=True)]
        link = place_link(SignalContext(delta_of(with_rows("v$latch_children", *rows))), "latch")
        assert link is not None
        verbs.append(link.verb)
    assert verbs == ["nearly all on", "mostly on", "most often on"]


def test_child_that_was_not_read_is_not_certain_and_none_is_told_where_none_slept() -> None:
    place = place_link(SignalContext(delta_of(SICK, refused=["v$latch_children"])), "latch")
    assert place is not None and (place.certain, place.value) == (False, None)
    assert place.unknown is not None and "v$latch_children" in place.unknown
    assert place.way_out
    calm = [{**row, "sleeps": 0} for row in SICK["v$latch_children"]]
    assert place_link(SignalContext(delta_of(with_rows("v$latch_children", *calm))), "latch") is None


def test_sleeps_are_summed_by_place_the_most_first() -> None:
    assert list(summed([("a", 1.0), ("b", 5.0), ("a", 3.0)]).items()) == [("b", 5.0), ("a", 4.0)]


def test_place_where_every_lookup_passes_has_a_caveat_and_a_holder_of_the_whole_latch_too() -> None:
    assert _link("place", diagnosed("users-mutex").chain).caveat is not None
    caveat = _link("holder", diagnose(delta_of(SICK)).chain).caveat
    assert caveat is not None and "does not separate children" in caveat


def test_funnel_of_the_latch_has_gets_misses_sleeps_and_seconds() -> None:
    funnel = diagnose(delta_of(SICK)).funnel
    assert funnel is not None
    assert (funnel.of, funnel.requests, funnel.misses, funnel.sleeps) == ("row cache objects", 40_000, 4_000, 1_000)
    assert funnel.seconds_waited == 2.0


def test_funnel_is_of_what_the_first_finding_speaks_of_and_unknown_misses_are_null() -> None:
    funnels = {name: diagnosed(name, SICK_AT.get(name, 30.0)).funnel for name in ("users-mutex", "ads-result-cache")}
    mutex, result_cache = funnels["users-mutex"], funnels["ads-result-cache"]
    assert mutex is not None and (mutex.of, mutex.misses) == ("row cache mutex", None)
    assert mutex.sleeps == 40_440
    assert result_cache is not None and (result_cache.of, result_cache.misses) == ("Result Cache: RC Latch", 930_000)


def test_funnel_of_what_was_not_read_is_none() -> None:
    rows = with_rows("v$latch")
    refused = ["v$latch", "v$latch_children", "v$system_event", "v$mutex_sleep"]
    assert diagnose(delta_of(rows, refused=refused)).funnel is None


def _cache(chain: tuple[ChainLink, ...]) -> ChainLink:
    return next(link for link in chain if link.kind == "cache")


def test_cache_that_was_inferred_is_certain_with_a_caveat() -> None:
    link = _cache(diagnose(delta_of(SICK, refused=["x$kqrst"])).chain)
    assert (link.name, link.certain) == ("dc_rollback_segments", True)
    assert link.caveat is not None and "inferred" in link.caveat


def test_cache_that_waiters_name_is_a_share_of_them() -> None:
    link = _cache(diagnosed("users-mutex").chain)
    assert (link.verb, link.name, link.of, link.numerator, link.denominator) == ("for", "dc_users", "waiters", 117, 126)
    assert link.views == ("v$session",)


def test_cache_without_a_waiter_is_likely_by_its_share_and_says_what_is_missing() -> None:
    link = _cache(diagnosed("users-mutex", looks=0).chain)
    assert (link.verb, link.name, link.of, link.certain) == ("most likely for", "dc_users", "gets", False)
    assert link.unknown is not None and link.unknown.startswith("what the waiters name: ")
    assert link.way_out
