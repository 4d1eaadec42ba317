"""The mildest command that may end a chain, or why there is none and how to find what is missing. latchscope never runs it.

A command is given only if all of this is known: the end is proven to wait for nobody, it holds exclusively what the session
before it waits for, it is a foreground session (or a job, or the coordinator of a slave) in no state of hangs.yaml, its number,
serial number and instance, and all that within the last minute.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.commands import WithheldError, command
from collectors.model import Row, spoken, text
from collectors.release import at_least
from rules.formatting import Value, say
from rules.hangs.graph import ChainGraph, first, kind_of, named, process_name, whole
from rules.hangs.knowledge import event_of, knowledge, query, state
from rules.hangs.model import (
    MESSENGER,
    ActionKind,
    ChainAction,
    ChainSession,
    FurtherAction,
    MissingFact,
    WaitChain,
)

CANCEL_SINCE = {None: "18", "rds": "19"}
"""The first release with CANCEL SQL, by platform. Autonomous Database allows ALTER SYSTEM SET and KILL SESSION only."""
LITTLE_UNDO, MUCH_UNDO = 1_000, 100_000
OTHER_DATABASE = re.compile(r"oracle@\S+ \(TNS .*\)|ORACLE\.EXE \(TNS .*\)", re.IGNORECASE)
"""The program of a session that another database opened over a database link."""
UPGRADE = re.compile(r"datapatch|catupgrd|catctl|catcon|catproc|catpatch|utlrp|dbupgrade|autoupgrade", re.IGNORECASE)
OURS = "latchscope"

KILL = "alter system kill session '{sid},{serial},@{instance}' immediate"
CANCEL = "alter system cancel sql '{sid}, {serial}, @{instance}'"
DISCONNECT = "alter system disconnect session '{sid},{serial}' immediate"
RDS_KILL = "begin rdsadmin.rdsadmin_util.kill(sid => {sid}, serial => {serial}, method => 'IMMEDIATE'); end;"
RDS_CANCEL = "begin rdsadmin.rdsadmin_util.cancel(sid => {sid}, serial => {serial}, sql_id => '{sql_id:code}'); end;"
RDS_DISCONNECT = (
    "begin rdsadmin.rdsadmin_util.disconnect(sid => {sid}, serial => {serial}, method => 'IMMEDIATE'); end;"
)
STOP_JOB = "begin dbms_scheduler.stop_job(job_name => '{owner:name}.{job_name:name}'); end;"
STOP_JOB_FORCED = "begin dbms_scheduler.stop_job(job_name => '{owner:name}.{job_name:name}', force => true); end;"


@dataclass(frozen=True, slots=True)
class Target:
    """The session that a command is for: the end itself, or the coordinator of the slave at the end."""

    sid: int
    serial: int
    instance: int
    row: Row


def decided(chain: WaitChain, graph: ChainGraph, platform: str | None) -> WaitChain:
    """The chain with its action, or with why there is none."""
    if chain.cycle:
        return chain.without(state("circle"))
    end = chain.end
    if end is None or end.sid is None:
        return chain.without(*_nobody(graph))
    forbidden = _forbidden(end, platform, graph)
    if forbidden is not None:
        return chain.without(forbidden, *_to_watch(chain, end, graph))
    if (awaits := _awaited(end, graph)) is not None:
        return chain.without(*awaits)
    if any((waiter.event, waiter.cache) in graph.looks.moving for waiter in chain.direct):
        return chain.without(state("moves"))
    missing = list(_missing(chain, end, graph))
    if graph.looks.past:
        # Its serial number would keep the command from another session, and not from the same one at other work.
        missing.append(_still(end))
    if missing:
        return chain.without(None, *missing)
    if not chain.fresh:
        age = "" if chain.age_seconds is None else spoken(chain.age_seconds)
        query_now, _ = _check(chain, end, graph)
        still = MissingFact(fact="whether it still holds that", query=query_now, instance=end.instance)
        return chain.without(state("old", age=age) if age else state("never"), still)
    try:
        return chain.model_copy(update={"action": _action(chain, end, graph, platform)})
    except WithheldError as reason:
        return chain.without(state("unpastable", reason=str(reason)), _fact("what it is called", "job", end))


def _fact(fact: str, named: str, end: ChainSession, **more: str) -> MissingFact:
    """A missing fact with its query of hangs.yaml about the end."""
    assert end.sid is not None
    return MissingFact(fact=fact, query=query(named, sid=end.sid, **more), instance=end.instance)


# Nobody is known to hold what they wait for, or its holder is no session.


def _nobody(graph: ChainGraph) -> tuple[str | None, *tuple[MissingFact, ...]]:
    orphans = [row for row in graph.looks.holders if row.get("cache#") is not None and whole(row.get("sid")) is None]
    if orphans:
        addresses = sorted({address for row in orphans if (address := text(row.get("saddr")))})
        named = f"saddr {', '.join(addresses)}" if addresses else "its saddr was not read"
        said = "".join(f"; {each}" for each in graph.cleanup(set(addresses)))
        return state("orphan", addresses=len(addresses) or 1, named=named, cleanup=said), *_of_orphans(addresses)
    where = "on every instance" if graph.looks.clustered is not False else "on this instance"
    who = MissingFact(fact=f"who holds what they wait for, {where}", query=query("holders"))
    return (None, who) if graph.looks.clustered is False else (None, who, _in_the_cluster(None, graph))


def _of_orphans(addresses: list[str]) -> Iterator[MissingFact]:
    yield MissingFact(fact="who holds what they wait for", query=query("holders"))
    for address in addresses:
        yield MissingFact(fact="whether Oracle cleans up after it", query=query("cleanup", saddr=address))
        yield MissingFact(fact="what it is (as SYS)", query=query("recursive", saddr=address))
        yield MissingFact(fact="its transaction", query=query("transaction", saddr=address))
    if not addresses:
        yield MissingFact(fact="whether Oracle cleans up after it", query=query("cleanups"))


def _in_the_cluster(chain: WaitChain | None, graph: ChainGraph) -> MissingFact:
    """Who holds the entry on the instance that keeps the others from it, or which instance that is."""
    cache = next((each.cache for each in chain.direct), None) if chain else None
    entry, places = graph.asked_elsewhere(cache), [*graph.locks_elsewhere(cache)]
    if len(places) == 1 and (key := text(entry.get("key"))):
        said = f"who holds the entry on instance {places[0]}, which keeps this one from it"
        return MissingFact(fact=said, query=query("elsewhere_check", key=key), instance=places[0])
    return MissingFact(fact="who holds the lock of the cluster that it is", query=query("cluster"))


# States in which the end must not be ended, whatever else is known, and what to watch meanwhile.


def _forbidden(end: ChainSession, platform: str | None, graph: ChainGraph) -> str | None:
    if end.kind == "background" or end.fatal:
        background = end.name or "a background process"
        alone = next(each.why for each in knowledge().processes if re.fullmatch(each.name, background))
        return f"never kill {background}: {alone}"
    name = process_name(end.program)
    if end.kind is None and name is not None:
        return state("process", name=name)
    if end.status == "KILLED":
        return _killed(end, graph)
    if end.kind == "parallel slave" and (above := _coordinator(end, graph)) is not None:
        if above.row.get("status") == "KILLED":
            return state("coordinator_killed", sid=str(above.sid))
        if (why := _in_a_state(above.row)) is not None:
            return state("coordinator", sid=str(above.sid), why=why)
    facts = graph.facts[(end.instance, end.sid or 0)]
    if (why := _in_a_state({**facts.row, "status": end.status})) is not None:
        return why
    if end.holds == "share":
        return state("share")
    if platform == "rds" and end.instance is not None and end.instance != graph.looks.own:
        return state("elsewhere")
    return None


def _in_a_state(row: Row) -> str | None:
    """Why a session that works for something larger is not ended."""
    module, program = text(row.get("module")) or "", text(row.get("program")) or ""
    if row.get("status") == "CACHED":
        return state("cached")
    if (module or program).lower().startswith(OURS):
        return state("ours")
    if row.get("username") == "SYS" and (found := UPGRADE.search(f"{module} {program}")):
        return state("upgrade", module=found[0])
    return state("branch", program=program) if OTHER_DATABASE.match(program) else None


def _killed(end: ChainSession, graph: ChainGraph) -> str:
    """What a killed session does, how fast, and what Oracle's clean-up says of it."""
    if end.undo_blocks is None:
        said = [state("killed_undo_unknown")]
    else:
        said = [state("rolls_back", undo=end.undo_blocks) if end.undo_blocks else state("cleaned")]
    fall = end.undo_fall_per_minute
    if end.undo_blocks and fall:
        left = spoken(end.undo_blocks / fall * 60)
        said.append(state("rate", rate=fall, left=left))
    address = text(graph.facts[(end.instance, end.sid or 0)].row.get("saddr"))
    return "; ".join((*said, *graph.cleanup({address} if address else set())))


