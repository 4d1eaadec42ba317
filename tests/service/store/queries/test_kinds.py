"""Each stored sentence has its kind beside it. Sentences of latchscope 0.2 have the kind in their words."""

from service.store.queries.kinds import obstacle_kind, verdict_kind


def test_kind_decides_and_the_sentence_only_where_there_is_none() -> None:
    assert obstacle_kind("restart", "in other words") == "restart"
    assert verdict_kind("verified", "in other words") == "verified"
    obstacles = {
        "the first poll has nothing to compare with": "first_poll",
        "the instance restarted (started 2026-03-01 12:00:00, now 2026-03-01 13:00:00); counters began again": "restart",
        "the later snapshot is not later by the database's clock": "not_comparable",
        None: None,
    }
    assert {why: obstacle_kind(None, why) for why in obstacles} == obstacles
    verdicts = {
        "verified: after the mark `undo tablespace recreated`, sleeps fell": "verified",
        "not verified because after the mark `x` the load went too": "not_verified",
        "not verified yet: too early to tell; looked at again as polls come": "too_early",
        None: None,
    }
    assert {verdict: verdict_kind(None, verdict) for verdict in verdicts} == verdicts
