"""Generated hangs of which the truth is known: who holds what in which mode, who waits for whom, and what views show of it.

Nothing here uses the code under test, except for the type that holds the rows. A view leaves out facts at random, and one
source may name a stranger, show a holder that has released the entry, or show a session whose number was used again.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random

from collectors.model import Row
from rules.hangs.graph import ChainLooks

OWN = 1
CACHE, CACHE_ID = "dc_objects", 8
PROGRAMS = {
    "foreground": "JDBC Thin Client",
    "background": "oracle@db1 (SMON)",
    "slave": "oracle@db1 (P003)",
    "job": "oracle@db1 (J004)",
    "server": "oracle@db1 (S000)",
}
HANGING = 45_000_000
SEEN = datetime(2026, 2, 20, 3, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Person:
    """A session as it is in truth."""

    instance: int
    sid: int
    serial: int
    kind: str
    waits: str | None = None
    """Its event; None while it runs."""
    ids: tuple[int, int] = (0, 0)
    """Identifiers of the enqueue that it waits for."""
    status: str = "ACTIVE"
    of: str = ""
    """What it works for: another database, an upgrade, latchscope. Empty for an application."""


@dataclass
class World:
    """A hang, its truth, and what the views show of it."""

    path: list[Person]
    """From the session that holds the entry to the end."""
    mode: str
    """In which the entry is held: exclusive or share."""
    links: list[str]
    """Mode in which each further member of the path holds what the one before it waits for."""
    cycle: bool
    beyond: bool
    """Whether the last member waits for a session that no view can show."""
    coordinator: Person
    platform: str | None
    waiters: int
    age: float = 0.0
    """Seconds since the holder was last proven to hold."""
    known: bool = True
    """Whether the views show every fact."""
    looks: ChainLooks = field(init=False)

    @property
    def end(self) -> Person:
        return self.path[-1]

    @property
    def holds(self) -> str:
        """The mode in which the end holds what the session before it waits for."""
        return self.links[-1] if self.links else self.mode

    @property
    def right(self) -> str | None:
        """The only command that is right, None if there is none."""
        if self.cycle or self.beyond or self.holds != "exclusive" or self.age > OLDEST:
            return None
        if self.end.waits in AWAITED or {self.end.status, self.end.of} - {"ACTIVE", "INACTIVE", "SNIPED", ""}:
            return None
        target = {"foreground": self.end, "slave": self.coordinator}.get(self.end.kind)
        if self.end.kind == "job":
            return "begin dbms_scheduler.stop_job(job_name => 'APP.NIGHTLY'); end;"
        if target is None or (target is self.coordinator and target.kind != "foreground"):
            return None
        if self.platform == "rds":
            if self.end.instance != OWN:
                return None
            return (
                f"begin rdsadmin.rdsadmin_util.kill(sid => {target.sid}, serial => {target.serial}, "
                "method => 'IMMEDIATE'); end;"
            )
        return f"alter system kill session '{target.sid},{target.serial},@{target.instance}' immediate"


def world(seed: int) -> World:
    """A hang, drawn at random."""
    random = Random(seed)
    sids = random.sample(range(2, 5_000), 60)
    clustered = random.random() < 0.5
    depth = random.choice([1, 1, 1, 2, 2, 3, 4])
    instances = [OWN if not clustered or random.random() < 0.7 else random.choice([1, 2, 3]) for _ in range(depth)]
    kinds = [
        random.choice(["foreground", "foreground", "foreground", "background", "slave", "job", "server"])
        for _ in range(depth)
    ]
    path, links = list[Person](), list[str]()
    for place in range(depth):
        person = Person(instances[place], sids.pop(), random.randrange(1, 60_000), kinds[place])
        if place < depth - 1:
            person = replace(person, waits=random.choice(["TM", "TX", "library"]), ids=(random.randrange(1, 10**6), 0))
        path.append(person)
    for before in path[:-1]:
        exclusive = random.random() < 0.7
        links.append(
            "exclusive"
            if exclusive and before.waits != "library"
            else "share"
            if before.waits != "library"
            else "unknown"
        )
    cycle, beyond = depth > 1 and random.random() < 0.1, random.random() < 0.12
    if cycle or beyond:
        path[-1] = replace(path[-1], waits="TM", ids=(77, 0))
    elif random.random() < 0.7:
        path[-1] = replace(path[-1], waits=random.choice(["idle", "io"]))
    if not (cycle or beyond) and random.random() < 0.25:
        path[-1] = replace(path[-1], waits=random.choice(AWAITED))
    elif random.random() < 0.3:
        path[-1] = replace(path[-1], status=random.choice(["INACTIVE", "SNIPED", "KILLED", "CACHED"]))
    elif path[-1].kind == "foreground" and random.random() < 0.2:
        path[-1] = replace(path[-1], of=random.choice(list(WORKING_FOR)))
    made = World(
        age=random.choice([0.0, 12.0, 59.0, 61.0, 600.0]) if random.random() < 0.3 else 0.0,
        path=path,
        mode="exclusive" if random.random() < 0.75 else "share",
        links=links,
        cycle=cycle,
        beyond=beyond,
        coordinator=Person(
            OWN, sids.pop(), random.randrange(1, 60_000), random.choice(["foreground", "foreground", "job"])
        ),
        platform=random.choice([None, None, None, "rds", "autonomous"]),
        waiters=random.choice([1, 2, 40]),
    )
    made.looks = _looks(made, random, sids, clustered)
    return made


EVENTS = {
    "TM": ("enq: TM - contention", 0x544D0006),
    "TX": ("enq: TX - row lock contention", 0x54580006),
    "library": ("library cache lock", 0),
    "idle": ("SQL*Net message from client", 0),
    "io": ("db file sequential read", 0),
    "process": ("rdbms ipc reply", 0),
    "memory": ("SGA: allocation forcing component growth", 0),
    "outside": ("SQL*Net message from dblink", 0),
    "unknown": ("an event of tomorrow", 0),
}
AWAITED = ("process", "memory", "outside", "unknown")
"""Waits that a process, another database, or nobody knows who, has to end."""
WORKING_FOR = {
    "database": {"program": "oracle@other (TNS V1-V3)"},
    "upgrade": {"username": "SYS", "module": "datapatch"},
    "latchscope": {"module": "latchscope", "program": "python3@watch"},
}
OLDEST = 60.0


def _looks(made: World, random: Random, sids: list[int], clustered: bool) -> ChainLooks:
    """What the views show. `made.known` falls where a fact is left out."""
    complete = random.random() < 0.35

    def shown(likely: float = 0.75) -> bool:
        """Whether a view is read, or a fact is in it."""
        there = complete or random.random() < likely
        made.known &= there
        return there

    lie = "" if complete or random.random() > 0.3 else random.choice(["blocker", "final", "stale", "serial"])
    made.known &= not lie
    stranger = {"session": sids.pop(), "instance": random.choice([1, 2]) if clustered else 1}
    ahead = dict(zip(range(len(made.path) - 1), range(1, len(made.path)), strict=True))
    if made.cycle:
        ahead[len(made.path) - 1] = 0

    def person_row(place: int) -> Row:
        person = made.path[place]
        event, p1 = EVENTS.get(person.waits or "", (None, 0))
        after = made.path[ahead[place]] if place in ahead else None
        row: Row = {
            "instance": person.instance,
            "sid": person.sid,
            "serial#": person.serial if shown(0.9) else None,
            "type": ("BACKGROUND" if person.kind == "background" else "USER") if shown(0.9) else None,
            "program": PROGRAMS[person.kind] if shown(0.9) else None,
            "state": "WAITING" if person.waits else "WAITED KNOWN TIME",
            "event": event,
            "p1": p1,
            "p2": person.ids[0],
            "p3": person.ids[1],
            "wait_time_micro": 5_000_000,
            "status": person.status,
        }
        if person.of:
            row |= WORKING_FOR[person.of]
        if shown(0.8):
            final = None if made.cycle or made.beyond or after is None else made.end
            row["blocking_instance"], row["blocking_session"] = (after.instance, after.sid) if after else (None, None)
            row["final_blocking_instance"], row["final_blocking_session"] = (
                (final.instance, final.sid) if final else (None, None)
            )
        return row

    first, end = made.path[0], made.end
    names = shown(0.6) or lie == "stale"
    blocking = (first.instance, first.sid) if names else (None, None)
    final = (end.instance, end.sid) if names and not made.cycle else (None, None)
    if lie == "blocker":
        blocking = final = (stranger["instance"], stranger["session"])
    elif lie == "final":
        final = (stranger["instance"], stranger["session"])
    waiting: list[Row] = [
        {
            "sid": sids.pop(),
            "serial#": 7,
            "event": "row cache lock",
            "p1": CACHE_ID,
            "p3": 3,
            "type": "USER",
            "wait_time_micro": HANGING,
            "blocking_instance": blocking[0],
            "blocking_session": blocking[1],
            "final_blocking_instance": final[0],
            "final_blocking_session": final[1],
        }
        for _ in range(made.waiters)
    ]
    holders: list[Row] = []
    if first.instance != OWN:
        made.known = False
    elif shown():
        row = person_row(0) if shown() else {"instance": OWN, "sid": first.sid}
        mode = 5 if made.mode == "exclusive" else 3
        entry: Row = {"cache#": CACHE_ID, "cache_name": CACHE, "key": "AA", "lock_mode": mode, "waiters": made.waiters}
        if lie == "stale":  # the look is older than the poll: that session has released the entry
            row = {
                "instance": OWN,
                "sid": stranger["session"],
                "serial#": 99,
                "type": "USER",
                "program": "JDBC Thin Client",
                "state": "WAITED KNOWN TIME",
                "blocking_instance": None,
                "blocking_session": None,
            }
            entry["lock_mode"] = 5
        holders.append({**row, **entry})
        if made.mode == "share" and random.random() < 0.6:
            holders.append(
                {
                    **entry,
                    "instance": OWN,
                    "sid": sids.pop(),
                    "serial#": 3,
                    "type": "USER",
                    "program": "x",
                    "state": "WAITING",
                }
            )
    sessions: list[Row] = []
    for place, person in enumerate(made.path):
        if person.instance == OWN and shown():
            sessions.append(person_row(place))
        elif person.instance != OWN:
            made.known = False
            holders += [person_row(place)] if random.random() < 0.5 else []
    slaves: list[Row] = []
    if end.kind == "slave" and shown():
        c = made.coordinator
        slaves = [{"sid": end.sid, "serial#": end.serial, "qcsid": c.sid, "qcserial#": c.serial, "qcinst_id": OWN}]
        if shown():
            sessions.append(
                {"instance": OWN, "sid": c.sid, "serial#": c.serial, "type": "USER", "program": PROGRAMS[c.kind]}
            )
    jobs: list[Row] = []
    if end.kind == "job" and shown():
        jobs = [{"owner": "APP", "job_name": "NIGHTLY", "session_id": end.sid, "running_instance": end.instance}]
    locks: list[Row] = []
    if shown():
        for place, link in enumerate(made.links):
            before, after = made.path[place], made.path[place + 1]
            if before.waits in ("TM", "TX") and after.instance == OWN:
                lmode = 6 if link == "exclusive" else 3
                locks.append(
                    {"sid": after.sid, "type": before.waits, "id1": before.ids[0], "id2": before.ids[1], "lmode": lmode}
                )
    chains: list[Row] = []
    told = {row["sid"] for row in (*holders, *sessions) if row.get("serial#")}
    again = told if lie == "serial" else set()
    """Sessions whose number another session has by now, as only one of two views shows."""
    if lie == "serial" or random.random() < 0.4:
        for place, person in enumerate(made.path):
            after = made.path[ahead[place]] if place in ahead else None
            event, _ = EVENTS.get(person.waits or "", (None, 0))
            chains.append(
                {
                    "chain_id": 1,
                    "instance": person.instance,
                    "sid": person.sid,
                    "sess_serial#": person.serial + (person.sid in again),
                    "chain_is_cycle": "TRUE" if made.cycle else "FALSE",
                    "blocker_is_valid": "TRUE" if after or (made.beyond and place == len(made.path) - 1) else "FALSE",
                    "blocker_instance": after.instance if after else None,
                    "blocker_sid": after.sid if after else None,
                    "blocker_sess_serial#": after.serial + (after.sid in again) if after else None,
                    "in_wait": "TRUE" if person.waits else "FALSE",
                    "wait_event_text": event,
                }
            )
    return ChainLooks(
        own=OWN if shown(0.97) else None,
        seen_at=SEEN,
        age_seconds=made.age,
        clustered=clustered,
        cache_of=lambda row: CACHE if row.get("event") == "row cache lock" else None,
        waiters=waiting,
        met=len(waiting),
        holders=holders,
        sessions=sessions,
        chains=chains,
        slaves=slaves,
        jobs=jobs,
        locks=locks,
    )
