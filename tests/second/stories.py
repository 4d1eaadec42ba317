"""Draws worlds: what the holder does, how that ends, who waits, which release and cluster, and what the views leave out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.second.views import Sight
from tests.second.world import (
    CLIENT,
    EXCLUSIVE,
    ON_CPU,
    SHARE,
    Drop,
    Get,
    Resource,
    Session,
    Spend,
    Steps,
    World,
)

RELEASES = ("11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0", "18.0.0.0.0", "19.0.0.0.0", "21.0.0.0.0", "23.0.0.0.0")
CACHES = (
    (8, "dc_objects"),
    (10, "dc_users"),
    (13, "dc_sequences"),
    (3, "dc_rollback_segments"),
    (16, "dc_histogram_defs"),
)
AWAITED = (
    ("rdbms ipc reply", "CKPT"),
    ("free buffer waits", "DBW0"),
    ("log file switch (checkpoint incomplete)", "LGWR"),
    ("log file sync", "LGWR"),
    ("SGA: allocation forcing component growth", "MMAN"),
    ("reliable message", "CKPT"),
    ("wait for a undo record", "SMON"),
    ("undo segment extension", "SMON"),
    ("write complete waits", "DBW0"),
    ("buffer busy waits", "DBW0"),
    ("latch: shared pool", "DBW0"),
    ("library cache: mutex X", "DBW0"),
    ("resmgr:cpu quantum", ""),
    ("SQL*Net message from dblink", ""),
    ("statement suspended, wait error to be cleared", ""),
    ("log file switch (archiving needed)", "LGWR"),
    ("buffer latch", ""),
    ("kksfbc child completion", ""),
    ("wait list latch free", ""),
    ("inactive transaction branch", ""),
    ("enq: CF - contention", "CKPT"),
    ("enq: US - contention", "SMON"),
    ("gc current request", ""),
    ("DFS lock handle", ""),
)
BACKGROUNDS = ("PMON", "SMON", "DBW0", "LGWR", "CKPT", "MMAN", "MMON")
MAY_BE_REFUSED = (
    "v$rowcache_parent",
    "v$transaction",
    "v$lock",
    "v$px_session",
    "v$dead_cleanup",
    "gv$session",
    "dba_scheduler_running_jobs",
    "cdb_scheduler_running_jobs",
)
LENGTH = 240.0


@dataclass
class Story:
    """A world, what its views show, and how it was drawn."""

    world: World
    sight: Sight
    name: str
    ending: str
    until: float
    said: list[str] = field(default_factory=list)


@dataclass
class Cast:
    """A world in the making."""

    rng: Random
    world: World
    cluster: bool
    entry: Resource
    used: set[tuple[int, int]] = field(default_factory=set)
    background: dict[str, Session] = field(default_factory=dict)

    def session(self, instance: int = 1, steps: Steps | None = None, begins: float = 0.0, **more: object) -> Session:
        """A new session with a SID of its own."""
        sid = self.rng.randrange(20, 3000)
        while (instance, sid) in self.used:
            sid += 1
        self.used.add((instance, sid))
        made = Session(instance, sid, self.rng.randrange(2, 60000), seq=self.rng.randrange(1, 60000), **more)  # type: ignore[arg-type]
        return self.world.add(made, steps, begins)


def draw(seed: int, *, only: str = "") -> Story:
    """The world of a seed. `only`: a story by its name."""
    rng = Random(seed)
    release, cluster = rng.choice(RELEASES), rng.random() < 0.3
    sliced = release < "12.2" and rng.random() < 0.7
    world = World(rng.uniform(2.9, 3.0) if sliced else 0.0, 60.0 if sliced else 0.0)
    number, name = rng.choice(CACHES)
    cast = Cast(rng, world, cluster, world.resource("row cache", number, name))
    for instance in (1, 2) if cluster else (1,):
        for each in (*BACKGROUNDS, *(("LCK0",) if cluster else ())):
            made = cast.session(
                instance, program=f"oracle@db{instance} ({each})", username=None, module=None, type="BACKGROUND"
            )
            world.busy(made, Spend(0, "rdbms ipc message", 3.0))
            cast.background[f"{each}{instance}"] = made
    for _ in range(rng.randrange(3, 9)):
        cast.session(status="INACTIVE")
    story = only or rng.choices(tuple(STORIES), [weight for weight, _ in STORIES.values()])[0]
    ending = STORIES[story][1](cast)
    named = rng.choice(("full",) * 6 + ("null", "null", "stale", "stale", "final"))
    refused = frozenset(view for view in MAY_BE_REFUSED if rng.random() < 0.04)
    away = (0.0, 0.0)
    if rng.random() < 0.06:
        begins = rng.uniform(60, LENGTH)
        away = (begins, begins + rng.uniform(20, 200))
    lag, slow = rng.uniform(2, 10) if named == "stale" else 0.0, rng.choice((0.001, 0.7, 0.7, 0.7, 1.5))
    sight = Sight(release, cluster, named, lag, refused, rng.random() < 0.1, slow, away)
    return Story(world, sight, story, ending, LENGTH)


# Who waits.


def waiter(rng: Random, entry: Resource, mode: int, think: tuple[float, float]) -> Steps:
    """A session that needs the entry again and again, for a moment each time."""
    while True:
        yield Get(entry, mode)
        yield Spend(rng.uniform(0.01, 0.06))
        yield Drop(entry)
        yield Spend(rng.uniform(*think), CLIENT)


def crowd(cast: Cast, begins: float) -> None:
    """Sessions that come for the entry from a moment on. Some leave again, as clients with a time-out do."""
    rng, mode = cast.rng, cast.rng.choice((SHARE, SHARE, EXCLUSIVE))
    for _ in range(rng.randrange(2, 20)):
        instance = 2 if cast.cluster and rng.random() < 0.25 else 1
        at = begins + rng.uniform(0.0, rng.choice((3.0, 60.0)))
        one = cast.session(instance, waiter(rng, cast.entry, mode, (5, 40)), at)
        if rng.random() < 0.06:
            cast.world.at(at + rng.uniform(12, 150), lambda one=one: cast.world.leave(one))  # type: ignore[misc]


# What the holder does while it holds.


def own_work(cast: Cast) -> Spend:
    """Work that waits for nobody, for as long as the story lasts."""
    return cast.rng.choice(
        (
            Spend(2 * LENGTH, CLIENT),
            Spend(2 * LENGTH, ON_CPU),
            Spend(2 * LENGTH, "db file sequential read", cast.rng.uniform(0.002, 0.02)),
            Spend(2 * LENGTH, "direct path read", 0.01),
            Spend(2 * LENGTH, "PL/SQL lock timer", cast.rng.choice((0.0, 5.0))),
        )
    )


def holding(cast: Cast, begins: float, then: Spend, *first: Get, instance: int = 1, **more: object) -> Session:
    """A session that takes the entry exclusively, and then does something."""

    def steps() -> Steps:
        yield Get(cast.entry, EXCLUSIVE)
        yield from first
        yield then

    made = cast.session(instance, steps(), begins, **more)
    made.undo = cast.rng.choice((0, 3, 400, 20_000))
    made.sql_id = "9babjv8yq8ru3"
    return made


ENDINGS = (
    "never",
    "never",
    "never",
    "lets go",
    "lets go",
    "dies",
    "killed",
    "handed over",
    "moves",
    "number used again",
)


def ending(cast: Cast, holder: Session, begins: float) -> str:
    """How the hold ends: drawn, and set for a moment."""
    rng, world = cast.rng, cast.world
    how, at = rng.choice(ENDINGS), begins + rng.uniform(20, LENGTH - begins - 20)
    if how == "lets go":  # and goes on with what it does, so that its own row says nothing
        world.at(at, lambda: world.release(holder, cast.entry))
    elif how == "dies":
        world.at(at, lambda: world.die(holder, rng.uniform(0, 60), rng.uniform(1, 90)))
    elif how == "killed":
        world.at(at, lambda: world.kill(holder, rng.choice((5.0, 50.0, 500.0)), marked=rng.choice((0.0, 30.0, 90.0))))
    elif how == "handed over":
        greedy(cast, begins + rng.uniform(1, 15))
        world.at(at, lambda: world.release(holder, cast.entry))
    elif how == "moves":
        other = world.resource("row cache", cast.entry.number + 100, cast.entry.name)
        world.at(at, lambda: world.release(holder, cast.entry))
        world.at(at + rng.uniform(0, 30), lambda: world.take(holder, other))
        for _ in range(rng.randrange(0, 5)):
            cast.session(1, waiter(rng, other, SHARE, (5, 40)), at + rng.uniform(31, 60))
    elif how == "number used again":
        world.at(at, lambda: world.leave(holder))
        world.at(at + rng.uniform(0, 2), lambda: _again(cast, holder))
    return how


def _again(cast: Cast, holder: Session) -> None:
    other = Session(
        holder.instance, holder.sid, holder.serial + cast.rng.randrange(1, 9), holder.program, holder.username
    )
    cast.world.add(other)
    cast.world.busy(other, own_work(cast))


def greedy(cast: Cast, at: float) -> Session:
    """A waiter that keeps the entry for minutes once it gets it, perhaps on the other instance."""
    return holding(cast, at, own_work(cast), instance=2 if cast.cluster and cast.rng.random() < 0.4 else 1)


# The stories. Each returns how it ends.

_FIRST = (5.0, 40.0)


def works(cast: Cast) -> str:
    """A session of this instance holds, and works or is idle."""
    begins = cast.rng.uniform(*_FIRST)
    holder = holding(cast, begins, own_work(cast))
    crowd(cast, begins + cast.rng.uniform(0.1, 20))
    return ending(cast, holder, begins)


def elsewhere(cast: Cast) -> str:
    """A session of the other instance holds."""
    begins = cast.rng.uniform(*_FIRST)
    holder = holding(cast, begins, own_work(cast), instance=2 if cast.cluster else 1)
    crowd(cast, begins + cast.rng.uniform(0.1, 20))
    return ending(cast, holder, begins)


def behind_row(cast: Cast) -> str:
    """The holder waits for a row that another session has locked."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    row = cast.world.resource("TX", 0x50011 + rng.randrange(9), "row")

    def steps() -> Steps:
        yield Get(row, EXCLUSIVE)
        yield own_work(cast)

    end = cast.session(1, steps(), begins - 4, undo=float(rng.choice((2, 900))))
    holder = holding(cast, begins, own_work(cast), Get(row, EXCLUSIVE))
    crowd(cast, begins + rng.uniform(0.1, 20))
    if rng.random() < 0.5:
        return ending(cast, holder, begins)
    cast.world.at(begins + rng.uniform(20, 200), lambda: cast.world.release(end, row))
    return "the row is free"


