"""The one safe action on a wait chain, or which fact is missing for it and how to find it out.

A command to end a session is given only if all of this is known: it is the end of the chain, it holds exclusively what the
session before it waits for, it is a foreground session (or a job, or the coordinator of a slave), and its number, serial number
and instance. latchscope never runs it.
"""

import re
from collections.abc import Iterator

from collectors.model import Row, spoken, text
from rules.formatting import count
from rules.hangs.graph import ChainGraph, SessionFacts, first, kind_of, left_alone, process_name, whole
from rules.hangs.model import ChainAction, ChainSession, MissingFact, WaitChain

ABOUT = "select sid, serial#, type, program, username, state, event, blocking_instance, blocking_session from v$session"
HOLDERS = (
    "select s.sid, s.serial#, s.type, s.program, p.cache_name, p.lock_mode from v$rowcache_parent p, v$session s where "
    "s.saddr = p.saddr and p.lock_mode > 0"
)
REQUESTED = " and p.address in (select address from v$rowcache_parent where lock_request > 0)"
ROLLED_BACK = "which may take as long as the work did, and the lock may be held until then"
EVIDENCE = "collect a hanganalyze (docs/emergency.md, part 5), because afterwards the evidence is gone"
CIRCLE = (
    "the sessions wait for each other in a circle; Oracle ends one of the waits itself with ORA-00060, and ending another one "
    "may be the wrong choice"
)
SHARED = "it holds in share mode, as other sessions may at the same time, and since when is unknown: ending it may free nothing"
OLDEST_SECONDS = 60.0
"""The longest time since it was proven that the end holds, for which there is a command."""
OLD = "it was last seen to hold that {0} ago, and may have let go since"
PLAIN = re.compile(r"[A-Z][A-Z0-9_$#]*")


def decided(chain: WaitChain, graph: ChainGraph, platform: str | None) -> WaitChain:
    """The chain with its action, or with why there is none."""
    if chain.cycle:
        return chain.model_copy(update={"why_no_action": CIRCLE})
    if chain.end is None or chain.end.sid is None:
        return chain.model_copy(update={"missing": (_nobody(graph),)})
    end = chain.end
    forbidden = _forbidden(end, platform, graph)
    if forbidden:
        return chain.model_copy(update={"why_no_action": forbidden})
    missing = tuple(_missing(chain, end, graph))
    if graph.looks.past:
        # Its serial number would keep the command from another session, and not from the same one at other work.
        missing = (*missing, _still(end))
    if missing:
        return chain.model_copy(update={"missing": missing})
    if chain.age_seconds is not None and chain.age_seconds > OLDEST_SECONDS:
        return chain.model_copy(update={"why_no_action": OLD.format(spoken(chain.age_seconds))})
    return chain.model_copy(update={"action": _action(chain, end, graph, platform)})


def _forbidden(end: ChainSession, platform: str | None, graph: ChainGraph) -> str | None:
    """Why the end must not be ended, whatever else is known."""
    if end.kind == "background" or end.fatal:
        background = end.name or "a background process"
        return f"never kill {background}: {left_alone(background)}"
    name = process_name(end.program)
    if end.kind is None and name is not None:
        return f"it runs in {name}, a process that Oracle starts, which is neither a parallel slave nor a job"
    if end.holds == "share":
        return SHARED
    if platform == "rds" and end.instance is not None and end.instance != graph.looks.own:
        return "Amazon RDS ends sessions of the instance that you are connected to, and this is another one"
    return None


def _nobody(graph: ChainGraph) -> MissingFact:
    where = "on every instance" if graph.looks.clustered is not False else "on this instance"
    return MissingFact(fact=f"who holds what they wait for; ask {where}", query=f"{HOLDERS}{REQUESTED}")


def _missing(chain: WaitChain, end: ChainSession, graph: ChainGraph) -> Iterator[MissingFact]:
    """Each fact without which no command is given."""
    assert end.sid is not None
    key = (end.instance, end.sid)
    about = f"{ABOUT} where sid = {end.sid}"
    if end.instance is None:
        yield MissingFact(fact="the instance of the session", query=f"select inst_id, {about[7:].replace('v$', 'gv$')}")
        return
    if chain.disagreements:
        yield MissingFact(
            fact="which session is at the end, because the sources disagree", query=about, instance=end.instance
        )
    if end.serial is None:
        yield MissingFact(fact="its serial number", query=about, instance=end.instance)
    yield from _missing_kind(end, graph, about)
    facts = graph.facts[key]
    if not facts.at_the_end:
        yield _own_wait(end, facts, about)
    if end.holds != "exclusive":
        yield MissingFact(
            fact="the mode in which it holds what the session before it waits for",
            query=_mode_query(chain, end.sid),
            instance=end.instance,
        )


def _still(end: ChainSession) -> MissingFact:
    """What nobody knows of a session that a trace file shows."""
    serial = "" if end.serial is None else f" and serial# = {end.serial}"
    return MissingFact(
        fact="whether it is still there and still holds that, because the trace file shows a moment that is over",
        query=f"{ABOUT} where sid = {end.sid}{serial}",
        instance=end.instance,
    )


def _own_wait(end: ChainSession, facts: SessionFacts, about: str) -> MissingFact:
    if end.event is None:
        return MissingFact(fact="whether it waits for another session itself", query=about, instance=end.instance)
    two = whole(facts.row.get("p2")), whole(facts.row.get("p3"))
    if end.event.startswith("enq: ") and None not in two:
        query = f"select sid, type, lmode, request from v$lock where id1 = {two[0]} and id2 = {two[1]}"
        return MissingFact(
            fact=f"who holds the {end.event[5:]} that it waits for itself", query=query, instance=end.instance
        )
    return MissingFact(
        fact=f"whether another session holds the {end.event} that it waits for itself",
        query=about,
        instance=end.instance,
    )


