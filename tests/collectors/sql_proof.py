"""Proves of a statement that it only reads, by the tree and the tokens that a parser makes of it.

The check is closed: what is not on a list here is refused. A statement with a new word needs that word on the list, which is
the place to ask what it does.
"""

import re
from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tests.collectors.shipped_sql import LICENSED, RELEASES, columns_of

FUNCTIONS = frozenset({"rawtohex", "sys_context", "sys_extract_utc", "trunc"})
"""Functions without a node of their own that a statement may call. None writes, waits, locks or runs what it is given."""
WITHOUT_ARGUMENTS = frozenset({"level", "rownum"})
HINTS = frozenset({"no_merge", "no_transform_distinct_agg", "no_unnest", "ordered", "use_nl"})
NODES = (
    exp.Select, exp.Union, exp.Subquery, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered,
    exp.Connect, exp.TableAlias, exp.Alias, exp.Star, exp.Literal, exp.Null, exp.Placeholder, exp.Paren, exp.Tuple,
    exp.Distinct, exp.Window, exp.Hint, exp.Escape, exp.Neg, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE,
    exp.LT, exp.LTE, exp.Is, exp.In, exp.Like, exp.Between, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe,
    exp.Exists, exp.Case, exp.If, exp.DecodeCase, exp.Coalesce, exp.Count, exp.Sum, exp.Max, exp.Min, exp.Round,
    exp.RowNumber, exp.ToChar, exp.TimeToStr, exp.ToNumber, exp.Lower, exp.Upper, exp.Trim, exp.Replace, exp.Greatest,
    exp.Chr, exp.RegexpSubstr, exp.CurrentTimestamp, exp.Systimestamp, exp.Cast, exp.DataType, exp.Interval, exp.Identifier,
)  # fmt: skip
"""What a tree may consist of, besides views, columns, and calls by name of what is in FUNCTIONS and, in hints, HINTS."""
MARK = re.compile(r" latchscope [\w$ ]+ ")


def views_of_tree(text: str) -> set[str]:
    """The tables of a statement as the parser sees them."""
    tree = sqlglot.parse_one(text, read="oracle")
    return {".".join(filter(None, (one.db.lower(), one.name.lower()))) for one in tree.find_all(exp.Table)}


def faults(text: str, views: Iterable[str]) -> list[str]:
    """What a text of ours has that no query over these views has. Empty if it is proven."""
    known = frozenset(views)
    return parser_faults(text, known) or [
        *_in_comments(text),
        *_in_names(sqlglot.parse_one(text, read="oracle"), known),
    ]


def parser_faults(text: str, views: Iterable[str]) -> list[str]:
    """What the tree of any text has that no query over these views has."""
    if not text.isascii() or "--" in text or ";" in text:
        return ["is not ASCII, or has a line comment or a semicolon"]
    try:
        trees = sqlglot.parse(text, read="oracle")
    except SqlglotError as error:
        return [f"does not parse: {str(error)[:80]}"]
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        return ["is not one query"]
    return list(_in_tree(trees[0], frozenset(views)))


def _in_comments(text: str) -> Iterator[str]:
    tokens = sqlglot.tokenize(text, read="oracle")
    if not tokens[0].comments:
        yield "lacks our mark"
    for token in tokens:
        for comment in token.comments:
            hints = set(re.findall(r"\w\w+", comment)) if token.text.startswith("/*+") else None
            if not (MARK.fullmatch(comment) if hints is None else hints <= HINTS):
                yield f"has the comment {comment}"


def _in_tree(tree: exp.Select, views: frozenset[str]) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, exp.Table):
            view = ".".join(part.name.lower() for part in node.parts)
            if view not in views or node.args.get("version"):
                yield f"reads {view}"
        elif isinstance(node, exp.Anonymous):
            if node.name.lower() not in (HINTS if node.find_ancestor(exp.Hint) else FUNCTIONS):
                yield f"calls {node.name}"
        elif isinstance(node, exp.Column):
            if node.name.lower() in ("nextval", "currval"):
                yield "uses a sequence"
        elif isinstance(node, exp.Var):
            if node.name.lower() not in HINTS | {"m", "hour", "minute"}:
                yield f"says {node.name}"
        elif type(node) not in NODES:
            yield f"has {type(node).__name__}"


def _in_names(tree: exp.Expr, views: frozenset[str]) -> Iterator[str]:
    """A function without arguments looks like a column, and a name in quotes like any other."""
    known = {one.alias.lower() for one in tree.find_all(exp.Alias, exp.Table, exp.Subquery)} | _columns(views)
    for node in tree.find_all(exp.Column):
        for word in {node.name.lower(), node.table.lower()} - WITHOUT_ARGUMENTS - known - views - {"", "*"}:
            if not node.find_ancestor(exp.Hint):
                yield f"has the word {word}"
    yield from (f'has the name "{one.name}"' for one in tree.find_all(exp.Identifier) if one.args.get("quoted"))


def _columns(views: frozenset[str]) -> frozenset[str]:
    """The columns that these views have in any release."""
    bare = [view.removeprefix("sys.").replace("gv$", "v$") for view in views]
    own = frozenset({"inst_id"}) if any(view.startswith("gv$") for view in views) else frozenset()
    return own.union(*(columns_of(view, release) for view in bare for release in RELEASES))


def known_view(view: str) -> bool:
    """Whether the list of Oracle's views in `catalogue` has it, and no licence is needed to read it."""
    bare = view.removeprefix("sys.").replace("gv$", "v$")
    return not LICENSED.match(bare) and any(columns_of(bare, release) for release in RELEASES)
