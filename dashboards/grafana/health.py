"""Does latchscope itself work, and what does it cost?"""

from panels import (
    ALARM,
    BY_AGE,
    Json,
    dashboard,
    folded,
    label,
    link,
    override,
    query,
    row,
    stat,
    states,
    table,
    timeseries,
)
from shared import ANSWERS, DOWN, JOB, PAGE, UP, S, chosen

POLLING = (
    f"max by (rac, db) (latchscope_poll_duration_seconds{{{S}}})"
    f" / max by (rac, db) (latchscope_poll_interval_seconds{{{S}}})"
)


def health(address: str) -> Json:
    """Does latchscope itself work, and what does it cost?"""
    job = label("job", "Job", "latchscope_up", several=True)
    instance = label("instance", "Instance", 'latchscope_up{job=~"$job"}', several=True)
    return dashboard(
        "latchscope-health",
        "latchscope / Health",
        "Whether latchscope itself works: which databases answer, what polling costs, and how the process is.",
        [job, instance, *chosen(several=True, pages=address)],
        [*_watching(), *_losses(), *_poll_cost(), *_process()],
    )


def _watching() -> list[Json]:
    stopped = f"sum(latchscope_login_stopped{{{S}}}) or 0 * count({UP})"
    return [
        row("Is every database watched?"),
        stat("Answering", "Databases whose last poll succeeded and is recent.", "none", f"sum({UP})"),
        stat("Down", "Databases without data, also because their latchscope is gone.", "none", DOWN, ALARM),
        stat(
            "Logins off",
            "Databases where latchscope stopped logging in after one refusal, to protect the account.",
            "none",
            stopped,
            ALARM,
        ),
        stat(
            "Views lost",
            "Views that could not be read in the last poll, over all databases.",
            "none",
            f"sum(1 - latchscope_collector_success{{{S}}})",
            ALARM,
        ),
        stat("Oldest", "The longest time since a good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})", BY_AGE),
        stat(
            "Poll share",
            "The largest share of its interval that polling a database takes.",
            "percentunit",
            f"max({POLLING})",
        ),
        states(
            "Databases that answer",
            "Whether the last poll of each database succeeded and is recent. Red for 15 minutes after its latchscope is gone.",
            {"0": {"text": "no data", "color": "red", "index": 0}, "1": {"text": "up", "color": "green", "index": 1}},
            query(ANSWERS, "{{db}}"),
            h=9,
        ),
        timeseries(
            "Data age",
            "Time since the last good poll. It goes up and down with the interval. A steady rise is an outage.",
            "s",
            query(f"max by (rac, db) (latchscope_data_age_seconds{{{S}}})", "{{db}}"),
        ),
    ]


def _losses() -> list[Json]:
    selected = f'{{{JOB},outcome!="told"}}[$__range]'
    failed = (
        f"increase(latchscope_webhook_attempts_total{selected}) "
        f"or increase(latchscope_notification_attempts_total{selected})"
    )
    threads, lost = f"latchscope_thread_up{{{JOB}}}", f"latchscope_spool_lost_polls_total{{{JOB}}}[$__range]"
    scraped = f"up{{{JOB}}}"
    there = f"max by (job, instance) ({scraped}) or 0 * max by (job, instance) (last_over_time({scraped}[15m]))"
    return [
        row("What does latchscope lose?"),
        stat(
            "Polls lost",
            "Polls in the time range that latchscope could keep neither in the store nor in the spool. Diagnosis went on.",
            "none",
            # An increase outlives its process, so somebody must still be there to say zero.
            f"sum(increase({lost})) and on () count(latchscope_spool_polls{{{JOB}}})",
            ALARM,
            decimals=0,
        ),
        stat(
            "In spool",
            "Polls that wait on disk for a store that does not answer.",
            "none",
            f"sum(latchscope_spool_polls{{{JOB}}})",
            ALARM,
        ),
        stat(
            "Stalled",
            "Threads of latchscope that are not well. latchscope restarts them, and the log says why.",
            "none",
            f"sum(1 - {threads})",
            ALARM,
        ),
        stat(
            "Not sent",
            "Failed attempts to notify a webhook or people in the time range, and those that latchscope gave up.",
            "none",
            f"sum({failed} or 0 * {threads}) and on () count({threads})",
            ALARM,
            decimals=0,
        ),
        stat(
            "Queue",
            "How long due polls wait for their turn. If it is more than some seconds, the process has too many databases.",
            "s",
            f"max(latchscope_poll_queue_seconds{{{JOB}}})",
        ),
        stat(
            "Gone",
            "Processes of latchscope that Prometheus cannot scrape, or that it lost within 15 minutes.",
            "none",
            f"count(({there}) == 0) or 0 * count({scraped})",
            ALARM,
        ),
        folded(
            "Which views can be read?",
            states(
                "Views that can be read",
                "Whether each dynamic view was read on every database.",
                {
                    "0": {"text": "refused", "color": "red", "index": 0},
                    "1": {"text": "read", "color": "green", "index": 1},
                },
                query(f"min by (collector) (latchscope_collector_success{{{S}}})", "{{collector}}"),
                w=24,
                h=12,
            ),
        ),
        folded(
            "Which do not answer, and why?",
            table(
                "Databases that do not answer",
                "The reason, and when latchscope tries again. The table is empty while all databases answer, "
                "and while latchscope itself is gone.",
                (
                    "Next attempt",
                    "dateTimeAsIso",
                    f"max by (rac, db, reason) (latchscope_next_attempt_timestamp_seconds{{{S}}}) * 1000",
                ),
                rename={"db": "Database", "rac": "RAC", "reason": "Reason"},
                none="No data: none is known not to answer",
                overrides=[
                    override(
                        "Database", {"links": [link("The failure in latchscope", f"{PAGE}/db/${{__data.fields.db}}")]}
                    )
                ],
            ),
        ),
    ]


