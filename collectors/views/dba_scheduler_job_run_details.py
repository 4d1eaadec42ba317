"""dba_scheduler_job_run_details: scheduler jobs that ran lately and ended. Read for the timeline of changes, never in a poll.

A job that runs every few minutes is no change. So a job that ran more than `MOST_RUNS` times is left out.
"""

from collectors.model import Column, ColumnKind, by_container, lately, optional_view, utc_of_zoned

MOST_ROWS = 50
MOST_RUNS = 3

DBA_SCHEDULER_JOB_RUN_DETAILS = optional_view(
    view="dba_scheduler_job_run_details",
    about=f"scheduler jobs that ran and ended, without those that ran more than {MOST_RUNS} times",
    columns=(
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("owner", ColumnKind.KEY, "", "owner of the job"),
        Column("job_name", ColumnKind.KEY, "", "name of the job"),
        Column("happened_at", ColumnKind.TEXT, "", "begin of its last run in UTC"),
    ),
    statements=by_container(
        f"""
            select /* latchscope dba_scheduler_job_run_details */ con_id, owner, job_name, happened_at
              from (select con_id, owner, job_name, {utc_of_zoned("max(actual_start_date)")} as happened_at
                    from cdb_scheduler_job_run_details
                   where {lately("actual_start_date", zoned=True)}
                   group by con_id, owner, job_name
                   having count(*) <= {MOST_RUNS}
                   order by max(actual_start_date) desc)
             where rownum <= {MOST_ROWS}"""
    ),
    without="which scheduler jobs ran before the waits began",
    granted_on="sys.dba_scheduler_job_run_details",
    for_changes=True,
)
