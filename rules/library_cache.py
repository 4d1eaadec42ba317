"""Who waits in the library cache and for what: P3 of library cache lock and pin in words, and the waiters of a poll by it.

P3 holds an identifier above its lower 32 bits, the namespace in the 16 bits below, and the mode in the lowest 16. v$event_name
still calls it 100*mode+namespace, as it was once. Sources:

- `oracle/ora/ash/ashtop.sql` of https://github.com/hyee/dbcli reads P3 so, `oracle/ora/markhot.sql` numbers the namespaces.
- https://docs.oracle.com/database/122/REFRN/V-LIBCACHE_LOCKS.htm numbers the modes.
- https://anbob.com/archives/6411.html has 8323074, namespace 127; a published system state dump has 0x1e004a0003 for a
  handle whose dump says Namespace=DBINSTANCE(74) Identifier=30, requested in mode X.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from collectors.commands import command
from collectors.model import Missing, Row, Value, number, text
from collectors.release import at_least
from rules.base import remembered
from rules.context import SignalContext
from rules.library_cache_model import Covering, LibraryCacheGroup, LibraryCacheMode, LibraryCacheWaiters, Lookup
from rules.samples import MINIMUM_WAITERS, blocker_of

LIBRARY_CACHE_SESSIONS = "library_cache_sessions"
LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN = "library cache lock", "library cache pin"

CURSOR, DBINSTANCE, ACCOUNT_STATUS, LAST_LOGON = 0, 74, 79, 127
ACCOUNTS = (ACCOUNT_STATUS, LAST_LOGON)
"""Namespaces whose handle is an account. Who waits for one logs on."""
OBJECTS = (1, 2, 3, 4, 5)
"""Namespaces of tables, views, sequences, synonyms, PL/SQL, triggers, indexes and clusters."""
NAMESPACES: Mapping[int, str] = {
    CURSOR: "SQL AREA",
    1: "TABLE/PROCEDURE",
    2: "BODY",
    3: "TRIGGER",
    4: "INDEX",
    5: "CLUSTER",
    10: "QUEUE",
    23: "RULESET",
    24: "RESOURCE MANAGER",
    64: "EDITION",
    69: "DBLINK",
    72: "OBJECT ID",
    73: "SCHEMA",
    DBINSTANCE: "DBINSTANCE",
    75: "SQL AREA STATS",
    ACCOUNT_STATUS: "ACCOUNT_STATUS",
    82: "SQL AREA BUILD",
    93: "AUDIT POLICY",
    103: "OPTIMIZER FINDING",
    104: "OPTIMIZER DIRECTIVE OWNER",
    112: "USER PRIVILEGE",
    LAST_LOGON: "Last_Successful_Logon_Time",
}
"""The names in the public list. Above 127 the numbers differ between its parts, so they stay numbers."""
SINCE = {LAST_LOGON: "12.1"}
"""Oracle's Reference up to 11.2 calls 127 "no namespace"; the time of the last logon is kept from 12.1 on."""
MODES: Mapping[int, LibraryCacheMode] = {1: "null", 2: "share", 3: "exclusive"}

OLD_FORM = range(100, 1 << 16)
"""100*mode+namespace. A value of today without a namespace is the mode alone, so it is smaller."""


class Target(NamedTuple):
    """What P3 says: the namespace, the mode asked for, and an identifier. None if it is unknown."""

    namespace: int | None
    mode: LibraryCacheMode | None
    identifier: int | None
    """Of a table or another object its object number, as public scripts read it."""


UNKNOWN = Target(None, None, None)


def target_of(p3: Value) -> Target:
    """P3 of a wait for library cache lock or pin, decoded."""
    packed = number(p3)
    if packed is None or packed < 0:
        return UNKNOWN
    whole = int(packed)
    if whole in OLD_FORM:
        mode, namespace = divmod(whole, 100)
        return Target(namespace, MODES[mode], None) if mode in MODES else UNKNOWN
    return Target(whole >> 16 & 0xFFFF, MODES.get(whole & 0xFFFF), whole >> 32 or None)


def namespace_name(namespace: int | None, release: str | None) -> str | None:
    """The name of a namespace. None if no public list has it for the release."""
    since = SINCE.get(-1 if namespace is None else namespace)
    if namespace is None or (since and not (release and at_least(release, since))):
        return None
    return NAMESPACES.get(namespace)


# The waiters of the poll's look, in groups that wait for the same kind of thing.

NAMED: Mapping[str, Callable[[Row], str | None]] = {
    **{
        column: lambda row, column=column: text(row.get(column))  # type: ignore[misc]
        for column in ("username", "machine", "program", "module", "action", "sql_id")
    },
    "blocker": blocker_of,
}
FIXED = 4_294_950_912
"""From here on an object number is one of Oracle's own fixed tables, which dba_objects does not have (as ashtop.sql has it)."""
HANDLE = re.compile(r"(?:[0-9A-F]{8}){1,2}")
"""An address of 4 or 8 bytes in hex: only that becomes a part of a query."""


