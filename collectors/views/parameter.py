"""v$parameter: the few settings that a cause or its remedy refers to. Hidden ones appear only if somebody set them.

Read from v$system_parameter, because v$parameter shows what is in force in the session's own container. There con_id 0 is the
value for containers without their own, and a container's own value has its con_id. The seed, 2, runs nothing.
"""

from collectors.model import Collector, Column, ColumnKind

_NAMED = """name in ('undo_management', 'undo_tablespace', 'undo_retention', 'cpu_count', 'cursor_sharing',
                            'session_cached_cursors', 'open_cursors', 'shared_pool_size', 'sga_target',
                            'memory_target', 'statistics_level', 'result_cache_mode', 'result_cache_max_size',
                            '_rollback_segment_count', '_smu_debug_mode', '_undo_autotune',
                            'optimizer_adaptive_features', 'optimizer_adaptive_statistics',
                            'optimizer_dynamic_sampling', 'time_at_dbtimezone', 'sysdate_at_dbtimezone')"""

PARAMETER = Collector(
    view="v$parameter",
    about="settings of undo, cursors, shared pool, processors and clock, of the instance and of each container",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "container, 12.1 and later; 0 holds where a container has no row"),
        Column("name", ColumnKind.KEY, "", "parameter"),
        Column("value", ColumnKind.TEXT, "", "value in force", long=True),
        Column("isdefault", ColumnKind.TEXT, "", "TRUE when nobody set it"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$parameter */ name, value, isdefault
              from v$system_parameter
             where {_NAMED}""",
        "12.1": f"""
            select /* latchscope v$parameter */ con_id, name, value, isdefault
              from v$system_parameter
             where con_id <> 2
               and {_NAMED}""",
    },
    without="settings that explain a finding, such as a floor on the number of undo segments",
    granted_on="sys.v_$system_parameter",
    most_rows=20_000,  # of thousands of containers
    every_seconds=300.0,
)
