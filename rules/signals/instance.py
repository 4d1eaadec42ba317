"""Signals of the whole instance and its host: database time, waits, processors, paging."""

import re
from collections.abc import Iterable, Mapping, Sequence

from collectors.model import ROW_CACHE_LOCK_EVENT, SCRIPT, Missing, Row, number, other_time_zone, text
from rules.context import (
    LOOKUPS,
    ROW_CACHE_SURFACES,
    Known,
    SignalContext,
    SignalValue,
    Unknown,
    aged,
    another,
    no_share,
    share,
)
from rules.contradictions import contradictions
from rules.formatting import count, part_of, percent
from rules.hangs.blockers import ROW_CACHE_BLOCKERS, blockers_of, process
from rules.hangs.graph import JOB, process_name
from rules.hangs.model import Blocker
from rules.signals import EITHER_WAY, Subject, already_enough, certain, signal, too_few_waiters
from rules.signals.caches import MINIMUM_MODIFICATIONS, all_lookups, cache_sum
from rules.waits import MINIMUM_WAITERS

# Signals of a cluster: whether it is one, which process carries its locks, which caches its instances lock across each
# other.

CLUSTER_PROCESS = re.compile(r"LCK\d")
MAINTENANCE_PROCESS = re.compile(r"MMON|MMNL|M\d{3}")
"""The monitor of manageability and its slaves, which split the partitions of the workload repository among other work."""
MAINTENANCE_JOBS = "ORA$AT_"
"""How the names of the jobs begin that Oracle starts in its maintenance windows."""
RUNNING_JOBS = "running_jobs"


