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
    IMPACT,
    PAGE,
    SESSIONS,
    SHOWN,
    WRAPPED,
    S,
    chosen,
    finding_links,
    firing,
    severity_cells,
    to_database,
)

WORST = "fleet:latchscope_worst:topk"
RANKED = 200
"""As many as fleet.yml ranks. Where no mark ends a series, an engine still has those that left a rank minutes ago."""
NO_RANKS = "No data. This reads the rules of fleet.yml: load them."
"""A panel without data does not tell whether its rules or its databases are missing."""
BANDS = 20
"""Lines of a state timeline that can be read."""


LISTED = f'group by (rac, db) (topk by (why) ({RANKED}, {WORST}{{{S},why=~"cost|severity|silent"}}))'
"""The databases that the tables show."""


def ranked(why: str, most: int = SHOWN) -> str:
    """The databases that led a rank over the time range."""
    over_time = f'sum by (rac, db) (sum_over_time({WORST}{{{S},why="{why}"}}[$__range] @ end()))'
    return f"group by (rac, db) (topk({most}, {over_time}))"


def lines(metric: str, why: str) -> str:
    """A figure of those databases."""
    return f"max by (rac, db) ({metric}{{{S}}}) and on (rac, db) {ranked(why)}"


ANSWERING = f"((sum(fleet:latchscope_up:sum{{{S}}}) or sum(fleet:latchscope_up:last15m{{{S}}})) > 0)"
"""The recorded sum over all databases, or over those that somebody chose. No data if none answers, so that no 0 follows."""


def whole(total: str, why: str) -> str:
    """The same of a figure that a rank has."""
    return f'(sum({total}{{{S}}}) or sum({WORST}{{{S},why="{why}"}}))'


def largest(total: str, metric: str, why: str) -> tuple[Json, Json]:
    """The largest databases over the time range, and all others as one line."""
    drawn = lines(metric, why)
    return query(drawn, "{{db}}"), query(f"clamp_min({whole(total, why)} - sum({drawn}), 0)", "all others")


