"""An instance under construction: its work, and the queues of its trouble. Rates are per second."""

from collections import defaultdict
from dataclasses import dataclass, field

from tests.truth.dice import Dice
from tests.truth.parts import During, Hang, Stream, Undo, Who
from tests.truth.queueing import Host, LatchLoad, LockLoad, queued, saturated
from tests.truth.releases import Cache, Key, Release
from tests.truth.shapes import Shape
from tests.truth.workload import DRIVERS, OPTIMISTIC, SIZES, Workload, drawn, named, tastes

LOCK_EVENT = "row cache lock"
FULL = 0.88
"""A machine is large enough that its work keeps it no busier than this."""
MUTEX_TURNS = 2e-6
"""Seconds a request for a mutex spins before it sleeps (255 turns)."""


@dataclass(slots=True)
class Instance:
    """One instance. Troubles add work, look-ups, waits and settings. Counting starts after all of them."""

    dice: Dice
    release: Release
    full: str | None
    cpus: int
    seconds: float
    uptime: float
    cluster: bool
    containers: int
    linux: bool
    host: Host
    work: Workload
    undo: Undo
    taste: dict[tuple[str, Key], float]
    extra: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    extra_fast: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    modified: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    scans: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    missed: dict[Key, float] = field(default_factory=dict)
    entries: dict[Key, float] = field(default_factory=dict)
    conflicts: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Cluster requests per look-up and conflicts per request, by cache."""
    hot: list[tuple[int, LatchLoad]] = field(default_factory=list)
    result_cache: LatchLoad | None = None
    streams: list[Stream] = field(default_factory=list)
    hangs: list[Hang] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    pdb_parameters: dict[str, str] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    resizes: list[tuple[str, float, float]] = field(default_factory=list)
    """Kind, bytes before and bytes after of resizes of the shared pool within the last ten minutes."""
    spinning: float = 0.0
    demand: float = 0.0
    """Processors that other programs of the host use."""
    paging: float = 0.0
    throttled: float = 0.0
    neighbours: float = 1.0
    """Factor on the usual wait for every other latch."""
    looks: int | None = None
    """Looks of the burst at waiting sessions; None: any number."""
    rush: float = 1.0
    """Factor on the usual sleeps of other latches."""

    @property
    def sessions(self) -> float:
        """Sessions active on average, apart from the waits of a trouble."""
        return self.work.cpu + self.work.io + self.work.other

    def drive(self, driver: str, per_second: float) -> None:
        """More work of a kind, with the processor time and the look-ups it takes."""
        self.work.rates[driver] = self.work.rates.get(driver, 0.0) + per_second
        cost = {"hard parse": self.work.hard_parse_cpu, "logon": self.work.logon_cpu}.get(driver, DRIVERS[driver].cpu)
        self.work.cpu += per_second * cost

    def look_up(self, name: str, per_second: float, subordinate: int | None = None) -> None:
        """More look-ups in one cache, without the mutex where the release and the cache allow it."""
        key = named(self.release, (name, subordinate))
        if self.release.fast and name in OPTIMISTIC and subordinate is None:
            self.extra_fast[key] += per_second * 0.9
            per_second *= 0.1
        self.extra[key] += per_second

    def contend(
        self,
        cause: str | None,
        name: str,
        stake: float,
        hold: float,
        *,
        subordinate: int | None = None,
        shape: Shape,
        during: During = "execution",
        who: Who | None = None,
    ) -> float:
        """Sessions lose `stake` seconds a second at the guard of a cache.

        Returns the look-ups per second that cause it. `hold` is the seconds that the guard is occupied per get: the walk,
        the hand-over, and a holder off its processor.
        """
        key = named(self.release, (name, subordinate))
        cache = self.release.cache(*key)
        who = who or Who()
        if self.release.guard == "mutex":
            return self._contend_for_mutex(cause, cache, stake, hold, shape, during, who)
        load = saturated(stake, self.sessions, hold, self.host)
        self.hot.append((cache.child, load))
        self.spinning += load.spinning
        self.streams.append(
            Stream(
                self.release.event(),
                load.sleeps,
                load.wait / load.sleeps,
                cause,
                "latch",
                cache,
                who,
                shape,
                during=during,
                foreground=self.dice.between(0.96, 1.0),
                first_sleeps=1.0 / (1.0 + self.host.recurrent),
            )
        )
        look_ups = load.gets / (3.0 if subordinate is None else 1.0)
        self.extra[key] += look_ups
        return look_ups

    def _contend_for_mutex(
        self, cause: str | None, cache: Cache, stake: float, hold: float, shape: Shape, during: During, who: Who
    ) -> float:
        """A hot entry. Most collisions end while spinning. Waits are not posted in order, so an unlucky one is long."""
        dice = self.dice
        load = queued(stake, self.sessions, hold + MUTEX_TURNS)
        gets = load.grants
        mean = max(dice.scale(4e-4, 1.2e-2), load.mean)
        self.streams.append(
            Stream(
                "row cache mutex",
                stake / mean,
                mean,
                cause,
                "mutex",
                cache,
                who,
                shape,
                during=during,
                foreground=dice.between(0.96, 1.0),
                sleeps_per_wait=1.0 + mean / dice.scale(1e-3, 1e-2),
            )
        )
        self.spinning += 0.1 * stake
        self.extra[cache.key] += gets
        if self.release.fast and cache.name in OPTIMISTIC and cache.subordinate is None:
            self.extra_fast[cache.key] += gets * dice.scale(0.2, 8.0)
        return gets

    def queue(
        self,
        cause: str,
        name: str,
        stake: float,
        hold: float,
        *,
        exclusive: float = 1.0,
        during: During = "execution",
        who: Who | None = None,
    ) -> LockLoad:
        """Sessions take the lock on one entry in turn, each for `hold` seconds. Returns how often, and how they wait."""
        load = queued(stake, self.sessions, hold)
        self.convoy(cause, name, stake, load.mean, exclusive=exclusive, during=during, who=who)
        return load

    def convoy(
        self,
        cause: str | None,
        name: str,
        stake: float,
        mean: float,
        *,
        held: int = 0,
        exclusive: float = 0.3,
        during: During = "execution",
        who: Who | None = None,
        blocker: int | None = None,
    ) -> None:
        """Sessions wait `mean` seconds each for a session that holds the lock on an entry."""
        self.streams.append(
            Stream(
                LOCK_EVENT,
                stake / mean,
                mean,
                cause,
                "lock",
                self.release.cache(*named(self.release, (name, None))),
                who or Who(),
                held=held,
                exclusive=exclusive,
                during=during,
                foreground=self.dice.between(0.95, 1.0),
                blocker=blocker or self.dice.whole(20, 3000),
                timeouts=max(0.0, mean / 3.0 - 0.3) * exclusive,
            )
        )

    def neighbour(
        self, cause: str | None, event: str, stake: float, mean: float, during: During = "execution", fg: float = 1.0
    ) -> None:
        """Waits outside the row cache, which cost `stake` seconds a second."""
        self.streams.append(Stream(event, stake / mean, mean, cause, during=during, foreground=fg))

    def grow(self) -> None:
        """A machine with room for its work, unless it is meant to starve."""
        if not self.demand:
            while self.work.cpu + self.spinning + self.work.background_cpu > FULL * self.cpus and self.cpus < 512:
                self.cpus = next((size for size in SIZES if size > self.cpus), self.cpus * 2)


def ordinary(dice: Dice, release: Release, cpus: int, level: str, *, cluster: bool, seconds: float) -> Instance:
    """An instance that only does its work."""
    work = drawn(dice, cpus, level)
    host = Host(
        spin=20000 * 5 / dice.between(1.4e9, 3.6e9),
        wake=dice.scale(5e-5, 3e-3),
        recurrent=dice.scale(0.02, 0.25),
        stalled=dice.scale(5e-4, 5e-3),
        stall=dice.scale(4e-4, 8e-3),
    )
    full = release.full.format(dice.whole(*release.updates)) if release.full else None
    containers = dice.whole(1, 8) if release.multitenant and (dice.chance(0.5) or release.name in ("21", "23")) else 0
    longest = dice.about(600, 1.0)
    undo = Undo(
        retention=dice.pick((900, 900, 1800, 10800)),
        longest_query=longest,
        concurrency=max(1, round(work.rates["commit"] * dice.scale(0.005, 0.1)) + dice.whole(1, 6)),
        expired=dice.scale(5e3, 2e6),
        unexpired=dice.scale(2e3, 2e5),
    )
    undo.tuned = max(undo.retention, longest + 300) * dice.between(1.0, 2.5)
    return Instance(
        dice=dice,
        release=release,
        full=full,
        cpus=cpus,
        seconds=seconds,
        uptime=dice.scale(7200, 2e7),
        cluster=cluster,
        containers=containers,
        linux=dice.chance(0.75),
        host=host,
        work=work,
        undo=undo,
        taste=tastes(dice),
    )
