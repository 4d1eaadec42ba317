"""Whether the clock of SQL runs in the time zone of the host, in which Oracle's views keep their dates.

SYSDATE and SYSTIMESTAMP follow the database's own time zone where TIME_AT_DBTIMEZONE (23ai and later) or
SYSDATE_AT_DBTIMEZONE (Autonomous Database) is set. v$instance.startup_time and v$sga_resize_ops.start_time have no zone, so
there is no safe difference between them and now: it may be off by hours. Differences of `taken_at`, which is UTC, stay right.
"""

from collections.abc import Iterable, Mapping

HOST_TIME = {"OFF", "FALSE"}
"""Values of these parameters with which SQL uses the host's time zone."""
PARAMETERS = ("time_at_dbtimezone", "sysdate_at_dbtimezone")


def other_time_zone(parameters: Iterable[Mapping[str, object]], sessions: Iterable[Mapping[str, object]]) -> str | None:
    """The setting that may put the clock of SQL into another zone, as `name = value`. None if there is none.

    `parameters`: rows of v$parameter; `sessions`: the row of sys_context. Settings of other containers do not matter.
    """
    own = next(iter(sessions), {}).get("con_id")
    for row in parameters:
        name, value = row.get("name"), str(row.get("value") or "OFF")
        if name in PARAMETERS and value.upper() not in HOST_TIME and row.get("con_id") in (None, 0, own):
            return f"{name} = {value}"
    return None
