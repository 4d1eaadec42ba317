"""Troubles of the result cache's latch (section 6 of the reference). Its waits are `latch free`."""

from tests.truth.instance import Instance
from tests.truth.parts import During, Stream, Surface, Who
from tests.truth.queueing import LatchLoad, light, saturated
from tests.truth.registry import stages
from tests.truth.shapes import Shape

SURFACE: Surface = "result-cache"
BEFORE_18 = ("11.2.0.3", "11.2.0.4", "12.1", "12.2")
"""Reads without the latch came with 18c."""


def _latch(it: Instance, cause: str, stake: float, hold: float, who: Who, during: During = "execution") -> LatchLoad:
    load = saturated(stake, it.sessions, hold, it.host)
    it.result_cache = load
    it.spinning += load.spinning
    inserting = it.dice.between(0.3, 0.7)
    places = {"Result Cache: Serialization12": inserting, "Result Cache: Serialization01": 1 - inserting}
    it.streams.append(
        Stream(
            "latch free",
            load.sleeps,
            load.wait / load.sleeps,
            cause,
            SURFACE,
            who=who,
            shape=Shape(places, places, {}),
            during=during,
            first_sleeps=1.0 / (1.0 + it.host.recurrent),
        )
    )
    it.neighbour(cause, "enq: RC - Result Cache: Contention", stake * it.dice.between(0.01, 0.2), 2e-3)
    return load


@stages("result-cache-latch", "result cache", releases=BEFORE_18)
def results_invalidated(it: Instance, stake: float) -> None:
    """Cached functions on tables that change: results are made and discarded under the one latch."""
    load = _latch(it, "result-cache-latch", stake, it.dice.scale(4e-6, 2e-5), Who(sql_id="6zr1k0yq8bq3t"))
    it.drive("execution", load.gets / it.dice.between(3, 12))


@stages("result-cache-force", "result cache", releases=BEFORE_18, also=["result-cache-latch"])
def every_query_cached(it: Instance, stake: float) -> None:
    """RESULT_CACHE_MODE is FORCE, so every query asks and fills the cache."""
    if it.containers and it.dice.chance(0.4):
        it.pdb_parameters["result_cache_mode"] = "FORCE"
    else:
        it.parameters["result_cache_mode"] = "FORCE"
    load = _latch(it, "result-cache-force", stake, it.dice.scale(4e-6, 2e-5), Who(sql_id=None))
    it.drive("execution", load.gets / it.dice.between(2, 4))


@stages("result-cache-adaptive", "result cache", releases=("12.1",), also=["result-cache-latch"])
def adaptive_sampling(it: Instance, stake: float) -> None:
    """Adaptive dynamic statistics of 12.1 put the answers of their own statements into the result cache."""
    it.parameters["optimizer_adaptive_features"] = "TRUE"
    load = _latch(
        it, "result-cache-adaptive", stake, it.dice.scale(5e-5, 5e-4), Who(sql_id="ds_svc0000001"), "hard parse"
    )
    hard = load.gets / it.dice.between(12, 60)  # a few statements of its own, each a few gets
    it.drive("hard parse", hard)
    it.drive("execution", hard * it.dice.between(4, 15))
    it.work.recursive_per_hard *= it.dice.between(2, 5)


@stages("result-cache-spin-only", "result cache", releases=BEFORE_18, role="look-alike")
def collisions_only(it: Instance, stake: float) -> None:
    """Half of the gets find the latch held, and spinning absorbs nearly all of it."""
    hold = it.dice.scale(1e-6, 5e-6)
    load = light(it.dice.between(0.2, 0.5) / hold, hold, max(it.sessions, 4.0), it.host)
    kept = it.dice.scale(1e-5, 4e-4)
    load = LatchLoad(load.gets, load.misses, load.misses * kept, load.misses * kept * 1e-4, load.spinning, hold)
    it.result_cache = load
    it.spinning += load.spinning
    places = {"Result Cache: Serialization12": 0.5, "Result Cache: Serialization01": 0.5}
    it.streams.append(Stream("latch free", load.sleeps, 1e-4, None, SURFACE, shape=Shape(places, places, {})))
    it.drive("execution", load.gets / 2)
