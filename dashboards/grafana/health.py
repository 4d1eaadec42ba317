"""Does latchscope itself work, and what does it cost?"""

from functools import partial

import panels
from panels import Json
from shared import (
    ANSWERS,
    BANDS,
    BY,
    CAN_BE_READ,
    DB,
    JOB,
    PAGE,
    POLLING,
    SILENT,
    UNWATCHED,
    UP,
    chosen,
    highest,
    sure,
    watched,
    why,
    within,
)

SEEN = "instance:latchscope_seen:timestamp"
PROCESS = "<by>job, instance"
GONE = f"count(last_over_time({SEEN}{{{JOB}}}[15m]) unless on ({PROCESS}) up{{{JOB}}} == 1)"
"""Processes that Prometheus cannot scrape, or lost within 15 minutes: afterwards it is their databases that nobody watches."""
LOST = f"({GONE} or count({UNWATCHED}))"


def health(address: str) -> Json:
    """Does latchscope itself work, and what does it cost?"""
    job = panels.label("job", "Job", f"{SEEN}{{<narrow>}}", several=True)
    instance = panels.label("instance", "Instance", f'{SEEN}{{<narrow>job=~"$job"}}', several=True)
    return panels.dashboard(
        "latchscope-health",
        "latchscope / Health",
        "Whether latchscope itself works: which databases answer, what polling costs, and how the process is.",
        [job, instance, *chosen(several=True, pages=address, of="db:latchscope_seen:timestamp")],
        [*_watching(), *_losses(), *_poll_cost(), *_process()],
    )


READ = within("latchscope_collector_success", CAN_BE_READ)


def _watching() -> list[Json]:
    aged, up, polling = within("latchscope_data_age_seconds"), within("latchscope_up"), f"max({POLLING})"
    lowest = f"bottomk({BANDS}, 0 * ({UNWATCHED}) or min by ({BY}) (avg_over_time({up}[$__range] @ end())))"
    bands = f"(min by ({BY}) (min_over_time({up}[$__rate_interval])) == 0 or {ANSWERS}) and on ({BY}) {lowest}"
    never, unread = f"count({ANSWERS} unless on ({BY}) {aged})", f"sum(1 - {READ})"
    answering, down, oldest = watched(f"sum({UP})", f"count({ANSWERS})", SILENT, aged, never)
    return [
        panels.row("Is every database watched?"),
        answering,
        down,
        panels.stat(
            "Logins off",
            "Databases where latchscope stopped logging in after one refusal, to protect the account.",
            "none",
            f"sum({within('latchscope_login_stopped')}) or {sure(f'count({UP})', f'count({UNWATCHED})')}",
            panels.ALARM,
        ),
        panels.stat(
            "Views lost",
            "Views that could not be read in the last poll, over all databases. Without x$kqrst, which few users can be granted.",
            "none",
            f"{unread} > 0 or {sure(unread)}",
            panels.ALARM,
        ),
        oldest,
        panels.stat(
            "Poll share",
            "The largest share of its interval that polling a database takes. The budget is 1 %.",
            "percentunit",
            f"{polling} > 0 or {sure(polling)}",
            ((None, "text"), (0.01, "orange")),
        ),
        panels.states(
            "Databases that answer",
            f"Whether the polls of each database succeeded, of the {BANDS} that did so least. Red for a week once latchscope "
            "is gone.",
            {"0": {"text": "no data", "color": "red", "index": 0}, "1": {"text": "up", "color": "green", "index": 1}},
            panels.query(bands, DB),
            h=9,
        ),
        panels.timeseries(
            "Data age",
            "Time since the last good poll, of the oldest databases. It goes up and down with the interval. A steady rise is an "
            "outage.",
            "s",
            highest(f"max by ({BY}) ({aged})", BY, "{{db}}"),
        ),
    ]


