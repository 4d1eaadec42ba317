"""Which database has a problem, and how large is it?"""

from panels import (
    ALARM,
    BY_AGE,
    BY_SESSIONS,
    BY_SHARE,
    SEVERITIES,
    Json,
    annotation,
    bars,
    column,
    dashboard,
    folded,
    override,
    query,
    stat,
    states,
    table,
    timeseries,
    web_link,
)
from shared import (
    ANSWERS,
    DOWN,
    IMPACT,
    PAGE,
    SESSIONS,
    UP,
    WRAPPED,
    S,
    chosen,
    finding_links,
    firing,
    largest,
    severity_cells,
    to_database,
)


def fleet(address: str) -> Json:
    """Which database has a problem, and how large is it?"""
    fired = firing("alertname, db")
    return dashboard(
        "latchscope-fleet",
        "latchscope / Fleet",
        "Which Oracle databases wait for their dictionary cache, and what that costs. The costliest comes first.",
        chosen(several=True, pages=address),
        [*_figures(), _databases(), _verdicts(), *_over_time(), _for_managers()],
        annotations=[
            # Bands of many databases lie upon each other until the graph is solid red, so somebody must ask for them.
            annotation(
                "Alerts",
                "red",
                fired,
                "{{alertname}} {{db}}",
                "",
                "alertname,db",
                off=True,
                on=["DB time lost over time"],
            ),
        ],
        links=[web_link("latchscope", f"{PAGE}/", "latchscope's own pages")],
    )


def _figures() -> list[Json]:
    troubled = f'count(count by (rac, db) (latchscope_finding{{{S},severity=~"warning|critical"}})) or 0 * count({UP})'
    return [
        stat("Answering", "Databases whose last poll succeeded and is recent.", "none", f"sum({UP})"),
        stat(
            "Down",
            "Databases without data, also because their latchscope is gone. The health dashboard says why.",
            "none",
            DOWN,
            ALARM,
        ),
        stat(
            "Problems",
            "Databases in which a cause of severity warning or critical is active.",
            "none",
            troubled,
            ALARM,
        ),
        stat(
            "Worst loss",
            "The largest share of DB time that a database loses now.",
            "percentunit",
            f"max({IMPACT}{{{S}}})",
            BY_SHARE,
        ),
        stat(
            "Waiting",
            "Sessions in the kinds of wait with a problem, in the whole fleet, on average over the last poll's interval.",
            "short",
            f"sum({SESSIONS}{{{S}}})",
            BY_SESSIONS,
        ),
        stat("Oldest", "The longest time since a good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})", BY_AGE),
    ]


def _databases() -> Json:
    up = {
        "mappings": [
            {"type": "value", "options": {"0": {"text": "No", "color": "red"}, "1": {"text": "Yes", "color": "green"}}}
        ],
        "custom.cellOptions": {"type": "color-text"},
    }
    return table(
        "Databases",
        "One line per database, the costliest first. A click on its name opens its dashboard for the same time range.",
        ("Severity", "none", f"max by (rac, db) (latchscope_severity{{{S}}})"),
        ("DB time lost", "percentunit", f"sort_desc(max by (rac, db) ({IMPACT}{{{S}}}))"),
        ("Sessions waiting", "short", f"max by (rac, db) ({SESSIONS}{{{S}}})"),
        ("Data age", "s", f"max by (rac, db) (latchscope_data_age_seconds{{{S}}})"),
        ("Up", "none", ANSWERS),
        order=["db", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "rac"],
        rename={"db": "Database", "rac": "RAC"},
        overrides=[
            override("Database", column(260, links=[to_database()])),
            override("Severity", severity_cells(words=False)),
            override("DB time lost", column(120)),
            override("Sessions waiting", column(140)),
            override("Data age", column(110)),
            override("Up", column(60, **up)),
        ],
        sort=[{"displayName": "DB time lost", "desc": True}],
        w=24,
        h=9,
    )


def _verdicts() -> Json:
    active = f"max by (rac, db, title, cache, severity, action, cause) (latchscope_verdict_info{{{S}}})"
    return table(
        "Verdicts",
        "What is wrong in each database, and the first thing to do, in the words of its page. The costliest comes first.",
        ("Found", "none", active),
        ("DB time lost", "percentunit", f"sort_desc(max by (rac, db) ({IMPACT}{{{S}}}))"),
        hide=["Value #A", "rac"],
        rename={"db": "Database", "title": "Cause", "cache": "Cache", "severity": "Severity", "action": "Do now"},
        order=["db", "severity", "Value #B", "title", "cache", "action", "cause"],
        overrides=[
            *finding_links("Cause"),
            override("Database", column(190)),
            override("Severity", severity_cells(words=True)),
            override("DB time lost", column(110)),
            override("Cause", WRAPPED),
            override("Cache", column(170)),
            override("Do now", WRAPPED),
            override("cause", {"custom.hidden": True}),
        ],
        sort=[{"displayName": "DB time lost", "desc": True}],
        w=24,
        h=9,
    )


def _over_time() -> list[Json]:
    severity = f"max by (rac, db) (latchscope_severity{{{S}}})"
    return [
        timeseries(
            "DB time lost over time",
            "The costliest databases over the time range. 0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            query(largest(IMPACT, "db", "{{db}}")[0]["expr"], "{{db}}"),
            steps=BY_SHARE,
        ),
        states("Severity over time", "Severity of each database.", SEVERITIES, query(severity, "{{db}}")),
        timeseries(
            "Sessions waiting over time",
            "Sessions in the kinds of wait with a problem, on average: the largest databases, and all others as one line.",
            "short",
            *largest(SESSIONS, "db", "{{db}}"),
        ),
        timeseries(
            "DB time",
            "Sessions that work or wait in each database, 5 min mean: the largest, and all others as one line.",
            "short",
            *largest("db:latchscope_db_time_seconds:rate5m", "db", "{{db}}"),
        ),
    ]


def _for_managers() -> Json:
    begun = f"changes(latchscope_episode_begin_timestamp_seconds{{{S}}}[$__range])"
    solved, took = "latchscope_verified_remedies_total", "latchscope_verified_remedy_seconds_total"
    remedies, seconds = (f"sum by (cause) (increase({metric}{{{S}}}[$__range]))" for metric in (solved, took))
    lost = f"avg_over_time({SESSIONS}{{{S}}}[1d])"
    return folded(
        "Costs: per day, by cause, and until the remedy",
        timeseries(
            "DB time lost per day",
            "Hours that sessions lost in the last 24 hours, by database. Choose a range of weeks.",
            "suffix: h",
            query(f"topk(6, max by (rac, db) ({lost}) * 24)", "{{db}}"),
            decimals=0,
            w=8,
        ),
        bars(
            "Episodes by cause",
            "How many problems of each cause there were in the time range.",
            "short",
            f"sort_desc(sum by (cause) ({begun} + 1))",
            "{{cause}}",
            decimals=0,
            w=8,
        ),
        table(
            "Mean time to a verified remedy",
            "Time from the begin of a problem until a change ended it, as verified against the figures before.",
            ("Remedies", "none", f"round({remedies})"),
            ("Mean time", "s", f"{seconds} / ({remedies} > 0)"),
            w=8,
        ),
    )
