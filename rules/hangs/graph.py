"""Who names whom: the sessions of a hang and the edges between them, with the view that each edge is from.

v$wait_chains, v$session and v$rowcache_parent may name different sessions. All are kept, and a disagreement becomes a sentence.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from collectors.model import ROW_CACHE_LOCK_EVENT, Row, Value, number, text
from rules.hangs.knowledge import event_of, state
from rules.hangs.model import MESSENGER, ChainSource, Holding, SessionKind
from rules.samples import unlisted
from rules.waiting_sessions import stuck

# What a session is: a foreground session, a parallel slave, a job, or a background process.

PROCESS = re.compile(r"(?:(?:oracle@\S+|ORACLE\.EXE) )?\(([A-Z][A-Z0-9]{2,4})\)\s*$")
"""The program of a process that Oracle starts; a dump may have its name alone. A client may have any name, but not this one."""
SLAVE = re.compile(r"P[A-Z0-9]{3}")
JOB = re.compile(r"J[A-Z0-9]{3}")


def process(program: str | None) -> str:
    """The name of a background process: LCK0 of `oracle@db1 (LCK0)`."""
    return process_name(program) or "a background process"


def process_name(program: str | None) -> str | None:
    """The name of a process that Oracle starts, from the program of its session. None for a client."""
    found = PROCESS.match(program or "")
    return found[1] if found else None


def kind_of(row: Row, *, slave: bool = False) -> SessionKind | None:
    """The kind of a session. None if it is unknown. `slave`: v$px_session has a coordinator for it.

    A session of type USER in a process that Oracle starts, and that is neither slave nor job, is of no kind that may be ended.
    """
    of = text(row.get("type"))
    if of == "BACKGROUND":
        return "background"
    program = text(row.get("program"))
    if of != "USER" or program is None:
        return None
    name = process_name(program)
    if slave or (name and SLAVE.fullmatch(name)):
        return "parallel slave"
    if name and JOB.fullmatch(name):
        return "job"
    return None if name else "foreground"


# What the looks saw of a hang, in one value: the input of `rules.hangs.tree`.

SessionKey = tuple[int | None, int]
"""A session: number of its instance, None if unknown, and SID."""


@dataclass(frozen=True, slots=True)
class ChainLooks:
    """Rows as the views gave them. A view that was not read has no rows and is not in `read`."""

    own: int | None
    """Number of the polled instance."""
    clustered: bool | None
    """Whether it is one of a cluster. None if unknown."""
    cache_of: Callable[[Row], str | None]
    """The cache that a waiting session waits for; None if it does not wait for the row cache."""
    waiters: Sequence[Row] = ()
    """waiting_sessions: foreground and background sessions that wait for the row cache."""
    met: int = 0
    """How many there were, listed or not."""
    holders: Sequence[Row] = ()
    """row_cache_blockers: v$rowcache_parent with v$session, and sessions of other instances without an entry."""
    sessions: Sequence[Row] = ()
    """chain_sessions."""
    chains: Sequence[Row] = ()
    """v$wait_chains."""
    hangs: Sequence[Row] = ()
    """v$hang_info."""
    hang_sessions: Sequence[Row] = ()
    slaves: Sequence[Row] = ()
    locks: Sequence[Row] = ()
    jobs: Sequence[Row] = ()
    transactions: Sequence[Row] = ()
    before: Sequence[Row] = ()
    """v$transaction as an earlier look read it."""
    minutes_between: float | None = None
    """The time between those two looks. None if there is one only."""
    cleanups: Sequence[Row] = ()
    """v$dead_cleanup."""
    cleaners: Sequence[Row] = ()
    """v$cleanup_process."""
    enqueues: Sequence[Row] = ()
    """gv$ges_blocking_enqueue."""
    read: frozenset[str] = field(default_factory=frozenset)
    """The views that were read."""
    past: bool = False
    """Whether a trace file shows it all: a moment that is over, of which Oracle itself said that sessions wait too long."""

    release: str | None = None
    moving: frozenset[tuple[str | None, ...]] = frozenset()
    """Event and cache of waits that go on ending, one after the other: a queue, however long each has to wait."""
    seen_at: datetime | None = None
    """When v$rowcache_parent was read, or its answer was proven again. None if it was not read, or at an unknown time."""
    age_seconds: float | None = None
    """The time since then, when the hang is judged."""

    def key(self, instance: Value, sid: Value) -> SessionKey | None:
        """A session by what a row says. Outside a cluster every session is of the polled instance."""
        of = whole(sid)
        if of is None:
            return None
        at = whole(instance)
        return (self.own if at is None and self.clustered is False else at, of)

    def named(self, row: Row, kind: str) -> SessionKey | None:
        """The session that a row of v$session names as `blocking` or `final_blocking`."""
        return self.key(row.get(f"{kind}_instance"), row.get(f"{kind}_session"))

    def here(self, row: Row) -> SessionKey | None:
        """The session of a row without an instance, which is of the polled instance."""
        return self.key(row.get("instance", self.own), row.get("sid"))


def whole(value: Value) -> int | None:
    """A whole number, None if it is none."""
    known = number(value)
    return None if known is None else int(known)


def at(key: SessionKey) -> str:
    """`312@1`, or `312` if the instance is unknown."""
    instance, sid = key
    return f"{sid}" if instance is None else f"{sid}@{instance}"


def named(sid: int, serial: int | None, instance: int | None) -> str:
    """`312,48211 on instance 1`, as far as it is known."""
    return f"{sid}{'' if serial is None else f',{serial}'}{'' if instance is None else f' on instance {instance}'}"


def who(row: Row) -> dict[str, str | None]:
    """As whom a session works, from its row."""
    return {name: text(row.get(name)) for name in ("username", "program", "machine", "module", "sql_id")}


def first(rows: Iterable[Row]) -> Row:
    """The first row, empty without any."""
    return next(iter(rows), {})


VICTIM = ("victim_instance", "victim_session_id")
MODES: dict[int, Holding] = {3: "share", 5: "exclusive"}
"""Modes of a row cache lock."""
ENQUEUE_EXCLUSIVE = 6
GLOBAL_MODES: dict[str, Holding] = {"KJUSERPR": "share", "KJUSEREX": "exclusive"}
"""Modes of a lock between instances."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A session waits behind another one. `direct`: nobody is between them; `mode`: in which that one holds it."""

    ahead: SessionKey
    sources: tuple[ChainSource, ...]
    direct: bool = True
    mode: Holding = "unknown"


