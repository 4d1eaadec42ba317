"""Troubles of space, sequences and clusters (KB-35 to KB-37, KB-40, KB-48)."""

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import Who
from tests.truth.registry import stages
from tests.truth.releases import LATCHED


@stages("extent-allocation", "storage", caches=["dc_tablespaces"])
def tablespaces_looked_up(it: Instance, stake: float) -> None:
    """Small extents and temporary segments: each allocation looks up the tablespace."""
    look_ups = it.contend(
        "extent-allocation",
        "dc_tablespaces",
        stake,
        it.dice.scale(3e-6, 1.2e-5),
        shape=shapes.volume(it.dice),
        who=Who("LOAD", "sqlldr", "DWH", "9bc1r3p05kxyz"),
    )
    it.look_up("dc_segments", look_ups * it.dice.between(0.01, 0.1))
    it.modified["dc_segments", None] += it.dice.scale(0.5, 10)
    it.drive("execution", look_ups * it.dice.between(0.1, 0.6))


@stages(
    "dictionary-managed",
    "storage",
    caches=["dc_tablespace_quotas", "dc_free_extents", "dc_used_extents"],
    releases=LATCHED,
)
def extents_in_the_dictionary(it: Instance, stake: float) -> None:
    """Space is managed in the dictionary: every new or freed extent changes entries of these caches."""
    names = ("dc_free_extents", "dc_used_extents", "dc_tablespace_quotas")
    first = it.dice.pick(names)
    look_ups = it.contend("dictionary-managed", first, stake, it.dice.scale(8e-6, 4e-5), shape=shapes.changes(it.dice))
    for name in names:
        if name != first:
            it.look_up(name, look_ups * it.dice.between(0.1, 0.8))
        it.modified[name, None] += look_ups * it.dice.between(0.01, 0.1)
        it.entries[name, None] = it.dice.scale(200, 20000)


@stages("sequence-nocache", "sequences", caches=["dc_sequences"])
def sequence_without_cache(it: Instance, stake: float) -> None:
    """Every NEXTVAL updates SEQ$ while it holds the sequence's entry."""
    hold = it.dice.scale(8e-4, 4e-3) * (it.dice.between(1.5, 4) if it.cluster else 1.0)
    load = it.queue(
        "sequence-nocache",
        "dc_sequences",
        stake,
        hold,
        during="sequence",
        who=Who("orders", "JDBC Thin Client", "APP", "4m7m0t6fjcs5x"),
    )
    it.drive("sequence", load.grants)
    it.drive("commit", load.grants * it.dice.between(0.1, 1.0))


@stages(
    "sequence-conflicts",
    "sequences",
    caches=["dc_sequences"],
    releases=LATCHED,
    cluster=True,
    also=["cluster-conflicts"],
    general=["sequence-nocache"],
)
def sequence_of_a_cluster(it: Instance, stake: float) -> None:
    """Instances take a sequence with a small cache from each other: cluster requests that conflict."""
    load = it.queue(
        "sequence-conflicts",
        "dc_sequences",
        stake,
        it.dice.scale(3e-3, 1.5e-2),
        during="sequence",
        who=Who("orders", "JDBC Thin Client", "APP", "4m7m0t6fjcs5x"),
    )
    it.drive("sequence", load.grants)
    it.conflicts["dc_sequences"] = (it.dice.between(0.7, 1.2), it.dice.between(0.08, 0.45))
    it.neighbour("sequence-conflicts", "enq: SQ - contention", stake * it.dice.between(0.05, 0.6), 6e-3, "sequence")


@stages(
    "cluster-conflicts",
    "cluster",
    caches=["dc_objects", "dc_segments"],
    releases=LATCHED,
    general=["ddl-invalidation", "segment-churn"],
    cluster=True,
)
def entries_of_a_cluster(it: Instance, stake: float) -> None:
    """Instances invalidate each other's entries. A session that needs one waits for the cluster lock."""
    name = it.dice.pick(("dc_objects", "dc_segments"))
    it.convoy(
        "cluster-conflicts",
        name,
        stake,
        it.dice.scale(2e-3, 4e-2),
        exclusive=it.dice.between(0, 0.3),
        during="hard parse",
    )
    for each in ("dc_objects", "dc_segments"):
        it.conflicts[each] = (it.dice.between(0.2, 0.7), it.dice.between(0.04, 0.3))
    needed = stake / it.streams[-1].mean
    it.look_up(name, needed * it.dice.between(3, 12))
    it.modified[name, None] += it.dice.scale(1, 20)
    it.drive("ddl", it.dice.scale(0.1, 2))
    it.drive("hard parse", it.dice.scale(5, 40))
