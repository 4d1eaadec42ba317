"""Draws worlds: what the holder does, how that ends, who waits, which release and cluster, and what the views leave out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from tests.second.views import Sight
from tests.second.world import CLIENT, EXCLUSIVE, ON_CPU, SHARE, Drop, Get, Resource, Session, Spend, Steps, World

RELEASES = ("11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0", "18.0.0.0.0", "19.0.0.0.0", "21.0.0.0.0", "23.0.0.0.0")
CACHES = (
    (8, "dc_objects"),
    (10, "dc_users"),
    (13, "dc_sequences"),
    (3, "dc_rollback_segments"),
    (16, "dc_histogram_defs"),
)
AWAITED = """rdbms ipc reply:CKPT/free buffer waits:DBW0/log file switch (checkpoint incomplete):LGWR/log file sync:LGWR/
SGA: allocation forcing component growth:MMAN/reliable message:CKPT/wait for a undo record:SMON/undo segment extension:SMON/
write complete waits:DBW0/buffer busy waits:DBW0/latch: shared pool:DBW0/library cache: mutex X:DBW0/enq: CF - contention:CKPT/
enq: US - contention:SMON/log file switch (archiving needed):LGWR/resmgr:cpu quantum:/SQL*Net message from dblink:/
statement suspended, wait error to be cleared:/buffer latch:/kksfbc child completion:/wait list latch free:/gc current request:/
inactive transaction branch:/DFS lock handle:""".replace("\n", "").split("/")
"""Event of a holder : the background process that it really waits for, if it is one."""
BACKGROUNDS = ("PMON", "SMON", "DBW0", "LGWR", "CKPT", "MMAN", "MMON")
REFUSABLE = ("v$rowcache_parent", "v$transaction", "v$lock", "v$px_session", "v$dead_cleanup", "gv$session")
JOBS = ("dba_scheduler_running_jobs", "cdb_scheduler_running_jobs")
ENDINGS = (*["never"] * 3, *["lets go"] * 2, "dies", "killed", "handed over", "moves", "number used again")
LENGTH = 240.0


@dataclass
class Story:
    """A world, what its views show, and how it was drawn."""

    world: World
    sight: Sight
    name: str
    ending: str


@dataclass
class Cast:
    """A world in the making, and the entry that it is about, which a holder takes at `begins`."""

    rng: Random
    world: World
    cluster: bool
    entry: Resource
    begins: float
    background: dict[str, Session]

    def session(self, steps: Steps | None = None, begins: float = 0.0, **more: Any) -> Session:
        """A new session, with a SID that its instance has once. Another instance may have the same."""
        given = {"instance": 1, "steps": steps} | more
        used, sid = {one.key[:2] for one in self.world.sessions}, self.rng.randrange(20, 400)
        while (given["instance"], sid) in used:
            sid += 1
        serial, seq = self.rng.randrange(2, 60000), self.rng.randrange(1, 60000)
        return self.world.add(Session(sid=sid, serial=serial, seq=seq, **given), begins)

    def hold(self, does: Spend, *first: Get, begins: float | None = None, **more: Any) -> Session:
        """A session that takes the entry exclusively, and then does something."""
        undo = self.rng.choice((0, 3, 400, 20_000))
        steps = iter((Get(self.entry), *first, does))
        return self.session(steps, self.begins if begins is None else begins, **{"undo": undo} | more)

    def own(self) -> Spend:
        """Work that waits for nobody, for as long as the story lasts."""
        works = ((ON_CPU, 0.0), ("db file sequential read", 0.009), ("PL/SQL lock timer", 5.0), *[(CLIENT, 0.0)] * 2)
        return Spend(2 * LENGTH, *self.rng.choice(works))

    def again(self, entry: Resource, mode: int, held: float, think: tuple[float, float]) -> Steps:
        """A session that needs an entry again and again, for about `held` seconds."""
        while True:
            yield from (Get(entry, mode), Spend(self.rng.expovariate(1 / held)), Drop(entry))
            yield Spend(self.rng.uniform(*think), CLIENT)

    def crowd(self, entry: Resource, begins: float, most: int = 20) -> None:
        """Sessions that come for an entry from a moment on. Some leave again, as clients with a time-out do."""
        mode, within = self.rng.choice((SHARE, SHARE, EXCLUSIVE)), self.rng.choice((3.0, 60.0))
        for _ in range(self.rng.randrange(2, most)):
            at, instance = begins + self.rng.uniform(0.0, within), 2 if self.cluster and self.rng.random() < 0.25 else 1
            one = self.session(self.again(entry, mode, 0.03, (5, 40)), at, instance=instance)
            if self.rng.random() < 0.06:
                self.world.at(at + self.rng.uniform(12, 150), partial(self.world.leave, one))


def draw(seed: int, *, only: str = "", sliced: bool = False) -> Story:
    """The world of a seed. `only`: a story by its name; `sliced`: on one of the releases whose waits have slices."""
    rng = Random(seed)
    release, cluster = rng.choice(RELEASES[:2] if sliced else RELEASES), rng.random() < 0.3
    sliced |= release < "12.2" and rng.random() < 0.7
    world = World(rng.uniform(2.9, 3.0) if sliced else 0.0, 60.0 if sliced else 0.0)
    lots = Random(seed + 2)
    world.lottery = lots if lots.random() < 0.25 else None
    cast = Cast(rng, world, cluster, world.resource("row cache", *rng.choice(CACHES)), rng.uniform(5, 40), {})
    for instance in (1, 2) if cluster else (1,):
        for name in (*BACKGROUNDS, *["LCK0"] * cluster):
            more = {"program": f"oracle@db{instance} ({name})", "username": None, "module": None, "type": "BACKGROUND"}
            made = cast.session(instance=instance, does=Spend(0, "rdbms ipc message", 3.0), **more)
            cast.background.setdefault(name, made)
    for _ in range(rng.randrange(3, 9)):
        cast.session(status="INACTIVE")
    story = only or rng.choices(tuple(STORIES), [weight for weight, _ in STORIES.values()])[0]
    ending = STORIES[story][1](cast)
    named = rng.choice(("full",) * 6 + ("null", "null", "stale", "stale", "final"))
    begins = rng.uniform(60, LENGTH)
    sight = Sight(
        release,
        cluster,
        named,
        rng.uniform(2, 10) if named == "stale" else 0.0,
        frozenset(view for view in (*REFUSABLE, *JOBS) if rng.random() < 0.04)
        | frozenset(["gv$ges_blocking_enqueue"] * (Random(seed + 3).random() < 0.04)),
        rng.random() < 0.1,
        rng.choice((0.001, 0.7, 0.7, 0.7, 1.5)),
        rng.choice((0.0, 0.0, 0.0, 0.02, 0.2)),
        rng.choice((0.0, 0.0, 0.0, 45.0, -45.0)),
        (begins, begins + rng.uniform(20, 200)) if rng.random() < 0.06 else (0.0, 0.0),
    )
    return Story(world, sight, story, ending)


def ending(cast: Cast, holder: Session) -> str:
    """How the hold ends: drawn, and set for a moment."""
    rng, world, entry = cast.rng, cast.world, cast.entry
    how, at = rng.choice(ENDINGS), cast.begins + rng.uniform(20, LENGTH - cast.begins - 20)
    if how in ("lets go", "handed over", "moves"):  # and goes on with what it does, so that its own row says nothing
        world.at(at, lambda: world.release(holder, entry))
    if how == "handed over":  # a waiter keeps the entry for minutes once it gets it
        instance = rng.choice((1, 2)) if cast.cluster else 1
        cast.hold(cast.own(), begins=cast.begins + rng.uniform(1, 15), instance=instance)
    elif how == "moves":
        other = world.resource("row cache", entry.number + 100, entry.name)
        world.at(at + rng.uniform(0, 30), lambda: other.held or world.get(holder, other))
        cast.crowd(other, at + 31, 5)
    elif how == "dies":
        world.at(at, lambda: world.die(holder, rng.uniform(0, 60), rng.uniform(1, 90)))
    elif how == "killed":
        victim = rng.choice((holder, holder.coordinator or holder))
        world.at(at, lambda: world.kill(victim, rng.choice((5.0, 50.0, 500.0)), rng.choice((0.0, 30.0, 90.0))))
    elif how == "number used again":
        serial = holder.serial + rng.randrange(1, 9)
        other_one = Session(holder.instance, holder.sid, serial, steps=iter((cast.own(),)))
        world.at(at, lambda: world.leave(holder))
        world.at(at + rng.uniform(0, 2), lambda: world.add(other_one, world.now))
    return how


# The stories. Each returns how it ends.


def plain(made: Callable[[Cast], tuple[Spend, dict[str, Any]]], cast: Cast) -> str:
    """One session holds, others wait, and then something happens."""
    does, more = made(cast)
    holder = cast.hold(does, **more)
    cast.crowd(cast.entry, cast.begins + cast.rng.uniform(0.1, 20))
    return f"{ending(cast, holder)}: {holder.program}, {does.event}, {does.told}"


def slave(cast: Cast) -> tuple[Spend, dict[str, Any]]:
    boss = cast.session(does=Spend(0, "PX Deq: Execute Reply", 2.0))
    return Spend(2 * LENGTH), {"program": "oracle@db1 (P003)", "coordinator": boss}


def background(cast: Cast) -> tuple[Spend, dict[str, Any]]:
    name = cast.rng.choice(("SMON", "MMON", "M002", "Q001", "W004", "LCK0"))
    return cast.own(), {"program": f"oracle@db1 ({name})", "type": "BACKGROUND", "username": None, "module": None}


def awaits_process(cast: Cast) -> tuple[Spend, dict[str, Any]]:
    event, _, process = cast.rng.choice(AWAITED).rpartition(":")
    behind = cast.background.get(process)
    told = cast.rng.choice(("VALID" if behind else "NO HOLDER", "UNKNOWN", "NO HOLDER"))
    each = cast.rng.choice((0.0, 1.0, 3.0))
    return Spend(2 * LENGTH, event, each, behind, told, (behind.sid if behind else 0, 0, 0)), {}


def sacred(cast: Cast) -> tuple[Spend, dict[str, Any]]:
    which = cast.rng.choice(("a patch", "latchscope's own", "a branch of XA"))
    more = {
        "a patch": {"program": "sqlplus@db1 (TNS V1-V3)", "username": "SYS", "module": "datapatch"},
        "latchscope's own": {"program": "latchscope", "username": "LATCHSCOPE", "module": "latchscope"},
        "a branch of XA": {"status": "CACHED"},
    }[which]
    return Spend(2 * LENGTH, CLIENT) if "status" in more else cast.own(), {"special": which, **more}


def killed(cast: Cast) -> str:
    """The holder is KILLED before anybody looks, and rolls back, or has not noticed."""
    rng, holder = cast.rng, cast.hold(cast.own(), undo=cast.rng.choice((3_000, 180_000)))
    cast.crowd(cast.entry, cast.begins + rng.uniform(0.1, 20))
    rate, marked = rng.choice((10.0, 500.0)), rng.choice((0.0, 400.0))
    cast.world.at(cast.begins + 1, lambda: cast.world.kill(holder, rate, marked))
    return f"{rate:g} blocks a second after {marked:g} s"


def behind(kind: str, cast: Cast) -> str:
    """The holder waits for another lock, whose owner may wait for the holder in turn: a cycle."""
    rng, world = cast.rng, cast.world
    lock, cycle = world.resource(kind, 0x50011 + rng.randrange(9)), kind == "library" and rng.random() < 0.5
    more = (Spend(6.0), Get(cast.entry)) if cycle else ()
    place = 2 if cast.cluster and rng.random() < 0.4 else 1
    steps = iter((Get(lock), *more, cast.own()))
    owner = cast.session(steps, cast.begins - 4, undo=rng.choice((2, 900)), instance=place)
    holder = cast.hold(cast.own(), Get(lock), instance=place)
    cast.crowd(cast.entry, cast.begins + rng.uniform(0.1, 20))
    if cycle or rng.random() < 0.5:
        return "a cycle" if cycle else ending(cast, holder)
    world.at(cast.begins + rng.uniform(20, 180), lambda: world.release(owner, lock))
    return "the owner of the other lock lets go"


def sharers(cast: Cast) -> str:
    """Some hold in share, and one that asks for more keeps the others out."""
    for _ in range(cast.rng.randrange(1, 5)):
        cast.session(iter((Get(cast.entry, SHARE), cast.own())), cast.begins)
    cast.hold(cast.own(), begins=cast.begins + 3)
    cast.crowd(cast.entry, cast.begins + 5)
    return "never"


def queue(cast: Cast) -> str:
    """Everybody gets the entry in turn, and keeps it so long that the queue is long. It moves all the time."""
    rng, held, size = cast.rng, cast.rng.choice((0.05, 0.3, 1.0, 2.0)), cast.rng.randrange(5, 36)
    for _ in range(size):
        steps = cast.again(cast.entry, EXCLUSIVE, held, (0.05, 1.0))
        cast.session(steps, rng.uniform(1, 20), instance=2 if cast.cluster and rng.random() < 0.2 else 1)
    return f"{size} sessions, {held:g} s each"


def queue_and_hang(cast: Cast) -> str:
    """A queue that moves on one entry, and a hang on another of the same cache."""
    told = queue(cast)
    cast.entry = cast.world.resource("row cache", cast.entry.number + 200, cast.entry.name)
    return f"{told}; {STORIES[cast.rng.choice(('works', 'works', 'works', 'awaits a process'))][1](cast)}"


STORIES: dict[str, tuple[float, Callable[[Cast], str]]] = {
    "works": (28, partial(plain, lambda cast: (cast.own(), {}))),
    "elsewhere": (8, partial(plain, lambda cast: (cast.own(), {"instance": 2 if cast.cluster else 1}))),
    "job": (5, partial(plain, lambda cast: (cast.own(), {"program": "oracle@db1 (J002)", "job": "APP.REFRESH"}))),
    "slave": (5, partial(plain, slave)),
    "awaits a process": (11, partial(plain, awaits_process)),
    "background": (5, partial(plain, background)),
    "sacred": (4, partial(plain, sacred)),
    "unseen": (3, partial(plain, lambda cast: (cast.own(), {"visible": False}))),
    "killed": (5, killed),
    "behind a row": (8, partial(behind, "TX")),
    "behind the library cache": (4, partial(behind, "library")),
    "sharers": (3, sharers),
    "queue": (7, queue),
    "queue and hang": (4, queue_and_hang),
}
"""Story → how often it is drawn, and what makes it."""
