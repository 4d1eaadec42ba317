"""What resembles row cache trouble and is none, or is its victim (KB-45, KB-50, section 5.6)."""

from dataclasses import replace

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import During, Stream
from tests.truth.queueing import light
from tests.truth.registry import stages
from tests.truth.releases import EVERY, LATCHED

GUARDED: tuple[tuple[str, During], ...] = (
    ("dc_users", "soft parse"),
    ("dc_objects", "soft parse"),
    ("dc_segments", "hard parse"),
    ("dc_histogram_defs", "hard parse"),
)
"""Caches with many look-ups, and when most of those happen."""


def _everywhere(it: Instance, cause: str, stake: float, mean: float) -> None:
    """Sleeps on any cache with look-ups, each as long as a holder is off its processor."""
    weights = [it.dice.between(0.4, 1.6) for _ in GUARDED]
    for (name, during), weight in zip(GUARDED, weights, strict=True):
        cache = it.release.cache(name)
        event, surface = it.release.event(), it.release.guard
        each = it.dice.about(mean, 0.25)
        it.streams.append(
            Stream(
                event,
                stake * weight / sum(weights) / each,
                each,
                cause,
                surface,
                cache,
                shape=shapes.normal(it.dice),
                during=during,
                first_sleeps=it.dice.between(0.45, 0.75),
                sleeps_per_wait=1.0 if surface == "latch" else 1.0 + each / 0.01,
            )
        )


@stages("starved-host", "host", role="look-alike")
def no_processor_left(it: Instance, stake: float) -> None:
    """Other programs take the processors: a holder loses its own in the middle of a hold, and everybody waits until it is
    back.
    """
    it.demand = it.cpus * it.dice.between(1.1, 3.0)
    it.host = replace(it.host, stalled=0.03, stall=it.dice.scale(0.04, 0.3))
    it.paging = it.dice.scale(1e6, 1e8) if it.dice.chance(0.5) else 0.0
    it.neighbours, it.rush = it.dice.between(20, 120), it.dice.between(1.5, 6)
    _everywhere(it, "starved-host", stake, it.host.stall)
    neighbours: tuple[tuple[str, During], ...] = (
        ("latch: cache buffers chains", "execution"),
        ("library cache: mutex X", "soft parse"),
        ("latch: shared pool", "hard parse"),
    )
    for event, during in neighbours:
        mean = it.dice.about(it.host.stall, 0.3)
        it.neighbour("starved-host", event, stake * it.dice.between(0.3, 2.0), mean, during)


@stages("throttled-holder", "host", role="look-alike")
def kept_off_by_a_plan(it: Instance, stake: float) -> None:
    """A resource plan keeps sessions off the processors, holders among them; the host itself is not full."""
    it.throttled = stake * it.dice.between(3, 9)
    it.host = replace(it.host, stalled=0.02, stall=it.dice.scale(0.03, 0.12))
    it.neighbours = it.dice.between(8, 50)
    it.neighbour("throttled-holder", "resmgr:cpu quantum", it.throttled, it.dice.scale(0.02, 0.15), "anything")
    _everywhere(it, "throttled-holder", stake, it.host.stall)


@stages("downstream-of-library-cache", "library cache", also=["hard-parse-storm"], role="look-alike")
def library_cache(it: Instance, stake: float) -> None:
    """One hot object of the library cache, or many versions: a few more row cache look-ups, and few waits."""
    look_ups = it.contend(
        "downstream-of-library-cache",
        it.dice.pick(("dc_objects", "dc_users")),
        stake,
        it.dice.scale(2e-5, 1e-4),
        shape=shapes.normal(it.dice),
        during="soft parse",
    )
    it.neighbour(
        "downstream-of-library-cache", "library cache: mutex X", stake * it.dice.between(6, 20), 5e-3, "soft parse"
    )
    it.neighbour("downstream-of-library-cache", "cursor: pin S", stake * it.dice.between(0.5, 4), 2e-3, "soft parse")
    it.neighbour("downstream-of-library-cache", "library cache lock", stake * it.dice.between(0, 3), 0.05, "hard parse")
    it.drive("soft parse", look_ups / it.dice.between(1, 4))


