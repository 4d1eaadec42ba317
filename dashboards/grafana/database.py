"""One database: the verdict first, then where the time goes; what belongs to one mechanism waits folded below."""

from typing import Any

import panels
from details import details
from panels import Json
from shared import (
    ANSWERS,
    BY,
    DB,
    IMPACT,
    MEAN,
    PAGE,
    SESSIONS,
    UNWATCHED,
    WRAPPED,
    S,
    chosen,
    firing,
    largest,
    outage,
    peak,
    recorded,
    severity_cells,
    to_page,
    within,
    worst,
)

STORM = "DB time lost over time"
"""The graph on the first screen."""
BY_EVENT = f"Waiting by event, {MEAN}"
LOOKUPS = f"Look-ups by cache, {MEAN}"
SPENT = f"DB time and waits, {MEAN}"


def database(address: str) -> Json:
    """The verdict, where the time goes, and the rest folded."""
    return panels.dashboard(
        "latchscope-database",
        "latchscope / Database",
        "One database: what is wrong, since when, and what to do now. Below: where the time goes.",
        chosen(several=False, pages=address, of="db:latchscope_seen:timestamp"),
        [*_figures(), _verdict(), *_over_time(), *_where(), *details()],
        annotations=_annotations(),
        links=[
            panels.web_link(
                "In latchscope", to_page("${db:raw}"), "latchscope's page of this database for this time range"
            )
        ],
    )


def _annotations() -> list[Json]:
    troubled = f'latchscope_finding{{{S},severity=~"notice|warning|critical"}}'
    mark, start = "latchscope_change_mark_timestamp_seconds", "latchscope_instance_start_timestamp_seconds"
    shown = f"max by (<by>cause, cache) ({troubled})"
    fired = firing("alertname", 'alertname!="LatchscopeFindingActive"')
    return [
        panels.annotation(
            "Episodes", "orange", shown, "{{cause}}", "", "cause,cache", on=[STORM, SPENT, BY_EVENT, LOOKUPS]
        ),
        panels.annotation(
            "Change marks", "purple", f"{mark}{{{S}}} * 1000", "Change mark", "{{db}}", "db", moment=True, switch=False
        ),
        panels.annotation(
            "Restarts", "blue", f"{start}{{{S}}} * 1000", "Instance started", "{{db}}", "db", moment=True, switch=False
        ),
        # Each alert adds a tint, and a few of them hide the graph, so somebody must ask for them.
        panels.annotation("Alerts", "red", fired, "{{alertname}}", "", "alertname", off=True, on=[STORM]),
    ]


def _figures() -> list[Json]:
    def now(title: str, description: str, unit: str, metric: str, steps: Any = panels.PLAIN, **more: Any) -> Json:
        # One figure for each environment that has the name, so that none stands for another.
        expr = f"{more.pop('less', '')}max by ({BY}) ({within(metric)})"
        if steps in (panels.BY_SHARE, panels.BY_SESSIONS):  # no green where nobody looked for what counters do not have
            more |= {"per": BY, "worse": {"text": f"{expr} < {steps[1][0]} and on ({BY}) {quiet} < 0"}}
        return panels.stat(title, description, unit, expr, steps, legend=DB, h=3, **more)

    quiet = f"max by ({BY}) ({within('latchscope_severity')})"
    severity = (
        "Severity of the diagnosis, by what the waits cost: 0.5 % of DB time is a notice, 2 % a warning, 10 % critical."
    )
    lost = "Share of DB time that the kinds of wait with a problem cost in the last poll's interval, as on the page."
    waiting = (
        "Sessions in the kinds of wait with a problem, on average over the last poll's interval. Open waits count too."
    )
    started, since = (
        "latchscope_instance_start_timestamp_seconds",
        "Time since the instance started; its counters began then.",
    )
    return [
        now("Severity", severity, "none", "latchscope_severity", panels.BY_SEVERITY, words=panels.SEVERITIES),
        now("Time lost", lost, "percentunit", IMPACT, panels.BY_SHARE),
        now("Waiting", waiting, "short", SESSIONS, panels.BY_SESSIONS),
        now("Data age", "Time since the last good poll.", "s", "latchscope_data_age_seconds", panels.BY_AGE),
        now("Up for", since, "dtdhms", started, less="time() - "),
        panels.stat(
            "Release",
            "Release of the instance, and whether latches or mutexes guard its dictionary cache.",
            "none",
            f"max by ({BY}, release, mechanism) ({within('latchscope_info')})",
            legend="{{release}} ({{mechanism}})<legend>",
            text="name",
            h=3,
        ),
    ]


