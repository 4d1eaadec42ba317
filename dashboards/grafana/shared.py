"""What the dashboards share: the labels every query is narrowed by, rates and ratios, variables and links."""

from panels import (
    ABSENT_CELL,
    BY_SEVERITY,
    SEVERITIES,
    SEVERITY_WORDS,
    Json,
    address,
    column,
    label,
    link,
    override,
    query,
    thresholds,
)

S = 'rac=~"$rac",db=~"$db"'
"""What every query of a database is narrowed by."""
JOB = 'job=~"$job",instance=~"$instance"'
"""What every query of the latchscope process is narrowed by: it has no database."""
LATCH = 'latch="row cache objects"'
RESULT_CACHE = 'latch="Result Cache: RC Latch"'
PAGE = "${latchscope:raw}"
IMPACT = "db:latchscope_impact:ratio"
SESSIONS = "db:latchscope_impact:sessions"
UP = f"latchscope_up{{{S}}}"
ANSWERS = f"max by (rac, db) ({UP}) or 0 * max by (rac, db) (last_over_time({UP}[15m]))"
"""1 for a database that answers, 0 for one that does not. A database whose latchscope is gone does not answer; after 15 minutes
nothing is known of it, because it may have left the configuration."""
DOWN = f"count(({ANSWERS}) == 0) or 0 * count({UP})"
"""How many databases do not answer. Nothing, and never zero, if nothing at all is known."""
MEAN = "5 min mean"
"""What the recorded rates are. A title or a description must say so, because the verdict is about the last interval."""
OUR_ALERTS = 'alertname=~"Latchscope.+|RowCache.+|ResultCache.+|UndoSegments.+"'
"""Foreign alerts may have a label `db` too."""
SHOWN = 6
"""Lines of a graph that could have many; the rest is summed."""


def per_second(metric: str, by: str, *narrower: str) -> str:
    """The rate of a counter, added up by these labels."""
    return f"sum by ({by}) (rate({metric}{{{','.join([S, *narrower])}}}[$__rate_interval]))"


def recorded(rule: str, by: str = "db", *narrower: str) -> str:
    """What a recording rule says, added up by these labels."""
    return f"sum by ({by}) ({rule}{{{','.join([S, *narrower])}}})"


def largest(rule: str, by: str, legend: str, *narrower: str, most: int = SHOWN) -> tuple[Json, Json]:
    """The largest series of a recording rule over the time range, and all others as one line."""
    rows = f"{rule}{{{','.join([S, *narrower])}}}"
    chosen = f"topk({most}, sum by ({by}) (avg_over_time({rows}[$__range] @ end())))"
    every = recorded(rule, by, *narrower)
    rest = f"sum({every} unless on ({by}) {chosen})"
    return query(f"{every} and on ({by}) {chosen}", legend), query(rest, "all others")


def firing(by: str, *narrower: str) -> str:
    """Our alerts that fire."""
    return f'max by ({by}) (ALERTS{{{",".join([S, OUR_ALERTS, *narrower])},alertstate="firing"}})'


def quotient(above: str, below: str, by: str, *narrower: str) -> str:
    """One recording rule over another."""
    return f"{recorded(above, by, *narrower)} / ({recorded(below, by, *narrower)} > 0)"


def chosen(*, several: bool, pages: str, of: str = "latchscope_up") -> list[Json]:
    """The variables of a dashboard over databases. `of`: the metric whose databases can be chosen."""
    return [
        # `rac` is only there where the configuration names one, so `all` must match its absence too.
        label("rac", "RAC", "latchscope_up", every=".*"),
        label("db", "Database", f'{of}{{rac=~"$rac"}}', every=".+" if several else ""),
        address("latchscope", "latchscope", "address of latchscope's own pages", pages),
    ]


def to_database(title: str = "This database") -> Json:
    """A click on a database, with the time range and the variables kept."""
    kept = "${datasource:queryparam}&${latchscope:queryparam}&${__url_time_range}"
    return link(title, f"/d/latchscope-database?var-db=${{__data.fields.db}}&{kept}")


def to_page(db: str) -> str:
    """The page of a database over the time range on the screen."""
    return f"{PAGE}/db/{db}/history?begin=${{__from:date:iso}}&end=${{__to:date:iso}}"


def finding_links(cause: str = "cause") -> list[Json]:
    """Clicks from a table of findings to the evidence and to the cause."""
    evidence = link("Evidence and remedy in latchscope", f"{PAGE}/db/${{__data.fields.db}}")
    about = link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    return [override("Database", {"links": [evidence]}), override(cause, {"links": [about]})]


def severity_cells(*, words: bool, width: int = 90) -> Json:
    """A column with the severity on its colour, from the label in `words` or from the number."""
    return column(
        width,
        mappings=[{"type": "value", "options": SEVERITY_WORDS if words else SEVERITIES}, ABSENT_CELL],
        thresholds=thresholds(BY_SEVERITY),
        **{"custom.cellOptions": {"type": "color-background"}},
    )


WRAPPED: Json = {"custom.cellOptions": {"type": "auto", "wrapText": True}}
"""A column of sentences."""
