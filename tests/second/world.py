"""A small Oracle: sessions, row cache enqueues, other locks and instances, moved from event to event, with the truth at any moment.

It is written from Oracle's documented behaviour alone and shares no code with what it tests. A session runs a generator of
steps: get a lock, spend time in a wait or on the processor, let go. Views are drawn from the state (`tests.second.views`).
"""

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

SHARE, EXCLUSIVE = 3, 5
ON_CPU = "on the processor"
CLIENT = "SQL*Net message from client"
OWN = (ON_CPU, CLIENT, "PL/SQL lock timer", "db file sequential read", "db file scattered read", "direct path read")
"""What a session does that waits for no other session and no process."""

Key = tuple[int, int, int]
"""Instance, SID and serial number."""


@dataclass(eq=False)
class Wait:
    """What a session does since a moment: one wait, or a row of waits of `each` seconds, of which each has a number."""

    event: str
    since: float
    each: float = 0.0
    p: tuple[int, int, int] = (0, 0, 0)
    first: int = 0
    awaits: "Session | None" = None
    """The session that really has to do something first."""
    told: str = "NO HOLDER"
    """BLOCKING_SESSION_STATUS while nobody is named."""

    def done(self, now: float) -> int:
        """Waits of the row that have ended."""
        return int((now - self.since) / self.each) if self.each else 0

    def micro(self, now: float) -> int:
        """WAIT_TIME_MICRO: the time in the present wait."""
        spent = now - self.since
        return int(1e6 * (spent - self.done(now) * self.each))


@dataclass(eq=False)
class Resource:
    """What is locked: an entry of the row cache, a transaction's row, or an object of the library cache."""

    kind: str
    number: int
    name: str
    held: dict["Session", int] = field(default_factory=dict)
    queue: list[tuple["Session", int]] = field(default_factory=list)
    since: dict["Session", float] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{0x7F0000000000 + self.number * 0x1000:016X}"

    def event(self, mode: int) -> tuple[str, tuple[int, int, int]]:
        """The wait of a session that asks for it, with P1 to P3."""
        if self.kind == "row cache":
            return "row cache lock", (self.number % 100, max(self.held.values(), default=0), mode)
        if self.kind == "TX":
            return "enq: TX - row lock contention", (0x54580006, self.number, 77)
        return "library cache lock", (self.number, self.number + 1, 0x4F0002 if mode == SHARE else 0x4F0003)

    def free_for(self, mode: int) -> bool:
        return not self.held or (mode == SHARE and set(self.held.values()) == {SHARE})


@dataclass(frozen=True)
class Get:
    resource: Resource
    mode: int


@dataclass(frozen=True)
class Drop:
    resource: Resource


@dataclass(frozen=True)
class Spend:
    seconds: float
    event: str = ON_CPU
    each: float = 0.0
    awaits: "Session | None" = None
    told: str = "NO HOLDER"
    p1: int = 0


Step = Get | Drop | Spend
Steps = Generator[Step]


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
    sql_id: str | None = "7qxm2m6n3u8aa"
    special: str = ""
    """Why nobody may end it although it holds: latchscope's own, a patch of the dictionary, a branch of XA."""
    coordinator: "Session | None" = None
    job: str = ""
    undo: float = 0.0
    undo_falls: float = 0.0
    """Undo blocks a second, once it rolls back."""
    rolls_back_since: float | None = None
    seq: int = 100
    wait: Wait = field(default_factory=lambda: Wait(CLIENT, 0.0))
    visible: bool = True
    """Whether V$SESSION shows it. A recursive session, or one whose process is dead, may hold and be in no row."""
    gone: bool = False
    dead_since: float | None = None
    steps: Steps | None = None
    turn: int = 0
    holds: dict[Resource, int] = field(default_factory=dict)
    asks: tuple[Resource, int] | None = None

    @property
    def key(self) -> Key:
        return self.instance, self.sid, self.serial

    @property
    def saddr(self) -> str:
        return f"{0x6A0000000000 + self.instance * 0x10000000 + self.sid * 0x1000 + self.serial % 0x1000:016X}"

    def undo_at(self, now: float) -> int:
        fallen = 0.0 if self.rolls_back_since is None else (now - self.rolls_back_since) * self.undo_falls
        return max(0, int(self.undo - fallen))