def _to_watch(chain: WaitChain, end: ChainSession, graph: ChainGraph) -> Iterator[MissingFact]:
    """What a person may look at, where no command is given."""
    if end.status == "KILLED" and end.kind != "background":
        yield _fact("what is left to roll back (run it twice, a minute apart)", "undo", end)
        yield MissingFact(fact="what SMON rolls back", query=query("rollback"), instance=end.instance)
        address = text(graph.facts[(end.instance, end.sid or 0)].row.get("saddr"))
        if address:
            yield MissingFact(fact="whether Oracle cleans up after it", query=query("cleanup", saddr=address))
    elif end.name == MESSENGER and graph.looks.clustered is not False:
        yield _in_the_cluster(chain, graph)
    elif end.status == "CACHED" or OTHER_DATABASE.match(end.program or ""):
        yield MissingFact(fact="the distributed transactions", query=query("branches"), instance=end.instance)


def _awaited(end: ChainSession, graph: ChainGraph) -> tuple[str, MissingFact] | None:
    """Why the chain does not end there: whom the end waits for, and how to find it. None if it is at its own work."""
    facts = graph.facts[(end.instance, end.sid or 0)]
    if facts.at_the_end or end.event is None:
        return None
    known = event_of(end.event)
    if known is None:
        return state("unknown_event", event=end.event), _fact("who it waits for", "about", end)
    if known.own is not None:
        return None
    found = command(known.find or knowledge().queries["about"], sid=end.sid or 0)
    why = state("awaits", event=end.event, who=known.who or "", kill=known.kill or "")
    return why, MissingFact(fact=f"the state of {known.who}", query=found, instance=end.instance)


