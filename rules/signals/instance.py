"""Signals of the whole instance and its host: database time, waits, processors, paging."""

from collections.abc import Mapping, Sequence

from collectors.model import SCRIPT, Delta, Missing, Row, lasting, number, other_time_zone, text
from rules.base import bound_of
from rules.context import SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, part_of, percent
from rules.library_cache import LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN
from rules.samples import MINIMUM_WAITERS
from rules.signals.quantities import QUANTITIES, Operand, Quotient, Subject, already_enough, caches, certain
from rules.waiting_sessions import waits_of


def in_cluster(context: SignalContext, subject: Subject) -> SignalValue:
    """1 if the instance is one of a cluster (RAC), 0 if it is single."""
    parallel = next((text(row.get("parallel")) for row in context.delta.rows("v$instance")), None)
    if parallel is None:
        return context.why_unknown("v$instance", "parallel")
    return Known(float(parallel == "YES"), f"v$instance.parallel = {parallel}")


def host_busy_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the host's processor time in use."""
    busy, idle = context.host("BUSY_TIME"), context.host("IDLE_TIME")
    if busy is None or idle is None or busy + idle == 0:
        return context.why_unknown("v$osstat", "BUSY_TIME")
    return Known(busy / (busy + idle), part_of(busy, busy + idle) + " cs", busy, busy + idle)


def own_share_of_busy_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the host's busy processor time that sessions of this instance used, waiters that spin included."""
    own, busy = context.seconds_of("DB CPU"), context.host("BUSY_TIME")
    if not busy:
        return context.why_unknown("v$osstat", "BUSY_TIME")
    if own is None:
        return context.why_unknown("v$sys_time_model", "DB CPU")
    return Known(100 * own / busy, part_of(100 * own, busy) + " cs", 100 * own, busy)


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


# Signals of the length of one wait. Far above the ordinary length, the holder does not run.

LONG_WAIT_MICRO = 1e6
"""For waits of a second and more a few are enough, because no ordinary wait lasts so long."""


def average_wait(context: SignalContext, subject: Subject, event: str) -> SignalValue:
    """Milliseconds per wait for an event. Of the row cache a few long ones are enough, and a view without its row saw none."""
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), {})
    waits, micro = waits_of(row)
    ours = event in SURFACE_EVENTS.values()
    if ours and not row and context.delta.source == "views" and context.waited_seconds([event]) == 0:
        return Unknown("v$system_event", f"no session waited for {event}", context.busier)
    if waits is None or micro is None:
        return context.why_unknown("v$system_event", "total_waits")
    if waits < MINIMUM_WAITERS and not (ours and waits and micro >= waits * LONG_WAIT_MICRO):
        why = f"too few events: {waits:.0f} waits for {event}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$system_event", why, context.busier)
    return Known(micro / 1000 / waits, f"{micro / 1e6:,.2f} s in {waits:,.0f} waits", micro / 1000, waits)


def waited_for_event(context: SignalContext, subject: Subject) -> SignalValue:
    """Seconds waited for the event that the condition names as its parameter. A report prints only the longest."""
    waited = context.waited_seconds((subject.parameter or "",))
    if waited is None or (context.printed and not waited):
        return context.why_unknown("v$system_event", f"row of {subject.parameter}")
    return Known(waited, f"{waited:,.1f} s of {subject.parameter}")


def sessions_in_event(context: SignalContext, subject: Subject) -> SignalValue:
    """Sessions, background ones included, that waited at one time for the event that the condition names as its parameter.
    So many are among the longest waits, so a report without them had none."""
    waited, seconds = context.waited_seconds((str(subject.parameter),)), QUANTITIES["seconds"].read(context, subject)
    if waited is None or not isinstance(seconds, Known):
        return context.why_unknown("v$system_event", f"row of {subject.parameter}") if waited is None else seconds
    everybody = context.delta.cell("v$system_event", "event", str(subject.parameter), "time_waited_micro")
    total = waited if everybody is None else everybody / 1e6
    return Known(
        total / seconds.value, f"{total:,.1f} s of {subject.parameter} in {seconds.value:,.0f} s", total, seconds.value
    )


def average_library_cache_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `library cache lock` or `library cache pin`, whichever cost more time."""
    dearer = max(LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN, key=lambda event: context.waited_seconds((event,)) or 0.0)
    return average_wait(context, subject, dearer)


# The age of a view that is not read in every poll, told beside each figure that comes from it.


def age_of(delta: Delta, view: str) -> float:
    """How many seconds before the end of the interval a view was read. 0 if the last poll read it itself."""
    reading, end = delta.read(view), delta.basis.end
    read_at = None if isinstance(reading, Missing) else reading.read_at
    return 0.0 if read_at is None or end is None else max(0.0, (end - read_at).total_seconds())


def aged(delta: Delta, view: str, derivation: str) -> str:
    """The derivation of a figure, with the age of the view's rows if an earlier poll read them."""
    age = age_of(delta, view)
    return f"{derivation}{', ' if derivation else ''}read {lasting(age)} before the end" if age else derivation


# Signals of the shared pool: the row cache's memory there, and whether the pool shrank.


