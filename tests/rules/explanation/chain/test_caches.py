"""The cache of a chain: read, inferred, named by waiters, or only likely; and what is missing if it is unknown."""

from rules.chain import ChainLink
from rules.engine import diagnose
from tests.rules.contexts import SICK, delta_of
from tests.rules.test_demo_verdicts import diagnosed


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
