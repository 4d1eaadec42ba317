"""From the looks of a hang to its wait chains, drawn as trees: the end first, then those that wait behind it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from collectors.model import Delta, Missing, Row, number, text
from rules.base import remembered
from rules.context import SignalContext
from rules.hangs.action import decided
from rules.hangs.graph import (
    VICTIM,
    ChainGraph,
    ChainLooks,
    Edge,
    SessionKey,
    WaiterRows,
    at,
    first,
    kind_of,
    named,
    process_name,
    who,
    whole,
)
from rules.hangs.knowledge import state
from rules.hangs.model import ChainSession, ChainSource, HangVerdict, WaitChain
from rules.samples import cache_namer
from rules.waiting_sessions import moving, waiting_in

HOLDERS, SESSIONS, UNDO = "row_cache_blockers", "chain_sessions", "v$transaction"
BESIDE = {
    "chains": "v$wait_chains",
    "hangs": "v$hang_info",
    "hang_sessions": "v$hang_session_info",
    "slaves": "v$px_session",
    "locks": "v$lock",
    "jobs": "running_jobs",
    "transactions": UNDO,
    "cleanups": "v$dead_cleanup",
    "cleaners": "v$cleanup_process",
    "enqueues": "gv$ges_blocking_enqueue",
}
PARTS = {
    "v$rowcache_parent": "the locks of the processes",
    "v$wait_chains": "the hang analysis",
    "v$session": "the waiting session",
}
"""What a trace file has in place of a view."""
MOST_UNDO = 500
"""Transactions that a look reads, the largest first. Beyond them a session may have a small one."""
MOST_TREES = 10
MOST_LISTED = 20
"""Sessions of a tree, or groups of sessions that wait alike, that are listed."""


class Forest(NamedTuple):
    """The chains of a hang, the one with most waiters first, and how many smaller ones are left out."""

    chains: tuple[WaitChain, ...]
    left_out: int


@remembered
def chains_of(context: SignalContext) -> Forest:
    """The chains of the sessions that hang, the largest first. Without any if none hangs."""
    delta = context.delta
    waiting, cache_of = waiting_in(delta), cache_namer(delta, context.map, context.child_by_address)
    views: dict[str, Any] = {name: delta.rows(view) for name, view in BESIDE.items()}
    alone = next((text(row.get("parallel")) for row in delta.rows("v$instance")), None)
    looks = ChainLooks(
        own=next((whole(row.get("instance_number")) for row in delta.rows("v$instance")), None),
        clustered=None if alone is None else alone == "YES",
        cache_of=cache_of,
        waiters=waiting,
        met=max((whole(row.get("met")) or 0 for row in waiting), default=0),
        holders=delta.rows(HOLDERS),
        sessions=delta.rows(SESSIONS),
        read=frozenset(view for view in BESIDE.values() if not isinstance(delta.read(view), Missing)),
        past=delta.source == "trace",
        release=delta.release,
        moving=frozenset(moving(delta, waiting, lambda row: (text(row.get("event")), cache_of(row)))),
        **_age(delta),
        **_earlier(delta),
        **views,
    )
    return wait_chains(looks, platform_of(delta))


def _age(delta: Delta) -> dict[str, Any]:
    """When it was last proven who holds what, and how long before the judgement that was."""
    reading, end = delta.read(HOLDERS), delta.basis.end
    if isinstance(reading, Missing):
        return {}
    if reading.read_at is None:
        return {"seen_at": end, "age_seconds": 0.0}
    age = None if end is None else max(0.0, (end - reading.read_at).total_seconds())
    return {"seen_at": reading.read_at, "age_seconds": age}


def _earlier(delta: Delta) -> dict[str, Any]:
    """Undo as the look before this one found it."""
    before, now = delta.at_begin.get(UNDO), delta.read(UNDO)
    if before is None or isinstance(now, Missing):
        return {}
    begin, end = before.read_at or delta.basis.begin, now.read_at or delta.basis.end
    apart = 0.0 if begin is None or end is None else (end - begin).total_seconds()
    return {"before": before.rows, "minutes_between": apart / 60} if apart > 0 else {}


def platform_of(delta: Delta) -> str | None:
    """rds or autonomous, where people may do less. None elsewhere, or if it is not known."""
    place = next(iter(delta.rows("sys_context")), {})
    if text(place.get("cdb_name")) == "RDSCDB" or delta.rows("all_users"):
        return "rds"
    service = text(place.get("cloud_service"))
    return "autonomous" if service and service.upper() != "PAAS" else None


def wait_chains(looks: ChainLooks, platform: str | None = None) -> Forest:
    """The chains of a hang. At most one of them has an action. None if nobody hangs.

    `platform`: rds or autonomous, where a session is ended in another way.
    """
    graph = ChainGraph(looks)
    trees = [_tree(graph, end) for end in _ends(graph)]
    trees += [_circle(graph, members) for members in _circles(graph)]
    trees += list(_unnamed(graph))
    trees.sort(key=lambda tree: (-tree.waiting, str(tree.end)))
    left_out = max(len(trees) - MOST_TREES, 0)
    seen = {"seen_at": looks.seen_at, "age_seconds": looks.age_seconds}
    trees = [decided(tree.model_copy(update=seen), graph, platform) for tree in trees[:MOST_TREES]]
    unlisted = max(looks.met - len(looks.waiters), 0)
    if trees and unlisted:
        trees[0] = trees[0].model_copy(update={"left_out": trees[0].left_out + unlisted})
    return Forest(tuple(_one_action(trees)), left_out)


def _one_action(trees: Iterable[WaitChain]) -> Iterator[WaitChain]:
    """Only the largest tree that has an action keeps it: after it, everything has to be looked at again."""
    given = False
    for tree in trees:
        if tree.action is not None and given:
            yield tree.without(state("larger"))
        else:
            yield tree
        given |= tree.action is not None


def _ends(graph: ChainGraph) -> list[SessionKey]:
    return sorted((key for key in graph.reached if not graph.ahead.get(key)), key=str)


def _circles(graph: ChainGraph) -> list[frozenset[SessionKey]]:
    """Sessions that wait for each other, where no way leads to an end."""
    left = graph.reached.difference(*(graph.members(end) for end in _ends(graph)))
    found: list[frozenset[SessionKey]] = []
    while left:
        key = left.pop()
        circle = frozenset(graph.reach(key) & graph.members(key))
        left -= circle
        found += [circle] if len(circle) > 1 else []
    return sorted(found, key=lambda group: sorted(map(str, group)))


def _tree(graph: ChainGraph, end: SessionKey) -> WaitChain:
    cycle = any(graph.facts[key].cycle for key in graph.members(end) if key in graph.facts)
    return _chain(graph, end, graph.members(end), end=_session(graph, end, depth=0, behind=None), cycle=cycle)


def _circle(graph: ChainGraph, members: frozenset[SessionKey]) -> WaitChain:
    start = min(members, key=str)
    ahead = graph.ahead.get(start, ())
    chain = _chain(graph, start, members, end=None, cycle=True)
    inside = _session(graph, start, depth=1, behind=at(ahead[0].ahead) if ahead else None)
    below = (session.model_copy(update={"depth": session.depth + 1}) for session in chain.waiters)
    every = {"waiters": (inside, *below), "waiting": chain.waiting + 1, "circle": len(members)}
    return chain.model_copy(update=every)


def _chain(graph: ChainGraph, start: SessionKey, members: Iterable[SessionKey], **more: Any) -> WaitChain:
    listed, waiting, left_out = _drawn(graph, start)
    about = {"disagreements": _disagreements(graph, members), "oracle": _verdict(graph, members)}
    unlisted = max(
        (whole(graph.facts[start].row.get("blocking")) or 0) - waiting, 0
    )  # a trace may count more than it lists
    counts = {"waiting": waiting + unlisted, "left_out": left_out + unlisted}
    return WaitChain(waiters=tuple(listed), **counts, **about, **more)


def _unnamed(graph: ChainGraph) -> Iterator[WaitChain]:
    """Sessions whose blocker nobody names."""
    alone = [group for group in graph.groups if not group.edges]
    alone.sort(key=lambda group: (-group.count, group.event, group.cache))
    if alone:
        yield WaitChain(
            end=None,
            waiters=tuple(_waiters(group, None, 1, graph.looks) for group in alone[:MOST_LISTED]),
            waiting=sum(group.count for group in alone),
            left_out=sum(group.count for group in alone[MOST_LISTED:]),
        )


def _drawn(graph: ChainGraph, start: SessionKey) -> tuple[list[ChainSession], int, int]:
    """The sessions behind a session, depth first and nearest first; how many there are; how many are not listed."""
    found: list[ChainSession] = []
    seen, waiting = {start}, 0
    stack: list[tuple[SessionKey, int]] = [(start, 0)]
    while stack:
        key, depth = stack.pop()
        for group, edge in graph.groups_behind.get(key, ()):
            waiting += group.count
            found.append(_waiters(group, edge, depth + 1, graph.looks))
        for node, edge in graph.behind.get(key, ()):
            if node in seen:
                continue
            seen.add(node)
            waiting += 1
            found.append(_session(graph, node, depth + 1, at(edge.ahead), certain=edge.direct))
            stack.append((node, depth + 1))
    shown = _ordered(found)[:MOST_LISTED]
    return shown, waiting, waiting - sum(session.alike for session in shown)


def _ordered(sessions: list[ChainSession]) -> list[ChainSession]:
    """Each session after the one it waits behind; those that others wait for before those that are only counted."""
    behind: dict[str, list[ChainSession]] = defaultdict(list)
    for session in sessions:
        if session.behind is not None:
            behind[session.behind].append(session)

    def weight(session: ChainSession) -> tuple[bool, int, int]:
        return _name(session) not in behind, -session.alike, session.sid or 0

    found: list[ChainSession] = []
    stack = sorted((session for session in sessions if session.depth == 1), key=weight, reverse=True)
    while stack:
        session = stack.pop()
        found.append(session)
        below = behind.get(_name(session), [])
        stack += sorted((other for other in below if other.depth == session.depth + 1), key=weight, reverse=True)
    return found


def _name(session: ChainSession) -> str:
    """`312@1` of a session that others may wait for; empty for sessions that are only counted."""
    return "" if session.sid is None or session.alike > 1 else at((session.instance, session.sid))


def _waiters(group: WaiterRows, edge: Edge | None, depth: int, looks: ChainLooks) -> ChainSession:
    """Sessions that wait alike, as the one that has waited longest."""
    row = group.longest
    key = looks.here(row)
    micro = number(row.get("wait_time_micro"))
    return ChainSession(
        instance=(key[0] if key else looks.own) if row else None,
        sid=whole(row.get("sid")),
        serial=whole(row.get("serial#")),
        kind=kind_of(row) if row else None,
        name=process_name(text(row.get("program"))),
        event=group.event,
        waited_seconds=None if micro is None else micro / 1e6,
        cache=group.cache,
        sources=_sources(edge.sources if edge else (), looks),
        **who(row),
        behind=at(edge.ahead) if edge else None,
        depth=depth,
        alike=group.count,
        certain=edge is None or edge.direct,
    )


def _session(
    graph: ChainGraph, key: SessionKey, depth: int, behind: str | None, *, certain: bool = True
) -> ChainSession:
    facts, looks = graph.facts[key], graph.looks
    into = [edge for _, edge in (*graph.behind.get(key, ()), *graph.groups_behind.get(key, ()))]
    row = facts.row
    here = key[0] is not None and key[0] == looks.own
    slave = first(each for each in looks.slaves if here and whole(each.get("sid")) == key[1])
    job = first(
        each
        for each in looks.jobs
        if whole(each.get("session_id")) == key[1] and whole(each.get("running_instance")) in (key[0], None)
    )
    kind, name = kind_of(row, slave=bool(slave)), process_name(text(row.get("program")))
    if kind == "job" and job:
        name = f"{text(job.get('owner'))}.{text(job.get('job_name'))}"
    undo, earlier = (_undo(rows, key[1]) if here else None for rows in (looks.transactions, looks.before))
    all_read = UNDO in looks.read and len(looks.transactions) < MOST_UNDO
    undo = 0 if undo is None and here and all_read else undo
    fall = (
        None
        if undo is None or earlier is None or not looks.minutes_between
        else (earlier - undo) / looks.minutes_between
    )
    holding, coordinator = {edge.mode for edge in into}, whole(slave.get("qcsid"))
    return ChainSession(
        instance=key[0],
        sid=key[1],
        serial=graph.serial(key),
        kind=kind,
        name=name,
        holds="exclusive" if holding == {"exclusive"} else "share" if "share" in holding else "unknown",
        event=facts.event,
        status=_status(facts.moments, row),
        waited_seconds=facts.seconds,
        cache=looks.cache_of({**row, "event": facts.event}),
        sources=_sources((source for edge in into for source in edge.sources), looks),
        undo_blocks=undo,
        undo_fall_per_minute=fall if fall and fall > 0 else None,
        **who(row),
        coordinator=None
        if coordinator is None
        else named(coordinator, whole(slave.get("qcserial#")), whole(slave.get("qcinst_id"))),
        fatal=graph.fatal(key),
        behind=behind,
        depth=depth,
        certain=certain,
    )


def _undo(rows: Iterable[Row], sid: int) -> int | None:
    """The undo blocks of a session's transactions. None without a row."""
    return next((whole(row.get("used_ublk")) for row in rows if whole(row.get("sid")) == sid), None)