# Facts that are missing.


def _missing(chain: WaitChain, end: ChainSession, graph: ChainGraph) -> Iterator[MissingFact]:
    """Each fact without which no command is given."""
    assert end.sid is not None
    if end.instance is None:
        yield _fact("the instance of the session", "about_anywhere", end)
        return
    if chain.disagreements:
        yield _fact("which session is at the end, because the sources disagree", "about", end)
    if end.serial is None:
        yield _fact("its serial number", "about", end)
    if end.status is None and not graph.looks.past:
        yield _fact("its status, which is KILLED if somebody has ended it already", "about", end)
    yield from _missing_kind(end, graph)
    if not graph.facts[(end.instance, end.sid)].at_the_end:
        yield _fact("whether it waits for another session itself", "about", end)
    if end.holds != "exclusive":
        fact, named = _of_the_mode(chain)
        yield _fact(fact, named, end)
        if end.instance != graph.looks.own:
            yield _in_the_cluster(chain, graph)


def _missing_kind(end: ChainSession, graph: ChainGraph) -> Iterator[MissingFact]:
    if end.kind is None:
        yield _fact("whether it is a foreground session, a parallel slave, a job or a background process", "about", end)
    if end.kind == "parallel slave" and _coordinator(end, graph) is None:
        yield _fact("its coordinator, and that this one is a foreground session", "coordinator", end)
    if end.kind == "job" and _job(end, graph) is None:
        yield _fact("the name of the job", "job", end)


def _of_the_mode(chain: WaitChain) -> tuple[str, str]:
    """The fact, and the query for it, of how the end holds what those directly behind it wait for."""
    events = {session.event or "" for session in chain.direct}
    mode = "the mode in which it holds what the session before it waits for"
    if _all_begin(events, "latch: "):
        return "whether it holds that latch, which has no mode", "latch"
    if _all_begin(events, "row cache mutex"):
        return "whether it holds that mutex, which no view shows: v$session names a blocker at most", "mutex"
    return mode, "enqueues_held" if _all_begin(events, "enq: ") else "holds"


def _all_begin(events: set[str], start: str) -> bool:
    return bool(events) and all(event.startswith(start) for event in events)


def _still(end: ChainSession) -> MissingFact:
    """What nobody knows of a session that a trace file shows."""
    fact = "whether it is still there and still holds that, because the trace file shows a moment that is over"
    return _fact(fact, "about", end)


# The command. Every fact that it needs is known.


def _action(chain: WaitChain, end: ChainSession, graph: ChainGraph, platform: str | None) -> ChainAction:
    """The mildest command in the dialect of the place, and those after it. Raises WithheldError for a name of a job."""
    steps, where, kind = _stopping(end, graph) if end.kind == "job" else _ending(end, graph, platform)
    (mildest, *then) = steps
    check, still = _check(chain, end, graph)
    safe = _said("safe", sid=str(end.sid), instance=str(end.instance), waiting=chain.waiting, kind=kind)
    return ChainAction(
        **mildest.model_dump(),
        first=_said("first"),
        check=check,
        still=still,
        where=where,
        why_safe=safe,
        then=tuple(then),
    )


def _check(chain: WaitChain, end: ChainSession, graph: ChainGraph) -> tuple[str, str]:
    """The query to run before each command, and what it has to show."""
    events = {session.event or "" for session in chain.direct}
    shown = graph.facts[(end.instance, end.sid or 0)].entries
    by = "enqueue" if _all_begin(events, "enq: ") else "entry" if shown else "elsewhere"
    key = text(graph.asked_elsewhere(next((each.cache for each in chain.direct), None)).get("key")) or ""
    more = {"key": key} if by == "elsewhere" else {"sid": end.sid or 0, "serial": end.serial or 0}
    return query(f"{by}_check", **more), _said(by, session=named(end.sid or 0, end.serial, end.instance))


