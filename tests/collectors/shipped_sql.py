"""What Oracle's views have by release, and what is wrong with a text of ours: a release does not understand it, or we never
send it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import sqlglot
import yaml
from sqlglot import exp
from sqlglot.errors import OptimizeError, ParseError
from sqlglot.optimizer.qualify import qualify

from collectors.grants import KQRST_COLUMNS
from collectors.release import parts
from rules.base import LOADER
from rules.cause import Cause

CATALOGUE = Path(__file__).with_name("catalogue")
VERSIONS = {
    "11.2": ("11.2.0.1.0", "11.2.0.2.0", "11.2.0.3.0", "11.2.0.4.0"),
    "12.1": ("12.1.0.1.0", "12.1.0.2.0"),
    "12.2": ("12.2.0.1.0",),
    "18": ("18.0.0.0.0",),
    "19": ("19.0.0.0.0",),
    "21": ("21.0.0.0.0",),
    "23": ("23.0.0.0.0",),
}
"""Release → v$instance.version on it. Only 11.2 and 12.1 have patch sets that it shows."""
RELEASES = tuple(VERSIONS)
MADE_BY_US = {"v$session": frozenset({"sample"})}
"""Key columns that no statement reads, because `collectors.ondemand.sampling` numbers its looks itself."""

CONTAINER = frozenset({"con_id"})
"""The key column that releases before 12.1 do not have, because they have no containers."""

LICENSED = re.compile(
    r"^(v\$active_session_history|x\$ash|dba_addm_\w+|v\$sql_monitor\w*|dba_hist_(?!"
    r"(snapshot|database_instance|snap_error|seg_stat|seg_stat_obj|undostat)$)\w+)$"
)
"""Texts that need the Diagnostics or the Tuning Pack. The dba_hist_ views that are allowed here are listed as exceptions."""
OF_A_CLUSTER = frozenset({"gv$ges_blocking_enqueue"})
"""Views of all instances that a look may read, because this instance alone does not show what it is read for."""
NEVER_POLLED = re.compile(r"^(v\$rowcache_(parent|subordinate)|v\$latchholder|dba_\w+|v\$sql\w*|x\$\w+)$")
"""Too expensive for a poller, or beyond any grant."""


def releases_of(cause: Cause) -> tuple[str, ...]:
    """The releases of a cause's confirming query: those where the cause can happen, or the oldest if we watch none of them."""
    fitting = [one for one, versions in VERSIONS.items() if any(map(cause.releases.include, versions))]
    return tuple(fitting) or RELEASES[:1]


@cache
def catalogue() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """View → release → columns that exist from it on."""
    of_ours = {"11.2": frozenset(KQRST_COLUMNS.split(", "))}
    found: dict[str, Mapping[str, frozenset[str]]] = dict.fromkeys(("latchscope_kqrst", "x_$kqrst"), of_ours)
    for file in sorted(CATALOGUE.glob("*.yaml")):
        document = yaml.load(file.read_text(encoding="utf-8"), Loader=LOADER)
        assert document["source"], f"{file.name} does not say where it is from"
        for view, releases in document["views"].items():
            assert view not in found, f"{file.name} holds {view} a second time"
            found[view] = {release: frozenset(columns) for release, columns in releases.items()}
    return found


@cache
def columns_of(view: str, release: str) -> frozenset[str]:
    """The columns of a view in a release. Empty if the release or the catalogue does not have the view."""
    added = catalogue().get(view, {}).items()
    return frozenset(column for since, columns in added if parts(since) <= parts(release) for column in columns)


@cache
def mistakes(sql: str, release: str, *, polled: bool = True) -> list[str]:
    """Everything wrong with a text that goes to that release; empty if it is good."""
    statements = _parsed(sql)
    if isinstance(statements, str):
        return [f"does not parse: {statements}"]
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return ["is not one SELECT"]
    select = statements[0]
    return [
        *_wrong_views(select, release, polled=polled),
        *_wrong_columns(sql, select, release),
        *_wrong_words(select, release),
    ]


@cache
def _parsed(sql: str) -> list[exp.Expr | None] | str:
    """The statements of a text, or why there are none. Nobody changes them, so every release uses the same ones."""
    try:
        return sqlglot.parse(sql, read="oracle")
    except ParseError as error:
        return str(error.errors[0]["description"])


def _wrong_views(select: exp.Select, release: str, *, polled: bool) -> Iterator[str]:
    for table in select.find_all(exp.Table):
        view = table.name.lower()
        if view.startswith("gv$") and (polled or view not in OF_A_CLUSTER):
            yield f"{view} starts parallel slaves on every instance"
        elif LICENSED.match(view):
            yield f"{view} needs a licensed pack"
        elif polled and NEVER_POLLED.match(view):
            yield f"{view} is never polled"
        elif not columns_of(view, release):
            yield f"{view} is not in the catalogue for {release}"
        if view == "v$latch_children" and "latch#" not in _compared(select):
            yield "v$latch_children without latch# lists every child latch of the instance"


def _compared(select: exp.Select) -> set[str]:
    """Columns that the text compares with a bind."""
    equal = select.find_all(exp.EQ)
    return {one.this.name.lower() for one in equal if isinstance(one.expression, exp.Placeholder)}


def _wrong_columns(sql: str, select: exp.Select, release: str) -> Iterator[str]:
    views = {table.name.lower() for table in select.find_all(exp.Table)}
    if not all(columns_of(view, release) for view in views):
        return  # the unknown view is already reported
    error = _unknown_column(sql, frozenset((view, columns_of(view, release)) for view in views))
    if error:
        yield f"{error} (Oracle {release})"


@cache
def _unknown_column(sql: str, columns: frozenset[tuple[str, frozenset[str]]]) -> str:
    """Columns that a text reads and its views do not have. Releases with the same views share one answer."""
    statement = _parsed(sql)[0]
    assert isinstance(statement, exp.Select)
    bare = statement.copy()
    for table in bare.find_all(exp.Table):
        table.set("db", None)  # the catalogue has each view by its plain name
    try:
        qualify(
            bare, schema={view.upper(): {one.upper(): "NUMBER" for one in of} for view, of in columns}, dialect="oracle"
        )
    except OptimizeError as error:
        return str(error)
    return ""


def _wrong_words(select: exp.Select, release: str) -> Iterator[str]:
    if parts(release) < (12,) and select.find(exp.Fetch, exp.Limit):
        yield f"fetch first needs 12.1, this is for {release}"
    if any(_asks_for_whatever_there_is(one) for one in select.find_all(exp.Select)):
        yield "asks for all columns, whatever they are"
    if select.find(exp.Lock):
        yield "locks rows"


def _asks_for_whatever_there_is(select: exp.Select) -> bool:
    """Whether it selects * from a view. From a query of our own, whose columns are known, it may."""
    source = select.args.get("from_") or select.args.get("from")
    from_ours = source is not None and isinstance(source.this, exp.Subquery) and not select.args.get("joins")
    return select.is_star and not from_ours
