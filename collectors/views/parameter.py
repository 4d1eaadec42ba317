"""v$parameter: the few settings a cause or its remedy refers to; hidden ones show only where somebody set them."""

from collectors.model import Collector, Column, ColumnKind

PARAMETER = Collector(
    view="v$parameter",
    about="settings of undo, cursors, shared pool and processors",
    columns=(
        Column("name", ColumnKind.KEY, "", "parameter"),
        Column("value", ColumnKind.TEXT, "", "value in force"),
        Column("isdefault", ColumnKind.TEXT, "", "TRUE when nobody set it"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$parameter */ name, value, isdefault
              from v$parameter
             where name in ('undo_management', 'undo_tablespace', 'undo_retention', 'cpu_count', 'cursor_sharing',
                            'session_cached_cursors', 'open_cursors', 'shared_pool_size', 'sga_target',
                            'memory_target', 'statistics_level', 'result_cache_mode', 'result_cache_max_size',
                            '_rollback_segment_count', '_smu_debug_mode', '_undo_autotune',
                            'optimizer_adaptive_features', 'optimizer_adaptive_statistics',
                            'optimizer_dynamic_sampling')""",
    },
    without="settings that explain a finding, such as a floor on the number of undo segments",
    granted_on="sys.v_$parameter",
    every_seconds=300.0,
    after=("v$instance",),
)