@stages("logon-cursor-mutex", "library cache", role="look-alike")
def logons_at_one_cursor(it: Instance, stake: float) -> None:
    """A storm of logons meets at the cursors that every logon runs: more row cache look-ups, and hardly any waits."""
    it.contend(
        "logon-cursor-mutex", "dc_users", stake, it.dice.scale(2e-5, 1e-4), shape=shapes.normal(it.dice), during="logon"
    )
    it.drive("logon", it.dice.scale(15, 120))
    it.neighbour("logon-cursor-mutex", "cursor: mutex X", stake * it.dice.between(5, 18), 8e-3, "logon")
    it.neighbour("logon-cursor-mutex", "library cache: mutex X", stake * it.dice.between(0.5, 4), 2e-3, "logon")


@stages("failed-logon-delay", "library cache", releases=EVERY, role="look-alike")
def wrong_passwords(it: Instance, stake: float) -> None:
    """From 11.2 on, a wrong password is punished while the session holds the account in the library cache, not in the row
    cache.
    """
    it.neighbour(
        "failed-logon-delay", "library cache lock", stake * it.dice.between(8, 30), it.dice.between(1, 4), "logon"
    )
    it.drive("logon", it.dice.scale(0.5, 10))


@stages("spin-only", "no cost", releases=LATCHED, role="look-alike")
def spinning_absorbs(it: Instance, stake: float) -> None:
    """Very many look-ups on many processors: collisions by the million, sleeps by the dozen."""
    name = it.dice.pick(("dc_users", "dc_objects", "dc_tablespaces"))
    hold = it.dice.scale(5e-7, 1.5e-6)
    load = light(it.dice.between(0.1, 0.4) / hold, hold, max(it.sessions, 4.0), it.host)
    kept, mean = it.dice.scale(1e-5, 3e-4), it.dice.scale(1e-4, 1e-3)
    load = replace(load, sleeps=load.misses * kept, wait=load.misses * kept * mean)
    cache = it.release.cache(name)
    it.hot.append((cache.child, load))
    it.extra[name, None] += load.gets / 3
    it.spinning += load.spinning
    it.streams.append(Stream(it.release.event(), load.sleeps, mean, None, "latch", cache, shape=shapes.volume(it.dice)))
    it.drive("soft parse", load.gets / 3 / it.dice.between(5, 30))
    it.drive("execution", load.gets / 3 / it.dice.between(2, 30))


@stages("benign-internal", "no cost", caches=["outstanding_alerts", "dc_awr_control"], role="look-alike")
def alerts_always_miss(it: Instance, stake: float) -> None:
    """Background work looks for alerts that do not exist: nearly every look-up misses, and it costs nothing."""
    it.extra["outstanding_alerts", None] += it.dice.scale(0.5, 30)
    it.missed["outstanding_alerts", None] = it.dice.between(0.9, 1.0)
    it.conflicts["outstanding_alerts"] = (0.9, it.dice.between(0.3, 2.0))


@stages("busy-but-fine", "no cost", role="look-alike")
def busy(it: Instance, stake: float) -> None:
    """Tens of millions of look-ups an hour, each quick, without notable waits. No cause of the catalogue."""
    rate = it.dice.scale(4000, 25000)
    it.extra["dc_users", None] += rate * (0.1 if it.release.fast else 1.0)
    if it.release.fast:
        it.extra_fast["dc_users", None] += rate * 0.9
    it.extra["dc_histogram_defs", None] += rate * it.dice.between(0.1, 0.8)
    it.drive("soft parse", rate * it.dice.between(0.1, 0.5))
