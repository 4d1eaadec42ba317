"""Which database has a problem, and how large is it?"""

import panels
from panels import Json
from shared import (
    BANDS,
    BY,
    DB,
    IMPACT,
    PAGE,
    SESSIONS,
    SHOWN,
    WRAPPED,
    S,
    chosen,
    finding_links,
    firing,
    peak,
    severity_cells,
    sure,
    to_database,
    watched,
    within,
    worst,
)

WORST = "fleet:latchscope_worst:topk"
RANKED = 200
"""As many as fleet.yml ranks. Where no mark ends a series, an engine still has those that left a rank minutes ago."""
NO_RANKS = "No data. This reads the rules of fleet.yml: load them."
"""A panel without data does not tell whether its rules or its databases are missing."""
SILENT = f"count(fleet:latchscope_silent:last7d{{{S}}})"
LISTED = f'group by ({BY}) (topk by (why) ({RANKED}, {WORST}{{{S},why=~"cost|severity|silent"}}))'
"""The databases that the tables show."""


def ranked(why: str, most: int = SHOWN) -> str:
    """The databases that were worst at any time of the range, so that a storm of minutes leads a day too."""
    over_time = f'max by ({BY}) (max_over_time({WORST}{{{S},why="{why}"}}[$__range] @ end()))'
    return f"group by ({BY}) (topk({most}, {over_time}))"


ANSWERING = f"((sum(fleet:latchscope_up:sum{{{S}}}) or sum(fleet:latchscope_up:last7d{{{S}}})) > 0)"
"""The recorded sum over all databases, or over those that somebody chose. No data if none answers, so that no 0 follows."""
SEVERITIES_KNOWN = f'(sum(fleet:latchscope_severity:count{{{S}}}) or count({WORST}{{{S},why="severity"}}))'


def severe(ranks: str, bound: str) -> str:
    """How many databases have such a severity, all or those that somebody chose. Nothing if none has."""
    of_all = f'sum(fleet:latchscope_severity:count{{{S},severity=~"{ranks}"}})'
    return f'({of_all} or count({WORST}{{{S},why="severity"}} {bound}))'


def whole(total: str, why: str) -> str:
    """The same of a figure that a rank has."""
    return f'(sum({total}{{{S}}}) or sum({WORST}{{{S},why="{why}"}}))'


def largest(total: str, metric: str, why: str) -> tuple[Json, Json]:
    """The largest databases over the time range, and all others as one line."""
    chosen = ranked(why)
    rest = f"clamp_min({whole(total, why)} - sum(max by ({BY}) ({within(metric)}) and on ({BY}) {chosen}), 0)"
    return panels.query(f"{worst(within(metric))} and on ({BY}) {chosen}", DB), panels.query(peak(rest), "all others")


