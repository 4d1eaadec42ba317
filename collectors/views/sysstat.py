"""v$sysstat: how much work the instance did, to compare with the dictionary's traffic."""

from collectors.model import Collector, Column, ColumnKind

SYSSTAT = Collector(
    view="v$sysstat",
    about="parses, executions, logons, commits",
    columns=(
        Column("name", ColumnKind.KEY, "", "statistic"),
        Column("value", ColumnKind.COUNTER, "count", "total"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$sysstat */ name, value
              from v$sysstat
             where name in ('parse count (total)', 'parse count (hard)', 'parse count (failures)',
                            'execute count', 'logons cumulative', 'user calls', 'user commits', 'user rollbacks',
                            'recursive calls', 'session cursor cache hits')""",
    },
    without="rates of work: parses, executions, logons and commits",
    granted_on="sys.v_$sysstat",
)