@dataclass(slots=True)
class SessionFacts:
    """What all looks say of one session."""

    row: Row = field(default_factory=dict)
    """Its row of v$session, from whatever look has one."""
    moments: list[Row] = field(default_factory=list)
    """Each row that says what it did when it was read. Rows of one look may be a second apart, and they may differ."""
    serials: set[int] = field(default_factory=set)
    entries: list[Row] = field(default_factory=list)
    """Rows of v$rowcache_parent that it holds while others ask for them."""
    cycle: bool = False
    event: str | None = None
    seconds: float | None = None

    @property
    def at_the_end(self) -> bool:
        """Whether every look proves that it waits for no other session or process."""
        return bool(self.moments) and all(map(_for_nobody, self.moments))


def _for_nobody(row: Row) -> bool:
    """Whether a session is on a processor or at work of its own, or waits for what nobody holds and no process gives."""
    if row.get("state") != "WAITING":
        return True
    event = text(row.get("event"))
    known = None if event is None else event_of(event)
    if known is not None:
        return known.own is not None
    return event is not None and row.get("blocking_session_status") == "NO HOLDER"


@dataclass(slots=True)
class WaiterRows:
    """Sessions that nobody waits for and that wait alike: their rows, and where their edges lead."""

    rows: Sequence[Row]
    event: str
    cache: str
    count: int
    edges: list[Edge] = field(default_factory=list)

    @property
    def longest(self) -> Row:
        """The row of the longest wait."""
        return max(self.rows, key=lambda row: number(row.get("wait_time_micro")) or 0.0, default={})