def _losses() -> list[Json]:
    def happened(counter: str, *narrower: str) -> str:
        return f"sum(increase(latchscope_{counter}_total{{{','.join([JOB, *narrower])}}}[$__range])) > 0"

    def attempts(outcome: str) -> str:
        of = f'outcome="{outcome}"'
        return f"{happened('webhook_attempts', of)} or {happened('notification_attempts', of)}"

    def loss(title: str, description: str, known: str, **worse: str) -> Json:
        # An increase outlives its process, so somebody must still be there to say it.
        there = {color: f"({expr}) and on () {known}" for color, expr in worse.items()}
        return panels.stat(title, description, "none", sure(known, LOST), panels.ALARM, worse=there, decimals=0, w=6)

    threads, waiting = f"sum(1 - latchscope_thread_up{{{JOB}}})", f"sum(latchscope_spool_polls{{{JOB}}})"
    stores, queue = f"sum(1 - latchscope_store_up{{{JOB}}})", f"max(latchscope_poll_queue_seconds{{{JOB}}})"
    memory, unowned = f"sum(latchscope_memory_polls{{{JOB}}})", f"max(latchscope_databases_unowned{{{JOB}}})"
    silent = f"({ANSWERS} == 0)"
    polled = f"max by ({BY}) (last_over_time({within('latchscope_last_poll_timestamp_seconds')}[$__range]))"
    again = f"max by ({BY}, reason) ({within('latchscope_next_attempt_timestamp_seconds')})"
    return [
        panels.row("What does latchscope lose?"),
        loss("Unowned", "Databases that no replica polls.", unowned, red=f"{unowned} > 0"),
        loss("Store off", "Processes whose store does not take polls.", stores, red=f"{stores} > 0"),
        loss(
            "Polls kept",
            "Polls that wait for a store that does not answer: on disk, or in memory if the disk does not take them either.",
            waiting,
            red=f"({waiting} + {memory} or {waiting}) > 0",
        ),
        loss(
            "Polls lost",
            "Polls in the time range that latchscope could keep neither in the store nor in the spool. Diagnosis went on.",
            waiting,
            red=happened("spool_lost_polls"),
        ),
        loss(
            "Stalled",
            "Threads of latchscope that are not well; in orange those that were restarted in the time range. The log says why.",
            threads,
            red=f"{threads} > 0",
            orange=happened("thread_deaths"),
        ),
        loss(
            "Not sent",
            "Messages to webhooks and people that latchscope gave up in the time range; in orange its failed attempts.",
            threads,
            red=attempts("gave_up"),
            orange=attempts("failed"),
        ),
        panels.stat(
            "Queue",
            "How long due polls wait for their turn. If it is more than 5 s, the process has too many databases.",
            "s",
            f"{queue} > 0 or {sure(queue, LOST)}",
            ((None, "text"), (5, "orange")),
            w=6,
        ),
        panels.stat(
            "Gone",
            "Processes of latchscope that Prometheus cannot scrape, or that it lost within 15 minutes.",
            "none",
            f"{GONE} or {sure(f'count(up{{{JOB}}} == 1)', f'count({UNWATCHED})')}",
            panels.ALARM,
            w=6,
        ),
        panels.folded(
            "Which views can be read?",
            panels.states(
                "Views that can be read",
                "Whether each dynamic view was read on every database that answers, without x$kqrst.",
                {
                    "0": {"text": "refused", "color": "red", "index": 0},
                    "1": {"text": "read", "color": "text", "index": 1},
                },
                panels.query(f"min by (collector) (min_over_time({READ}[$__rate_interval]))", "{{collector}}"),
                w=24,
                h=12,
            ),
        ),
        panels.folded(
            "Which do not answer, and why?",
            panels.table(
                "Databases that do not answer",
                "The reason, when the last poll was if that is in the time range, and when latchscope tries again: never where "
                "it stopped logging in. The table is empty while all databases answer.",
                ("Found", "none", why(silent)),
                ("Last poll", "dateTimeFromNow", f"1000 * {polled} and on ({BY}) {silent}"),
                ("Next attempt", "dateTimeAsIso", f"1000 * {again} and on ({BY}) {silent}"),
                hide=["Value #A"],
                rename={"db": "Database", "rac": "RAC", "reason": "Reason"},
                none="No data: none is known not to answer",
                overrides=[
                    panels.override(
                        "Database",
                        {"links": [panels.link("The failure in latchscope", f"{PAGE}/db/${{__data.fields.db}}")]},
                    )
                ],
            ),
        ),
    ]


def _poll_cost() -> list[Json]:
    def of_databases(metric: str) -> Json:
        return highest(f"max by ({BY}) ({within(metric)})", BY, "{{db}}")

    def of_views(metric: str) -> Json:
        return highest(f"max by (<by>collector) ({within(metric)})", "<by>collector", "{{collector}}")

    graph = partial(panels.timeseries, w=8)
    return [
        panels.row("What does polling cost?"),
        graph(
            "Time a poll takes",
            "The whole poll: statements, rows, diagnosis, as a mean of about a minute. The slowest databases.",
            "s",
            of_databases("latchscope_poll_duration_seconds"),
        ),
        graph(
            "Interval spent polling",
            "If a poll exceeds the configured budget, latchscope makes the interval longer.",
            "percentunit",
            highest(POLLING, BY, "{{db}}"),
        ),
        graph(
            "Interval between polls",
            "The current interval. It is longer than configured while polls are costly.",
            "s",
            of_databases("latchscope_poll_interval_seconds"),
        ),
        graph(
            "Slowest read by view",
            "Time to read each dynamic view, on the database where that took longest.",
            "s",
            of_views("latchscope_collector_duration_seconds"),
        ),
        graph(
            "Rows by view",
            "Rows of each dynamic view, on the database with the most.",
            "short",
            of_views("latchscope_collector_rows"),
            decimals=0,
        ),
        graph(
            "Round trips per poll",
            "Network round trips of the last poll.",
            "short",
            highest(f"sum by ({BY}) ({within('latchscope_collector_round_trips')})", BY, "{{db}}"),
            decimals=0,
        ),
    ]


def _process() -> list[Json]:
    def drawn(expr: str, more: str = "", legend: str = "{{instance}}") -> Json:
        return highest(f"max by ({PROCESS}{more}) ({expr})", f"{PROCESS}{more}", legend)

    def now(metric: str) -> Json:
        return drawn(f"{metric}{{{JOB}}}")

    cpu, collections = (f"rate({of}_total{{{JOB}}}[5m])" for of in ("process_cpu_seconds", "python_gc_collections"))
    graph = partial(panels.timeseries, w=6)
    return [
        panels.row("How is the process?"),
        graph("CPU", "CPUs in use by latchscope. A 5 min mean.", "short", drawn(cpu)),
        graph("Memory", "Resident memory of latchscope.", "bytes", now("process_resident_memory_bytes")),
        graph(
            "Open files",
            "File descriptors in use: one per connection to a database, and those of the readers of pages.",
            "short",
            now("process_open_fds"),
            decimals=0,
        ),
        graph("Scrape time", "Time that Prometheus took to read /metrics.", "s", now("scrape_duration_seconds")),
        graph("Samples", "Samples in an answer of /metrics.", "short", now("scrape_samples_scraped"), decimals=0),
        graph(
            "Scrape size",
            "Size of an answer of /metrics before compression.",
            "bytes",
            now("latchscope_exposition_bytes"),
        ),
        graph(
            "Garbage collections",
            "Runs of Python's collector by generation. A 5 min mean.",
            "cps",
            drawn(collections, ", generation", "{{instance}} · {{generation}}"),
        ),
    ]