def row_cache_memory(context: SignalContext, subject: Subject) -> SignalValue:
    """Shared pool memory of row cache objects (KQR…), of all containers together."""
    rows = [row for row in context.delta.rows("v$sgastat") if str(row.get("name")).startswith("KQR")]
    total = context.sum_of(rows, "bytes")
    if total is None:
        return context.why_unknown("v$sgastat", "bytes")
    return Known(total, aged(context.delta, "v$sgastat", f"{total / 2**20:,.0f} MiB"))


def _shrinks(context: SignalContext) -> list[tuple[str, float, float]] | Unknown:
    """When the shared pool shrank in the last ten minutes, with its size before and after. Each granule that moves counts."""
    view = "v$sga_resize_ops"
    if isinstance(context.delta.read(view), Missing):
        return context.why_unknown(view)
    if elsewhere := other_time_zone(context.delta.rows("v$parameter"), context.delta.rows("sys_context")):
        zone = "the clock of SQL may be in another time zone than the start of a resize, so its age is unknown"
        return Unknown(view, f"{elsewhere}: {zone}", f"read {view} yourself", absent=True)
    found = []
    for row in context.delta.rows(view):
        before, after = number(row.get("initial_size")), number(row.get("final_size"))
        if row.get("component") != "shared pool":
            continue
        if before is None or after is None:
            return context.why_unknown(view, "initial_size")
        if after < before:
            found.append((str(row.get("start_time")), before, after))
    return found


def shared_pool_shrinks(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of times the shared pool shrank in the last ten minutes. Each granule that moves counts."""
    shrinks = _shrinks(context)
    if isinstance(shrinks, Unknown):
        return shrinks
    moments = ", ".join(sorted({moment for moment, _, _ in shrinks}))
    return Known(float(len(shrinks)), aged(context.delta, "v$sga_resize_ops", moments))


def shared_pool_shrunk_share(context: SignalContext, subject: Subject) -> SignalValue:
    """Part of its size that the shared pool lost in the last ten minutes, from its largest to its smallest."""
    shrinks = _shrinks(context)
    if isinstance(shrinks, Unknown):
        return shrinks
    if not shrinks:
        return Known(0.0, aged(context.delta, "v$sga_resize_ops", "no shrink"))
    largest, smallest = max(before for _, before, _ in shrinks), min(after for _, _, after in shrinks)
    shrunk = f"from {largest / 2**20:,.0f} to {smallest / 2**20:,.0f} MiB"
    return Known(1 - smallest / largest, aged(context.delta, "v$sga_resize_ops", shrunk))


# Signals per processor: a rate that drowns a host of four processors is nothing to one of 128.

MOST_PROCESSORS = 256.0
"""A rate that is too much for this many processors is too much for nearly every host (our bound)."""


def per_processor(context: SignalContext, subject: Subject, done: tuple[str, str]) -> SignalValue:
    """A quantity per second and processor. Without the number of processors: its value for one and for very many."""
    kind, statistic = done
    rate = Quotient(Operand(QUANTITIES[kind], (statistic,)), Operand(QUANTITIES["seconds"], ()))(context, subject)
    if isinstance(rate, Unknown):
        return rate
    if context.cpus:
        words = f"{rate.derivation}, {context.cpus:g} processors"
        return Known(rate.value / context.cpus, words, rate.value, context.cpus)
    needed = bound_of(subject.needs)
    bound = needed.value if needed else rate.value
    if rate.value < bound:
        return Known(rate.value, f"{rate.derivation}, too few for a single processor")
    if rate.value / MOST_PROCESSORS >= bound:
        return Known(
            rate.value / MOST_PROCESSORS,
            f"{rate.derivation}, too many for {MOST_PROCESSORS:g} processors, and their number is not known",
        )
    return context.why_unknown("v$osstat", "NUM_CPUS")


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


def undo_segments_per_transaction(context: SignalContext, subject: Subject) -> SignalValue:
    """Entries of dc_rollback_segments per transaction of the busiest moment, over all containers. Above 20 some are left over."""
    segments = caches(context, Subject(("dc_rollback_segments",)), "usage")
    most = context.sum_of(_newest_undo(context), "maxconcurrency")
    if isinstance(segments, Unknown):
        return segments
    if not most:
        return context.why_unknown("v$undostat", "maxconcurrency")
    derivation = aged(context.delta, "v$undostat", f"{segments.value:,.0f} entries, {most:,.0f} transactions at most")
    return Known(segments.value / most, derivation, segments.value, most)


def release_update(context: SignalContext, subject: Subject) -> SignalValue:
    """Number of the release update, such as 7 of 19.7. v$instance has it from 18c on."""
    full = next(iter(context.delta.rows("v$instance")), {}).get("version_full")
    numbers = str(full or "").split(".")
    update = number(int(numbers[1])) if len(numbers) > 1 and numbers[1].isdigit() else None
    return context.why_unknown("v$instance", "version_full") if update is None else Known(update, f"release {full}")


def fix_missing(context: SignalContext, subject: Subject) -> SignalValue:
    """1 if the fix of the cause is not installed. Never known: a fix that is known to be installed rules the cause out before."""
    return Unknown("opatch", "no view lists every patch without SQL", "see it in `opatch lspatches`")
