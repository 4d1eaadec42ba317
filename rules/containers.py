"""Whose the row cache waits are: their seconds by container, as v$con_system_event counts them in the root."""

from collections import Counter

from collectors.model import Delta, Missing, number, text
from collectors.views.con_system_event import MOST_ROWS
from rules.context import OF_THE_WHOLE_CDB, SignalContext
from rules.formatting import listed, over, percent
from rules.model import ContainerShare, Figure, Step
from rules.waits import ROW_CACHE_SURFACES, SURFACE_EVENTS

VIEW, NAMES = "v$con_system_event", "v$containers"
CONTAINERS = "containers"
MOST_CONTAINERS = 10
SHARE_TOLD = 0.01
"""A container with less of the waits is not named in the sentence."""


def container_shares(context: SignalContext) -> tuple[ContainerShare, ...]:
    """The containers whose sessions waited for the row cache, those with most first. Empty if that is not known of all."""
    waited = container_waits(context.delta)
    if waited is None:
        return ()
    whole = waited.total()
    names = {number(row.get("con_id")): text(row.get("name")) for row in context.delta.rows(NAMES)}
    most = sorted(waited.items(), key=lambda item: (-item[1], item[0]))[:MOST_CONTAINERS]
    return tuple(
        ContainerShare(con_id=con_id, name=names.get(con_id), seconds=micro / 1e6, share=micro / whole)
        for con_id, micro in most
        if micro > 0
    )


def container_waits(delta: Delta) -> Counter[int] | None:
    """Microseconds that foreground sessions of each container waited for the row cache. None if that is not known of all."""
    reading = delta.read(VIEW)
    if isinstance(reading, Missing) or len(reading.rows) >= MOST_ROWS:
        return None
    events = {SURFACE_EVENTS[surface] for surface in ROW_CACHE_SURFACES}
    waited: Counter[int] = Counter()
    for row in reading.rows:
        con_id, micro = number(row.get("con_id")), number(row.get("time_waited_micro_fg"))
        if row.get("event") in events:
            if con_id is None or micro is None:
                return None  # a counter that misbehaved: the whole is unknown, and so is every share
            waited[int(con_id)] += round(micro)
    return waited


def container_step(context: SignalContext) -> Step | None:
    """Whose the waits are, as a sentence. None if that is not known, or no session waited."""
    shares = container_shares(context)
    if not shares:
        return None
    told = [one for one in shares[:3] if one.share >= SHARE_TOLD]
    first, *rest = told
    others = "".join(f", {percent(one.share)} those of {one.called}" for one in rest)
    return Step(
        step=CONTAINERS,
        statement=f"{percent(first.share)} of the row cache waits are those of {first.called}{others}: {first.seconds:,.1f} s "
        f"{over(context.delta.basis)}.",
        figures=tuple(Figure(name=one.called, value=one.seconds, unit="s", of=VIEW) for one in told),
    )


# A connection inside a PDB: which figures are the PDB's, which those of the whole container database. A share of one in the
# other means nothing. So there the cost of row cache waits is given in waiting sessions.

OF_THE_PDB = ("v$sysstat", "v$system_event", "v$sys_time_model")


def pdb_note(delta: Delta) -> tuple[str, ...]:
    """The note on a connection inside a PDB, with the time that only the whole CDB explains."""
    if not delta.inside_pdb:
        return ()
    name = next((text(row.get("con_name")) for row in delta.rows("sys_context")), None) or "of unknown name"
    return (
        f"connected inside the PDB {name}: {listed(OF_THE_PDB)} are figures of this PDB, {listed(OF_THE_WHOLE_CDB)} those of "
        "the whole CDB; so latchscope gives no share of DB time that row cache waits take and grades them by waiting sessions, "
        "and a ratio between the two may be too high; connect to CDB$ROOT as a common user, if you may",
        *_others(delta),
    )


def _others(delta: Delta) -> tuple[str, ...]:
    """That mutexes of the whole CDB slept far longer than this PDB waited. Other containers wait too."""
    slept = [number(row.get("wait_time")) for row in delta.rows("v$mutex_sleep")]
    waited = delta.cell("v$system_event", "event", "row cache mutex", "time_waited_micro") or 0.0
    total, seconds = sum(each or 0.0 for each in slept) / 1e6, delta.basis.seconds
    if not seconds or total / seconds < OTHERS_WAIT or total < 2 * waited / 1e6:
        return ()
    return (
        f"sessions of the whole CDB slept {total:,.1f} s on row cache mutexes, those of this PDB waited {waited / 1e6:,.1f} s: "
        "the problem may be in another container, so a small cost here does not show that the row cache is fine",
    )


OTHERS_WAIT = 0.5
"""Sessions that sleep on average in the whole CDB: as many as a warning takes by waiting sessions."""
