"""A small Oracle: sessions, row cache enqueues and other locks, moved from event to event, with the truth at any moment.

It is written from Oracle's documented behaviour alone and shares no code with what it tests. A session has an iterator
of what it does next: get a lock, or spend time in a wait or on the processor. `tests.second.views` shows the state.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

SHARE, EXCLUSIVE = 3, 5
ON_CPU, CLIENT = "on the processor", "SQL*Net message from client"
OWN = (ON_CPU, CLIENT, "PL/SQL lock timer", "db file sequential read", "direct path read")
"""What a session does that waits for no other session and no process."""
Key = tuple[int, int, int]
"""Instance, SID and serial number."""


@dataclass(frozen=True)
class Get:
    """To ask for a lock, and wait for it."""

    resource: "Resource"
    mode: int = EXCLUSIVE


@dataclass(frozen=True)
class Drop:
    """To let go."""

    resource: "Resource"


@dataclass(frozen=True)
class Spend:
    """To work or wait for a time: in one wait, or in a row of waits of `each` seconds, of which each has a number."""

    seconds: float
    event: str = ON_CPU
    each: float = 0.0
    awaits: "Session | None" = None
    told: str = "NO HOLDER"
    """BLOCKING_SESSION_STATUS; VALID names the session that it awaits."""
    p: tuple[int, int, int] = (0, 0, 0)


Step = Get | Drop | Spend
Steps = Iterator[Step]


@dataclass(eq=False)
class Resource:
    """What is locked: an entry of the row cache, a transaction's row, or an object of the library cache."""

    kind: str
    number: int
    name: str = ""
    held: dict["Session", int] = field(default_factory=dict)
    queue: list[tuple["Session", int]] = field(default_factory=list)
    since: dict["Session", float] = field(default_factory=dict)

    def free_for(self, mode: int) -> bool:
        """Whether a session may have it beside those that hold it."""
        return not self.held or (mode == SHARE and set(self.held.values()) == {SHARE})

    def wait(self, mode: int, each: float) -> Spend:
        """The wait of a session that asks for it."""
        event, p = {
            "row cache": ("row cache lock", (self.number % 100, max(self.held.values(), default=0), mode)),
            "TX": ("enq: TX - row lock contention", (0x54580006, self.number, 77)),
            "library": ("library cache lock", (self.number, self.number + 1, 0x4F0000 + (2 if mode == SHARE else 3))),
        }[self.kind]
        return Spend(0.0, event, each, None, "UNKNOWN", p)


@dataclass(eq=False)
class Session:
    """A session of one instance, as V$SESSION has it, and what only the truth knows of it."""

    instance: int
    sid: int
    serial: int
    program: str = "JDBC Thin Client"
    username: str | None = "APP"
    module: str | None = "web"
    type: str = "USER"
    status: str = "ACTIVE"
    special: str = ""
    """Why nobody may end it although it holds: latchscope's own, a patch of the dictionary, a branch of XA."""
    coordinator: "Session | None" = None
    job: str = ""
    undo: float = 0.0
    visible: bool = True
    """Whether V$SESSION shows it. A recursive session, or one whose process is dead, may hold and be in no row."""
    steps: Steps | None = None
    seq: int = 100
    does: Spend = Spend(0.0, CLIENT)
    since: float = 0.0
    gone: bool = False
    dead_since: float | None = None
    rolls_back: tuple[float, float] | None = None
    """Since when, and undo blocks a second."""
    turn: int = 0
    holds: set[Resource] = field(default_factory=set)
    asks: tuple[Resource, int] | None = None

    @property
    def key(self) -> Key:
        return self.instance, self.sid, self.serial

    def done(self, now: float) -> int:
        """Waits of the present row that have ended."""
        return int((now - self.since) / self.does.each) if self.does.each else 0

    def undo_at(self, now: float) -> int:
        since, rate = self.rolls_back or (now, 0.0)
        return max(0, int(self.undo - (now - since) * rate))


@dataclass(frozen=True)
class Truth:
    """What was true from a moment on."""

    at: float
    holders: dict[Key, str]
    """Each session that holds exclusively what another waits for → "" if it may be ended, else why not."""
    killed: frozenset[Key]


