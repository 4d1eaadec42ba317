"""Troubles around dc_rollback_segments (KB-01 to KB-07 of the reference)."""

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import Who
from tests.truth.registry import stages
from tests.truth.releases import LATCHED

UNDO = "dc_rollback_segments"
PER_ENTRY = 1.1e-9
"""Seconds by which each entry lengthens a search: it walks a share of the list, a few nanoseconds per entry."""


def _crowd(it: Instance, entries: float) -> None:
    it.entries[UNDO, None] = entries
    it.memory["KQR M PO"] = entries * 900


def _walked(it: Instance, cause: str, stake: float, entries: float) -> None:
    """Look-ups that walk a long list: more entries mean a longer hold."""
    _crowd(it, entries)
    hold = it.dice.scale(2e-6, 5e-6) + entries * PER_ENTRY * it.dice.between(0.5, 2.0)
    load = Who(*it.dice.pick((("ETL", "sqlldr", "DWH"), ("JDBC Thin Client", "JDBC Thin Client", "APP"))))
    it.contend(cause, UNDO, stake, hold, shape=shapes.long_search(it.dice), who=load)
    it.undo.concurrency = it.dice.whole(20, 150)


@stages("undo-segments", "undo", caches=[UNDO], releases=LATCHED)
def too_many_segments(it: Instance, stake: float) -> None:
    _walked(it, "undo-segments", stake, it.dice.scale(3500, 25000))


@stages("undo-segment-floor", "undo", caches=[UNDO], releases=LATCHED, also=["undo-segments"])
def floor_of_segments(it: Instance, stake: float) -> None:
    """Somebody set the hidden floor, and that many segments stay online."""
    floor = it.dice.whole(3000, 32000)
    it.parameters["_rollback_segment_count"] = str(floor)
    if it.dice.chance(0.4):
        it.parameters["_smu_debug_mode"] = "4"
    _walked(it, "undo-segment-floor", stake, floor * it.dice.between(1.0, 1.05))


@stages("undo-retention-runaway", "undo", caches=[UNDO], releases=(*LATCHED, "12.2", "19"), also=["undo-segments"])
def retention_of_days(it: Instance, stake: float) -> None:
    """Retention was tuned to days. Nothing expires, so new segments are added instead of reused."""
    _walked(it, "undo-retention-runaway", stake, it.dice.scale(2800, 15000))
    it.undo.tuned = it.dice.between(2, 12) * 86400
    it.undo.longest_query = it.undo.tuned * it.dice.between(0.2, 0.95) if it.dice.chance(0.5) else it.dice.about(1800)
    it.undo.unexpired = it.dice.scale(2e6, 5e7)
    it.undo.expired = it.undo.unexpired * it.dice.between(0.0, 0.1)


@stages("undo-online-storm", "undo", caches=[UNDO])
def segments_brought_online(it: Instance, stake: float) -> None:
    """A ramp of transactions brings hundreds of segments online; each changes its entry and takes the US enqueue."""
    share = it.dice.between(0.35, 0.75)
    it.convoy("undo-online-storm", UNDO, stake * share, it.dice.scale(3e-3, 6e-2), exclusive=it.dice.between(0.3, 1))
    waits = it.streams[-1].waits
    it.contend("undo-online-storm", UNDO, stake * (1 - share), it.dice.scale(2e-5, 1e-4), shape=shapes.changes(it.dice))
    it.neighbour(
        "undo-online-storm", "enq: US - contention", stake * it.dice.between(0.6, 2.5), it.dice.scale(5e-3, 8e-2)
    )
    segments = it.dice.scale(150, 1900)
    _crowd(it, segments)
    it.modified[UNDO, None] += waits * it.dice.between(
        0.1, 1.0
    )  # a session that waits for the entry is about to change it
    it.undo.concurrency = round(segments * it.dice.between(0.4, 0.9))
    it.drive("commit", it.dice.scale(100, 1000))


@stages("transaction-rate", "undo", caches=[UNDO], releases=LATCHED)
def short_transactions(it: Instance, stake: float) -> None:
    """An ordinary number of segments. Every transaction binds one, and there are very many transactions."""
    hold = it.dice.scale(8e-6, 3e-5)
    look_ups = it.contend("transaction-rate", UNDO, stake, hold, shape=shapes.volume(it.dice))
    it.drive("commit", look_ups / it.dice.between(1.5, 4.0))
    it.drive("execution", look_ups * it.dice.between(0.5, 2.0))
    it.undo.concurrency = it.dice.whole(20, 120)


@stages("undo-lock-smon", "undo", caches=[UNDO])
def entry_held_by_recovery(it: Instance, stake: float) -> None:
    """SMON or MMON holds the entry of one segment for seconds while it recovers or takes it offline."""
    smon = it.dice.whole(5, 19)
    it.convoy(
        "undo-lock-smon", UNDO, stake, it.dice.scale(0.8, 3.0), held=0, exclusive=it.dice.between(0, 1), blocker=smon
    )
    it.modified[UNDO, None] += it.dice.scale(0.02, 0.5)