def fleet(address: str) -> Json:
    """Which database has a problem, and how large is it?"""
    fired = firing("alertname, db")
    return dashboard(
        "latchscope-fleet",
        "latchscope / Fleet",
        "Which Oracle databases wait for their dictionary cache, and what that costs. The costliest comes first.",
        chosen(several=True, pages=address, of=WORST),
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
    silent = (
        f"count(fleet:latchscope_silent:last15m{{{S}}} unless on (rac, db) fleet:latchscope_up:last15m{{{S}}} == 1)"
    )
    troubled = f'count(count by (rac, db) (latchscope_finding{{{S},severity=~"warning|critical"}}))'
    return [
        stat(
            "Answering",
            "Databases whose last poll succeeded and is recent.",
            "none",
            ANSWERING,
            none=NO_RANKS,
        ),
        stat(
            "Down",
            "Databases without data, also because their latchscope is gone. The health dashboard says why.",
            "none",
            f"{silent} or 0 * {ANSWERING}",
            ALARM,
            none=NO_RANKS,
        ),
        stat(
            "Problems",
            "Databases in which a cause of severity warning or critical is active.",
            "none",
            f"{troubled} or 0 * {ANSWERING}",
            ALARM,
            none=NO_RANKS,
        ),
        stat(
            "Worst loss",
            "The largest share of DB time that a database loses now.",
            "percentunit",
            f"max({_listed('fleet:latchscope_impact:ratio')})",
            BY_SHARE,
            none=NO_RANKS,
        ),
        stat(
            "Waiting",
            "Sessions in the kinds of wait with a problem, in the whole fleet, on average over the last poll's interval.",
            "short",
            whole("fleet:latchscope_impact_sessions:sum", "waiting"),
            BY_SESSIONS,
            none=NO_RANKS,
        ),
        stat(
            "Oldest",
            "The longest time since a good poll.",
            "s",
            f'max({WORST}{{{S},why="age"}})',
            BY_AGE,
            none=NO_RANKS,
        ),
    ]


def _listed(metric: str) -> str:
    return f"max by (rac, db) ({metric}{{{S}}})"


def _databases() -> Json:
    up = {
        "mappings": [
            {"type": "value", "options": {"0": {"text": "No", "color": "red"}, "1": {"text": "Yes", "color": "green"}}}
        ],
        "custom.cellOptions": {"type": "color-text"},
    }
    return table(
        "Databases",
        "The costliest, the most severe and those that do not answer, up to 200 each. A click on a name opens its dashboard for "
        "the same time range.",
        ("Severity", "none", _listed("fleet:latchscope_severity:max")),
        ("DB time lost", "percentunit", f"sort_desc({_listed('fleet:latchscope_impact:ratio')})"),
        ("Sessions waiting", "short", _listed("fleet:latchscope_impact:sessions")),
        ("Data age", "s", _listed("fleet:latchscope_data_age_seconds:max")),
        ("Up", "none", f"{_listed('fleet:latchscope_up:last15m')} or 0 * {LISTED}"),
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
        none=NO_RANKS,
        w=24,
        h=9,
    )


def _verdicts() -> Json:
    active = f"max by (rac, db, title, cache, severity, action, cause) (latchscope_verdict_info{{{S}}})"
    return table(
        "Verdicts",
        "What is wrong in each database, and the first thing to do, in the words of its page. The costliest comes first.",
        ("Found", "none", f"{active} and on (rac, db) {LISTED}"),
        ("DB time lost", "percentunit", f"sort_desc({_listed('fleet:latchscope_impact:ratio')})"),
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
        none=NO_RANKS,
        w=24,
        h=9,
    )


def _over_time() -> list[Json]:
    severity = f"max by (rac, db) (latchscope_severity{{{S}}}) and on (rac, db) {ranked('severity', BANDS)}"
    return [
        timeseries(
            "DB time lost over time",
            "The costliest databases over the time range. 0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            query(lines(IMPACT, "cost"), "{{db}}"),
            steps=BY_SHARE,
            none=NO_RANKS,
        ),
        states(
            "Severity over time",
            f"Severity of the {BANDS} databases that were worst over the time range.",
            SEVERITIES,
            query(severity, "{{db}}"),
            none=NO_RANKS,
        ),
        timeseries(
            "Sessions waiting over time",
            "Sessions in the kinds of wait with a problem, on average: the largest databases, and all others as one line.",
            "short",
            *largest("fleet:latchscope_impact_sessions:sum", SESSIONS, "waiting"),
            none=NO_RANKS,
        ),
        timeseries(
            "DB time",
            "Sessions that work or wait in each database, 5 min mean: the largest, and all others as one line.",
            "short",
            *largest("fleet:latchscope_db_time_seconds:sum_rate5m", "db:latchscope_db_time_seconds:rate5m", "busy"),
            none=NO_RANKS,
        ),
    ]


def _for_managers() -> Json:
    begun = f"changes(latchscope_episode_begin_timestamp_seconds{{{S}}}[$__range])"
    solved, took = "latchscope_verified_remedies_total", "latchscope_verified_remedy_seconds_total"
    remedies, seconds = (f"sum by (cause) (increase({metric}{{{S}}}[$__range]))" for metric in (solved, took))
    lost = f"max by (rac, db) (avg_over_time({SESSIONS}{{{S}}}[1d])) * 24 and on (rac, db) {ranked('waiting')}"
    return folded(
        "Costs: per day, by cause, and until the remedy",
        timeseries(
            "DB time lost per day",
            "Hours that sessions lost in the last 24 hours, by database. Choose a range of weeks.",
            "suffix: h",
            query(lost, "{{db}}"),
            decimals=0,
            w=8,
            none=NO_RANKS,
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
