"""v$event_name: whether this instance has the event `row cache mutex`, which decides latch or mutex; once per start."""

from collectors.model import Collector, Column, ColumnKind

EVENT_NAME = Collector(
    view="v$event_name",
    about="row cache wait events this release knows",
    columns=(Column("name", ColumnKind.KEY, "", "wait event"),),
    statements={
        "11.2": """
            select /* latchscope v$event_name */ name
              from v$event_name
             where name in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free',
                            'LCK0 row cache object free')""",
    },
    without="whether latches or mutexes guard the row cache; the release number is taken instead",
    granted_on="sys.v_$event_name",
    once=True,
)