def _verdict() -> Json:
    said = "severity, title, cache, action, check, do_not, cause, db"
    down = outage(f"({ANSWERS} == 0)")
    shown = f"max by (<by>{said}) ({within('latchscope_verdict_info')}) or max by (<by>{said}) ({down})"
    begun = f"max by (<by>cause, cache, db) ({within('latchscope_trouble_since_timestamp_seconds')})"
    since = f"1000 * ({begun} or max by (<by>cause, cache, db) ({UNWATCHED}))"
    about = panels.link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    there = panels.link("In latchscope, at this time", to_page("${__data.fields.db}"))
    named = {"severity": "Severity", "title": "Cause", "action": "Do now", "check": "Check first", "do_not": "Do not"}
    return panels.table(
        "Verdict",
        "What is wrong, since when, what to do now, what to check first and what not to do, in the page's words. "
        "The page has the evidence. It also says if the database does not answer, and why.",
        ("Found", "none", shown),
        ("Since", "dateTimeFromNow", since),
        hide=["Value #A"],
        rename={**named, "cache": "Cache"},
        order=["severity", "Value #B", "title", "action", "check", "do_not", "cache", "cause", "db"],
        overrides=[
            panels.override("Severity", severity_cells(words=True)),
            panels.override("Since", panels.column(130)),
            panels.override("Cause", {"links": [about], **WRAPPED}),
            panels.override("Do now", {"links": [there], **WRAPPED}),
            panels.override("Check first", WRAPPED),
            panels.override("Do not", WRAPPED),
            panels.override("Cache", panels.column(160)),
            panels.override("cause", {"custom.hidden": True}),
            panels.override("db", {"custom.hidden": True}),
        ],
        w=24,
        h=8,
    )


def severity_by(by: str) -> str:
    """How severe each finding is, as a number, at its worst in each step."""
    ranks = (("critical", 3), ("warning", 2), ("notice", 1))
    found = (
        f'max_over_time(latchscope_finding{{{S},severity="{name}"}}[$__rate_interval]) * {rank}' for name, rank in ranks
    )
    return f'max by (<by>{by}) ({" or ".join(found)} or 0 * latchscope_finding{{{S},severity="info"}})'


def _over_time() -> list[Json]:
    surfaces = worst(within("latchscope_surface_impact_ratio"), "<by>surface")
    return [
        panels.timeseries(
            STORM,
            "What the waits cost at the worst poll of each step, and by kind of wait while several have a problem. "
            "0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            panels.query(worst(within(IMPACT)), "all kinds of wait with a problem<legend>"),
            panels.query(
                f"{surfaces} and on (<targets>) (count by (<targets>) ({surfaces} > 0) > 1)", "{{surface}}<legend>"
            ),
            steps=panels.BY_SHARE,
            short_legend=True,
            h=6,
        ),
        panels.states(
            "Verdict over time",
            "Severity at the worst poll of each step, and which cause was found when.",
            panels.SEVERITIES,
            panels.query(worst(within("latchscope_severity")), "severity<legend>"),
            panels.query(severity_by("cause, cache"), "{{cause}} {{cache}}<legend>"),
            h=6,
        ),
    ]


def _where() -> list[Json]:
    latches, mutexes = (
        "db_location:latchscope_latch_location_sleeps:rate5m",
        "db_location:latchscope_mutex_sleeps:rate5m",
    )
    return [
        panels.row("Where the time goes"),
        panels.timeseries(
            SPENT,
            "In sessions: seconds of DB time, of CPU and of waits per second, averaged over five minutes.",
            "short",
            panels.query(peak(recorded("db:latchscope_db_time_seconds:rate5m")), "DB time<legend>"),
            panels.query(peak(recorded("db:latchscope_db_cpu_seconds:rate5m")), "DB CPU<legend>"),
            panels.query(
                peak(f"{recorded('db_surface:latchscope_impact_sessions:avg5m', 'surface')} > 0"), "{{surface}}<legend>"
            ),
            w=8,
        ),
        panels.timeseries(
            BY_EVENT,
            "Sessions in row cache events beside parsing events. Over five minutes, while the verdict is about the last poll. "
            "The row cache is often only a victim of parsing.",
            "short",
            *largest(recorded("db_event:latchscope_wait_event_seconds:rate5m", "event"), "event", "{{event}}"),
            w=8,
        ),
        panels.timeseries(
            LOOKUPS,
            "Requests to each dictionary cache. They include the fast requests, which gets do not count.",
            "ops",
            *largest(recorded("db_cache:latchscope_rowcache_lookups:rate5m", "cache"), "cache", "{{cache}}"),
            w=8,
        ),
        panels.timeseries(
            f"Where sessions collide, {MEAN}",
            "Sleeps by code location, of the latch's holder or of the mutex. The location points to the cause.",
            "cps",
            *largest(f"{recorded(latches, 'location')} or {recorded(mutexes, 'location')}", "location", "{{location}}"),
        ),
        panels.timeseries(
            f"Changed entries by cache, {MEAN}",
            "Usual reasons: sequences without cache, DDL, undo segments that come and go.",
            "ops",
            *largest(recorded("db_cache:latchscope_rowcache_modifications:rate5m", "cache"), "cache", "{{cache}}"),
        ),
    ]
