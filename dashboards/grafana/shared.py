"""What the dashboards share: the labels every query is narrowed by, rates and ratios, variables and links.

Marks in angle brackets stand for the target labels, in each form in which a dashboard writes them; build.py puts them in.
"""

import panels
from panels import Json

S = '<narrow>rac=~"$rac",db<is>"$db"'
"""What every query of a database is narrowed by. One database is chosen by its name, because a name may hold a dot."""
JOB = '<narrow>job=~"$job",instance=~"$instance"'
"""What every query of the latchscope process is narrowed by: it has no database."""
BY = "<by>rac, db"
"""What makes a database. The same name in two environments is two."""
DB = "{{db}}<legend>"
LATCH = 'latch="row cache objects"'
RESULT_CACHE = 'latch="Result Cache: RC Latch"'
PAGE = "${latchscope:raw}"
IMPACT = "latchscope_impact_ratio"
SESSIONS = "latchscope_impact_sessions"
UP = f"max by ({BY}) (latchscope_up{{{S}}})"
UNWATCHED = f"max by ({BY}) (last_over_time(db:latchscope_seen:timestamp{{{S}}}[5m]) > 0) unless on ({BY}) {UP}"
"""When a database was last seen that no latchscope reports any more, for a week, unless it left the configuration."""
ANSWERS = f"({UP} or 0 * ({UNWATCHED}))"
"""1 for a database that answers, 0 for one that does not. A database whose latchscope is gone does not answer."""
SILENT = f"count({ANSWERS} == 0)"
"""How many databases do not answer. Nothing if all do."""
CAN_BE_READ = 'collector!="x$kqrst"'
"""Some platforms grant x$kqrst to nobody, so the alert on refused views leaves it out too."""
POLLING = (
    f"max by ({BY}) (latchscope_poll_duration_seconds{{{S}}}) / max by ({BY}) (latchscope_poll_interval_seconds{{{S}}})"
)
MEAN = "5 min mean"
"""What the recorded rates are. A title or a description must say so, because the verdict is about the last interval."""
OUR_ALERTS = 'alertname=~"Latchscope.+|RowCache.+|ResultCache.+|UndoSegments.+"'
"""Foreign alerts may have a label `db` too."""
SHOWN = 6
"""Lines of a graph that could have many; the rest is summed."""
BANDS = 20
"""Lines of a state timeline that can be read."""


def sure(known: str, silent: str = SILENT) -> str:
    """What to say if none is bad: zero while all are known, -1 (not all known) otherwise, and nothing if none is known."""
    return f"0 * ({known}) unless on () {silent} > 0 or 0 * ({known}) - 1"


def watched(
    answering: str, known: str, silent: str, aged: str, never: str, none: str = panels.NO_DATA
) -> tuple[Json, ...]:
    """Three figures: how many databases answer, how many do not, and the oldest poll. `aged`: what has an age; `never`: how
    many that do not answer have none."""
    several, oldest = f'count_values("known", {known})', f"max({aged})"
    return (
        panels.stat(
            "Answering",
            "Databases whose last poll succeeded and is recent, and of how many.",
            "none",
            f"{answering} * on () group_right () {several}",
            legend="of {{known}}",
            text="value_and_name",
            none=none,
        ),
        panels.stat(
            "Down",
            "Databases without data. One that no latchscope reports counts for a week, unless it left the configuration.",
            "none",
            f"{silent} or 0 * {answering}",
            panels.ALARM,
            none=none,
        ),
        panels.stat(
            "Oldest",
            "The longest time since a good poll. A database that never answered has none.",
            "s",
            f"{oldest} >= {panels.BY_AGE[1][0]} or {oldest} unless on () {never} > 0 or 0 * {oldest} - 1",
            panels.BY_AGE,
            none=none,
        ),
    )


def why(silent: str) -> str:
    """0 for each of these databases that do not answer, with the class of its failure."""
    told = f"0 * latchscope_next_attempt_timestamp_seconds{{{S}}} or latchscope_login_stopped{{{S}}} - 1"
    unknown = f'label_replace({silent}, "reason", "unknown", "", "")'
    return f"(max by ({BY}, reason) ({told}) or on ({BY}) {unknown}) and on ({BY}) {silent}"


def outage(silent: str) -> str:
    """The same as rows of a table of verdicts."""
    titled = f'label_replace(1 + ({why(silent)}), "title", "It does not answer: $1", "reason", "(.+)")'
    return f'label_replace({titled}, "severity", "down", "", "")'