@remembered
def library_cache_waiters(context: SignalContext) -> LibraryCacheWaiters | None:
    """Foreground sessions in the poll's look, by event, namespace and container, most first. None without a look."""
    reading = context.delta.read(LIBRARY_CACHE_SESSIONS)
    if isinstance(reading, Missing):
        return None
    groups: dict[tuple[str, int | None, str | None], list[Row]] = {}
    for row in foreground(reading.rows):
        key = (text(row.get("event")) or "library cache", target_of(row.get("p3")).namespace, text(row.get("con_id")))
        groups.setdefault(key, []).append(row)
    found = (_group(*key, rows, context.delta.release) for key, rows in groups.items())
    return LibraryCacheWaiters(
        met=max((len(reading.rows), *(int(number(row.get("met")) or 0) for row in reading.rows))),
        listed=len(reading.rows),
        groups=tuple(sorted(found, key=lambda group: (-group.sessions, group.event, str(group.namespace)))),
    )


def foreground(rows: Sequence[Row]) -> Iterator[Row]:
    """The sessions without the background processes, whose waits are not in DB time. An untold kind is a session."""
    return (row for row in rows if row.get("type") != "BACKGROUND")


def _group(
    event: str, namespace: int | None, container: str | None, rows: Sequence[Row], release: str | None
) -> LibraryCacheGroup:
    targets = [target_of(row.get("p3")) for row in rows]
    modes = {target.mode for target in targets}
    handles = Counter(sorted(handle for row in rows if (handle := _handle(row))))
    handle, sessions = handles.most_common(1)[0] if handles else (None, None)
    identifiers = {target.identifier for target, row in zip(targets, rows, strict=True) if _handle(row) == handle}
    identifier = identifiers.pop() if handle and len(identifiers) == 1 else None
    waits = [micro for row in rows if (micro := number(row.get("wait_time_micro"))) is not None]
    return LibraryCacheGroup(
        event=event,
        namespace=namespace,
        namespace_name=namespace_name(namespace, release),
        mode=modes.pop() if len(modes) == 1 else None,
        container=container if container != "0" else None,
        sessions=len(rows),
        handles=len(handles) if handles.total() == len(rows) else None,
        handle=handle,
        handle_sessions=sessions,
        identifier=identifier,
        longest_seconds=max(waits) / 1e6 if waits else None,
        lookups=tuple(_lookups(handle, namespace, identifier)) if handle else (),
        **{name: _covering(rows, read) for name, read in NAMED.items()},
    )


def _handle(row: Row) -> str | None:
    spelled = (text(row.get("p1raw")) or "").upper()
    return spelled if HANDLE.fullmatch(spelled) else None


def _covering(rows: Sequence[Row], read: Callable[[Row], str | None]) -> Covering | None:
    """The name that more than half of some sessions share."""
    named = Counter(sorted(name for row in rows if (name := read(row))))
    name, sessions = named.most_common(1)[0] if named else ("", 0)
    return Covering(name=name, sessions=sessions) if sessions * 2 > len(rows) else None


# What finds the object behind a handle. A DBA runs it by hand: no source says that the library cache has an index by address.


def _lookups(handle: str, namespace: int | None, identifier: int | None) -> Iterator[Lookup]:
    if namespace in OBJECTS and identifier and identifier < FIXED:
        yield Lookup(
            finds="the object",
            query=command(
                "select owner, object_name, object_type from dba_objects where object_id = {id} and rownum <= 20",
                id=identifier,
            ),
            touches="it reads the dictionary by its key, in the container of the sessions; that P3 has the object number is "
            "how public scripts read it",
        )
    name = ", which for an account is a number of a user" if namespace in ACCOUNTS else ""
    yield Lookup(
        finds=f"the name of the handle{name}",
        query=command(
            "select kglnaown, kglnaobj from x$kglob where kglhdadr = hextoraw('{handle:code}') and rownum <= 1",
            handle=handle,
        ),
        touches="run it as SYS, and once: it may walk through the whole library cache and take its mutexes",
    )
    yield Lookup(
        finds="the sessions that hold it",
        query=command(
            "select s.sid, s.serial#, s.username, s.machine, l.type, l.mode_held from v$libcache_locks l, v$session s "
            "where l.object_handle = hextoraw('{handle:code}') and l.mode_held > 1 and s.saddr = l.holding_user_session "
            "and rownum <= 20",
            handle=handle,
        ),
        touches="run it once: it may walk through all locks and pins of the library cache",
    )


def namespaces_waited_for(context: SignalContext) -> frozenset[int]:
    """Namespaces that half or more of the foreground sessions in the poll's look wait for, if there are ten or more."""
    waiting = library_cache_waiters(context)
    wanted: Counter[int] = Counter()
    for group in waiting.groups if waiting else ():
        if group.namespace is not None:
            wanted[group.namespace] += group.sessions
    met = sum(group.sessions for group in waiting.groups) if waiting else 0
    return frozenset(name for name, sessions in wanted.items() if met >= MINIMUM_WAITERS and sessions * 2 >= met)


def caches_of_both_locks(context: SignalContext) -> frozenset[str]:
    """Caches that a session behind another one waits for with row cache lock, while others so wait for library cache lock.

    Holders of one lock may then wait for the other. Background processes count: MMON and its slaves meet it too.
    """
    rows = context.delta.rows(LIBRARY_CACHE_SESSIONS)
    behind = any(row.get("event") == LIBRARY_CACHE_LOCK and row.get("blocking_session") for row in rows)
    stuck = context.look.sessions if behind and context.look is not None else ()
    return frozenset(waiter.cache for waiter in stuck if waiter.surface == "lock" and waiter.blocker)