def behind_library(cast: Cast) -> str:
    """The holder waits for a library cache lock, perhaps of a session that waits for the holder: a cycle."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    handle = cast.world.resource("library", 0x7AB00 + rng.randrange(99), "T")
    cycle = rng.random() < 0.5

    def steps() -> Steps:
        yield Get(handle, EXCLUSIVE)
        if cycle:
            yield Spend(6.0)
            yield Get(cast.entry, EXCLUSIVE)
        yield own_work(cast)

    cast.session(1, steps(), begins - 4)
    holding(cast, begins, own_work(cast), Get(handle, EXCLUSIVE))
    crowd(cast, begins + rng.uniform(0.1, 20))
    return "a cycle" if cycle else "never"


def slave(cast: Cast) -> str:
    """A parallel slave holds, for its coordinator."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    boss = cast.session(1)
    cast.world.busy(boss, Spend(2 * LENGTH, "PX Deq: Execute Reply", 2.0))
    holder = holding(cast, begins, Spend(2 * LENGTH, ON_CPU), program="oracle@db1 (P003)", coordinator=boss)
    crowd(cast, begins + rng.uniform(0.1, 20))
    if rng.random() < 0.3:
        cast.world.at(begins + rng.uniform(20, 200), lambda: cast.world.kill(boss))
        return "its coordinator is killed"
    return ending(cast, holder, begins)