class ChainGraph:
    """Sessions and edges of one hang."""

    def __init__(self, looks: ChainLooks) -> None:
        self.looks = looks
        self.facts: dict[SessionKey, SessionFacts] = defaultdict(SessionFacts)
        self.ahead: dict[SessionKey, list[Edge]] = defaultdict(list)
        self.disagreements: list[tuple[str, frozenset[SessionKey]]] = []
        self._chained: dict[SessionKey, SessionKey] = {}
        """Session → its blocker according to v$wait_chains."""
        self._gather()
        self._holding: dict[str, set[SessionKey]] = defaultdict(set)
        """Cache → sessions that v$rowcache_parent shows as holders of entries of it that others ask for."""
        for holder, facts in self.facts.items():
            for entry in facts.entries:
                self._holding[_cache(entry)].add(holder)
        waiting = self._hanging()
        nodes = self._named(waiting)
        self._both: set[SessionKey] = set()
        """Sessions that hang on the row cache and that others wait for."""
        for row in waiting:
            if (key := looks.here(row)) in nodes and key is not None:
                self._learn(key, {**row, "state": "WAITING"}, fresh=True)
                self._both.add(key)
        for key in sorted(nodes, key=str):
            self._lead(key)
        self.groups = list(self._grouped(row for row in waiting if looks.here(row) not in nodes))
        for group in self.groups:
            self._attach(group)
        self.groups = [group for group in self.groups if group.count]
        self._holders_alone()
        self.reached = self._reached()
        self.behind: dict[SessionKey, list[tuple[SessionKey, Edge]]] = defaultdict(list)
        """Session → those that others wait for and that wait directly behind it."""
        for key in sorted(self.reached, key=str):
            for edge in self.ahead.get(key, ()):
                self.behind[edge.ahead].append((key, edge))
        self.groups_behind: dict[SessionKey, list[tuple[WaiterRows, Edge]]] = defaultdict(list)
        """Session → sessions that nobody waits for and that wait directly behind it."""
        for group in self.groups:
            for edge in group.edges:
                self.groups_behind[edge.ahead].append((group, edge))

    # What the rows say

    def _gather(self) -> None:
        looks = self.looks
        for row in looks.sessions:
            if (key := looks.here(row)) is not None:
                self._learn(key, row)
        for row in looks.holders:
            if (key := looks.here(row)) is None:
                continue
            self._learn(key, row)
            if row.get("cache#") is not None:
                self.facts[key].entries.append(row)
        for row in looks.chains:
            self._learn_chain(row)
        for row in looks.hangs:
            victim = looks.key(*map(row.get, VICTIM))
            if victim is not None and (serial := whole(row.get("victim_serial#"))) is not None:
                self.facts[victim].serials.add(serial)

    def _learn(self, key: SessionKey, row: Row, *, fresh: bool = False) -> None:
        """What one row says. `fresh`: it is of this poll, and the other looks may be a minute old."""
        facts = self.facts[key]
        known = {name: cell for name, cell in facts.row.items() if cell is not None}
        facts.row = {**facts.row, **row} if fresh else {**row, **known}
        if (serial := whole(row.get("serial#"))) is not None:
            facts.serials.add(serial)
        if row.get("state") is not None:
            facts.moments.append(row)
        if row.get("state") == "WAITING" and (fresh or facts.event is None):
            facts.event = text(row.get("event"))
            micro = number(row.get("wait_time_micro"))
            facts.seconds = None if micro is None else micro / 1e6

    def _learn_chain(self, row: Row) -> None:
        looks = self.looks
        key = looks.key(row.get("instance"), row.get("sid"))
        if key is None:
            return
        facts = self.facts[key]
        facts.cycle |= row.get("chain_is_cycle") == "TRUE"
        if (serial := whole(row.get("sess_serial#"))) is not None:
            facts.serials.add(serial)
        if facts.event is None and row.get("in_wait") == "TRUE":
            facts.event, facts.seconds = text(row.get("wait_event_text")), number(row.get("in_wait_secs"))
        blocker = looks.key(row.get("blocker_instance"), row.get("blocker_sid"))
        if blocker is not None and blocker != key:
            self._chained[key] = blocker
            if (serial := whole(row.get("blocker_sess_serial#"))) is not None:
                self.facts[blocker].serials.add(serial)

    def _hanging(self) -> list[Row]:
        """Waiting sessions that hang, and those that wait for the same."""
        known = [(row, self.looks.cache_of(row)) for row in self.looks.waiters]
        if self.looks.past:  # traces before 11.2 do not say for how long
            return [row for row, cache in known if cache is not None]
        hang = {(row.get("event"), cache) for row, cache in known if cache is not None and stuck([row])}
        return [row for row, cache in known if (row.get("event"), cache) in hang]

    def _named(self, waiting: Iterable[Row]) -> set[SessionKey]:
        """Sessions that others wait for, by any source."""
        rows = [*waiting, *self.looks.sessions, *self.looks.holders]
        named = {key for row in rows for kind in ("blocking", "final_blocking") if (key := self.looks.named(row, kind))}
        holding = {key for key, facts in self.facts.items() if facts.entries}
        return named | holding | set(self._chained.values())

    # Edges

    def _lead(self, key: SessionKey) -> None:
        """The edges of a session that others wait for."""
        facts = self.facts[key]
        row = {**facts.row, "event": facts.event}
        final, edges = self.looks.named(facts.row, "final_blocking"), self.ahead[key]
        direct, chained = self._say(edges, row, key)
        if not edges and final is not None and final != key:
            edges.append(Edge(final, ("v$session",), direct=False))
        if not edges and facts.event == ROW_CACHE_LOCK_EVENT:
            for holder in sorted(self._holding.get(self.looks.cache_of(row) or "", set()) - {key}, key=str):
                self._join(edges, row, holder, "v$rowcache_parent")
        if direct is not None and chained is not None and direct != chained:
            self._disagree(f"session {at(key)} waits", {"v$session": {direct}, "v$wait_chains": {chained}})

    def _say(self, edges: list[Edge], row: Row, key: SessionKey | None) -> tuple[SessionKey | None, SessionKey | None]:
        """The sessions that v$session and v$wait_chains name as blocker of a session, joined to its edges."""
        direct = self.looks.named(row, "blocking")
        chained = None if key is None else self._chained.get(key)
        if direct is not None and direct != key:
            self._join(edges, row, direct, "v$session")
        if chained is not None and chained != key:
            self._join(edges, row, chained, "v$wait_chains")
        return direct, chained

    def _join(self, edges: list[Edge], row: Row, ahead: SessionKey, source: ChainSource) -> None:
        """One more edge, or one more source of an edge that is there."""
        for place, edge in enumerate(edges):
            if edge.ahead == ahead and edge.direct:
                edges[place] = Edge(ahead, tuple(dict.fromkeys((*edge.sources, source))), True, edge.mode)
                return
        edges.append(Edge(ahead, (source,), True, self._mode(row, ahead)))

    def _mode(self, row: Row, ahead: SessionKey) -> Holding:
        """The mode in which a session holds what a row waits for."""
        event = text(row.get("event")) or ""
        if event == ROW_CACHE_LOCK_EVENT:
            cache = self.looks.cache_of(row)
            entries = [entry for entry in self.facts[ahead].entries if _cache(entry) == cache]
            if not entries and ahead[0] != self.looks.own:
                return self._mode_elsewhere(cache, ahead)
            return _agreed({MODES.get(whole(entry.get("lock_mode")) or 0, "unknown") for entry in entries})
        if event.startswith("enq: ") and ahead[0] == self.looks.own:
            return _agreed(set(self._enqueue_modes(row, ahead)))
        return "unknown"

    def _enqueue_modes(self, row: Row, ahead: SessionKey) -> Iterator[Holding]:
        packed = whole(row.get("p1"))
        if packed is None or row.get("p2") is None or row.get("p3") is None:
            return
        kind = chr(packed >> 24 & 0xFF) + chr(packed >> 16 & 0xFF)
        enqueue = (kind, whole(row.get("p2")), whole(row.get("p3")))
        for lock in self.looks.locks:
            same = (lock.get("type"), whole(lock.get("id1")), whole(lock.get("id2"))) == enqueue
            if same and whole(lock.get("sid")) == ahead[1]:
                yield "exclusive" if whole(lock.get("lmode")) == ENQUEUE_EXCLUSIVE else "share"

    # Those that nobody waits for

    def _grouped(self, rows: Iterable[Row]) -> Iterator[WaiterRows]:
        looks = self.looks
        alike: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: whole(row.get("sid")) or 0):
            key = looks.here(row)
            if key is not None and (serial := whole(row.get("serial#"))) is not None:
                self.facts[key].serials.add(serial)
            chained = None if key is None else self._chained.get(key)
            blockers = looks.named(row, "blocking"), looks.named(row, "final_blocking"), chained
            at_instance = None if key is None else key[0]
            alike[(row.get("event"), looks.cache_of(row), row.get("type"), at_instance, *blockers)].append(row)
        for (event, cache, *_), same in alike.items():
            yield WaiterRows(same, str(event), str(cache), len(same))

    def _attach(self, group: WaiterRows) -> None:
        """The edges of sessions that wait alike: to the blocker that a view names, else to the holder of the entry."""
        row = group.rows[0]
        direct, chained = self._say(group.edges, row, self.looks.here(row))
        if direct is not None and chained is not None and not self._meet({direct}, {chained}):
            self._disagree(f"{_who(group)} waits", {"v$session": {direct}, "v$wait_chains": {chained}})
        if (final := self.looks.named(row, "final_blocking")) is not None:
            self._attach_final(group, final)
        holders = self._holding.get(group.cache, set()) if group.event == ROW_CACHE_LOCK_EVENT else set()
        if final is not None and final[0] != self.looks.own:
            for key in holders:
                if process_name(text(self.facts[key].row.get("program"))) == MESSENGER and not self.ahead.get(key):
                    self.ahead[key].append(self._over_instances(group.cache, final))
        named = {edge.ahead for edge in group.edges}
        meets = self._meet(named, holders)
        if holders and not meets and named:
            by_source = {
                source: {edge.ahead for edge in group.edges if source in edge.sources}
                for source in ("v$session", "v$wait_chains")
            }
            said = {source: keys for source, keys in by_source.items() if keys}
            self._disagree(f"{_who(group)} waits", {**said, "v$rowcache_parent": holders})
            self._join_all(group, holders, set())
        elif holders and not named and len(holders) > 1:
            group.count = 0  # who waits for which entry is not known; v$rowcache_parent counts the waiters of each
        elif holders and not any(edge.direct for edge in group.edges):
            group.edges = []
            self._join_all(group, holders, named)
        else:
            self._join_all(group, holders & named, set())

    def _join_all(self, group: WaiterRows, holders: set[SessionKey], named: set[SessionKey]) -> None:
        """Edges to the holders of the entry. `named`: those that v$session names as final blocker as well."""
        for holder in sorted(holders, key=str):
            self._join(group.edges, group.rows[0], holder, "v$rowcache_parent")
            if holder in named:
                self._join(group.edges, group.rows[0], holder, "v$session")

    def _attach_final(self, group: WaiterRows, final: SessionKey) -> None:
        """The final blocker: behind the last one known, unless that one is at the end itself."""
        named = {edge.ahead for edge in group.edges}
        if not named:
            group.edges.append(Edge(final, ("v$session",), direct=False))
            return
        reached = self.reach(*named)
        if final in reached:
            return
        last = sorted((key for key in reached if not self.ahead.get(key)), key=str)
        if last and not any(self.facts[key].at_the_end for key in last):
            for key in last:
                self.ahead[key].append(self._over_instances(group.cache, final))
            return
        if last:
            self._disagree(
                f"the chain of {_who(group)} ends", {"v$session": {final}, "the sessions themselves": set(last)}
            )
            group.edges.append(Edge(final, ("v$session",), direct=False))

    def _over_instances(self, cache: str, final: SessionKey) -> Edge:
        """The edge to a session at the end. It is direct if its mode is known by the lock between the instances."""
        mode = self._mode_elsewhere(cache, final)
        sources: tuple[ChainSource, ...] = ("v$session", "gv$ges_blocking_enqueue")
        return Edge(final, sources[: 1 if mode == "unknown" else 2], mode != "unknown", mode)

    def asked_elsewhere(self, cache: str | None) -> Row:
        """The entry that this instance asks another one for. Empty without one, or with several in that cache."""
        asked = [row for row in self.looks.holders if row.get("cache#") is not None and _cache(row) == cache]
        entries = {row.get("key"): row for row in asked if number(row.get("inst_lock_request"))}
        return first(entries.values()) if len(entries) == 1 else {}

    def locks_elsewhere(self, cache: str | None) -> dict[int | None, set[Holding]]:
        """Instance that keeps this one from that entry → its modes."""
        names, found = tuple(_lock_names(self.asked_elsewhere(cache))), defaultdict[int | None, set[Holding]](set)
        for row in self.looks.enqueues:
            if (text(row.get("resource_name1")) or "").startswith(names):
                mode = GLOBAL_MODES.get(text(row.get("grant_level")) or "", "unknown")
                found[(whole(row.get("owner_node")) or 0) + 1].add(mode)
        return found

    def _mode_elsewhere(self, cache: str | None, holder: SessionKey) -> Holding:
        """The mode in which a session of another instance holds an entry, by the lock of that instance, which is as strong.

        Unknown if other instances have one too, or if a session behind this one there may hold the entry.
        """
        found = self.locks_elsewhere(cache)
        between = any(
            self.looks.named(facts.row, "blocking") == holder and facts.event != ROW_CACHE_LOCK_EVENT
            for key, facts in self.facts.items()
            if key[0] == holder[0]
        )
        return "unknown" if between or found.keys() != {holder[0]} else _agreed(set().union(*found.values()))

    def _holders_alone(self) -> None:
        """Sessions that v$rowcache_parent shows as holders, and that no listed waiter leads to: they have waiters as well."""
        reached = self._reached()
        for key, facts in list(self.facts.items()):
            for entry in facts.entries:
                if key in reached or not (whole(entry.get("waiters")) or 0):
                    continue
                cache = _cache(entry)
                mode = MODES.get(whole(entry.get("lock_mode")) or 0, "unknown")
                group = WaiterRows((), ROW_CACHE_LOCK_EVENT, cache, whole(entry.get("waiters")) or 0)
                group.edges.append(Edge(key, ("v$rowcache_parent",), True, mode))
                self.groups.append(group)

    # Questions

    def reach(self, *starts: SessionKey) -> set[SessionKey]:
        """Some sessions and all that they wait behind."""
        seen, waiting = set(starts), [*starts]
        while waiting:
            new = {edge.ahead for edge in self.ahead.get(waiting.pop(), ())} - seen
            seen |= new
            waiting.extend(new)
        return seen

    def _reached(self) -> set[SessionKey]:
        """Sessions that others wait behind, directly or not, and those that hang behind one of them themselves."""
        ahead = {edge.ahead for group in self.groups for edge in group.edges}
        return self.reach(*ahead, *(key for key in self._both if self.ahead.get(key)))

    def members(self, end: SessionKey) -> set[SessionKey]:
        """The session, and all that others wait for and that wait behind it."""
        seen, waiting = {end}, [end]
        while waiting:
            new = {key for key, _ in self.behind.get(waiting.pop(), ())} - seen
            seen |= new
            waiting.extend(new)
        return seen

    def cleanup(self, addresses: set[str]) -> tuple[str, ...]:
        """What Oracle's clean-up of dead processes and killed sessions says of some addresses."""
        told = [
            state(
                "cleanup",
                type=text(row.get("type")) or "",
                state=text(row.get("state")) or "",
                attempts=whole(row.get("cleanup_attempts")) or 0,
                blocked=whole(row.get("num_blocked")) or 0,
            )
            for row in self.looks.cleanups
            if text(row.get("saddr")) in addresses
        ]
        told += [
            state("cleaner", name=text(row.get("name")) or "", since=whole(row.get("cleanup_time")) or 0)
            for row in self.looks.cleaners
            if told and row.get("state") == "BUSY"
        ]
        return tuple(told)

    def serial(self, key: SessionKey) -> int | None:
        """Its serial number. None if unknown, or if the looks saw two sessions with that SID."""
        serials = self.facts[key].serials if key in self.facts else set()
        return next(iter(serials)) if len(serials) == 1 else None

    def fatal(self, key: SessionKey) -> bool | None:
        """Whether Oracle calls it a critical background process. None if Oracle does not say."""
        looks, said = self.looks, list[bool]()
        for rows, names in ((looks.hang_sessions, ("instance", "sid")), (looks.hangs, VICTIM)):
            said += [row.get("fatal_background") == "Y" for row in rows if looks.key(*map(row.get, names)) == key]
        return any(said) if said else None

    def _meet(self, some: set[SessionKey], others: set[SessionKey]) -> bool:
        """Whether any of some waits behind any of the others, or is one of them, or the other way round."""
        return any(other in self.reach(key) or key in self.reach(other) for key in some for other in others)

    def _disagree(self, what: str, named: dict[str, set[SessionKey]]) -> None:
        parts = [
            f"{source} names {' and '.join(f'session {at(key)}' for key in sorted(keys, key=str))}"
            for source, keys in named.items()
        ]
        said = (
            f"{what} differently by source: {', '.join(parts)}",
            frozenset(key for keys in named.values() for key in keys),
        )
        if said not in self.disagreements:
            self.disagreements.append(said)


def _cache(entry: Row) -> str:
    """The cache of an entry, as waiting sessions name it."""
    return text(entry.get("cache_name")) or unlisted(number(entry.get("cache#")))


def _lock_names(entry: Row) -> Iterator[str]:
    """Its lock between instances as gv$ges_blocking_enqueue names it. The bytes of a RAW may be in the order of the processor."""
    ids = [text(entry.get(f"inst_lock_id{place}")) or "" for place in (1, 2)]
    for each in (ids, ["".join(reversed(re.findall("..", one))) for one in ids]):
        with suppress(ValueError):
            first, second = (int(one, 16) for one in each)
            yield f"[{first:#x}][{second:#x}],[{text(entry.get('inst_lock_type'))}]"


def _who(group: WaiterRows) -> str:
    first = whole(group.longest.get("sid"))
    others = f" and {group.count - 1} more" if group.count > 1 else ""
    return f"session {first}{others}" if first is not None else f"{group.count} sessions"


def _agreed(modes: set[Holding]) -> Holding:
    """Exclusive only if nothing speaks against it."""
    if modes == {"exclusive"}:
        return "exclusive"
    return "share" if "share" in modes and modes <= {"share", "exclusive"} else "unknown"
