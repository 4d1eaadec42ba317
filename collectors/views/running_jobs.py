"""running_jobs: the scheduler job behind a session. Read on request, when a job holds what sessions hang on.

It is a view of the dictionary, which is what hangs. So it is read only for a job that blocks, within the deadline of the look.
"""

from collectors.model import Column, ColumnKind, by_container, optional_view

MOST_ROWS = 200

RUNNING_JOBS = optional_view(
    view="running_jobs",
    about="jobs of the scheduler that run now, with their sessions",
    columns=(
        Column("owner", ColumnKind.KEY, "", "owner of the job"),
        Column("job_name", ColumnKind.KEY, "", "name of the job"),
        Column("con_id", ColumnKind.KEY, "", "its container, 12.1 and later"),
        Column("session_id", ColumnKind.TEXT, "", "session that runs it"),
        Column("running_instance", ColumnKind.TEXT, "", "instance of that session"),
    ),
    statements=by_container(
        f"""
            select /* latchscope running_jobs */
                   owner, job_name, con_id, session_id, running_instance
              from cdb_scheduler_running_jobs
             where rownum <= {MOST_ROWS}"""
    ),
    without="the name of a scheduler job that blocks, which has to be stopped by its name",
    granted_on="sys.dba_scheduler_running_jobs",
)