def _missing_kind(end: ChainSession, graph: ChainGraph, about: str) -> Iterator[MissingFact]:
    if end.kind is None:
        yield MissingFact(
            fact="whether it is a foreground session, a parallel slave, a job or a background process",
            query=about,
            instance=end.instance,
        )
    if end.kind == "parallel slave" and _coordinator(end, graph) is None:
        query = f"select qcinst_id, qcsid, qcserial# from v$px_session where sid = {end.sid}"
        yield MissingFact(
            fact="its coordinator, and that this one is a foreground session", query=query, instance=end.instance
        )
    if end.kind == "job" and _job(end, graph) is None:
        query = (
            f"select owner, job_name from dba_scheduler_running_jobs where session_id = {end.sid} and "
            f"running_instance = {end.instance}"
        )
        yield MissingFact(fact="the name of the job", query=query, instance=end.instance)


def _mode_query(chain: WaitChain, sid: int) -> str:
    """The query for the mode in which the end holds what those directly behind it wait for."""
    events = {session.event or "" for session in chain.waiters if session.depth == 1}
    if events and all(event.startswith("enq: ") for event in events):
        return f"select type, id1, id2, lmode, block from v$lock where sid = {sid} and lmode > 0"
    return f"{HOLDERS} and s.sid = {sid}"


def _coordinator(end: ChainSession, graph: ChainGraph) -> tuple[int, int, int] | None:
    """SID, serial number and instance of the coordinator, if it is known to be a foreground session."""
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
    return sid, serial, instance


def _job(end: ChainSession, graph: ChainGraph) -> Row | None:
    """The job that runs in the session."""
    running = [
        row
        for row in graph.looks.jobs
        if (whole(row.get("session_id")), whole(row.get("running_instance"))) == (end.sid, end.instance)
    ]
    (row,) = running if len(running) == 1 else ({},)
    return row if text(row.get("owner")) and text(row.get("job_name")) else None


def _action(chain: WaitChain, end: ChainSession, graph: ChainGraph, platform: str | None) -> ChainAction:
    """The command in the dialect of the place. Every fact it needs is known."""
    assert end.sid is not None and end.serial is not None and end.instance is not None
    if end.kind == "job":
        return _stop(chain, end, graph)
    target = (end.sid, end.serial, end.instance)
    if end.kind == "parallel slave":
        target = _coordinator(end, graph) or target
    sid, serial, instance = target
    if platform == "rds":
        command = f"begin rdsadmin.rdsadmin_util.kill(sid => {sid}, serial => {serial}, method => 'IMMEDIATE'); end;"
        where = "in this database, as the master user"
    else:
        command = f"alter system kill session '{sid},{serial},@{instance}' immediate"
        # The manual of Autonomous Database (SQL commands) refuses ALTER SYSTEM but for SET and KILL SESSION.
        place = (
            "as ADMIN in this database"
            if platform == "autonomous"
            else "in the root or in the container of the session"
        )
        where = f"on any instance, {place}"
    undo = "" if end.undo_blocks is None else f" ({count(end.undo_blocks)} undo blocks)"
    return ChainAction(
        kind="kill",
        first=EVIDENCE,
        check=f"{ABOUT} where sid = {sid} and serial# = {serial}",
        command=command,
        where=where,
        risk=f"its transaction is rolled back{undo}, {ROLLED_BACK}",
        why_safe=_why_safe(chain, end, target),
    )


def _stop(chain: WaitChain, end: ChainSession, graph: ChainGraph) -> ChainAction:
    """A scheduler job is stopped by its name: if its session is killed, the job may start again."""
    job = _job(end, graph) or {}
    name = ".".join(_identifier(text(job.get(part)) or "") for part in ("owner", "job_name"))
    con_id = whole(job.get("con_id"))
    where = "the container of the job" + (f" (con_id {con_id})" if con_id else "")
    return ChainAction(
        kind="stop_job",
        first=EVIDENCE,
        check=f"{ABOUT} where sid = {end.sid} and serial# = {end.serial}",
        command=f"begin dbms_scheduler.stop_job(job_name => '{name}'); end;",
        where=f"{where}, as the owner of the job or with MANAGE SCHEDULER",
        risk=f"the work of this run is rolled back, {ROLLED_BACK}; a job that repeats runs again at its next time",
        why_safe=_why_safe(chain, end, None),
    )


def _identifier(name: str) -> str:
    """A name for a text in quotes: as it is if plain, else between double quotes."""
    return name if PLAIN.fullmatch(name) else '"' + name.replace("'", "''") + '"'


def _why_safe(chain: WaitChain, end: ChainSession, target: tuple[int, int, int] | None) -> str:
    what = (
        f"session {end.sid} on instance {end.instance} is the end of the chain, waits for no other session, and holds "
    )
    what += f"exclusively what the session before it waits for; {count(chain.waiting)} wait behind it"
    if end.kind == "parallel slave" and target is not None:
        what += f"; it is a parallel slave, so the command ends its coordinator, session {target[0]} on instance {target[2]}"
    elif end.kind == "job":
        what += f"; it is the job {end.name}, so the command stops the job by its name"
    else:
        what += "; it is a foreground session"
    return what
