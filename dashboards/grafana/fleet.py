"""Which database has a problem, and how large is it?"""

from panels import (
    ALARM,
    BY_SESSIONS,
    BY_SEVERITY,
    BY_SHARE,
    SEVERITIES,
    SEVERITY_WORDS,
    Json,
    annotation,
    bars,
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
from shared import IMPACT, PAGE, SESSIONS, S, chosen, finding_links, largest, to_database


def fleet(address: str) -> Json:
    """Which database has a problem, and how large is it?"""
    fired = f'ALERTS{{{S},alertstate="firing"}}'
    return dashboard(
        "latchscope-fleet",
        "latchscope / Fleet",
        "Which Oracle databases wait for their dictionary cache, and what that costs. The costliest comes first.",
        chosen(several=True, address=address),
        [*_figures(), _databases(), _verdicts(), *_over_time(), _for_managers()],
        annotations=[
            annotation("Alerts", "red", fired, "{{alertname}} {{db}}", "{{severity}}", "alertname,severity"),
        ],
        links=[web_link("latchscope", f"{PAGE}/", "latchscope's own pages")],
    )


def _figures() -> list[Json]:
    troubled = f'count(count by (rac, db) (latchscope_finding{{{S},severity=~"warning|critical"}})) or vector(0)'
    return [
        stat("Answering", "Databases whose last poll succeeded and is recent.", "none", f"sum(latchscope_up{{{S}}})"),
        stat(
            "Not answering",
            "Databases without data. The health dashboard says why.",
            "none",
            f"sum(1 - latchscope_up{{{S}}})",
            ALARM,
        ),
        stat(
            "In trouble",
            "Databases in which a cause of severity warning or critical is active.",
            "none",
            troubled,
            ALARM,
        ),
        stat(
            "Largest share lost",
            "The largest share of DB time that a database loses now.",
            "percentunit",
            f"max({IMPACT}{{{S}}})",
            BY_SHARE,
        ),
        stat(
            "Sessions waiting",
            "Sessions that wait on the surfaces in trouble, on average, in the whole fleet.",
            "short",
            f"sum({SESSIONS}{{{S}}})",
            BY_SESSIONS,
        ),
        stat("Oldest data", "The longest time since a good poll.", "s", f"max(latchscope_data_age_seconds{{{S}}})"),
    ]


def _databases() -> Json:
    severity = {
        "mappings": [{"type": "value", "options": SEVERITIES}],
        "thresholds": {
            "mode": "absolute",
            "steps": [{"value": value, "color": color} for value, color in BY_SEVERITY],
        },
        "custom.cellOptions": {"type": "color-background"},
        "custom.width": 110,
    }
    return table(
        "Databases",
        "One line per database, the costliest first. A click on its name opens its dashboard for the same time range.",
        ("Severity", "none", f"max by (rac, db) (latchscope_severity{{{S}}})"),
        ("DB time lost", "percentunit", f"sort_desc(max by (rac, db) ({IMPACT}{{{S}}}))"),
        ("Sessions waiting", "short", f"max by (rac, db) ({SESSIONS}{{{S}}})"),
        ("Data age", "s", f"max by (rac, db) (latchscope_data_age_seconds{{{S}}})"),
        ("Up", "bool_yes_no", f"max by (rac, db) (latchscope_up{{{S}}})"),
        order=["db", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "rac"],
        overrides=[override("db", {"links": [to_database()]}), override("Severity", severity)],
        sort=[{"displayName": "DB time lost", "desc": True}],
        w=24,
        h=9,
    )


def _verdicts() -> Json:
    coloured = {
        "mappings": [{"type": "value", "options": SEVERITY_WORDS}],
        "custom.cellOptions": {"type": "color-background"},
        "custom.width": 110,
    }
    active = f"max by (rac, db, title, cache, severity, action, cause) (latchscope_verdict_info{{{S}}})"
    return table(
        "Verdicts",
        "What is wrong in each database, and the first thing to do, in the words of its page. The costliest comes first.",
        ("Found", "none", active),
        ("DB time lost", "percentunit", f"sort_desc(max by (rac, db) ({IMPACT}{{{S}}}))"),
        hide=["Value #A", "rac"],
        rename={"title": "Cause", "cache": "Cache", "severity": "Severity", "action": "Do now"},
        order=["db", "severity", "Value #B", "title", "cache", "action", "cause"],
        overrides=[
            *finding_links("Cause"),
            override("Severity", coloured),
            override("DB time lost", {"custom.width": 110}),
            override("Do now", {"custom.cellOptions": {"type": "auto", "wrapText": True}}),
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
            "Sessions that wait on the surfaces in trouble, on average: the largest databases, and all others as one line.",
            "short",
            *largest(SESSIONS, "db", "{{db}}"),
        ),
        timeseries(
            "DB time",
            "Sessions that work or wait in each database: the largest, and all others as one line.",
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
            "Time that sessions lost in the last 24 hours, by database. Choose a range of weeks.",
            "s",
            query(f"topk(6, max by (rac, db) ({lost}) * 86400)", "{{db}}"),
            w=8,
        ),
        bars(
            "Episodes by cause",
            "How many troubles of each cause there were in the time range.",
            "short",
            f"sort_desc(sum by (cause) ({begun} + 1))",
            "{{cause}}",
            w=8,
        ),
        table(
            "Mean time to a verified remedy",
            "Time from the begin of a trouble until a change ended it, as verified against the figures before.",
            ("Remedies", "short", remedies),
            ("Mean time", "s", f"{seconds} / ({remedies} > 0)"),
            w=8,
        ),
    )
