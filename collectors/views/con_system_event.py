"""v$con_system_event: whose the waits are. Read in the root alone, and always in a group, so that it costs no round trip."""

from collectors.model import Collector, Column, ColumnKind

MOST_ROWS = 2000

CON_SYSTEM_EVENT = Collector(
    view="v$con_system_event",
    about="waits of the row cache and the library cache by container, seen from CDB$ROOT",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "container whose sessions waited, 1 is the root"),
        Column("event", ColumnKind.KEY, "", "wait event"),
        Column("total_waits_fg", ColumnKind.COUNTER, "count", "waits of foreground sessions"),
        Column("time_waited_micro_fg", ColumnKind.COUNTER, "us", "time waited by foreground sessions"),
    ),
    statements={
        "12.1": f"""
            select /* latchscope v$con_system_event */ con_id, event, total_waits_fg, time_waited_micro_fg
              from v$con_system_event
             where sys_context('userenv', 'con_id') = '1'
               and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'library cache lock',
                             'library cache pin')
               and total_waits_fg > 0
               and rownum <= {MOST_ROWS}""",
    },
    without="which container's sessions wait, in a container database that is polled from its root",
    granted_on="sys.v_$con_system_event",
    most_rows=20_000,  # of thousands of containers
    starts_at_zero=True,
    optional=True,
)