def fleet(address: str) -> Json:
    """Which database has a problem, and how large is it?"""
    fired = firing("alertname, db")
    return panels.dashboard(
        "latchscope-fleet",
        "latchscope / Fleet",
        "Which Oracle databases wait for their dictionary cache, and what that costs. The costliest comes first.",
        chosen(several=True, pages=address, of=WORST),
        [*_figures(), _databases(), _verdicts(), *_over_time(), _for_managers()],
        annotations=[
            # Bands of many databases lie upon each other until the graph is solid red, so somebody must ask for them.
            panels.annotation(
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
        links=[panels.web_link("latchscope", f"{PAGE}/", "latchscope's own pages")],
    )


def _figures() -> list[Json]:
    known = f"(sum(fleet:latchscope_up:count{{{S}}}) or count(fleet:latchscope_up:last7d{{{S}}}))"
    aged = f'{WORST}{{{S},why="age"}}'
    never = f"count(fleet:latchscope_silent:last7d{{{S}}} unless on ({BY}) {aged})"
    answering, down, oldest = watched(ANSWERING, known, SILENT, aged, never, NO_RANKS)
    cost, waiting = (
        f"max({_listed('fleet:latchscope_impact:ratio')})",
        whole("fleet:latchscope_impact_sessions:sum", "waiting"),
    )
    return [
        answering,
        down,
        panels.stat(
            "Problems",
            "Databases whose severity is warning or critical, with a known cause or without, in the colour of the worst. "
            "Without one it is only 0 if every database answers and somebody looked at its sessions.",
            "none",
            sure(SEVERITIES_KNOWN, f"({SILENT} or {severe('-1', '< 0')})"),
            panels.ALARM,
            worse={
                "red": f"{severe('2|3', '>= 2')} and on () {severe('3', '== 3')}",
                "orange": severe("2", "== 2"),
            },
            none=NO_RANKS,
        ),
        panels.stat(
            "Worst loss",
            "The largest share of DB time that a database loses now, of those that answer.",
            "percentunit",
            f"{cost} > 0 or {sure(cost, SILENT)}",
            panels.OF_SOME,
            none=NO_RANKS,
        ),
        panels.stat(
            "Waiting",
            "Sessions in the kinds of wait with a problem, in the whole fleet, on average over the last poll's interval. Many "
            "healthy databases have many, so it has no colour.",
            "short",
            f"{waiting} > 0 or {sure(waiting, SILENT)}",
            none=NO_RANKS,
        ),
        oldest,
    ]


def _listed(metric: str) -> str:
    return f"max by ({BY}) ({within(metric)})"


def _databases() -> Json:
    up = {
        "mappings": [
            {"type": "value", "options": {"0": {"text": "No", "color": "red"}, "1": {"text": "Yes", "color": "green"}}}
        ],
        "custom.cellOptions": {"type": "color-text"},
    }
    return panels.table(
        "Databases",
        "Those that do not answer, the costliest and the most severe, up to 200 each. A click on a name opens its dashboard for "
        "the same time range.",
        ("Severity", "none", _listed("fleet:latchscope_severity:max")),
        ("DB time lost", "percentunit", f"sort_desc({_listed('fleet:latchscope_impact:ratio')})"),
        ("Sessions waiting", "short", _listed("fleet:latchscope_impact:sessions")),
        ("Data age", "s", _listed("fleet:latchscope_data_age_seconds:max")),
        ("Up", "none", f"{_listed('fleet:latchscope_up:last7d')} or 0 * {LISTED}"),
        order=["db", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "rac"],
        rename={"db": "Database", "rac": "RAC"},
        overrides=[
            panels.override("Database", panels.column(260, links=[to_database()])),
            panels.override("Severity", severity_cells(words=False)),
            panels.override("DB time lost", panels.column(120)),
            panels.override("Sessions waiting", panels.column(140)),
            panels.override("Data age", panels.column(110)),
            panels.override("Up", panels.column(60, **up)),
        ],
        sort=[{"displayName": "Up", "desc": False}, {"displayName": "DB time lost", "desc": True}],
        none=NO_RANKS,
        w=24,
        h=9,
    )


def _verdicts() -> Json:
    active = f"max by ({BY}, title, cache, severity, action, cause) ({within('latchscope_verdict_info')})"
    return panels.table(
        "Verdicts",
        "What is wrong in each database, and the first thing to do, in the words of its page. The costliest comes first.",
        ("Found", "none", f"{active} and on ({BY}) {LISTED}"),
        ("DB time lost", "percentunit", f"sort_desc({_listed('fleet:latchscope_impact:ratio')})"),
        hide=["Value #A", "rac"],
        rename={"db": "Database", "title": "Cause", "cache": "Cache", "severity": "Severity", "action": "Do now"},
        order=["db", "severity", "Value #B", "title", "cache", "action", "cause"],
        overrides=[
            *finding_links("Cause"),
            panels.override("Database", panels.column(190)),
            panels.override("Severity", severity_cells(words=True)),
            panels.override("DB time lost", panels.column(110)),
            panels.override("Cause", WRAPPED),
            panels.override("Cache", panels.column(170)),
            panels.override("Do now", WRAPPED),
            panels.override("cause", {"custom.hidden": True}),
        ],
        sort=[{"displayName": "DB time lost", "desc": True}],
        none=NO_RANKS,
        w=24,
        h=9,
    )


def _over_time() -> list[Json]:
    costs = f"{worst(within(IMPACT))} and on ({BY}) {ranked('cost')}"
    severity = f"{worst(within('latchscope_severity'))} and on ({BY}) {ranked('severity', BANDS)}"
    return [
        panels.timeseries(
            "DB time lost over time",
            "The costliest databases of the time range, each step at its worst. 0.5 % is a notice, 2 % a warning, 10 % critical.",
            "percentunit",
            panels.query(costs, DB),
            steps=panels.BY_SHARE,
            none=NO_RANKS,
        ),
        panels.states(
            "Severity over time",
            f"Severity of the {BANDS} databases that were worst in the time range, each step at its worst.",
            panels.SEVERITIES,
            panels.query(severity, DB),
            none=NO_RANKS,
        ),
        panels.timeseries(
            "Sessions waiting over time",
            "Sessions in the kinds of wait with a problem, on average: the largest databases, and all others as one line.",
            "short",
            *largest("fleet:latchscope_impact_sessions:sum", SESSIONS, "waiting"),
            none=NO_RANKS,
        ),
        panels.timeseries(
            "DB time",
            "Sessions that work or wait in each database, 5 min mean: the largest, and all others as one line.",
            "short",
            *largest("fleet:latchscope_db_time_seconds:sum_rate5m", "db:latchscope_db_time_seconds:rate5m", "busy"),
            none=NO_RANKS,
        ),
    ]


def _for_managers() -> Json:
    open_ones = f"max by ({BY}, cause, cache) ({within('latchscope_episode_begin_timestamp_seconds')})"
    solved, took = "latchscope_verified_remedies_total", "latchscope_verified_remedy_seconds_total"
    remedies, seconds = (f"sum by (cause) (increase({within(metric)}[$__range]))" for metric in (solved, took))
    # One sample a minute: a minute in which nothing was observed adds nothing.
    hours = f"sum_over_time((max by ({BY}) ({within('db:latchscope_impact:sessions')}))[1d:1m]) / 60"
    return panels.folded(
        "Costs: per day, by cause, and until the remedy",
        panels.timeseries(
            "DB time lost per day",
            "Hours that sessions lost in what was observed of the last 24 hours, by database. Choose a range of weeks.",
            "suffix: h",
            panels.query(f"{hours} and on ({BY}) {ranked('waiting')}", DB),
            decimals=0,
            w=8,
            none=NO_RANKS,
        ),
        panels.bars(
            "Episodes by cause",
            "How many problems of each cause there were in the time range.",
            "short",
            f"sort_desc(sum by (cause) (changes(({open_ones})[$__range:30s]) + 1))",
            "{{cause}}",
            decimals=0,
            w=8,
        ),
        panels.table(
            "Mean time to a verified remedy",
            "Time from the begin of a problem until a change ended it, as verified against the figures before.",
            ("Remedies", "none", f"round({remedies})"),
            ("Mean time", "s", f"{seconds} / ({remedies} > 0)"),
            w=8,
        ),
    )
