"""The sessions that one dump of a trace file shows, who waits for whom among them, and the same as rows of our views."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from collectors.model import ROW_CACHE_LOCK_EVENT, Missing, Reading, Row, Rows

MOST_SESSIONS = 20_000
"""Sessions of one dump that are kept. No instance has more; a damaged file may seem to."""
MOST_LOCKS = 100_000
MOST_BLOCKERS = 100
"""Sessions that one waits for. From the second one on, its chain has no single end."""
ROW_CACHE_EVENTS = ("latch: row cache objects", "row cache mutex", ROW_CACHE_LOCK_EVENT)
LIBRARY_CACHE_EVENTS = ("library cache lock", "library cache pin")
MODES: Mapping[str, int] = {"N": 0, "S": 3, "X": 5}
"""Modes of a row cache lock as a trace writes them → as v$rowcache_parent numbers them."""
LARGEST = 2**63 - 1
CACHES: Mapping[int, str] = {
    0: "dc_tablespaces",
    1: "dc_free_extents",
    2: "dc_segments",
    3: "dc_rollback_segments",
    4: "dc_used_extents",
    5: "dc_tablespace_quotas",
    6: "dc_files",
    8: "dc_objects",
    12: "dc_constraints",
    13: "dc_sequences",
    16: "dc_histogram_defs",
    17: "dc_global_oids",
}
"""Caches by id, for a dump that prints ids only: those that have the same id in every list that is public, from 9.2
(https://www.iter01.com/355568.html) to 12.1. Others have moved, and are not named."""

SessionKey = tuple[int | None, int]
"""Number of the instance, None if the dump does not say, and SID."""


def hexadecimal(digits: str | None) -> int | None:
    """A number in hex with or without 0x. None for anything else, also for `(nil)`."""
    try:
        value = int(digits or "", 16)
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST * 2 + 1 else None


def decimal(digits: str | None) -> int | None:
    """A whole number. None for anything else, and for one that no view could hold."""
    value = int(digits) if digits and digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    return value if value is not None and value <= LARGEST else None


@dataclass(slots=True)
class TracedSession:
    """What a dump says of one session. None where it does not say."""

    instance: int | None
    sid: int
    serial: int | None = None
    ospid: str | None = None
    pid: int | None = None
    type: str | None = None
    """USER or BACKGROUND."""
    program: str | None = None
    username: str | None = None
    module: str | None = None
    sql_id: str | None = None
    waits: bool | None = None
    event: str | None = None
    """What it waits for. Only with `waits`."""
    parameters: tuple[int | None, ...] = ()
    """P1 to P3 of the wait, as far as they were read."""
    seconds: float | None = None
    """How long it has waited."""
    blockers: list[SessionKey] = field(default_factory=list)
    """Sessions that it waits for directly, by what the dump says."""
    final: SessionKey | None = None
    """The session at the end of its chain, by what the dump says."""
    free: bool = False
    """Whether the dump says that it waits for no session."""
    cycle: bool = False
    analysed: bool = False
    """Whether a hang analysis names it."""
    blocking: int | None = None
    """How many sessions the dump says it blocks. It may list fewer."""

    @property
    def key(self) -> SessionKey:
        return (self.instance, self.sid)

    def begin_wait(self, event: str | None) -> None:
        """A wait of that name, or none."""
        self.waits, self.event = event is not None, event
        self.parameters, self.seconds = (), None

    def wait_for(self, blocker: SessionKey) -> None:
        """It waits for that session directly."""
        if len(self.blockers) < MOST_BLOCKERS and blocker != self.key and blocker not in self.blockers:
            self.blockers.append(blocker)


@dataclass(frozen=True, slots=True)
class RowCacheLock:
    """A lock on an entry of the row cache that a session holds or asks for."""

    entry: int
    """Address of the entry."""
    session: int | None
    """Address of the session."""
    inside: SessionKey | None
    """The session that was being dumped."""
    held: int
    asked: int


@dataclass(slots=True)
class Dump:
    """One dump: a hang analysis, a system state, or what a trace file has beside them. Its sizes are bounded."""

    kind: str
    line: int
    at: datetime | None = None
    sessions: dict[SessionKey, TracedSession] = field(default_factory=dict)
    addresses: dict[int, SessionKey] = field(default_factory=dict)
    """Address of a session → the session."""
    blocking_addresses: list[tuple[SessionKey, int]] = field(default_factory=list)
    """A session, and the address of the one that it says it waits for."""
    blocking_processes: list[tuple[SessionKey, int]] = field(default_factory=list)
    """A session, and the number of the process that may hold the latch it waits for."""
    locks: list[RowCacheLock] = field(default_factory=list)
    entries: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Address of an entry of the row cache → id and name of its cache."""
    chains: int = 0
    left_out: int = 0
    """Sessions and locks beyond the bounds."""

    def session(self, instance: int | None, sid: int | None) -> TracedSession | None:
        """The session, made if it is new. None without a SID, or beyond the bound."""
        if sid is None:
            return None
        found = self.sessions.get((instance, sid))
        if found is None:
            if len(self.sessions) >= MOST_SESSIONS:
                self.left_out += 1
                return None
            found = self.sessions[instance, sid] = TracedSession(instance, sid)
        return found

    def name_entry(self, address: int | None, cache_id: int | None, cache: str) -> None:
        """The cache of an entry."""
        if address is not None and cache_id is not None and len(self.entries) < MOST_LOCKS:
            self.entries[address] = (cache_id, cache)

    def add_lock(self, lock: RowCacheLock) -> None:
        """A lock, if there is room."""
        if len(self.locks) < MOST_LOCKS:
            self.locks.append(lock)
        else:
            self.left_out += 1

    # From addresses to sessions, once the dump is complete

    def settle(self, own: int | None) -> None:
        """Replace addresses by sessions. `own`: number of the instance whose processes the dump shows, if known."""
        if own is not None:
            self._place(own)
        for key, address in self.blocking_addresses:
            blocker = self.addresses.get(address)
            if blocker is not None and key in self.sessions:
                self.sessions[key].wait_for(blocker)
        by_process = {session.pid: session.key for session in self.sessions.values() if session.pid is not None}
        for key, pid in self.blocking_processes:
            if key in self.sessions and pid in by_process:
                self.sessions[key].wait_for(by_process[pid])
        for waiter, holders in self._behind_entries():
            if len(holders) == 1:
                self.sessions[waiter].wait_for(holders[0])
        endless: set[SessionKey] = set()
        for session in self.sessions.values():
            if session.final is None:
                self._end(session, endless)
        self.blocking_addresses.clear()
        self.blocking_processes.clear()

    def _end(self, session: TracedSession, endless: set[SessionKey]) -> None:
        """The session at the end of a chain, for each session of it, so that no part of a long chain is walked twice.

        None for a circle, and if the chain forks: then the end is not one session. Those are `endless`.
        """
        seen: dict[SessionKey, TracedSession] = {}
        current: TracedSession | None = session
        key = session.key
        while current is not None and current.blockers and current.final is None:
            if key in seen or key in endless or len(current.blockers) > 1:
                endless.update(seen)
                return
            seen[key] = current
            key = current.blockers[0]
            current = self.sessions.get(key)
        end = current.final if current is not None and current.blockers and current.final else key
        for each in seen.values():
            each.final = end

    def _place(self, own: int) -> None:
        """Sessions without an instance are of the one that wrote the dump."""

        def placed(key: SessionKey) -> SessionKey:
            return (own, key[1]) if key[0] is None else key

        merged: dict[SessionKey, TracedSession] = {}
        for key, session in self.sessions.items():
            session.instance = placed(key)[0]
            session.blockers = list(dict.fromkeys(map(placed, session.blockers)))
            session.final = session.final and placed(session.final)
            known = merged.get(placed(key))
            merged[placed(key)] = session if known is None else _one(known, session)
        self.sessions = merged
        self.addresses = {address: placed(key) for address, key in self.addresses.items()}
        self.blocking_addresses = [(placed(key), address) for key, address in self.blocking_addresses]
        self.blocking_processes = [(placed(key), pid) for key, pid in self.blocking_processes]
        self.locks = [
            RowCacheLock(lock.entry, lock.session, lock.inside and placed(lock.inside), lock.held, lock.asked)
            for lock in self.locks
        ]

    def _owner(self, lock: RowCacheLock) -> SessionKey | None:
        """The session of a lock: by its address, else the one that was being dumped."""
        found = None if lock.session is None else self.addresses.get(lock.session)
        key = found or lock.inside
        return key if key in self.sessions else None

    def _by_entry(self) -> Mapping[int, tuple[list[tuple[SessionKey, int]], list[tuple[SessionKey, int]]]]:
        """Entry → who holds it and who asks for it, each with the mode. Only entries that somebody asks for."""
        found: dict[int, tuple[list[tuple[SessionKey, int]], list[tuple[SessionKey, int]]]] = defaultdict(
            lambda: ([], [])
        )
        for lock in self.locks:
            key = self._owner(lock)
            if key is None:
                continue
            held, asked = found[lock.entry]
            if lock.held:
                held.append((key, lock.held))
            if lock.asked:
                asked.append((key, lock.asked))
        return {entry: both for entry, both in found.items() if both[1]}

    def _behind_entries(self) -> Iterator[tuple[SessionKey, list[SessionKey]]]:
        """Each session that asks for an entry, with those that hold it."""
        for held, asked in self._by_entry().values():
            holders = list(dict.fromkeys(key for key, _ in held))
            if len(holders) > 2:  # with the session that asks: nobody waits for one alone
                continue
            for waiter, _ in asked:
                yield waiter, [holder for holder in holders if holder != waiter]

    # As rows of our views

    def on_row_cache(self) -> list[TracedSession]:
        """The sessions that wait for the row cache."""
        return [session for session in self.sessions.values() if session.event in ROW_CACHE_EVENTS]

    def names(self) -> Mapping[int, str]:
        """Cache id → name, as the entries of the dump name them."""
        return dict(self.entries.values())

    def in_chains(self) -> list[TracedSession]:
        """The sessions that wait for another one or that others wait for."""
        named = {key for session in self.sessions.values() for key in (*session.blockers, session.final)}
        named |= {key for held, _ in self._by_entry().values() for key, _ in held}
        return [session for session in self.sessions.values() if session.key in named or session.blockers]

    def readings(self) -> dict[str, Reading]:
        """Rows of the looks of a hang. A look that this kind of dump cannot have is left out.

        Rows of waiting_sessions have the number of the instance beside the columns of that view: a hang analysis may show the
        sessions of a whole cluster.
        """
        waiting, library = self.on_row_cache(), self._on_library_cache()
        names = {**CACHES, **self.names()}
        read: dict[str, Reading] = {
            "waiting_sessions": Rows(
                "waiting_sessions", tuple(_on_cache(each, len(waiting), names) for each in waiting)
            ),
            "chain_sessions": Rows("chain_sessions", tuple(map(_in_chain, self.in_chains()))),
            "library_cache_sessions": Rows(
                "library_cache_sessions", tuple(_waiting(each, len(library)) for each in library)
            ),
        }
        analysed = [session for session in self.sessions.values() if session.analysed]
        if analysed:
            read["v$wait_chains"] = Rows("v$wait_chains", tuple(self._chain_rows(analysed)))
        holders = tuple(self._holders())
        read["row_cache_blockers"] = (
            Rows("row_cache_blockers", holders)
            if holders or self.kind == "system state"
            else Missing(
                "row_cache_blockers",
                "unread",
                "the trace file does not show who holds entries of the row cache",
                "a system state of level 258 shows it (docs/emergency.md, part 5)",
            )
        )
        return read

    def _on_library_cache(self) -> list[TracedSession]:
        return [session for session in self.sessions.values() if session.event in LIBRARY_CACHE_EVENTS]

    def _chain_rows(self, analysed: Iterable[TracedSession]) -> Iterator[Row]:
        waiters: dict[SessionKey, int] = defaultdict(int)
        analysed = list(analysed)
        for session in analysed:
            for each in session.blockers:
                waiters[each] += 1
        for session in analysed:
            blocker = next(iter(session.blockers), None)
            ahead = None if blocker is None else self.sessions.get(blocker)
            yield {
                "chain_id": None,
                "instance": session.instance,
                "sid": session.sid,
                "sess_serial#": session.serial,
                "chain_is_cycle": "TRUE" if session.cycle else "FALSE",
                "blocker_is_valid": "FALSE"
                if session.free and blocker is None
                else None
                if blocker is None
                else "TRUE",
                "blocker_instance": None if blocker is None else blocker[0],
                "blocker_sid": None if blocker is None else blocker[1],
                "blocker_sess_serial#": None if ahead is None else ahead.serial,
                "in_wait": None if session.waits is None else "TRUE" if session.waits else "FALSE",
                "wait_event_text": session.event,
                "in_wait_secs": session.seconds,
                "num_waiters": waiters[session.key],
            }

    def _holders(self) -> Iterator[Row]:
        names = self.names()
        for entry, (held, asked) in self._by_entry().items():
            cache_id, cache = self.entries.get(entry, (None, None))
            for key, mode in dict.fromkeys(held):
                yield {
                    "cache#": cache_id,
                    "key": None,
                    "cache_name": cache or (None if cache_id is None else names.get(cache_id)),
                    "lock_request": max(request for _, request in asked),
                    "waiters": len({waiter for waiter, _ in asked if waiter != key}),
                    "lock_mode": mode,
                    **_in_chain(self.sessions[key]),
                }


def _one(named: TracedSession, other: TracedSession) -> TracedSession:
    """One session that a dump shows twice, with and without its instance. The one that says whether it waits counts first."""
    first, second = (named, other) if named.waits is not None else (other, named)
    for name in ("serial", "ospid", "pid", "type", "program", "username", "module", "sql_id", "seconds", "final"):
        if getattr(first, name) is None:
            setattr(first, name, getattr(second, name))
    for blocker in second.blockers:
        first.wait_for(blocker)
    first.cycle |= second.cycle
    first.analysed |= second.analysed
    first.free = not first.blockers and (first.free or second.free)
    return first


def _in_chain(session: TracedSession) -> Row:
    """A row as chain_sessions has it."""
    return {
        "instance": session.instance,
        "sid": session.sid,
        **_about(session),
        "state": None if session.waits is None else "WAITING" if session.waits else "WAITED KNOWN TIME",
    }


def _waiting(session: TracedSession, met: int) -> Row:
    """A row as waiting_sessions has it, with the number of the instance."""
    return {
        **({} if session.instance is None else {"instance": session.instance}),
        "sid": session.sid,
        **_about(session),
        "met": met,
    }


def _on_cache(session: TracedSession, met: int, names: Mapping[int, str]) -> Row:
    """A row as waiting_sessions has it, with the name of the cache if the wait says which it is."""
    row = _waiting(session, met)
    cache_id = row.get("p1")
    if session.event == "latch: row cache objects" or not isinstance(cache_id, int) or cache_id not in names:
        return row
    return {**row, "cache_name": names[cache_id]}


def _about(session: TracedSession) -> Row:
    """What all the looks have of a session. Who blocks it is left out if the dump does not say: it may be that nobody does."""
    p1, p2, p3 = (*session.parameters, None, None, None)[:3]
    direct = next(iter(session.blockers), None)
    row: dict[str, int | float | str | None] = {
        "serial#": session.serial,
        "type": session.type,
        "program": session.program,
        "username": session.username,
        "module": session.module,
        "sql_id": session.sql_id,
        "event": session.event,
        "p1": p1,
        "p1raw": None if p1 is None else f"{p1:016X}",
        "p2": p2,
        "p3": p3,
    }
    if session.seconds is not None:
        row["wait_time_micro"] = session.seconds * 1e6
    if len(session.blockers) == 1 and direct is not None:
        row |= {"blocking_instance": direct[0], "blocking_session": direct[1]}
    elif session.free:
        row |= {"blocking_instance": None, "blocking_session": None}
    if session.final is not None:
        row |= {"final_blocking_instance": session.final[0], "final_blocking_session": session.final[1]}
    return row
