"""One database: the verdict first, then where the time goes; what belongs to one mechanism waits folded below."""

from details import details
from panels import (
    BY_AGE,
    BY_SESSIONS,
    BY_SEVERITY,
    BY_SHARE,
    SEVERITIES,
    Json,
    annotation,
    column,
    dashboard,
    link,
    override,
    query,
    row,
    stat,
    states,
    table,
    timeseries,
    web_link,
)
from shared import (
    IMPACT,
    MEAN,
    PAGE,
    SESSIONS,
    WRAPPED,
    S,
    chosen,
    firing,
    largest,
    recorded,
    severity_cells,
    to_page,
)

STORM = "DB time lost over time"
"""The graph on the first screen."""
BY_EVENT = f"Waiting by event, {MEAN}"
LOOKUPS = f"Look-ups by cache, {MEAN}"
SPENT = f"DB time and waits, {MEAN}"


def database(address: str) -> Json:
    """The verdict, where the time goes, and the rest folded."""
    return dashboard(
        "latchscope-database",
        "latchscope / Database",
        "One database: what is wrong, since when, and what to do now. Below: where the time goes.",
        chosen(several=False, pages=address),
        [*_figures(), _verdict(), *_over_time(), *_where(), *details()],
        annotations=_annotations(),
        links=[
            web_link("In latchscope", to_page("${db:raw}"), "latchscope's page of this database for this time range")
        ],
    )


def _annotations() -> list[Json]:
    troubled = f'latchscope_finding{{{S},severity=~"notice|warning|critical"}}'
    mark, start = "latchscope_change_mark_timestamp_seconds", "latchscope_instance_start_timestamp_seconds"
    shown = f"max by (cause, cache) ({troubled})"
    fired = firing("alertname", 'alertname!="LatchscopeFindingActive"')
    return [
        annotation(
            "Episodes", "orange", shown, "{{cause}}", "{{cache}}", "cause", on=[STORM, SPENT, BY_EVENT, LOOKUPS]
        ),
        annotation(
            "Change marks", "purple", f"{mark}{{{S}}} * 1000", "Change mark", "{{db}}", "db", moment=True, switch=False
        ),
        annotation(
            "Restarts", "blue", f"{start}{{{S}}} * 1000", "Instance started", "{{db}}", "db", moment=True, switch=False
        ),
        # Each alert adds a tint, and a few of them hide the graph, so somebody must ask for them.
        annotation("Alerts", "red", fired, "{{alertname}}", "", "alertname", off=True, on=[STORM]),
    ]


def _figures() -> list[Json]:
    return [
        stat(
            "Severity",
            "Severity of the diagnosis, by what the waits cost: 0.5 % of DB time is a notice, 2 % a warning, 10 % critical.",
            "none",
            f"max(latchscope_severity{{{S}}})",
            BY_SEVERITY,
            words=SEVERITIES,
            h=3,
        ),
        stat(
            "Time lost",
            "Share of DB time that the kinds of wait with a problem cost in the last poll's interval, as on the page.",
            "percentunit",
            f"max({IMPACT}{{{S}}})",
            BY_SHARE,
            h=3,
        ),
        stat(
            "Waiting",
            "Sessions in the kinds of wait with a problem, on average over the last poll's interval. Open waits count too.",
            "short",
            f"max({SESSIONS}{{{S}}})",
            BY_SESSIONS,
            h=3,
        ),
        stat(
            "Data age", "Time since the last good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})", BY_AGE, h=3
        ),
        stat(
            "Up for",
            "Time since the instance started; its counters began then.",
            "dtdhms",
            f"time() - max(latchscope_instance_start_timestamp_seconds{{{S}}})",
            h=3,
        ),
        stat(
            "Release",
            "Release of the instance, and whether latches or mutexes guard its dictionary cache.",
            "none",
            f"latchscope_info{{{S}}}",
            legend="{{release}} ({{mechanism}})",
            text="name",
            h=3,
        ),
    ]


