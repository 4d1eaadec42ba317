"""v$instance: which release this is, when it started, and the one clock that every interval is measured with."""

from collectors.model import Collector, Column, ColumnKind

INSTANCE = Collector(
    view="v$instance",
    about="release, start time and the database's clock; one row",
    columns=(
        Column("instance_number", ColumnKind.KEY, "", "number of the instance in its cluster, 1 on its own"),
        Column("instance_name", ColumnKind.TEXT, "", "name of the instance"),
        Column("host_name", ColumnKind.TEXT, "", "host it runs on"),
        Column(
            "version", ColumnKind.TEXT, "", "release; from 18c on without the release update, which version_full has"
        ),
        Column("version_full", ColumnKind.TEXT, "", "release with its update, 18c and later"),
        Column("status", ColumnKind.TEXT, "", "STARTED, MOUNTED, OPEN or OPEN MIGRATE"),
        Column("parallel", ColumnKind.TEXT, "", "YES in a cluster (RAC)"),
        Column("startup_time", ColumnKind.TEXT, "", "host's local time of the start; marks every counter reset"),
        Column("uptime_seconds", ColumnKind.GAUGE, "s", "seconds since the start, by the database host's clock"),
        Column("taken_at", ColumnKind.TEXT, "date", "now, UTC, by the database host's clock"),
    ),
    # startup_time and systimestamp share the host's time zone, so their difference needs none, unless a parameter puts
    # the clock of SQL into another one (`collectors.model`). FIXED_DATE changes sysdate only.
    statements={
        "11.2": """
            select /* latchscope v$instance */
                   instance_number, instance_name, host_name, version, status, parallel,
                   to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
                   round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
                   sys_extract_utc(systimestamp) as taken_at
              from v$instance""",
        "18": """
            select /* latchscope v$instance */
                   instance_number, instance_name, host_name, version, version_full, status, parallel,
                   to_char(startup_time, 'YYYY-MM-DD HH24:MI:SS') as startup_time,
                   round((cast(systimestamp as date) - startup_time) * 86400) as uptime_seconds,
                   sys_extract_utc(systimestamp) as taken_at
              from v$instance""",
    },
    without="any interval, rate or restart: nothing can be diagnosed",
    granted_on="sys.v_$instance",
    after=(),
)
