"""Troubles of parsing and statistics (KB-24, KB-30 to KB-34, KB-47)."""

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import Who
from tests.truth.registry import stages

DEFS, DATA = "dc_histogram_defs", "dc_histogram_data"


def parse_storm(it: Instance, stake: float, cause: str) -> None:
    """Literals: hard parses by the hundred. The library cache suffers first, then every dictionary cache."""
    names = (("dc_objects", None), ("dc_segments", None), (DEFS, None), (DATA, 0), ("dc_users", None))
    weights = [it.dice.between(0.6, 1.4) for _ in names]
    for (name, subordinate), weight in zip(names, weights, strict=True):
        it.contend(
            cause,
            name,
            stake * weight / sum(weights),
            it.dice.scale(8e-6, 4e-5),
            subordinate=subordinate,
            shape=shapes.normal(it.dice) if subordinate is None else shapes.subordinates(it.dice),
            during="hard parse",
        )
    it.drive("hard parse", it.extra["dc_objects", None] / it.dice.between(8, 20))
    it.drive("soft parse", it.work.rates["hard parse"] * it.dice.between(0.1, 0.6))


@stages("hard-parse-storm", "parsing", also=["downstream-of-library-cache"], role="look-alike")
def literals(it: Instance, stake: float) -> None:
    """A parse storm that drags the row cache along."""
    parse_storm(it, stake, "hard-parse-storm")
    for event, low, high, mean in (
        ("library cache: mutex X", 1.0, 6.0, 4e-3),
        ("cursor: pin S wait on X", 0.3, 3.0, 0.03),
        ("latch: shared pool", 0.3, 2.5, 3e-3),
    ):
        it.neighbour(
            "hard-parse-storm", event, stake * it.dice.between(low, high), it.dice.about(mean, 0.5), "hard parse"
        )


@stages("histogram-hard-parse", "parsing", caches=[DEFS, DATA])
def histograms_read(it: Instance, stake: float) -> None:
    """Histograms on every column: each hard parse reads them all, through one child."""
    look_ups = it.contend(
        "histogram-hard-parse",
        DATA,
        stake,
        it.dice.scale(3e-6, 1.2e-5),
        subordinate=0,
        shape=shapes.subordinates(it.dice),
        during="hard parse",
    )
    it.look_up(DEFS, look_ups * it.dice.between(0.15, 0.5))
    it.entries[DATA, 0] = it.dice.scale(3e4, 3e5)
    it.scans[DATA, 0] += look_ups * 0.01
    it.drive("hard parse", look_ups / it.dice.between(150, 600))
    it.neighbour(
        "histogram-hard-parse", "library cache: mutex X", stake * it.dice.between(0.05, 0.4), 2e-3, "hard parse"
    )


@stages(
    "many-partitions",
    "parsing",
    caches=[DEFS, DATA, "dc_objects", "dc_segments"],
    general=["histogram-hard-parse"],
)
def partitions(it: Instance, stake: float) -> None:
    """More partitions and columns than the shared pool keeps: entries are evicted and read again."""
    look_ups = it.contend(
        "many-partitions", DEFS, stake, it.dice.scale(6e-6, 3e-5), shape=shapes.reloads(it.dice), during="hard parse"
    )
    it.look_up("dc_segments", look_ups * it.dice.between(0.1, 0.4))
    it.look_up("dc_objects", look_ups * it.dice.between(0.1, 0.3))
    for name in (DEFS, "dc_segments", "dc_objects"):
        it.missed[name, None] = it.dice.between(0.04, 0.3)
    it.missed[DATA, 0] = it.dice.between(0.04, 0.3)
    it.entries[DEFS, None] = it.dice.scale(7e4, 4e5)
    it.entries["dc_segments", None] = it.dice.scale(2e4, 2e5)
    it.entries["dc_objects", None] = it.dice.scale(3e4, 2e5)
    it.memory["free memory"] = it.dice.scale(3e7, 3e8)
    it.drive("hard parse", look_ups / it.dice.between(300, 1500))


@stages("statistics-gathering", "parsing", caches=[DEFS, DATA])
def statistics(it: Instance, stake: float) -> None:
    """Statistics are gathered by day: histograms are written while other sessions read them."""
    it.convoy(
        "statistics-gathering",
        DEFS,
        stake * 0.7,
        it.dice.scale(0.01, 0.5),
        during="hard parse",
        exclusive=it.dice.between(0.1, 0.7),
    )
    it.contend(
        "statistics-gathering",
        DEFS,
        stake * 0.3,
        it.dice.scale(1e-4, 5e-4),
        shape=shapes.changes(it.dice),
        during="hard parse",
    )
    rate = it.dice.scale(10, 300)
    it.modified[DEFS, None] += rate
    it.modified[DATA, 0] += rate * it.dice.between(0.5, 4)
    it.drive("hard parse", it.dice.scale(3, 30))


@stages("dynamic-sampling", "parsing", caches=[DEFS, DATA], general=["histogram-hard-parse"])
def sampling(it: Instance, stake: float) -> None:
    """The level of dynamic sampling is high, so hard parses run extra statements and read statistics."""
    level = str(it.dice.whole(4, 11))
    if it.containers and it.dice.chance(0.4):
        it.pdb_parameters["optimizer_dynamic_sampling"] = level
    else:
        it.parameters["optimizer_dynamic_sampling"] = level
    look_ups = it.contend(
        "dynamic-sampling",
        DEFS,
        stake,
        it.dice.scale(4e-6, 1.6e-5),
        shape=shapes.normal(it.dice),
        during="hard parse",
    )
    it.look_up(DATA, look_ups * it.dice.between(0.1, 0.4), 0)
    it.drive("hard parse", look_ups / it.dice.between(60, 250))
    it.work.recursive_per_hard *= it.dice.between(3, 8)


@stages("shared-pool-shrink", "parsing", role="cause")
def pool_made_smaller(it: Instance, stake: float) -> None:
    """The SGA takes memory from the shared pool: entries are evicted, and everything loads again at once."""
    names = ("dc_objects", "dc_segments", DEFS, "dc_users")
    weights = [it.dice.between(0.5, 1.5) for _ in names]
    for name, weight in zip(names, weights, strict=True):
        it.contend(
            "shared-pool-shrink",
            name,
            stake * weight / sum(weights),
            it.dice.scale(8e-6, 4e-5),
            shape=shapes.reloads(it.dice),
            during="hard parse",
            who=Who(sql_id=None),
        )
        it.missed[name, None] = it.dice.between(0.05, 0.4)
    before = it.dice.scale(1.5e9, 2e10)
    for _ in range(it.dice.whole(1, 4)):
        after = before * it.dice.between(0.8, 0.97)
        it.resizes.append(("SHRINK", before, after))
        before = after
    it.memory["free memory"] = it.dice.scale(2e7, 2e8)
    it.drive("hard parse", it.extra["dc_objects", None] / it.dice.between(20, 60))
    it.neighbour("shared-pool-shrink", "cursor: pin S wait on X", stake * it.dice.between(0.2, 1.2), 0.04, "hard parse")
    it.neighbour("shared-pool-shrink", "latch: shared pool", stake * it.dice.between(0.2, 1.2), 4e-3, "hard parse")
