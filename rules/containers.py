"""A connection inside a PDB: which figures are the PDB's, which those of the whole container database.

A share of one in the other means nothing. So there the cost of row cache waits is given in waiting sessions.
"""

from collectors.model import Delta, number, text
from rules.model import Unknown

OF_THE_PDB = ("v$sysstat", "v$system_event", "v$sys_time_model")
OF_THE_WHOLE = ("v$latch", "v$rowcache", "v$mutex_sleep")


def inside_pdb(delta: Delta) -> bool:
    """Whether the session was inside a PDB. False for the root, without containers, and if it was not captured."""
    return any((number(row.get("con_id")) or 0) > 1 for row in delta.rows("sys_context"))


def no_share() -> Unknown:
    """Why there is no share of DB time."""
    why = f"inside a PDB, DB time is the PDB's, and {_listed(OF_THE_WHOLE)} are those of the whole CDB"
    return Unknown("v$sys_time_model", why, "connect to CDB$ROOT as a common user, if you may", absent=True)


def pdb_note(delta: Delta) -> tuple[str, ...]:
    """The note on a connection inside a PDB, with the time that only the whole CDB explains."""
    if not inside_pdb(delta):
        return ()
    name = next((text(row.get("con_name")) for row in delta.rows("sys_context")), None) or "of unknown name"
    return (
        f"connected inside the PDB {name}: {_listed(OF_THE_PDB)} are figures of this PDB, {_listed(OF_THE_WHOLE)} those of "
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
        "the trouble may be in another container, so a small cost here does not show that the row cache is fine",
    )


OTHERS_WAIT = 0.5
"""Sessions that sleep on average in the whole CDB: as many as a warning takes by waiting sessions."""


def _listed(views: tuple[str, ...]) -> str:
    return f"{', '.join(views[:-1])} and {views[-1]}"
