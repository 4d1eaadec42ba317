"""v$system_event: waits of the row cache, and of the events whose victim the row cache often is."""

from collectors.model import Collector, Column, ColumnKind

ORDINARY_WAITS = (
    "db file sequential read",
    "db file scattered read",
    "db file parallel read",
    "direct path read",
    "direct path read temp",
    "direct path write",
    "direct path write temp",
    "log file sync",
    "read by other session",
)
"""Waits of ordinary work. No poll reads them. A report prints them, and they only tell what DB time went to."""
_ORDINARY = (
    "db file ",
    "direct path ",
    "log file sync",
    "read by other session",
    "cell ",
    "SQL*Net ",
    "Disk file ",
    "ASM ",
)


def is_ordinary(event: str) -> bool:
    """Whether a wait is of ordinary work, reading and writing for a session, however large its share."""
    return event.startswith(_ORDINARY)


SYSTEM_EVENT = Collector(
    view="v$system_event",
    about="waits and time waited of the row cache and parsing events",
    columns=(
        Column("event", ColumnKind.KEY, "", "wait event"),
        Column("total_waits", ColumnKind.COUNTER, "count", "waits"),
        Column("total_timeouts", ColumnKind.COUNTER, "count", "waits that timed out"),
        Column("time_waited_micro", ColumnKind.COUNTER, "us", "time waited"),
        Column("total_waits_fg", ColumnKind.COUNTER, "count", "waits of foreground sessions"),
        Column(
            "time_waited_micro_fg",
            ColumnKind.COUNTER,
            "us",
            "time waited by foreground sessions, which DB time is made of",
        ),
    ),
    statements={
        "11.2": """
            select /* latchscope v$system_event */ event, total_waits, total_timeouts, time_waited_micro,
                   total_waits_fg, time_waited_micro_fg
              from v$system_event
             where event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free',
                             'library cache: mutex X', 'library cache lock', 'library cache pin',
                             'library cache load lock', 'cursor: pin S wait on X', 'cursor: mutex X',
                             'cursor: mutex S', 'latch: shared pool', 'latch: library cache',
                             'library cache: mutex S', 'library cache: bucket mutex X', 'cursor: pin S',
                             'latch: cache buffers chains', 'enq: US - contention', 'enq: SQ - contention',
                             'enq: SV -  contention', 'enq: RC - Result Cache: Contention',
                             'enq: TX - row lock contention', 'enq: TX - allocate ITL entry',
                             'LCK0 row cache object free', 'resmgr:cpu quantum', 'enq: CB - role operation',
                             'enq: HW - contention', 'enq: FB - contention', 'enq: TT - contention',
                             'Data file init write', 'cell smart file creation', 'Failed Logon Delay',
                             'optimizer stats update retry', 'SGA: allocation forcing component growth',
                             'DFS lock handle', 'library cache: dependency mutex X', 'wait for a undo record',
                             'wait for stopper event to be increased')""",
    },
    without="the time lost in row cache waits and whether parsing waits are the larger part",
    granted_on="sys.v_$system_event",
    starts_at_zero=True,
)