def job(cast: Cast) -> str:
    """A job of the scheduler holds."""
    begins = cast.rng.uniform(*_FIRST)
    holder = holding(cast, begins, own_work(cast), program="oracle@db1 (J002)", job="APP.NIGHTLY_REFRESH")
    crowd(cast, begins + cast.rng.uniform(0.1, 20))
    return ending(cast, holder, begins)


def awaits_process(cast: Cast) -> str:
    """The holder waits for what no session of a user can give: a process, space, another database."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    event, process = rng.choice(AWAITED)
    awaited = cast.background.get(f"{process}1")
    told = rng.choice(("VALID" if awaited else "NO HOLDER", "UNKNOWN", "NO HOLDER"))
    each = rng.choice((0.0, 1.0, 3.0))
    holder = holding(cast, begins, Spend(2 * LENGTH, event, each, awaited, told, awaited.sid if awaited else 0))
    crowd(cast, begins + rng.uniform(0.1, 20))
    return f"{ending(cast, holder, begins)}: {event}, {told}"


def killed(cast: Cast) -> str:
    """The holder is KILLED before anybody looks, and rolls back, or has not noticed."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    holder = holding(cast, begins, own_work(cast))
    holder.undo = rng.choice((3_000, 180_000))
    crowd(cast, begins + rng.uniform(0.1, 20))
    cast.world.at(
        begins + 1, lambda: cast.world.kill(holder, rng.choice((10.0, 500.0)), marked=rng.choice((0.0, 400.0)))
    )
    return "rolls back"


