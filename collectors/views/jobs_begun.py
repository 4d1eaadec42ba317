"""jobs_begun: scheduler jobs that run now and began lately, which no log has before they end.

Read for the timeline of changes, never in a poll. `running_jobs` reads the same view in a hang, for the session of a job.
"""

from collectors.model import CHANGES_MINUTES, Column, ColumnKind, by_container, optional_view, utc_of_zoned

MOST_ROWS = 50

JOBS_BEGUN = optional_view(
    view="jobs_begun",
    about="scheduler jobs that run now and began lately",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("owner", ColumnKind.KEY, "", "owner of the job"),
        Column("job_name", ColumnKind.KEY, "", "name of the job"),
        Column("happened_at", ColumnKind.TEXT, "", "its begin in UTC"),
    ),
    statements=by_container(
        f"""
            select /* latchscope jobs_begun */
                   con_id, owner, job_name, {utc_of_zoned("systimestamp - elapsed_time")} as happened_at
              from cdb_scheduler_running_jobs
             where elapsed_time < interval '{CHANGES_MINUTES}' minute
               and rownum <= {MOST_ROWS}"""
    ),
    without="which scheduler jobs began before the waits and still run",
    granted_on="sys.dba_scheduler_running_jobs",
    for_changes=True,
)