def _ending(end: ChainSession, graph: ChainGraph, platform: str | None) -> tuple[list[FurtherAction], str, str]:
    """The commands that end a session, where to run them, and what kind of session it is."""
    assert end.sid is not None and end.serial is not None and end.instance is not None
    target = Target(end.sid, end.serial, end.instance, graph.facts[(end.instance, end.sid)].row)
    kind = _said("is_foreground")
    if end.kind == "parallel slave":
        target = _coordinator(end, graph) or target
        kind = _said("is_slave", sid=str(target.sid), instance=str(target.instance))
    ids = {"sid": target.sid, "serial": target.serial, "instance": target.instance}
    steps: list[FurtherAction] = []

    def add(of: ActionKind, when: str, risk: str, texts: tuple[str, str], **more: str) -> None:
        made = command(texts[platform == "rds"], **ids, **more)
        steps.append(FurtherAction(kind=of, when=when, command=made, risk=risk))

    if _may_cancel(target, graph.looks.release, platform):
        sql_id = text(target.row.get("sql_id")) or ""
        add("cancel", _said("cancel"), _said("cancelled"), (CANCEL, RDS_CANCEL), sql_id=sql_id)
    add("kill", _said("after_cancel" if steps else "finish"), _rolled_back(end.undo_blocks), (KILL, RDS_KILL))
    if platform != "autonomous":
        when = _said("after_kill", instance=str(target.instance))
        add("disconnect", when, _said("disconnected"), (DISCONNECT, RDS_DISCONNECT))
    return steps, _said(platform or "anywhere"), kind


def _may_cancel(target: Target, release: str | None, platform: str | None) -> bool:
    """Whether the session is active in a statement of its own, where there is CANCEL SQL."""
    since = CANCEL_SINCE.get(platform)
    idle = (text(target.row.get("event")) or "").startswith("SQL*Net") and target.row.get("state") == "WAITING"
    running = target.row.get("status") == "ACTIVE" and text(target.row.get("sql_id")) is not None and not idle
    return since is not None and release is not None and at_least(release, since) and running


def _stopping(end: ChainSession, graph: ChainGraph) -> tuple[list[FurtherAction], str, str]:
    """A scheduler job is stopped by its name: if its session is killed, the job may start again."""
    job = _job(end, graph) or {}
    names = {part: text(job.get(part)) or "" for part in ("owner", "job_name")}
    con_id = whole(job.get("con_id"))
    stopped = FurtherAction(
        kind="stop_job",
        when=_said("finish"),
        command=command(STOP_JOB, **names),
        risk=_said("stopped", undo=_rolled_back(end.undo_blocks)),
    )
    forced = FurtherAction(
        kind="stop_job", when=_said("after_stop"), command=command(STOP_JOB_FORCED, **names), risk=_said("forced")
    )
    where = _said("job", container=f" (con_id {con_id})" if con_id else "")
    return [stopped, forced], where, _said("is_job", name=end.name or "")


def _rolled_back(undo: int | None) -> str:
    """The risk, by how much there is to roll back."""
    if undo is None:
        return _said("undo_unknown")
    size = "none" if undo == 0 else "little" if undo < LITTLE_UNDO else "some" if undo < MUCH_UNDO else "much"
    return _said(f"undo_{size}", undo=undo)


def _said(name: str, /, **values: Value) -> str:
    return say(knowledge().actions[name], values)


def _coordinator(end: ChainSession, graph: ChainGraph) -> Target | None:
    """The coordinator, if it is known to be a foreground session."""
    looks = graph.looks
    if end.instance != looks.own:
        return None
    slave = first(row for row in looks.slaves if whole(row.get("sid")) == end.sid)
    if whole(slave.get("serial#")) not in (None, end.serial):
        return None
    sid, serial = whole(slave.get("qcsid")), whole(slave.get("qcserial#"))
    instance = whole(slave.get("qcinst_id"))
    instance = looks.own if instance is None and looks.clustered is False else instance
    if sid is None or serial is None or instance is None:
        return None
    facts = graph.facts.get((instance, sid))
    if facts is None or kind_of(facts.row) != "foreground" or graph.serial((instance, sid)) not in (None, serial):
        return None
    return Target(sid, serial, instance, facts.row)


def _job(end: ChainSession, graph: ChainGraph) -> Row | None:
    """The job that runs in the session."""
    running = [
        row
        for row in graph.looks.jobs
        if (whole(row.get("session_id")), whole(row.get("running_instance"))) == (end.sid, end.instance)
    ]
    (row,) = running if len(running) == 1 else ({},)
    return row if text(row.get("owner")) and text(row.get("job_name")) else None
