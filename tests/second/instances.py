"""The second generator: 900 instances of known truth. `python -m tests.second.instances --hash`, or `--show SEED`.

Written from docs/ and Oracle's reference alone, before it was first judged, by one who had not read the rules. Each instance
is drawn by its seed. `tests.second.feed` turns one into what the product reads.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from random import Random
from typing import Any

from tests.second.causes import (
    ALL,
    BY_ID,
    CDB,
    HANGS,
    HARD,
    LOGONS,
    LOOK_ALIKES,
    MUTEX,
    RELEASES,
    SINGLES,
    SOFT,
    Cause,
)
from tests.second.machine import Load, Lock, Machine, solve
from tests.second.shown import BACKGROUND, Row, Site, Source, hung_at, look, sources, views

COUNT = 900
KINDS = ("single", "pair", "hang", "single", "look-alike", "pair", "single", "three", "single", "healthy", "pair", "single",
         "hang", "look-alike", "single", "pair", "single", "three", "single", "pair", "look-alike", "single", "healthy", "pair",
         "single", "hang", "three", "single", "look-alike", "pair")  # fmt: skip
"""Kinds of thirty seeds in a row: 11 single, 7 pairs, 3 threes, 4 look-alikes, 2 healthy, 3 hangs."""
INTENSITIES = {"light": (0.008, 0.018), "medium": (0.03, 0.085), "heavy": (0.16, 0.5)}
"""Share of DB time that is aimed at."""
BOUNDS = ((0.1, "critical"), (0.02, "warning"), (0.005, "notice"), (0.0, "none"))
"""Share of DB time → severity, as docs/reading.md has it; `none` is its info."""
REFUSED = {
    "x$kqrst": ("x$kqrst",),
    "v$session": ("v$session", "waiting_sessions", "library_cache_sessions", "row_cache_blockers", "chain_sessions",
                  "library_cache_waiters"),
    "optional grants": ("v$con_system_event", "v$containers", "v$lock", "v$transaction", "running_jobs", "v$dead_cleanup",
                        "v$cleanup_process", "row_cache_blockers"),
    "v$latch_misses": ("v$latch_misses",),
    "v$mutex_sleep": ("v$mutex_sleep",),
    "v$sys_time_model": ("v$sys_time_model",),
    "v$osstat": ("v$osstat",),
    "no samples": (),
    "the root": (),
}  # fmt: skip
"""What an instance may lack → the views that are refused. Without samples nobody ran a burst; without the root the session is
in a PDB, in which all the load is."""


@dataclass(frozen=True)
class Fact:
    """One thing that is true of an instance."""

    cause: str
    caches: tuple[str, ...]
    share: float
    """Of the time lost to the row cache and the result cache."""
    kin: tuple[str, ...] = ()
    """Causes that are no error either: the same in more general words, or not to be told apart by these views."""


@dataclass
class Poll:
    """What the views show at a moment, and what a burst between the poll before and this one met."""

    at: int
    views: dict[str, list[Row]]
    looks: list[list[Row]] = field(default_factory=list)


@dataclass
class Instance:
    """One instance. `lost` is the share of DB time lost to the row cache and the result cache; of a hang, nothing ended."""

    seed: int
    kind: str
    story: str
    intensity: str
    family: str
    release: str
    truth: tuple[Fact, ...] = ()
    severity: str = "none"
    lost: float = 0.0
    waiting: float = 0.0
    """Sessions on average that waited so."""
    lacking: str = ""
    refused: tuple[str, ...] = ()
    hangs: bool = False
    polls: list[Poll] = field(default_factory=list)


def instances(first: int = 0, count: int = COUNT) -> Iterator[Instance]:
    """Instances by seed, one after the other."""
    for seed in range(first, first + count):
        yield draw(seed)


def place_in_kind(seed: int) -> int:
    """How many of its kind come before a seed."""
    kind = KINDS[seed % len(KINDS)]
    return seed // len(KINDS) * KINDS.count(kind) + KINDS[: seed % len(KINDS)].count(kind)


def draw(seed: int) -> Instance:
    """The instance of a seed."""
    return _Drawing(seed).instance


class _Drawing:
    """One instance in the making."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(f"second {seed}")
        self.kind, self.turn = KINDS[seed % len(KINDS)], place_in_kind(seed)
        self.intensity, self.story, self.causes = "", "", list[Cause]()
        self.lacking = self._lack() if rng.random() < 1 / 3 else ""
        family, release, cluster = self._choose()
        self.instance = Instance(seed, self.kind, self.story, self.intensity, family, release)
        self.machine = Machine(rng, family, release, cluster=cluster)
        self.load, self.site, self.sliced = Load(), self._site(family), 0.0
        self._past()
        self._watch()

    def _lack(self) -> str:
        return self.rng.choice(tuple(REFUSED))

    def _release(self, families: Sequence[str], causes: Sequence[Cause] = ()) -> tuple[str, str]:
        """A release that all causes know, of families drawn alike."""
        fitting = [(family, release) for family in families for release in RELEASES[family]
                   if all(cause.fits(family, release) for cause in causes)]  # fmt: skip
        family = self.rng.choice(list(dict.fromkeys(family for family, _ in fitting)))
        return self.rng.choice([each for each in fitting if each[0] == family])

    def _choose(self) -> tuple[str, str, bool]:
        """The story: its causes, release, and whether it is a cluster."""
        rng, names = self.rng, tuple(INTENSITIES)
        if self.kind == "single":
            self.causes = [SINGLES[self.turn % len(SINGLES)]]
            self.intensity = names[(self.turn + self.turn // len(SINGLES)) % 3]
        elif self.kind in ("pair", "three"):
            family, release = self._release(ALL)
            fitting = [cause for cause in SINGLES if cause.fits(family, release) and cause.caches]
            rng.shuffle(fitting)
            for cause in fitting:
                if len(self.causes) < (2 if self.kind == "pair" else 3) and not any(
                    map(self._clash(cause), self.causes)
                ):
                    self.causes.append(cause)
            self.intensity = rng.choice(names)
        elif self.kind == "look-alike":
            self.story = LOOK_ALIKES[self.turn % len(LOOK_ALIKES)]
        elif self.kind == "hang":
            self.story = tuple(HANGS)[self.turn % len(HANGS)]
        self.story = self.story or " + ".join(cause.id for cause in self.causes) or self.kind
        if self.kind in ("pair", "three"):
            found = family, release
        else:
            found = self._release(
                ALL, [*self.causes, *([BY_ID[self.story]] if self.kind == "hang" and self.story in BY_ID else [])]
            )
        cluster = (
            any(cause.cluster for cause in self.causes) or self.story == "cluster-lock-process" or rng.random() < 0.15
        )
        return *found, cluster

    @staticmethod
    def _clash(cause: Cause) -> Any:
        """Whether two causes share a cache, a latch or a level, so that nobody could say which is which."""
        below = {"dc_object_grants": "dc_objects", "dc_histogram_data": "dc_histogram_defs"}

        def guards(one: Cause) -> set[str]:
            return {below.get(cache.rstrip("+"), cache.rstrip("+")) for cache in one.caches} | set(one.levels)

        return lambda other: bool(guards(cause) & guards(other))

    def _site(self, family: str) -> Site:
        """Container, and what is lacking."""
        rng, mutex = self.rng, family in MUTEX
        container = None if family == "11.2" else rng.choice((0, 1)) if family in ("12.1", "12.2", "18c", "19c") else 1
        if self.lacking == "the root":
            container = 3 if family in CDB else container
            self.lacking = self.lacking if container == 3 else "no samples"
        swapped = {"x$kqrst": "v$mutex_sleep", "v$latch_misses": "v$session"} if mutex else {"v$mutex_sleep": "x$kqrst"}
        swapped |= {"optional grants": "x$kqrst"} if family == "11.2" and self.kind != "hang" else {}
        self.lacking = swapped.get(self.lacking, self.lacking)
        self.instance.lacking, self.instance.refused = self.lacking, REFUSED.get(self.lacking, ())
        busy = rng.uniform(0.5, 0.9)
        share = {1: 0.03, 3: busy, 4: 0.97 - busy} if container == 1 else {container: 1.0} if container else {}
        return Site(container, rng.randint(3600, 90 * 86400), share)

    def _past(self) -> None:
        """The counters since the start, of ordinary load, and then the story begins."""
        machine, hours = self.machine, max(1, self.site.up_seconds // 3600)
        machine.tick(3600, Load())
        for view in machine.totals.values():
            for row in view.values():
                row.update({name: count * hours for name, count in row.items()})
        {"look-alike": self._look_alike, "hang": self._hang, "healthy": self._healthy}.get(self.kind, self._begin)()
        machine.tick(self.rng.randint(20, 300), self.load)
        machine.lost.clear()
        machine.db_seconds = 0.0

    def _begin(self) -> None:
        """Causes begin together. Rates of work first, because each is a part of the load that the others meet."""
        shares = []
        for _ in self.causes:
            low, high = INTENSITIES[self.intensity]
            if len(self.causes) > 1:  # of several, each has its own, and together they leave room
                low, high = max(low, 0.012), high / len(self.causes) ** 0.5
            shares.append(exp(self.rng.uniform(log(low), log(high))))
        self._apply(self.causes, shares)

    def _apply(self, causes: Sequence[Cause], shares: Sequence[float]) -> None:
        """Causes, by the share of DB time that each shall lose."""
        plain = self.machine.working(self.load)
        lost = sum(shares)
        for cause, share in zip(causes, shares, strict=True):
            extra = sum((low + high) / 2 for low, high in cause.events.values())
            self.machine.apply(cause, share / (1 - min(0.85, lost * (1 + extra))) * plain, self.load)

    def _healthy(self) -> None:
        """A busy instance with nothing wrong."""
        for unit in ("executes", "parses", "commits", "calls", "recursive"):
            self.load.units[unit] += self.machine.normal[unit] * self.rng.uniform(0.2, 2.0)
        self.load.ordinary = self.machine.busy * self.rng.uniform(0.0, 1.0)

    def _look_alike(self) -> None:
        """Something that only looks like a problem of the row cache."""
        rng, machine, load, story = self.rng, self.machine, self.load, self.story
        busy = machine.busy
        if story == "misses without sleeps":
            for group in rng.sample(
                ("dc_users", "dc_objects", "dc_histogram_defs", "dc_tablespaces"), rng.randint(1, 2)
            ):
                load.hold[group] = rng.uniform(0.5, 1.2) if machine.latch else rng.uniform(0.15, 0.3)
                load.gets[group] += rng.uniform(0.25, 0.6) / load.hold[group] * 1e6 / (3 if machine.latch else 2)
            load.preempt, load.processor = 1e-6, busy
        elif story == "idle instance":
            load.idle_share = rng.uniform(0.0005, 0.006)
        elif story in ("starved host", "throttled sessions"):
            load.spoilt = story == "starved host"
            load.nap = rng.uniform(0.06, 0.4) if load.spoilt else rng.uniform(0.03, 0.1)
            load.ordinary = machine.cpus * rng.uniform(1.5, 4) if load.spoilt else busy
            load.gets.update({cache: rng.uniform(1500, 9000) for cache in ("dc_users", "dc_objects", "dc_tablespaces")})
            slower = (
                rng.uniform(1.5, 3) if load.spoilt else rng.uniform(1, 3)
            )  # caches of the processor are cold after each switch
            load.hold = dict.fromkeys(machine.groups, machine.base_hold * slower)
            if not load.spoilt:
                load.events["resmgr:cpu quantum"] = (busy * rng.uniform(8, 30), busy * rng.uniform(0.4, 1.5))
            self._slow_holders(rng.uniform(0.01, 0.12))
        elif story == "parse storm":
            load.units.update({unit: rng.uniform(*pair) for unit, pair in HARD.items()})
            for event, share in (("library cache: mutex X", 0.33), ("cursor: pin S wait on X", 0.2), ("latch: shared pool", 0.08),
                                 ("library cache lock", 0.05)):  # fmt: skip
                wait = busy * share * rng.uniform(0.7, 2.5)
                load.events[event] = (wait / rng.uniform(2e-3, 4e-2), wait)
            machine.levels["library"] = load.events["library cache lock"][1]
            self._apply([BY_ID["hard-parse-storm"]], [rng.uniform(0.004, 0.018)])
        elif story == "row locks":
            wait = busy * rng.uniform(0.4, 2.0)
            load.events["enq: TX - row lock contention"] = (wait / rng.uniform(0.2, 2.0), wait)
        elif story == "cursor mutex at logons":
            load.units.update({unit: rng.uniform(*pair) for unit, pair in LOGONS.items()})
            wait = busy * rng.uniform(0.3, 1.2)
            load.events["cursor: mutex X"] = (wait / rng.uniform(2e-3, 2e-2), wait)
        elif story == "busy application":
            load.units.update({unit: rng.uniform(*pair) for unit, pair in (SOFT | LOGONS | {"hard": (5, 25)}).items()})
            load.units["logons"] *= 0.1
            load.processor = machine.cpus * rng.uniform(0.2, 0.45)
        else:  # a storage stall, or log file sync: waits of ordinary work, which no poll reads
            load.ordinary = busy * rng.uniform(2, 9)
            load.units["commits"] += machine.normal["commits"] * rng.uniform(0, 3) * (story == "log file sync")

    def _slow_holders(self, share: float) -> None:
        """Holders lose the processor so often that a share of DB time is lost."""

        def lost(preempt: float) -> float:
            self.load.preempt = preempt
            return self.machine.waited(self.machine.groups, self.load)

        lost(solve(lost, share * self.machine.working(self.load), 1e-5, 0.4))

    # A hang.

    def _hang(self) -> None:
        """A holder that does not let go, and those that wait for it."""
        rng, site, load = self.rng, self.site, self.load
        caches, _ = HANGS[self.story]
        cache = rng.choice(caches)
        number, count = self.machine.number(cache), round(exp(rng.uniform(log(3), log(70))))
        self.hung_on, self.sliced = cache, 3.0 if rng.random() < 0.25 else 0.0
        began = -rng.uniform(15, 900)
        holder, other = rng.sample(range(100, 900), 2)
        far = self.story == "cluster-lock-process"
        end = other if self.story == "row-cache-library-deadlock" else holder
        named = None if rng.random() < 0.25 else holder
        for place in range(count):
            logon = self.story == "grants-while-logging-on"
            site.hung.append({
                "sid": 1000 + place, "serial#": rng.randint(3, 60000), "seq#": rng.randint(20, 9000), "event": "row cache lock",
                "p1": number, "p1raw": f"{number:016X}", "p2": 0, "p3": rng.choice((3, 5)) if place else 3,
                "sql_id": None if logon else f"h{place % 3}7d2kq9zvt1mx", "module": None if logon else "web",
                "program": "JDBC Thin Client", "username": None if logon else "APP", "type": "USER",
                "con_id": 3 if site.container in (1, 3) else 0, "blocking_instance": 1 if named else None,
                "blocking_session": named, "final_blocking_instance": 1 if named else None,
                "final_blocking_session": end if named else None,
                "since": began + (0 if place < 2 else rng.uniform(0, -began + 10)),
            })  # fmt: skip
        load.ordinary = float(count)
        self._holder(holder, other, number, cache, began, far=far)
        if self.sliced:
            load.ordinary = 0.0
            load.locks.append(Lock(cache, count / 3, float(count), 5, 0.0, 0.0, timeouts=count / 3))

    def _holder(self, sid: int, other: int, number: int, cache: str, began: float, *, far: bool) -> None:
        """What a look for blockers would see."""
        rng, story = self.rng, self.story
        kinds = {"row-cache-lock-hang": ("SQL*Net message from client", ("app", "sqlplus@app", "APP"), "INACTIVE"),
                 "object-ddl": ("db file sequential read", ("release", "sqlplus@app", "DEPLOY"), "ACTIVE"),
                 "row-cache-library-deadlock": ("library cache lock", ("web", "JDBC Thin Client", "APP"), "ACTIVE"),
                 "undo-lock-smon": ("db file sequential read", BACKGROUND, "ACTIVE"),
                 "grants-while-logging-on": ("library cache lock", ("admin", "sqlplus@app", "DBA1"), "ACTIVE"),
                 "cluster-lock-process": ("rdbms ipc message", ("", "oracle@db (LCK0)", ""), "ACTIVE")}  # fmt: skip
        event, who, status = kinds[story]
        session = self._session(sid, event, who, status, 0, began)
        waits_for = other if story == "row-cache-library-deadlock" else None
        if waits_for:
            session |= {"blocking_instance": 1, "blocking_session": other, "final_blocking_instance": 1,
                        "final_blocking_session": other, "blocking_session_status": "VALID",
                        "final_blocking_session_status": "VALID"}  # fmt: skip
        chain = [session]
        if waits_for:
            second = self._session(other, "row cache lock", ("web", "JDBC Thin Client", "APP"), "ACTIVE", number, began)
            chain.append(second | {"blocking_instance": 1, "blocking_session": sid, "final_blocking_instance": 1,
                                   "final_blocking_session": sid, "blocking_session_status": "VALID",
                                   "final_blocking_session_status": "VALID"})  # fmt: skip
            blocked = {"sid": other, "serial#": second["serial#"], "p3": 5, "since": began, "blocking_session": sid}
            self.site.hung.append({**self.site.hung[0], **blocked, "blocking_instance": 1,
                                   "final_blocking_instance": 1, "final_blocking_session": sid})  # fmt: skip
        saddr = f"{rng.randrange(1 << 32):016X}"
        entry = {"cache#": number, "key": f"{rng.randrange(1 << 64):016X}", "cache_name": cache, "lock_request": 5,
                 "waiters": len(self.site.hung), "lock_mode": 5, "saddr": saddr,
                 "txn": None if far else f"{rng.randrange(1 << 32):016X}", "inst_lock_request": 5 if far else 0,
                 "inst_lock_type": "QQ" if far else None, "inst_lock_id1": f"{rng.randrange(1 << 32):08X}" if far else None,
                 "inst_lock_id2": f"{rng.randrange(1 << 32):08X}" if far else None}  # fmt: skip
        held = self.site.held
        held["row_cache_blockers"] = [{**entry, "instance": 1, **session}]
        held["chain_sessions"] = [{"instance": 1, "saddr": saddr if each is session else f"{rng.randrange(1 << 32):016X}", **each}
                                  for each in chain]  # fmt: skip
        held |= {"library_cache_waiters": [], "v$lock": [], "v$px_session": [], "running_jobs": [], "v$transaction": []}
        if event == "library cache lock":
            blocker = {"blocking_instance": 1 if waits_for else None, "blocking_session": waits_for,
                       "final_blocking_instance": 1 if waits_for else None, "final_blocking_session": waits_for}  # fmt: skip
            packed, waited = 77_123 * 2**32 + 1 * 2**16 + 3, round(-began * 1e6)
            held["library_cache_waiters"] = [
                {"event": event, "p3": packed, **blocker, "sessions": 1, "wait_time_micro": waited}
            ]
            con = {"con_id": self.site.hung[0]["con_id"]} if self.machine.family != "11.2" else {}
            held["library sessions"] = [{
                "sid": sid, "serial#": session["serial#"], "event": event, "p1raw": f"{rng.randrange(1 << 40):016X}",
                "p3": packed, "sql_id": session["sql_id"], "module": who[0], "action": None, "program": who[1],
                "machine": "app01", "username": who[2], "type": "USER", **con, **blocker, "wait_time_micro": waited,
            }]  # fmt: skip

    def _session(self, sid: int, event: str, who: tuple[str, str, str], status: str, p1: int, began: float) -> Row:
        """A session of v$session that others wait for."""
        module, program, user = who
        return {
            "sid": sid, "serial#": self.rng.randint(3, 60000), "type": "USER" if user else "BACKGROUND", "program": program,
            "username": user or None, "machine": "app01" if user else "dbhost1", "module": module or None,
            "sql_id": "c4k1z0r8u2abc" if status == "ACTIVE" and user else None, "status": status, "state": "WAITING",
            "event": event, "seq#": self.rng.randint(20, 9000), "p1": p1, "p2": 0, "p3": 5 if p1 else 0,
            "wait_time_micro": round(-began * 1e6), "last_call_et": round(-began), "blocking_instance": None,
            "blocking_session": None, "final_blocking_instance": None, "final_blocking_session": None,
            "blocking_session_status": "NO HOLDER", "final_blocking_session_status": "NO HOLDER",
        }  # fmt: skip

    # The polls, and what was true.

    def _watch(self) -> None:
        """Polls of a minute, and bursts between them where something is lost."""
        rng, machine, instance = self.rng, self.machine, self.instance
        moments = rng.choice(((0, 60), (0, 60), (0, 15), (0, 15, 30, 45, 60)))
        met = sources(machine, self.load, self.causes) if self.kind != "healthy" else []
        lost = sum(source.number for source in met)
        burst = lost > 0.005 * (machine.working(self.load) + lost) or self.kind == "hang"
        burst = burst and self.lacking not in ("no samples", "v$session")
        for before, moment in zip((0, *moments), moments, strict=False):
            if moment:
                machine.tick(moment - before, self.load)
            looks = [
                self._look(met, before + step + 1) for step in range(min(rng.randint(12, 30), moment - before - 1))
            ]
            shown = views(machine, self.site, moment, met, self.sliced)
            shown = {view: rows for view, rows in shown.items() if view not in instance.refused}
            instance.polls.append(Poll(moment, shown, looks if burst else []))
        self._tell()

    def _look(self, met: list[Source], moment: int) -> list[Row]:
        rows = look(self.rng, self.machine, met, self.site)
        wanted = ("serial#", "seq#", "type")
        return rows + [{name: cell for name, cell in row.items() if name not in wanted}
                       for row in hung_at(self.machine, self.site, moment, self.sliced)]  # fmt: skip

    def _tell(self) -> None:
        """The truth, by the time that was really lost."""
        machine, instance = self.machine, self.instance
        lost = sum(machine.lost.values())
        seconds = instance.polls[-1].at - instance.polls[0].at
        instance.lost, instance.waiting = round(lost / machine.db_seconds, 5), round(lost / seconds, 4)
        instance.severity = next(word for bound, word in BOUNDS if instance.lost >= bound)
        if self.kind == "hang":
            instance.hangs, instance.waiting = True, float(len(self.site.hung))
            instance.severity = "critical" if len(self.site.hung) >= 5 else "warning"
            instance.truth = (Fact(self.story, (machine.known(self.hung_on),), 1.0, HANGS[self.story][1]),)
        elif self.kind == "look-alike":
            told = {"starved host": ("starved-host", ()), "throttled sessions": ("throttled-holder", ()),
                    "parse storm": ("downstream-of-library-cache", ("hard-parse-storm",)),
                    "cursor mutex at logons": ("logon-cursor-mutex", ("logon-storm",))}  # fmt: skip
            if self.story in told:
                cause, kin = told[self.story]
                instance.truth = (Fact(cause, (), 1.0, kin),)
        else:
            instance.truth = tuple(
                Fact(cause.id, tuple(dict.fromkeys(machine.known(cache.rstrip("+")) for cache in cause.caches)),
                      round(self._lost_by(cause) / lost, 4), cause.kin)
                for cause in self.causes
            )  # fmt: skip

    def _lost_by(self, cause: Cause) -> float:
        """Seconds lost to one cause."""
        lost = self.machine.lost
        if cause.way == "result":
            return lost["result"]
        if cause.way == "lock":
            return sum(lost[f"lock {cache}"] for cache in cause.caches)
        return sum(lost[group] for group in dict.fromkeys(map(self.machine.guard, cause.caches)))


def canonical(instance: Instance) -> str:
    """An instance as text that is the same on every machine."""
    return json.dumps(asdict(instance), sort_keys=True, separators=(",", ":"), default=str)


def digest(first: int = 0, count: int = COUNT) -> tuple[str, Counter[str]]:
    """The hash over instances, and how many there are of each kind, cause and release."""
    whole, counted = hashlib.sha256(), Counter[str]()
    for instance in instances(first, count):
        whole.update(canonical(instance).encode() + b"\n")
        counted.update((f"kind {instance.kind}", f"release {instance.family}", f"severity {instance.severity}",
                        f"lacking {instance.lacking or 'nothing'}"))  # fmt: skip
        counted.update(f"cause {told.cause}" for told in instance.truth)
        counted.update([f"look-alike {instance.story}"] if instance.kind == "look-alike" else [])
        counted.update([f"intensity {instance.intensity}"] if instance.kind == "single" else [])
    return whole.hexdigest(), counted


def show(instance: Instance) -> Iterator[str]:
    """An instance for people: the truth, then each row of the last poll beside that of the first."""
    told = asdict(instance)
    polls = told.pop("polls")
    yield from (f"{name}: {value}" for name, value in told.items())
    yield f"polls at {', '.join(str(poll['at']) for poll in polls)} s; looks {[len(poll['looks']) for poll in polls]}"
    for view, rows in polls[-1]["views"].items():
        before = polls[0]["views"].get(view, [])
        yield f"{view}: {len(rows)} rows"
        for row, old in zip(rows[:40], before if len(before) == len(rows) else [{}] * 40, strict=False):
            yield "  " + ", ".join(
                f"{name} {_grown(cell, old.get(name))}" for name, cell in row.items() if cell not in (None, 0)
            )


def _grown(cell: object, before: object) -> str:
    both = isinstance(cell, int) and isinstance(before, int) and cell != before
    return f"{cell} (+{cell - before})" if both else str(cell)


def main() -> None:
    """The hash and the counts, or one instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hash", action="store_true", help="sha256 over all instances, and counts")
    parser.add_argument("--show", type=int, metavar="SEED", help="one instance, for people")
    chosen = parser.parse_args()
    if chosen.show is not None:
        sys.stdout.write("\n".join([*show(draw(chosen.show)), ""]))
        return
    told, counted = digest()
    sys.stdout.write("\n".join([told, *(f"{name}: {count}" for name, count in sorted(counted.items())), ""]))


if __name__ == "__main__":
    main()