def _verdict() -> Json:
    said = "severity, title, cache, action, check, do_not, cause, db"
    shown = f"max by ({said}) (latchscope_verdict_info{{{S}}})"
    since = f"max by (cause, cache, db) (latchscope_trouble_since_timestamp_seconds{{{S}}}) * 1000"
    about = link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    there = link("In latchscope, at this time", to_page("${__data.fields.db}"))
    named = {"severity": "Severity", "title": "Cause", "action": "Do now", "check": "Check first", "do_not": "Do not"}
    return table(
        "Verdict",
        "What is wrong, since when, what to do now, what to check first and what not to do, in the page's words. "
        "The page has the evidence.",
        ("Found", "none", shown),
        ("Since", "dateTimeFromNow", since),
        hide=["Value #A"],
        rename={**named, "cache": "Cache"},
        order=["severity", "Value #B", "title", "action", "check", "do_not", "cache", "cause", "db"],
        overrides=[
            override("Severity", severity_cells(words=True)),
            override("Since", column(130)),
            override("Cause", {"links": [about], **WRAPPED}),
            override("Do now", {"links": [there], **WRAPPED}),
            override("Check first", WRAPPED),
            override("Do not", WRAPPED),
            override("Cache", column(160)),
            override("cause", {"custom.hidden": True}),
            override("db", {"custom.hidden": True}),
        ],
        w=24,
        h=8,
    )


def severity_by(by: str) -> str:
    """How severe each finding is, as a number."""
    ranks = (("critical", 3), ("warning", 2), ("notice", 1), ("info", 0))
    found = (f'(latchscope_finding{{{S},severity="{name}"}} * {rank})' for name, rank in ranks)
    return f"max by ({by}) ({' or '.join(found)})"


def _over_time() -> list[Json]:
    surfaces = f"max by (surface) (latchscope_surface_impact_ratio{{{S}}})"
    return [
        timeseries(
            STORM,
            "What the waits cost, poll by poll, and by kind of wait while several have a problem. "
            "0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            query(f"max by (db) ({IMPACT}{{{S}}})", "all kinds of wait with a problem"),
            query(f"{surfaces} and on () (count({surfaces} > 0) > 1)", "{{surface}}"),
            steps=BY_SHARE,
            short_legend=True,
            h=6,
        ),
        states(
            "Verdict over time",
            "Severity, and which cause was found when.",
            SEVERITIES,
            query(f"max by (db) (latchscope_severity{{{S}}})", "severity"),
            query(severity_by("cause, cache"), "{{cause}} {{cache}}"),
            h=6,
        ),
    ]


def _where() -> list[Json]:
    latches, mutexes = (
        "db_location:latchscope_latch_location_sleeps:rate5m",
        "db_location:latchscope_mutex_sleeps:rate5m",
    )
    return [
        row("Where the time goes"),
        timeseries(
            SPENT,
            "In sessions: seconds of DB time, of CPU and of waits per second, averaged over five minutes.",
            "short",
            query(recorded("db:latchscope_db_time_seconds:rate5m"), "DB time"),
            query(recorded("db:latchscope_db_cpu_seconds:rate5m"), "DB CPU"),
            query(f"sum by (surface) (db_surface:latchscope_impact_sessions:avg5m{{{S}}} > 0)", "{{surface}}"),
            w=8,
        ),
        timeseries(
            BY_EVENT,
            "Sessions in row cache events beside parsing events. Over five minutes, while the verdict is about the last poll. "
            "The row cache is often only a victim of parsing.",
            "short",
            *largest("db_event:latchscope_wait_event_seconds:rate5m", "event", "{{event}}"),
            w=8,
        ),
        timeseries(
            LOOKUPS,
            "Requests to each dictionary cache. They include the fast requests, which gets do not count.",
            "ops",
            *largest("db_cache:latchscope_rowcache_lookups:rate5m", "cache", "{{cache}}"),
            w=8,
        ),
        timeseries(
            f"Where sessions collide, {MEAN}",
            "Sleeps by code location, of the latch's holder or of the mutex. The location points to the cause.",
            "cps",
            query(f"topk({8}, {recorded(latches, 'location')} or {recorded(mutexes, 'location')})", "{{location}}"),
        ),
        timeseries(
            f"Changed entries by cache, {MEAN}",
            "Usual reasons: sequences without cache, DDL, undo segments that come and go.",
            "ops",
            *largest("db_cache:latchscope_rowcache_modifications:rate5m", "cache", "{{cache}}"),
        ),
    ]