@dataclass(frozen=True)
class Truth:
    """What was true from a moment on: who holds exclusively what others wait for, and why each may be ended or not."""

    at: float
    holders: dict[Key, str]
    """Each session that holds exclusively what another waits for → "" if it may be ended, else why not."""
    killed: frozenset[Key]
    jobs: dict[str, Key]


class World:
    """Sessions and resources at a moment `now`, which `run` moves on."""

    def __init__(self, slice_seconds: float = 0.0, far_slice: float = 0.0) -> None:
        """`slice_seconds`: how long one wait for a row cache lock lasts before it begins again, 0 for as long as it takes;
        `far_slice`: the same for what another instance holds."""
        self.now = 0.0
        self.slice_seconds, self.far_slice = slice_seconds, far_slice
        self.sessions: list[Session] = []
        self.resources: list[Resource] = []
        self.ended = {"row cache lock": (0, 0, 0.0), "library cache lock": (0, 0, 0.0)}
        """Event → waits, time-outs and seconds of the waits that ended with a grant."""
        self.granted: list[tuple[float, Resource]] = []
        self.truths: list[Truth] = []
        self.spells: list[tuple[Key, Resource, float, float]] = []
        """Exclusive holds that are over: who, what, from and to."""
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, moment: float, act: Callable[[], None]) -> None:
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

    def resource(self, kind: str, number: int, name: str) -> Resource:
        made = Resource(kind, number, name)
        self.resources.append(made)
        return made

    def add(self, session: Session, steps: Steps | None = None, begins: float = 0.0) -> Session:
        """A session, whose steps begin at a moment."""
        self.sessions.append(session)
        session.steps = steps
        if steps is not None:
            turn = session.turn
            self.at(begins, lambda: self._next(session, turn))
        return session

    # What sessions do.

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
            elif not self._got(session, step):
                return
        self.busy(session, Spend(0.0, CLIENT))

    def busy(self, session: Session, step: Spend) -> None:
        """A session begins to do something else."""
        if session.wait.event != step.event or step.event not in (ON_CPU, CLIENT):
            session.seq += session.wait.done(self.now) + (step.event != ON_CPU)
            session.wait = Wait(step.event, self.now, step.each, (step.p1, 0, 0), session.seq, step.awaits, step.told)
        if session.status in ("ACTIVE", "INACTIVE"):
            session.status = "INACTIVE" if step.event == CLIENT else "ACTIVE"

    def _got(self, session: Session, step: Get) -> bool:
        resource, mode = step.resource, step.mode
        if resource.free_for(mode) and not resource.queue:
            self._grant(session, resource, mode)
            return True
        event, p = resource.event(mode)
        far = any(holder.instance != session.instance for holder in resource.held)
        each = (self.far_slice if far else self.slice_seconds) if resource.kind == "row cache" else 0.0
        session.seq += session.wait.done(self.now) + 1
        session.wait = Wait(event, self.now, each, p, session.seq, told="UNKNOWN")
        session.status, session.asks = "ACTIVE", (resource, mode)
        resource.queue.append((session, mode))
        return False

    def _grant(self, session: Session, resource: Resource, mode: int) -> None:
        resource.held[session] = session.holds[resource] = mode
        resource.since[session] = self.now

    def take(self, session: Session, resource: Resource) -> None:
        """A session gets a lock that nobody else wants yet, whatever it does."""
        if not session.gone and resource.free_for(EXCLUSIVE):
            self._grant(session, resource, EXCLUSIVE)

    def release(self, session: Session, resource: Resource) -> None:
        """Let go, and grant to the first of the queue, in order."""
        mode, since = session.holds.pop(resource, 0), resource.since.pop(session, self.now)
        resource.held.pop(session, None)
        if mode == EXCLUSIVE:
            self.spells.append((session.key, resource, since, self.now))
        while resource.queue and resource.free_for(resource.queue[0][1]):
            waiter, asked = resource.queue.pop(0)
            self._count_wait(waiter, timed_out=False)
            waiter.asks = None
            self._grant(waiter, resource, asked)
            self.granted.append((self.now, resource))
            turn = waiter.turn
            self.at(self.now, lambda waiter=waiter, turn=turn: self._next(waiter, turn))  # type: ignore[misc]

    def _count_wait(self, waiter: Session, *, timed_out: bool) -> None:
        wait = waiter.wait
        if waiter.instance == 1 and wait.event in self.ended:
            waits, timeouts, seconds = self.ended[wait.event]
            slices = wait.done(self.now)
            self.ended[wait.event] = (
                waits + slices + 1,
                timeouts + slices + timed_out,
                seconds + self.now - wait.since,
            )

    # What happens to sessions.

    def _stop(self, session: Session) -> None:
        session.turn += 1
        session.steps = None
        if session.asks is not None:
            resource, mode = session.asks
            resource.queue.remove((session, mode))
            self._count_wait(session, timed_out=True)
            session.asks = None

    def leave(self, session: Session) -> None:
        """A session ends: what it held is free, and its SID is used no more."""
        self._stop(session)
        session.gone, session.visible = True, False
        for resource in list(session.holds):
            self.release(session, resource)

    def kill(self, session: Session, rate: float = 50.0, *, marked: float = 0.0) -> None:
        """Somebody ends it: it is KILLED and rolls back. `marked`: seconds until a call over the network returns."""
        if session.gone or session.status == "KILLED":
            return
        event = session.wait.event
        self._stop(session)
        session.status = "KILLED"
        self.at(self.now + marked, lambda: self._roll_back(session, rate, event))

    def _roll_back(self, session: Session, rate: float, event: str) -> None:
        session.rolls_back_since, session.undo_falls = self.now, rate
        self.busy(session, Spend(0.0, event if event in (ON_CPU, CLIENT) else "db file sequential read", 0.004))
        self.at(self.now + session.undo / rate, lambda: self.leave(session))

    def die(self, session: Session, noticed: float, cleaned: float) -> None:
        """Its process dies: the row stays as it was until PMON notices, and the locks until it has cleaned up."""
        if session.gone:
            return
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
        if session.asks is not None:
            resource, asked = session.asks
            modes = [(holder, mode) for holder, mode in resource.held.items() if holder is not session]
            if any(mode != EXCLUSIVE for _, mode in modes):
                return [(holder, "holds in share") for holder, _ in modes]
            return [end for holder, _ in modes for end in self.ends(holder, (*met, session))]
        return [(session, self.sacred(session))]

    def sacred(self, session: Session) -> str:
        """Why a session at the end of a chain may not be ended. "" if it may."""
        asked = session.coordinator or session
        if session.status == "KILLED" or asked.status == "KILLED":
            return "killed"
        if session.type == "BACKGROUND":
            return "background"
        if session.special:
            return session.special
        if not session.visible:
            return "in no row of v$session"
        return "" if session.wait.event in OWN else f"awaits: {session.wait.event}"

    def _note(self) -> None:
        """Keep the truth of this moment if it differs from the one before."""
        holders: dict[Key, str] = {}
        jobs: dict[str, Key] = {}
        for resource in self.resources:
            for holder, mode in resource.held.items():
                if mode == EXCLUSIVE and resource.queue:
                    end = self.ends(holder)
                    why = "" if end == [(holder, "")] else "waits itself" if end[0][0] is not holder else end[0][1]
                    holders[(holder.coordinator or holder).key] = why
                    holders.setdefault(holder.key, "a slave")
                    if holder.job:
                        jobs[holder.job] = holder.key
        killed = frozenset(session.key for session in self.sessions if session.status == "KILLED" and not session.gone)
        last = self.truths[-1] if self.truths else None
        if last is None or (last.holders, last.killed, last.jobs) != (holders, killed, jobs):
            self.truths.append(Truth(self.now, holders, killed, jobs))

    def truths_about(self, moment: float, slack: float) -> list[Truth]:
        """What was true at a moment, give or take the slack of clocks."""
        self._note()
        met = [truth for truth in self.truths if truth.at <= moment + slack]
        before = [truth for truth in met if truth.at <= moment - slack]
        return [*before[-1:], *(truth for truth in met if truth.at > moment - slack)]

    def spell(self, key: Key, moment: float) -> float:
        """How long the exclusive hold of a session around a moment lasted in the end."""
        open_now = [
            (session.key, resource, resource.since[session], self.now)
            for session in self.sessions
            for resource, mode in session.holds.items()
            if mode == EXCLUSIVE
        ]
        lengths = [
            to - since for who, _, since, to in (*self.spells, *open_now) if who == key and since <= moment <= to
        ]
        return max(lengths, default=0.0)