@signal(unit="ratio", of="v$rowcache")
def share_of_cluster_requests(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all cluster lock requests for dictionary entries that were for the cause's caches; up to 12.1 only."""
    total = cache_sum(
        context, Subject(tuple({str(row.get("parameter")) for row in context.delta.rows("v$rowcache")})), "dlm_requests"
    )
    if not isinstance(total, Unknown) and total.value < MINIMUM_MODIFICATIONS:
        why = f"too few events: {total.value:.0f} cluster lock requests"
        return Unknown("v$rowcache", why, "nothing to do outside a cluster, or from 12.2 on")
    return share(cache_sum(context, subject, "dlm_requests"), total)


@signal(unit="value", of="v$instance", called="instance of a cluster")
def in_cluster(context: SignalContext, subject: Subject) -> SignalValue:
    """1 if the instance is one of a cluster (RAC), 0 if it is single."""
    parallel = next((text(row.get("parallel")) for row in context.delta.rows("v$instance")), None)
    if parallel is None:
        return context.why_unknown("v$instance", "parallel")
    return Known(float(parallel == "YES"), f"v$instance.parallel = {parallel}")


def _holders(context: SignalContext) -> Sequence[Blocker] | Unknown:
    """The holders whose process is known, at the look for blockers."""
    found = blockers_of(context)
    if isinstance(context.delta.read(ROW_CACHE_BLOCKERS), Missing):
        return context.why_unknown(ROW_CACHE_BLOCKERS)
    known = [blocker for blocker in found.blockers if blocker.background is not None] if found else []
    if not known:
        return Unknown(
            ROW_CACHE_BLOCKERS, "no holder with a known process was found", "see the blockers of the diagnosis"
        )
    if any(blocker.background and blocker.program is None for blocker in known):
        return context.why_unknown(ROW_CACHE_BLOCKERS, "program")
    return known


@signal(unit="ratio", of=ROW_CACHE_BLOCKERS, called="sessions that wait for LCK0", share_of="sessions that hang")
def share_behind_cluster_process(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions that wait for LCK0, which carries the locks of a cluster, at the look for blockers."""
    known = _holders(context)
    if isinstance(known, Unknown):
        return known
    behind = {blocker: float(blocker.waiters or 1) for blocker in known}
    messengers = [blocker for blocker in known if CLUSTER_PROCESS.fullmatch(process(blocker.program))]
    met = ", ".join(f"session {blocker.sid} is {process(blocker.program)}" for blocker in messengers)
    return Known(sum(behind[blocker] for blocker in messengers) / sum(behind.values()), met)


def _task_of(context: SignalContext, blocker: Blocker) -> str | None:
    """The maintenance of the database that a holder is: the process, or the job. Empty for other work, None if unknown."""
    name = process_name(blocker.program) or ""
    if MAINTENANCE_PROCESS.fullmatch(name):
        return name
    if not JOB.fullmatch(name):
        return ""
    jobs = [row for row in context.delta.rows(RUNNING_JOBS) if number(row.get("session_id")) == blocker.sid]
    names = {text(row.get("job_name")) for row in jobs if number(row.get("running_instance")) == blocker.instance}
    job = names.pop() if len(names) == 1 else None
    return None if job is None else job if job.startswith(MAINTENANCE_JOBS) else ""


@signal(
    unit="ratio",
    of=ROW_CACHE_BLOCKERS,
    called="sessions that wait for maintenance of the database",
    share_of="sessions that hang",
)
def share_behind_maintenance(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the hanging sessions that wait for MMON, a slave of it, or a job of the maintenance windows (ORA$AT_…)."""
    known = _holders(context)
    if isinstance(known, Unknown):
        return known
    tasks = [(_task_of(context, blocker), float(blocker.waiters or 1), blocker.sid) for blocker in known]
    total, own = sum(behind for _, behind, _ in tasks), sum(behind for task, behind, _ in tasks if task)
    untold = sum(behind for task, behind, _ in tasks if task is None)
    if untold and not certain(own / total, (own + untold) / total, subject.needs):
        return context.why_unknown(RUNNING_JOBS, "name of the job that blocks")
    return Known(own / total, ", ".join(f"session {sid} is {task}" for task, _, sid in tasks if task))


PARSING_WAITS = (
    "library cache: mutex X",
    "library cache: mutex S",
    "library cache: bucket mutex X",
    "library cache lock",
    "library cache pin",
    "library cache load lock",
    "cursor: pin S",
    "cursor: pin S wait on X",
    "cursor: mutex X",
    "cursor: mutex S",
    "latch: shared pool",
    "latch: library cache",
)


def no_db_time(context: SignalContext) -> Unknown:
    """Why DB time is unknown: other figures prove it wrong, or it was not captured."""
    wrong = contradictions(context.delta)
    if wrong:
        return Unknown("v$sys_time_model", wrong[0], another(context.delta.source), absent=True)
    return context.why_unknown("v$sys_time_model", "DB time")


def db_time_share(context: SignalContext, statistic: str) -> SignalValue:
    """A statistic of v$sys_time_model as a share of DB time."""
    spent, db_time = context.seconds_of(statistic), context.seconds_of("DB time")
    if spent is None or not db_time:
        return context.why_unknown("v$sys_time_model", statistic) if spent is None else no_db_time(context)
    return Known(spent / db_time, f"{spent:,.1f} s of {db_time:,.1f} s", spent, db_time)


@signal(unit="ratio", of="v$sys_time_model", called="parsing, share of DB time")
def parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent parsing."""
    return db_time_share(context, "parse time elapsed")


@signal(unit="ratio", of="v$sys_time_model", called="hard parsing, share of DB time")
def hard_parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent in hard parses."""
    return db_time_share(context, "hard parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model", called="fetching sequence ranges, share of DB time")
def sequence_load_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent fetching the next range of sequence numbers from the dictionary."""
    return db_time_share(context, "sequence load elapsed time")


def waited_share_of_db_time(context: SignalContext, waited: float | None, view: str, column: str) -> SignalValue:
    """Seconds waited per second of DB time. `view` and `column` say what was missing if the seconds are unknown."""
    db_time = context.seconds_of("DB time")
    if waited is None:
        return context.why_unknown(view, column)
    if not db_time:
        return no_db_time(context)
    return Known(waited / db_time, f"{waited:,.2f} s of {db_time:,.1f} s", waited, db_time)


def waits_to_row_cache(context: SignalContext, events: Iterable[str]) -> SignalValue:
    """Seconds waited in some events per second waited for the row cache."""
    others, own = context.waited_seconds(events), context.row_cache_wait_seconds
    untold = context.lost.untold(ROW_CACHE_SURFACES) or (context.look is not None and context.look.untold)
    if others is None or own is None or untold:
        return context.why_unknown("v$system_event", "time_waited_micro")
    if own == 0:
        return Unknown("v$system_event", "no session waited for the row cache", context.busier)
    return Known(others / own, f"{others:,.2f} s against {own:,.2f} s of row cache waits", others, own)


@signal(unit="ratio", of="v$system_event", called="waits of parsing for each second of row cache waits")
def parsing_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for library cache, cursors and shared pool, per time waited for the row cache."""
    return waits_to_row_cache(context, PARSING_WAITS)


@signal(
    unit="ratio",
    of="v$system_event",
    called="waits for undo segments to come online for each second of row cache waits",
)
def undo_enqueue_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `enq: US - contention`, per time waited for the row cache."""
    return waits_to_row_cache(context, ("enq: US - contention",))


FILE_GROWTH = ("Data file init write", "cell smart file creation")
"""What a session waits in while new space of a file is formatted; the second is the event of an Exadata."""
SPACE_ENQUEUES = ("enq: HW - contention", "enq: FB - contention", "enq: TT - contention")
"""The high-water mark of a segment, the formatting of its blocks, and work on a tablespace."""


def _space_waits(context: SignalContext, events: Sequence[str]) -> SignalValue:
    """Unknown for a report that prints none of the events: it may leave out short ones."""
    printed = {row.get("event") for row in context.delta.rows("v$system_event")}
    if context.printed and printed.isdisjoint(events):
        return Unknown("v$system_event", f"the report prints none of {' and '.join(events)}", SCRIPT)
    return waits_to_row_cache(context, events)


@signal(
    unit="ratio",
    of="v$system_event",
    called="waits for new space of a file to be formatted for each second of row cache waits",
)
def file_growth_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for files to grow (`Data file init write`, `cell smart file creation`), per time waited for the row cache."""
    return _space_waits(context, FILE_GROWTH)


@signal(unit="ratio", of="v$system_event", called="waits for space enqueues for each second of row cache waits")
def space_enqueue_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time waited for `enq: HW`, `enq: FB` and `enq: TT - contention`, per time waited for the row cache."""
    return _space_waits(context, SPACE_ENQUEUES)


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="row cache waits, share of DB time")
def row_cache_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time lost in row cache waits. The impact gate uses it. Unknown inside a PDB."""
    if context.inside_pdb:
        return no_share()
    share = waited_share_of_db_time(context, context.row_cache_wait_seconds, "v$system_event", "time_waited_micro")
    if not context.lost.untold(ROW_CACHE_SURFACES) or isinstance(share, Unknown):
        return share
    return (
        share
        if already_enough(share.value, subject.needs)
        else context.why_unknown("v$system_event", "time_waited_micro")
    )


@signal(unit="ratio", of="v$osstat", called="processor time of the host in use", share_of="processor time")
def host_busy_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the host's processor time in use."""
    busy, idle = context.host("BUSY_TIME"), context.host("IDLE_TIME")
    if busy is None or idle is None or busy + idle == 0:
        return context.why_unknown("v$osstat", "BUSY_TIME")
    return Known(busy / (busy + idle), part_of(busy, busy + idle) + " cs", busy, busy + idle)


@signal(unit="ratio", of="v$sys_time_model, v$osstat", called="busy processor time of this instance's sessions")
def own_share_of_busy_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the host's busy processor time that sessions of this instance used, waiters that spin included."""
    own, busy = context.seconds_of("DB CPU"), context.host("BUSY_TIME")
    if not busy:
        return context.why_unknown("v$osstat", "BUSY_TIME")
    if own is None:
        return context.why_unknown("v$sys_time_model", "DB CPU")
    return Known(100 * own / busy, part_of(100 * own, busy) + " cs", 100 * own, busy)


@signal(unit="bytes per second", of="v$osstat")
def paging_rate(context: SignalContext, subject: Subject) -> SignalValue:
    """Bytes per second that went both ways, in and out, over the interval.

    Memory that is paged goes out and comes back. What only came in are files that were read, which some hosts count too.
    """
    came, went = context.host("VM_IN_BYTES"), context.host("VM_OUT_BYTES")
    if came is None or went is None or not context.delta.basis.seconds:
        return context.why_unknown("v$osstat", "VM_IN_BYTES")
    both = 2 * min(came, went)
    return Known(both / context.delta.basis.seconds, f"{count(both)} bytes of {count(came)} in and {count(went)} out")


IDLE_ENOUGH = 0.2
"""A host that was idle for this share of its processor time had no lasting queue of runnable processes."""


@signal(unit="runnable per processor", of="v$osstat", called="runnable processes for each processor")
def load_per_cpu(context: SignalContext, subject: Subject) -> SignalValue:
    """Runnable processes per processor of the host at the end of the interval. At most 1 if processors were idle.

    LOAD may include processes that wait for I/O, as on Linux. Those do not need a processor.
    """
    load, cpus = context.level("LOAD"), context.cpus
    if load is None or not cpus:
        return context.why_unknown("v$osstat", "LOAD")
    derivation = f"load {load:g} on {cpus:g} processors"
    busy = host_busy_ratio(context, subject)
    if isinstance(busy, Unknown) and not certain(min(load / cpus, 1.0), load / cpus, subject.needs):
        return busy
    if load > cpus and isinstance(busy, Known) and busy.value <= 1 - IDLE_ENOUGH:
        return Known(
            1.0, f"{derivation}, which were idle for {percent(1 - busy.value)}: the rest waited for something else"
        )
    return Known(load / cpus, derivation, load, cpus)


# Signals of the shared pool: the row cache's memory there, and whether the pool shrank.


@signal(unit="bytes", of="v$sgastat")
def row_cache_memory(context: SignalContext, subject: Subject) -> SignalValue:
    """Shared pool memory of row cache objects (KQR…), of all containers together."""
    rows = [row for row in context.delta.rows("v$sgastat") if str(row.get("name")).startswith("KQR")]
    total = context.sum_of(rows, "bytes")
    if total is None:
        return context.why_unknown("v$sgastat", "bytes")
    return Known(total, aged(context.delta, "v$sgastat", f"{total / 2**20:,.0f} MiB"))


def _no_window(context: SignalContext) -> Unknown | None:
    """Why the resizes of the last ten minutes are unknown: no rows, or a clock in another time zone than theirs."""
    if isinstance(context.delta.read("v$sga_resize_ops"), Missing):
        return context.why_unknown("v$sga_resize_ops")
    elsewhere = other_time_zone(context.delta.rows("v$parameter"), context.delta.rows("sys_context"))
    if elsewhere is None:
        return None
    why = f"{elsewhere}: the clock of SQL may be in another time zone than the start of a resize, so its age is unknown"
    return Unknown("v$sga_resize_ops", why, "read v$sga_resize_ops yourself", absent=True)


def _sizeless(rows: Iterable[Row]) -> bool:
    """Whether an operation lacks its start or end size."""
    return any(number(row.get(name)) is None for row in rows for name in ("initial_size", "final_size"))


@signal(unit="operations", of="v$sga_resize_ops")
def shared_pool_shrinks(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of times the shared pool shrank in the last ten minutes. Each granule that moves counts."""
    if (unknown := _no_window(context)) is not None:
        return unknown
    pool = [row for row in context.delta.rows("v$sga_resize_ops") if row.get("component") == "shared pool"]
    if _sizeless(pool):
        return context.why_unknown("v$sga_resize_ops", "initial_size")
    rows = [row for row in pool if (number(row.get("final_size")) or 0.0) < (number(row.get("initial_size")) or 0.0)]
    moments = ", ".join(sorted({str(row.get("start_time")) for row in rows}))
    return Known(float(len(rows)), aged(context.delta, "v$sga_resize_ops", moments))


@signal(unit="ratio", of="v$sga_resize_ops")
def shared_pool_shrunk_share(context: SignalContext, subject: Subject) -> SignalValue:
    """Part of its size that the shared pool lost in the last ten minutes, from its largest to its smallest."""
    if (unknown := _no_window(context)) is not None:
        return unknown
    rows = [row for row in context.delta.rows("v$sga_resize_ops") if row.get("component") == "shared pool"]
    if _sizeless(rows):
        return context.why_unknown("v$sga_resize_ops", "initial_size")
    sizes = [(number(row.get("initial_size")), number(row.get("final_size"))) for row in rows]
    shrinks = [(before, after) for before, after in sizes if before and after is not None and after < before]
    if not shrinks:
        return Known(0.0, aged(context.delta, "v$sga_resize_ops", "no shrink"))
    largest, smallest = max(before for before, _ in shrinks), min(after for _, after in shrinks)
    shrunk = f"from {largest / 2**20:,.0f} to {smallest / 2**20:,.0f} MiB"
    return Known(1 - smallest / largest, aged(context.delta, "v$sga_resize_ops", shrunk))


@signal(unit="ratio", of="v$rowcache", share_of="look-ups")
def overall_getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in all dictionary caches that had to load the entry, per look-up. Above 0.02 entries do not stay in memory."""
    misses = context.sum_of(context.rowcache, "getmisses")
    if misses is None:
        return context.why_unknown("v$rowcache", "getmisses")
    lookups = all_lookups(context)
    return (
        lookups
        if isinstance(lookups, Unknown)
        else Known(misses / lookups.value, part_of(misses, lookups.value), misses, lookups.value)
    )


# Signals of the work done: logons, parses, commits, and the look-ups that each of them takes.


def _rate(context: SignalContext, statistic: str) -> SignalValue:
    done, seconds = context.work(statistic), context.delta.basis.seconds
    if done is None:
        return context.why_unknown("v$sysstat", statistic)
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return Known(done / seconds, f"{count(done)} in {seconds:,.1f} s", done, seconds)


def lookups_per(context: SignalContext, subject: Subject, statistic: str, column: str = LOOKUPS) -> SignalValue:
    """Look-ups in the subject's caches, gets and fastgets together or gets alone, per unit of a statistic of v$sysstat."""
    lookups, done = cache_sum(context, subject, column), context.work(statistic)
    if isinstance(lookups, Unknown):
        return lookups
    if not done:
        return context.why_unknown("v$sysstat", statistic)
    called = "look-ups" if column == LOOKUPS else column
    return Known(
        lookups.value / done, f"{count(lookups.value)} {called}, {count(done)} {statistic}", lookups.value, done
    )


@signal(unit="per second", of="v$sysstat")
def logons_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second."""
    return _rate(context, "logons cumulative")


@signal(unit="per second", of="v$sysstat")
def hard_parses_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """Hard parses per second."""
    return _rate(context, "parse count (hard)")


@signal(unit="per second", of="v$sysstat")
def commits_per_second(context: SignalContext, subject: Subject) -> SignalValue:
    """Commits by users per second."""
    return _rate(context, "user commits")


@signal(unit="look-ups per commit", of="v$rowcache, v$sysstat")
def lookups_per_commit(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches per commit."""
    return lookups_per(context, subject, "user commits")


@signal(unit="parses per execution", of="v$sysstat", diluted=EITHER_WAY)
def parses_per_execution(context: SignalContext, subject: Subject) -> SignalValue:
    """Parse calls, soft and hard, per SQL execution. Near 1 nothing stays open between executions."""
    parses, executions = context.work("parse count (total)"), context.work("execute count")
    if parses is None or not executions:
        return context.why_unknown("v$sysstat", "parse count (total)")
    return Known(parses / executions, f"{count(parses)} parses, {count(executions)} executions", parses, executions)


@signal(unit="ratio", of="v$sysstat", diluted=EITHER_WAY)
def hard_share_of_parses(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the parse calls that were hard."""
    hard, parses = context.work("parse count (hard)"), context.work("parse count (total)")
    if hard is None or not parses:
        return context.why_unknown("v$sysstat", "parse count (hard)")
    return Known(hard / parses, f"{count(hard)} of {count(parses)} parses", hard, parses)


@signal(unit="ratio", of="v$sys_time_model", called="failed parses, share of DB time")
def failed_parse_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent in parses that failed."""
    return db_time_share(context, "failed parse elapsed time")


@signal(unit="ratio", of="v$sys_time_model", called="logging on and off, share of DB time")
def connection_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time spent connecting and disconnecting sessions."""
    return db_time_share(context, "connection management call elapsed time")


@signal(unit="s", of="v$system_event", called="time waited for the event that tells it")
def waited_for_event(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds waited for the event that the condition names as its parameter. A report prints only the longest."""
    waited = context.waited_seconds((subject.parameter or "",))
    if waited is None or (context.printed and not waited):
        return context.why_unknown("v$system_event", f"row of {subject.parameter}")
    return Known(waited, f"{waited:,.1f} s of {subject.parameter}")


# Signals per processor: a rate that drowns a host of four processors is nothing to one of 128.

MOST_PROCESSORS = 256.0
"""A rate that is too much for this many processors is too much for nearly every host (our bound)."""


def _per_processor(context: SignalContext, rate: float, words: str, needs: str) -> SignalValue:
    """A rate per processor of the host. Without their number: its value for one processor and for very many."""
    if not context.cpus:
        bound = float(needs.split()[1]) if " " in needs else rate
        if rate < bound:
            return Known(rate, f"{words}, too few for a single processor")
        if rate / MOST_PROCESSORS >= bound:
            return Known(
                rate / MOST_PROCESSORS,
                f"{words}, too many for {MOST_PROCESSORS:g} processors, and their number is not known",
            )
        return context.why_unknown("v$osstat", "NUM_CPUS")
    return Known(rate / context.cpus, f"{words}, {context.cpus:g} processors", rate, context.cpus)


@signal(unit="per second and processor", of="v$sysstat, v$osstat")
def logons_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """New sessions per second and processor of the host."""
    rate = logons_per_second(context, subject)
    return rate if isinstance(rate, Unknown) else _per_processor(context, rate.value, rate.derivation, subject.needs)


@signal(
    unit="sessions per processor",
    of="v$sys_time_model, v$osstat",
    called="sessions in a hard parse, for each processor",
)
def hard_parsing_sessions_per_processor(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions in a hard parse at any one time, on average, per processor of the host."""
    spent, seconds = context.seconds_of("hard parse elapsed time"), context.delta.basis.seconds
    if spent is None:
        return context.why_unknown("v$sys_time_model", "hard parse elapsed time")
    if not seconds:
        return Unknown("v$instance", f"{context.delta.basis} give no rate", "take two snapshots some seconds apart")
    return _per_processor(context, spent / seconds, f"{spent:,.1f} s in {seconds:,.1f} s", subject.needs)


@signal(unit="ratio", of="v$system_event, v$sys_time_model", called="waits under a resource plan, share of DB time")
def resource_manager_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time in which sessions were kept off the processors by a resource plan (`resmgr:cpu quantum`)."""
    waited = context.waited_seconds(("resmgr:cpu quantum",))
    return waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")


@signal(unit="ratio", of="v$system_event", called="waits under a resource plan for each second of row cache waits")
def resource_manager_waits_to_row_cache_waits(context: SignalContext, subject: Subject) -> SignalValue:
    """Time sessions were kept off the processors by a resource plan, per time waited for the row cache."""
    return waits_to_row_cache(context, ("resmgr:cpu quantum",))


@signal(unit="processes per processor", of="v$osstat", called="processes that want a processor, for each one")
def processor_demand(context: SignalContext, subject: Subject) -> SignalValue:
    """Processes that ran or waited for a processor, per processor: by OS_CPU_WAIT_TIME over the interval, by LOAD at its end.

    OS_CPU_WAIT_TIME is not kept on every platform, and it counts every process of the host, not only this instance's. Waits
    for a turn under a resource plan are in neither (resmgr:cpu quantum). The larger of the two counts.
    """
    waited, busy, idle = (context.host(name) for name in ("OS_CPU_WAIT_TIME", "BUSY_TIME", "IDLE_TIME"))
    by_load = load_per_cpu(context, subject)
    if "OS_CPU_WAIT_TIME" not in context.delta.column("v$osstat", "stat_name"):
        return by_load
    if waited is None or busy is None or idle is None or not busy + idle:
        enough = isinstance(by_load, Known) and already_enough(by_load.value, subject.needs)
        return by_load if enough else context.why_unknown("v$osstat", "BUSY_TIME or OS_CPU_WAIT_TIME")
    words = f"{waited / 100:,.1f} s of waiting and {busy / 100:,.1f} s on a processor in {(busy + idle) / 100:,.1f} s of them"
    by_time = Known((busy + waited) / (busy + idle), words)
    return by_load if isinstance(by_load, Known) and by_load.value > by_time.value else by_time


# Signals of settings and of undo: parameters as numbers, retention, segments compared with concurrency.

WORDS = {"TRUE": 1.0, "FALSE": 0.0, "FORCE": 1.0, "FORCE_TEMP": 1.0, "MANUAL": 0.0, "MANUAL_TEMP": 0.0}
"""Values that are words: switched on is 1."""
INHERITED = 0
"""The con_id of values for containers without a setting of their own; also the con_id without containers."""
MOST_CONTAINERS = 5


@signal(unit="value", of="v$parameter", called="value of the parameter")
def parameter_value(context: SignalContext, subject: Subject) -> SignalValue:
    """Value of the condition's parameter as a number. TRUE and FORCE are 1, FALSE and MANUAL 0, an unset hidden one 0.

    If containers differ, the value closest to what the condition needs.
    """
    if isinstance(context.delta.read("v$parameter"), Missing):
        return context.why_unknown("v$parameter")
    name = subject.parameter or ""
    if any("value" not in row for row in context.delta.rows("v$parameter") if row.get("name") == name):
        return context.why_unknown("v$parameter", f"value of {name}")
    values = _values(context, name)
    if not values:
        if name.startswith("_"):
            return Known(0.0, f"{name} is not set")
        if context.printed:
            return Unknown("v$parameter", f"the report does not print {name}, because it was not set", SCRIPT)
        return Unknown("v$parameter", f"this release has no parameter {name}", "nothing to do on this release")
    numbers = {con_id: _as_number(value) for con_id, value in values.items()}
    known = [number for number in numbers.values() if number is not None]
    if len(known) < len(numbers):
        wrong = next(values[con_id] for con_id, number in numbers.items() if number is None)
        return Unknown("v$parameter", f"{name} = {wrong} is not a number", "read it yourself")
    closest = min(known) if subject.needs.startswith("<=") else max(known)
    first = [con_id for con_id, number in numbers.items() if number == closest]
    return Known(closest, f"{name} = {_by_container(values, first)}")


def _values(context: SignalContext, name: str) -> dict[int, str]:
    """The values of a parameter, by container. A capture of an older release has no containers."""
    rows = [
        row for row in context.delta.rows("v$parameter") if row.get("name") == name and row.get("value") is not None
    ]
    return {int(number(row.get("con_id")) or INHERITED): str(row.get("value")) for row in rows}


def _as_number(value: str) -> float | None:
    setting = value.upper()
    try:
        return WORDS[setting] if setting in WORDS else float(setting)
    except ValueError:
        return None


def _by_container(values: Mapping[int, str], first: Sequence[int]) -> str:
    """The values and their containers, `first` first: FORCE in con_id 3, MANUAL in con_id 0."""
    grouped: dict[str, list[int]] = {}
    for con_id in sorted(values, key=lambda con_id: (con_id not in first, con_id)):
        grouped.setdefault(values[con_id], []).append(con_id)
    if len(grouped) == 1:
        return next(iter(grouped))
    return ", ".join(f"{value} in con_id {_listed(con_ids)}" for value, con_ids in grouped.items())


def _listed(con_ids: Sequence[int]) -> str:
    more = len(con_ids) - MOST_CONTAINERS
    listed = " and ".join(str(con_id) for con_id in con_ids[:MOST_CONTAINERS])
    return f"{listed} and {more} more" if more > 0 else listed


def _newest_undo(context: SignalContext) -> tuple[Row, ...]:
    """The newest row of v$undostat of each container. Before 12.1, and with shared undo, there is only one."""
    rows = sorted(context.delta.rows("v$undostat"), key=lambda row: str(row.get("begin_time")))
    newest = {row.get("con_id"): row for row in rows}
    return tuple(newest.values())


def _of(row: Row, rows: Sequence[Row]) -> str:
    """The container of a figure, if there are several."""
    return f" in container {row.get('con_id')}" if len(rows) > 1 else ""


@signal(unit="ratio", of="v$undostat, v$parameter", called="tuned undo retention, times what was asked for")
def tuned_retention_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Undo retention that Oracle tuned for, per second of the requested undo_retention. Of the container with the most."""
    rows, asked = _newest_undo(context), _values(context, "undo_retention")
    ratios: list[Known] = []
    for row in rows:
        tuned = number(row.get("tuned_undoretention"))
        wanted = asked.get(int(number(row.get("con_id")) or INHERITED), asked.get(INHERITED))
        retention = None if wanted is None else _as_number(wanted)
        if tuned is None:
            return context.why_unknown("v$undostat", "tuned_undoretention")
        if not retention:
            return context.why_unknown("v$parameter", "undo_retention")
        derivation = aged(
            context.delta, "v$undostat", f"{tuned:,.0f} s tuned{_of(row, rows)}, {retention:,.0f} s asked for"
        )
        ratios.append(Known(tuned / retention, derivation))
    most = max(ratios, key=lambda ratio: ratio.value, default=None)
    return context.why_unknown("v$undostat", "tuned_undoretention") if most is None else most


@signal(unit="ratio", of="v$undostat")
def unexpired_share_of_undo(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the undo blocks, active ones excluded, that may not be reused yet. Of the container with the largest."""
    rows = _newest_undo(context)
    shares: list[Known] = []
    for row in rows:
        unexpired, expired = number(row.get("unexpiredblks")), number(row.get("expiredblks"))
        if unexpired is None or expired is None:
            return context.why_unknown("v$undostat", "unexpiredblks")
        if blocks := unexpired + expired:
            derivation = f"{unexpired:,.0f} of {blocks:,.0f} blocks{_of(row, rows)}"
            shares.append(Known(unexpired / blocks, aged(context.delta, "v$undostat", derivation)))
    most = max(shares, key=lambda share: share.value, default=None)
    return context.why_unknown("v$undostat", "unexpiredblks") if most is None else most


@signal(unit="segments per transaction", of="v$rowcache, v$undostat")
def undo_segments_per_transaction(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries of dc_rollback_segments per transaction of the busiest moment, over all containers. Above 20 some are left over."""
    segments = cache_sum(context, Subject(("dc_rollback_segments",)), "usage")
    most = context.sum_of(_newest_undo(context), "maxconcurrency")
    if isinstance(segments, Unknown):
        return segments
    if not most:
        return context.why_unknown("v$undostat", "maxconcurrency")
    derivation = aged(context.delta, "v$undostat", f"{segments.value:,.0f} entries, {most:,.0f} transactions at most")
    return Known(segments.value / most, derivation, segments.value, most)


# Signals of parsing and logging on: what each parse asks of the dictionary, who waits before running a statement.


@signal(unit="gets per parse", of="v$rowcache, v$sysstat", diluted=(">=",))
def gets_per_parse(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cause's caches that take the latch or mutex (gets, no fastgets), per parse call, soft or hard."""
    return lookups_per(context, subject, "parse count (total)", "gets")


@signal(unit="ratio", of="v$sysstat", diluted=(">=",))
def failed_share_of_parses(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the parse calls that failed: syntax errors, objects that do not exist, missing privileges."""
    failed, parses = context.work("parse count (failures)"), context.work("parse count (total)")
    if failed is None or not parses:
        return context.why_unknown("v$sysstat", "parse count (failures)")
    return Known(failed / parses, f"{part_of(failed, parses)} parses", failed, parses)


@signal(unit="ratio", of="v$session", surface="lock")
def lock_waiters_without_statement(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that run no statement yet, as during a logon."""
    samples = context.samples
    if isinstance(context.delta.read("v$session"), Missing) or samples.lack(ROW_CACHE_LOCK_EVENT, "sql_id"):
        return context.why_unknown("v$session", "sql_id")
    met = samples.met(ROW_CACHE_LOCK_EVENT)
    if met < MINIMUM_WAITERS:
        return too_few_waiters(met, ROW_CACHE_LOCK_EVENT)
    without = sum(times for sql_id, times in samples.by_cell(ROW_CACHE_LOCK_EVENT, "sql_id").items() if not sql_id)
    return Known(without / met, f"{part_of(without, met)} waiters", without, met)


@signal(unit="release update", of="v$instance")
def release_update(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of the release update, such as 7 of 19.7. v$instance has it from 18c on."""
    full = next(iter(context.delta.rows("v$instance")), {}).get("version_full")
    numbers = str(full or "").split(".")
    update = number(int(numbers[1])) if len(numbers) > 1 and numbers[1].isdigit() else None
    return context.why_unknown("v$instance", "version_full") if update is None else Known(update, f"release {full}")


@signal(unit="value", of="opatch", called="fix that is not installed")
def fix_missing(context: SignalContext, subject: Subject) -> SignalValue:
    """1 if the fix of the cause is not installed. Never known: a fix that is known to be installed rules the cause out before."""
    return Unknown("opatch", "no view lists every patch without SQL", "see it in `opatch lspatches`")
