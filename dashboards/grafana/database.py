"""One database: the verdict first, then where the time goes; what belongs to one mechanism waits folded below."""

from details import details
from panels import (
    BY_SESSIONS,
    BY_SEVERITY,
    BY_SHARE,
    SEVERITIES,
    SEVERITY_WORDS,
    Json,
    annotation,
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
from shared import IMPACT, PAGE, SESSIONS, S, chosen, largest, recorded, to_page


def database(address: str) -> Json:
    """The verdict, where the time goes, and the rest folded."""
    return dashboard(
        "latchscope-database",
        "latchscope / Database",
        "One database: what is wrong, since when, and what to do now. Below: where the time goes.",
        chosen(several=False, address=address),
        [*_figures(), _verdict(), *_over_time(), *_where(), *details()],
        annotations=_annotations(),
        links=[
            web_link("In latchscope", to_page("${db:raw}"), "latchscope's page of this database for this time range")
        ],
    )


def _annotations() -> list[Json]:
    troubled = f'latchscope_finding{{{S},severity=~"notice|warning|critical"}}'
    mark, start = "latchscope_change_mark_timestamp_seconds", "latchscope_instance_start_timestamp_seconds"
    fired = f'ALERTS{{{S},alertstate="firing"}}'
    return [
        annotation("Episodes", "orange", troubled, "{{cause}}", "{{cache}} ({{severity}})", "cause,severity"),
        annotation("Change marks", "purple", f"{mark}{{{S}}} * 1000", "Change mark", "{{db}}", "db", moment=True),
        annotation("Restarts", "blue", f"{start}{{{S}}} * 1000", "Instance started", "{{db}}", "db", moment=True),
        annotation("Alerts", "red", fired, "{{alertname}}", "{{severity}}", "alertname,severity"),
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
            none="No data",
        ),
        stat(
            "DB time lost",
            "Share of DB time that the waits of the surfaces in trouble cost in the last interval, as on the page.",
            "percentunit",
            f"max({IMPACT}{{{S}}})",
            BY_SHARE,
        ),
        stat(
            "Sessions waiting",
            "Sessions that waited on the surfaces in trouble, on average. Waits that have not ended count too.",
            "short",
            f"max({SESSIONS}{{{S}}})",
            BY_SESSIONS,
        ),
        stat("Data age", "Time since the last good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})"),
        stat(
            "Instance up for",
            "Time since the instance started; its counters began then.",
            "s",
            f"time() - max(latchscope_instance_start_timestamp_seconds{{{S}}})",
        ),
        stat(
            "Release",
            "Release of the instance, and whether latches or mutexes guard its dictionary cache.",
            "none",
            f"latchscope_info{{{S}}}",
            legend="{{release}} ({{mechanism}})",
            text="name",
        ),
    ]


def _verdict() -> Json:
    shown = f"max by (severity, title, cache, action, check, cause, db) (latchscope_verdict_info{{{S}}})"
    since = f"max by (cause, cache, db) (latchscope_trouble_since_timestamp_seconds{{{S}}}) * 1000"
    coloured = {
        "mappings": [{"type": "value", "options": SEVERITY_WORDS}],
        "custom.cellOptions": {"type": "color-background"},
        "custom.width": 110,
    }
    wrapped = {"custom.cellOptions": {"type": "auto", "wrapText": True}}
    about = link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    there = link("In latchscope, at this time", to_page("${__data.fields.db}"))
    return table(
        "Verdict",
        "What is wrong, since when, what to do now and what to check first, in the page's words. The page has the evidence.",
        ("Found", "none", shown),
        ("Since", "dateTimeAsLocal", since),
        hide=["Value #A"],
        rename={"severity": "Severity", "title": "Cause", "cache": "Cache", "action": "Do now", "check": "Check first"},
        order=["severity", "title", "cache", "Value #B", "action", "check", "cause", "db"],
        overrides=[
            override("Severity", coloured),
            override("Cause", {"links": [about], **wrapped}),
            override("Cache", {"custom.width": 170}),
            override("Since", {"custom.width": 160}),
            override("Do now", {"links": [there], **wrapped}),
            override("Check first", wrapped),
            override("cause", {"custom.hidden": True}),
            override("db", {"custom.hidden": True}),
        ],
        w=24,
        h=5,
    )


def severity_by(by: str) -> str:
    """How severe each finding is, as a number."""
    ranks = (("critical", 3), ("warning", 2), ("notice", 1), ("info", 0))
    found = (f'(latchscope_finding{{{S},severity="{name}"}} * {rank})' for name, rank in ranks)
    return f"max by ({by}) ({' or '.join(found)})"


def _over_time() -> list[Json]:
    return [
        timeseries(
            "DB time lost over time",
            "What the waits cost, in total and by surface. 0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            query(f"max by (db) ({IMPACT}{{{S}}})", "surfaces in trouble"),
            query(f"max by (surface) (latchscope_surface_impact_ratio{{{S}}})", "{{surface}}"),
            steps=BY_SHARE,
        ),
        states(
            "Verdict over time",
            "Severity, and which cause was found when.",
            SEVERITIES,
            query(f"max by (db) (latchscope_severity{{{S}}})", "severity"),
            query(severity_by("cause, cache"), "{{cause}} {{cache}}"),
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
            "DB time, CPU and waits",
            "In sessions: seconds spent per second, averaged over five minutes.",
            "short",
            query(recorded("db:latchscope_db_time_seconds:rate5m"), "DB time"),
            query(recorded("db:latchscope_db_cpu_seconds:rate5m"), "DB CPU"),
            query(f"sum by (surface) (db_surface:latchscope_impact_sessions:avg5m{{{S}}} > 0)", "{{surface}}"),
            w=8,
        ),
        timeseries(
            "Sessions waiting by event",
            "Row cache events beside parsing events. The row cache is often only a victim of parsing.",
            "short",
            *largest("db_event:latchscope_wait_event_seconds:rate5m", "event", "{{event}}"),
            w=8,
        ),
        timeseries(
            "Look-ups by cache",
            "Requests to each dictionary cache. They include the fast requests, which gets do not count.",
            "ops",
            *largest("db_cache:latchscope_rowcache_lookups:rate5m", "cache", "{{cache}}"),
            w=8,
        ),
        timeseries(
            "Where sessions collide",
            "Sleeps by code location, of the latch's holder or of the mutex. The location points to the cause.",
            "cps",
            query(f"topk({8}, {recorded(latches, 'location')} or {recorded(mutexes, 'location')})", "{{location}}"),
        ),
        timeseries(
            "Changed entries by cache",
            "Usual reasons: sequences without cache, DDL, undo segments that come and go.",
            "ops",
            *largest("db_cache:latchscope_rowcache_modifications:rate5m", "cache", "{{cache}}"),
        ),
    ]