def background(cast: Cast) -> str:
    """A process of Oracle's own holds."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    name = rng.choice(("SMON", "MMON", "M002", "Q001", "W004", "LCK0"))
    process = f"oracle@db1 ({name})"
    holder = holding(cast, begins, own_work(cast), program=process, type="BACKGROUND", username=None, module=None)
    crowd(cast, begins + rng.uniform(0.1, 20))
    return f"{ending(cast, holder, begins)}: {name}"


def sacred(cast: Cast) -> str:
    """A session holds that only its owner may end: latchscope's own, a patch, a branch of XA."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)
    more, why = rng.choice(
        (
            ({"program": "sqlplus@db1 (TNS V1-V3)", "username": "SYS", "module": "datapatch"}, "a patch"),
            ({"program": "latchscope", "username": "LATCHSCOPE", "module": "latchscope"}, "latchscope's own"),
            ({"status": "CACHED"}, "a branch of XA"),
        )
    )
    cast.session(1)
    working = Spend(2 * LENGTH, CLIENT) if "status" in more else own_work(cast)
    holder = holding(cast, begins, working, special=why, **more)
    crowd(cast, begins + rng.uniform(0.1, 20))
    return f"{ending(cast, holder, begins)}: {why}"


def unseen(cast: Cast) -> str:
    """The holder is in no row of V$SESSION: a recursive session, or one whose process is dead."""
    begins = cast.rng.uniform(*_FIRST)
    holder = holding(cast, begins, own_work(cast))
    holder.visible = False
    if cast.rng.random() < 0.5:
        holder.dead_since = begins
    crowd(cast, begins + cast.rng.uniform(0.1, 20))
    return "never"


def sharers(cast: Cast) -> str:
    """Many hold in share, and one that asks for more keeps the others out."""
    rng, begins = cast.rng, cast.rng.uniform(*_FIRST)

    def steps() -> Steps:
        yield Get(cast.entry, SHARE)
        yield own_work(cast)

    for _ in range(rng.randrange(1, 5)):
        cast.session(1, steps(), begins)
    holding(cast, begins + 3, own_work(cast))
    crowd(cast, begins + 5)
    return "never"


def queue(cast: Cast) -> str:
    """Everybody gets the entry in turn, and keeps it so long that the queue is long. It moves all the time."""
    rng, kept = cast.rng, cast.rng.choice((0.05, 0.3, 1.0, 2.5))

    def steps() -> Steps:
        while True:
            yield Get(cast.entry, EXCLUSIVE)
            yield Spend(rng.expovariate(1 / kept), ON_CPU)
            yield Drop(cast.entry)
            yield Spend(rng.uniform(0.05, 1.0), CLIENT)

    size = rng.randrange(5, 36)
    for _ in range(size):
        cast.session(2 if cast.cluster and rng.random() < 0.2 else 1, steps(), rng.uniform(1, 20))
    return f"{size} sessions, {kept:g} s each"


def queue_and_hang(cast: Cast) -> str:
    """A queue that moves on one entry, and a hang on another of the same cache."""
    rng = cast.rng
    told = queue(cast)
    cast.entry = cast.world.resource("row cache", cast.entry.number + 200, cast.entry.name)
    return f"{works(cast)}; {told}" if rng.random() < 0.8 else f"{awaits_process(cast)}; {told}"


STORIES: dict[str, tuple[float, Callable[[Cast], str]]] = {
    "works": (28, works),
    "elsewhere": (8, elsewhere),
    "behind a row": (8, behind_row),
    "behind the library cache": (4, behind_library),
    "slave": (5, slave),
    "job": (5, job),
    "awaits a process": (11, awaits_process),
    "killed": (5, killed),
    "background": (5, background),
    "sacred": (4, sacred),
    "unseen": (3, unseen),
    "sharers": (3, sharers),
    "queue": (7, queue),
    "queue and hang": (4, queue_and_hang),
}
"""Story → how often it is drawn, and what makes it."""
