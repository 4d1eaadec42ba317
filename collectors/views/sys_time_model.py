"""v$sys_time_model: DB time, the denominator of every impact, and the share of it that parsing takes."""

from collectors.model import Collector, Column, ColumnKind

SYS_TIME_MODEL = Collector(
    view="v$sys_time_model",
    about="DB time and its parts",
    columns=(
        Column("stat_name", ColumnKind.KEY, "", "statistic"),
        Column("value", ColumnKind.COUNTER, "us", "time spent"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$sys_time_model */ stat_name, value
              from v$sys_time_model
             where stat_name in ('DB time', 'DB CPU', 'parse time elapsed', 'hard parse elapsed time',
                                 'failed parse elapsed time', 'connection management call elapsed time',
                                 'sequence load elapsed time')""",
    },
    without="the share of DB time that is lost, so severity rests on waiting sessions or on shares alone",
    granted_on="sys.v_$sys_time_model",
)