def _poll_cost() -> list[Json]:
    per_poll = f"sum by (rac, db) (latchscope_collector_round_trips{{{S}}})"
    slowest = f"max by (collector) (latchscope_collector_duration_seconds{{{S}}})"
    rows = f"max by (collector) (latchscope_collector_rows{{{S}}})"
    return [
        row("What does polling cost?"),
        timeseries(
            "Time a poll takes",
            "The whole poll: statements, rows, diagnosis.",
            "s",
            query(f"max by (rac, db) (latchscope_poll_duration_seconds{{{S}}})", "{{db}}"),
            w=8,
        ),
        timeseries(
            "Interval spent polling",
            "If a poll exceeds the configured budget, latchscope makes the interval longer.",
            "percentunit",
            query(POLLING, "{{db}}"),
            w=8,
        ),
        timeseries(
            "Interval between polls",
            "The current interval. It is longer than configured while polls are costly.",
            "s",
            query(f"max by (rac, db) (latchscope_poll_interval_seconds{{{S}}})", "{{db}}"),
            w=8,
        ),
        timeseries(
            "Slowest read by view",
            "Time to read each dynamic view, on the database where that took longest.",
            "s",
            query(slowest, "{{collector}}"),
            w=8,
        ),
        timeseries(
            "Rows by view",
            "Rows of each dynamic view, on the database with the most.",
            "short",
            query(rows, "{{collector}}"),
            decimals=0,
            w=8,
        ),
        timeseries(
            "Round trips per poll",
            "Network round trips of the last poll.",
            "short",
            query(per_poll, "{{db}}"),
            decimals=0,
            w=8,
        ),
    ]


def _process() -> list[Json]:
    cpu = f"rate(process_cpu_seconds_total{{{JOB}}}[$__rate_interval])"
    collections = f"sum by (instance, generation) (rate(python_gc_collections_total{{{JOB}}}[$__rate_interval]))"
    memory = f"process_resident_memory_bytes{{{JOB}}}"
    scrape = f"scrape_duration_seconds{{{JOB}}}"
    size = f"latchscope_exposition_bytes{{{JOB}}}"
    samples = f"scrape_samples_scraped{{{JOB}}}"
    return [
        row("How is the process?"),
        timeseries("CPU", "CPUs in use by latchscope.", "short", query(cpu, "{{instance}}"), w=6),
        timeseries("Memory", "Resident memory of latchscope.", "bytes", query(memory, "{{instance}}"), w=6),
        timeseries(
            "Open files",
            "File descriptors in use: one per connection to a database, and those of the readers of pages.",
            "short",
            query(f"process_open_fds{{{JOB}}}", "{{instance}}"),
            decimals=0,
            w=6,
        ),
        timeseries(
            "Scrape time", "Time that Prometheus took to read /metrics.", "s", query(scrape, "{{instance}}"), w=6
        ),
        timeseries(
            "Samples",
            "Samples in the last answer of /metrics.",
            "short",
            query(samples, "{{instance}}"),
            w=6,
            decimals=0,
        ),
        timeseries(
            "Scrape size",
            "Size of the last answer of /metrics before compression.",
            "bytes",
            query(size, "{{instance}}"),
            w=6,
        ),
        timeseries(
            "Garbage collections",
            "Runs of Python's collector by generation.",
            "cps",
            query(collections, "{{instance}} · {{generation}}"),
            w=6,
        ),
    ]