class World:
    """Sessions and resources at a moment `now`, which `run` moves on."""

    def __init__(self, near: float = 0.0, far: float = 0.0) -> None:
        """How long one wait for a row cache lock lasts before it begins again, 0 for as long as it takes: for a holder of
        the same instance, and of another."""
        self.now, self.near, self.far = 0.0, near, far
        self.lottery: Random | None = None
        """Draws who of a queue is next. None: the first."""
        self.sessions: list[Session] = []
        self.resources: list[Resource] = []
        self.ended = (0, 0, 0.0)
        """Waits, time-outs and seconds of the row cache lock waits of instance 1 that are over."""
        self.truths: list[Truth] = []
        self.spells: list[tuple[Key, float, float]] = []
        """Exclusive holds that are over: whose, from and to."""
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    def at(self, moment: float, act: Callable[[], object]) -> None:
        """Let something happen at a moment."""
        self._count += 1
        heapq.heappush(self._events, (moment, self._count, act))

    def run(self, until: float) -> None:
        """Let everything happen up to a moment."""
        while self._events and self._events[0][0] <= until:
            self.now, _, act = heapq.heappop(self._events)
            act()
            self._note()
        self.now = until

    def resource(self, kind: str, number: int, name: str = "") -> Resource:
        self.resources.append(Resource(kind, number, name))
        return self.resources[-1]

    def add(self, session: Session, begins: float = 0.0) -> Session:
        """A session, whose steps begin at a moment."""
        self.sessions.append(session)
        self.at(begins, lambda: self._next(session, 0))
        return session

    def _next(self, session: Session, turn: int) -> None:
        if session.turn != turn or session.steps is None:
            return
        while (step := next(session.steps, None)) is not None:
            if isinstance(step, Spend):
                self.busy(session, step)
                self.at(self.now + step.seconds, lambda: self._next(session, turn))
                return
            if isinstance(step, Drop):
                self.release(session, step.resource)
            elif not self.get(session, step.resource, step.mode):
                return

    def busy(self, session: Session, does: Spend) -> None:
        """A session begins to do something else. KILLED and CACHED sessions stay that."""
        session.seq += session.done(self.now) + (does.event != ON_CPU)
        session.does, session.since = does, self.now
        if session.status in ("ACTIVE", "INACTIVE"):
            session.status = "INACTIVE" if does.event == CLIENT else "ACTIVE"

    def get(self, session: Session, resource: Resource, mode: int = EXCLUSIVE) -> bool:
        """Whether a session has a lock at once. Else it stands in the queue."""
        if session.gone:
            return False
        if resource.free_for(mode) and not resource.queue:
            self._grant(session, resource, mode)
            return True
        far = any(holder.instance != session.instance for holder in resource.held)
        self.busy(session, resource.wait(mode, (self.far if far else self.near) * (resource.kind == "row cache")))
        session.asks = resource, mode
        resource.queue.append((session, mode))
        return False

    def _grant(self, session: Session, resource: Resource, mode: int) -> None:
        resource.held[session], resource.since[session] = mode, self.now
        session.holds.add(resource)

    def release(self, session: Session, resource: Resource) -> None:
        """Let go, and grant to the first of the queue, or to any where there is no order."""
        session.holds.discard(resource)
        since = resource.since.pop(session, self.now)
        if resource.held.pop(session, 0) == EXCLUSIVE:
            self.spells.append((session.key, since, self.now))
        while resource.queue:
            waiter, mode = self.lottery.choice(resource.queue) if self.lottery else resource.queue[0]
            if not resource.free_for(mode):
                break
            self._leave_queue(waiter, timed_out=False)
            self._grant(waiter, resource, mode)
            self.at(self.now, lambda waiter=waiter, turn=waiter.turn: self._next(waiter, turn))  # type: ignore[misc]

    def _leave_queue(self, waiter: Session, *, timed_out: bool) -> None:
        if waiter.asks is None:
            return
        waiter.asks[0].queue.remove((waiter, waiter.asks[1]))
        if waiter.instance == 1 and waiter.asks[0].kind == "row cache":
            waits, timeouts, seconds = self.ended
            slices = waiter.done(self.now)
            self.ended = waits + slices + 1, timeouts + slices + timed_out, seconds + self.now - waiter.since
        waiter.asks = None

    # What happens to sessions.

    def _stop(self, session: Session) -> None:
        session.turn += 1
        self._leave_queue(session, timed_out=True)

    def leave(self, session: Session) -> None:
        """A session ends, and what it held is free."""
        self._stop(session)
        session.gone, session.visible = True, False
        for resource in list(session.holds):
            self.release(session, resource)

    def kill(self, session: Session, rate: float, marked: float) -> None:
        """Somebody ends it: it is KILLED and rolls back. `marked`: seconds until a call over the network returns."""
        if session.gone or session.status == "KILLED":
            return
        self._stop(session)
        session.status = "KILLED"
        self.at(self.now + marked, lambda: self._roll_back(session, rate))

    def _roll_back(self, session: Session, rate: float) -> None:
        session.rolls_back = self.now, rate
        self.busy(session, Spend(0.0, "db file sequential read", 0.004))
        self.at(self.now + session.undo / rate, lambda: self.leave(session))

    def die(self, session: Session, noticed: float, cleaned: float) -> None:
        """Its process dies: the row stays as it was until PMON notices, and the locks until it has cleaned up."""
        if not session.gone:
            self._stop(session)
            self.at(self.now + noticed, lambda: self._unseen(session))
            self.at(self.now + noticed + cleaned, lambda: self.leave(session))

    def _unseen(self, session: Session) -> None:
        session.visible, session.dead_since = False, self.now

    # The truth.

    def ends(self, session: Session, met: tuple[Session, ...] = ()) -> list[tuple[Session, str]]:
        """Who is at the end of the chain that begins with a session, and why it may not be ended, "" if it may."""
        if session in met:
            return [(session, "a cycle")]
        if session.asks is None:
            return [(session, self._sacred(session))]
        others = [one for one in session.asks[0].held if one is not session]
        if any(session.asks[0].held[one] != EXCLUSIVE for one in others):
            return [(one, "holds in share") for one in others]
        return [end for one in others for end in self.ends(one, (*met, session))]

    @staticmethod
    def _sacred(session: Session) -> str:
        if "KILLED" in (session.status, (session.coordinator or session).status):
            return "killed"
        if session.type == "BACKGROUND" or session.special or not session.visible:
            return session.special or ("background" if session.visible else "in no row of v$session")
        return "" if session.does.event in OWN else f"awaits: {session.does.event}"

    def _note(self) -> None:
        """Keep the truth of this moment if it differs from the one before."""
        holders: dict[Key, str] = {}
        for resource in self.resources:
            for holder, mode in resource.held.items() if resource.queue else ():
                if mode == EXCLUSIVE:
                    (end, why), *_ = self.ends(holder)
                    holders[(holder.coordinator or holder).key] = why if end is holder else "waits itself"
                    holders.setdefault(holder.key, "a slave")
        killed = frozenset(session.key for session in self.sessions if session.status == "KILLED" and not session.gone)
        if not self.truths or (self.truths[-1].holders, self.truths[-1].killed) != (holders, killed):
            self.truths.append(Truth(self.now, holders, killed))

    def truths_about(self, moment: float, slack: float = 0.0) -> list[Truth]:
        """What was true at a moment, give or take the slack of clocks."""
        self._note()
        met = [truth for truth in self.truths if truth.at <= moment + slack]
        return [
            truth
            for truth, after in zip(met, [*met[1:], None], strict=True)
            if after is None or after.at > moment - slack
        ]

    def spell(self, key: Key, moment: float) -> float:
        """How long the exclusive hold of a session around a moment lasted in the end. 0 if it held nothing then."""
        return max(
            (to - since for who, since, to in self._spells() if who == key and since <= moment <= to), default=0.0
        )

    def _spells(self) -> Iterator[tuple[Key, float, float]]:
        yield from self.spells
        for resource in self.resources:
            yield from (
                (one.key, resource.since[one], self.now) for one in resource.held if resource.held[one] == EXCLUSIVE
            )