def within(metric: str, *narrower: str) -> str:
    """The series of a metric that the variables choose."""
    return f"{metric}{{{','.join([S, *narrower])}}}"


def worst(rows: str, by: str = BY) -> str:
    """The worst in each step of a graph, so that no step hides a storm. A zero is only said of the moment itself."""
    return f"(max by ({by}) (max_over_time({rows}[$__rate_interval])) > 0 or max by ({by}) ({rows}))"


def peak(expr: str) -> str:
    """The same of what is computed from several series."""
    return f"(max_over_time(({expr})[$__rate_interval:15s]) > 0 or ({expr}))"


def leaders(expr: str, by: str, most: int = SHOWN) -> str:
    """The series that were largest at any time of the range: the same ones in every step."""
    return f"topk({most}, max by ({by}) (max_over_time(({expr})[$__range:1m] @ end())))"


def recorded(rule: str, by: str = "", *narrower: str) -> str:
    """What a recording rule says, added up by these labels."""
    return f"sum by (<by>{by}) ({within(rule, *narrower)})"


def per_second(metric: str, by: str = "", *narrower: str) -> str:
    """The rate of a counter over five minutes, as the recording rules have it, added up by these labels."""
    return f"sum by (<by>{by}) (rate({within(metric, *narrower)}[5m]))"


def largest(expr: str, by: str, legend: str) -> tuple[Json, Json]:
    """The largest series of an expression over the time range, and all others as one line."""
    chosen = leaders(expr, f"<by>{by}")
    rest = f"sum by (<targets>) (({expr}) unless on (<by>{by}) {chosen})"
    return highest(expr, f"<by>{by}", legend), panels.query(peak(rest), "all others<legend>")


def highest(expr: str, by: str, legend: str) -> Json:
    """The largest series alone, where a sum of the others says nothing."""
    return panels.query(f"{peak(expr)} and on ({by}) {leaders(expr, by)}", f"{legend}<legend>")


def firing(by: str, *narrower: str) -> str:
    """Our alerts that fire."""
    return f'max by (<by>{by}) (ALERTS{{{",".join([S, OUR_ALERTS, *narrower])},alertstate="firing"}})'


def quotient(above: str, below: str, by: str, *narrower: str) -> str:
    """One recording rule over another."""
    return f"{recorded(above, by, *narrower)} / ({recorded(below, by, *narrower)} > 0)"


def chosen(*, several: bool, pages: str, of: str) -> list[Json]:
    """The variables of a dashboard over databases. `of`: the metric whose databases can be chosen."""
    return [
        # `rac` is only there where the configuration names one, so `all` must match its absence too.
        panels.label("rac", "RAC", f"{of}{{<narrow>}}", every=".*"),
        panels.label("db", "Database", f'{of}{{<narrow>rac=~"$rac"}}', every=".+" if several else ""),
        panels.address("latchscope", "latchscope", "address of latchscope's own pages", pages),
    ]


def to_database(title: str = "This database") -> Json:
    """A click on a database, with the time range and the variables kept."""
    kept = "${datasource:queryparam}&${latchscope:queryparam}&${__url_time_range}"
    return panels.link(title, f"/d/latchscope-database?var-db=${{__data.fields.db}}<row>&{kept}")


def to_page(db: str) -> str:
    """The page of a database over the time range on the screen."""
    return f"{PAGE}/db/{db}/history?begin=${{__from:date:iso}}&end=${{__to:date:iso}}"


def finding_links(cause: str = "cause") -> list[Json]:
    """Clicks from a table of findings to the evidence and to the cause."""
    evidence = panels.link("Evidence and remedy in latchscope", f"{PAGE}/db/${{__data.fields.db}}")
    about = panels.link("What this cause is", f"{PAGE}/causes/${{__data.fields.cause}}")
    return [panels.override("Database", {"links": [evidence]}), panels.override(cause, {"links": [about]})]


def severity_cells(*, words: bool, width: int = 90) -> Json:
    """A column with the severity on its colour, from the label in `words` or from the number."""
    return panels.column(
        width,
        mappings=[
            {"type": "value", "options": panels.SEVERITY_WORDS if words else panels.SEVERITIES},
            panels.ABSENT_CELL,
        ],
        thresholds=panels.thresholds(panels.BY_SEVERITY),
        **{"custom.cellOptions": {"type": "color-background"}},
    )


WRAPPED: Json = {"custom.cellOptions": {"type": "auto", "wrapText": True}}
"""A column of sentences."""