def _status(moments: Iterable[Row], row: Row) -> str | None:
    """Its status; KILLED as soon as one look says so."""
    told = [text(each.get("status")) for each in (*moments, row)]
    return "KILLED" if "KILLED" in told else next((each for each in told if each), None)


def _sources(named: Iterable[ChainSource], looks: ChainLooks) -> tuple[ChainSource, ...]:
    """Each source once. A trace file shows the same as the views, and is none of them."""
    once = tuple(dict.fromkeys(named))
    return ("trace",) if once and looks.past else once


def _disagreements(graph: ChainGraph, members: Iterable[SessionKey]) -> tuple[str, ...]:
    inside = set(members)
    said = [words for words, keys in graph.disagreements if keys & inside]
    for view, part in PARTS.items() if graph.looks.past else ():
        said = [words.replace(view, part) for words in said]
    for key in sorted(inside, key=str):
        serials = graph.facts[key].serials if key in graph.facts else set()
        if len(serials) > 1:
            both = " and ".join(map(str, sorted(serials)))
            said.append(f"session {at(key)} has the serial numbers {both} by source: the number was used again")
    return tuple(said)


def _verdict(graph: ChainGraph, members: Iterable[SessionKey]) -> HangVerdict | None:
    """What Oracle says of the hang that one of these sessions belongs to."""
    inside, looks = set(members), graph.looks
    ids = {
        row.get("hang_id") for row in looks.hang_sessions if looks.key(row.get("instance"), row.get("sid")) in inside
    }
    for row in looks.hangs:
        victim = looks.key(*map(row.get, VICTIM))
        if victim not in inside and row.get("hang_id") not in ids:
            continue
        return HangVerdict(
            hang_id=whole(row.get("hang_id")),
            kind=text(row.get("hang_type")),
            since=text(row.get("hang_create_time")),
            resolves_at=text(row.get("hang_resolve_time")),
            ignored=None if row.get("ignored_hang") is None else row.get("ignored_hang") == "Y",
            status=text(row.get("hang_status")) or text(row.get("resolution_status")),
            victim=None if victim is None else named(victim[1], whole(row.get("victim_serial#")), victim[0]),
            fatal_background=None if row.get("fatal_background") is None else row.get("fatal_background") == "Y",
        )
    return None
