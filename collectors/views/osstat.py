"""v$osstat: whether the host has processor and memory to give; a starved host makes every latch look guilty."""

from collectors.model import Collector, Column, ColumnKind

OSSTAT = Collector(
    view="v$osstat",
    about="processors, load, busy time and paging of the host",
    columns=(
        Column("stat_name", ColumnKind.KEY, "", "statistic"),
        Column(
            "level_now",
            ColumnKind.GAUGE,
            "mixed",
            "value of a statistic that is a level: NUM_CPUS, LOAD, bytes of memory and of free swap space",
        ),
        Column(
            "total", ColumnKind.COUNTER, "mixed", "value of one that accumulates: centiseconds of time, bytes paged"
        ),
    ),
    # The view mixes levels and totals in one column; the statement parts them.
    statements={
        "11.2": """
            select /* latchscope v$osstat */ stat_name,
                   case when stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES',
                                           'SWAP_FREE_BYTES')
                        then value end as level_now,
                   case when stat_name in ('BUSY_TIME', 'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME',
                                           'VM_IN_BYTES', 'VM_OUT_BYTES')
                        then value end as total
              from v$osstat
             where stat_name in ('NUM_CPUS', 'NUM_CPU_CORES', 'LOAD', 'PHYSICAL_MEMORY_BYTES', 'BUSY_TIME',
                                 'IDLE_TIME', 'OS_CPU_WAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME', 'VM_IN_BYTES',
                                 'VM_OUT_BYTES', 'SWAP_FREE_BYTES')""",
    },
    without="whether the host is starved of processor or memory, which would explain slow latches",
    granted_on="sys.v_$osstat",
)
