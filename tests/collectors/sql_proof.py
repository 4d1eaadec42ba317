"""Proves of a statement that it only reads: by the tree that a parser makes of it, and by its tokens.

Both checks are closed: what is not on a list here is refused. A statement with a new word needs that word on the list, which is
the place to ask what it does. The second check stands beside the first because a parser forgives, and may one day not know a
construct of Oracle's.
"""

import itertools
import re
from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tests.collectors.shipped_sql import LICENSED, RELEASES, columns_of

FUNCTIONS = frozenset(
    (
        *(
            "cast",
            "chr",
            "count",
            "decode",
            "greatest",
            "lower",
            "max",
            "min",
            "mod",
            "nvl",
            "rawtohex",
            "regexp_substr",
            "replace",
            "round",
        ),
        *("row_number", "sum", "sys_context", "sys_extract_utc", "to_char", "to_number", "trim", "trunc", "upper"),
    )
)
"""Functions that a statement may call. None of them writes, waits, locks or runs what it is given."""
WITHOUT_ARGUMENTS = frozenset({"level", "rownum", "sysdate", "systimestamp"})
HINTS = frozenset({"no_merge", "no_transform_distinct_agg", "no_unnest", "ordered", "use_nl"})
KEYWORDS = frozenset(
    (
        *(
            "select",
            "distinct",
            "from",
            "where",
            "group",
            "by",
            "having",
            "order",
            "asc",
            "desc",
            "nulls",
            "first",
            "last",
        ),
        *(
            "and",
            "or",
            "not",
            "in",
            "is",
            "null",
            "like",
            "escape",
            "between",
            "exists",
            "case",
            "when",
            "then",
            "else",
            "end",
        ),
        *(
            "as",
            "date",
            "interval",
            "hour",
            "minute",
            "on",
            "join",
            "left",
            "union",
            "all",
            "connect",
            "over",
            "partition",
        ),
    )
)
"""Words of the language that a query may have. `for`, `into`, `with`, `function` and all that begins a change are not here."""
NODES = (
    *(
        exp.Select,
        exp.Union,
        exp.Subquery,
        exp.From,
        exp.Join,
        exp.Where,
        exp.Group,
        exp.Having,
        exp.Order,
        exp.Ordered,
    ),
    *(exp.Connect, exp.Table, exp.TableAlias, exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Null),
    *(exp.Placeholder, exp.Paren, exp.Tuple, exp.Distinct, exp.Window, exp.Hint, exp.Var, exp.Escape, exp.Neg),
    *(
        exp.And,
        exp.Or,
        exp.Not,
        exp.EQ,
        exp.NEQ,
        exp.GT,
        exp.GTE,
        exp.LT,
        exp.LTE,
        exp.Is,
        exp.In,
        exp.Like,
        exp.Between,
    ),
    *(
        exp.Add,
        exp.Sub,
        exp.Mul,
        exp.Div,
        exp.Mod,
        exp.DPipe,
        exp.Exists,
        exp.Case,
        exp.If,
        exp.DecodeCase,
        exp.Coalesce,
    ),
    *(exp.Count, exp.Sum, exp.Max, exp.Min, exp.Round, exp.RowNumber, exp.ToChar, exp.TimeToStr, exp.ToNumber),
    *(exp.Lower, exp.Upper),
    *(exp.Trim, exp.Replace, exp.Greatest, exp.Chr, exp.RegexpSubstr, exp.CurrentTimestamp, exp.Systimestamp),
    *(exp.Cast, exp.DataType, exp.Interval),
)
"""What a tree may consist of, besides calls by name of what is in FUNCTIONS and, in hints, HINTS."""

MARK = re.compile(r"/\* latchscope [\w$ ]+ \*/")
TOKEN = re.compile(
    r"""(?P<space>[ \n]+) | (?P<comment>/\*.*?\*/) | (?P<literal>'(?:[^'\n]|'')*') | (?P<name>[a-z_][a-z0-9_$\#]*)
      | (?P<bind>:[a-z]+) | (?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)
      | (?P<sign>\(\+\)|<=|>=|<>|\|\||-(?!-)|/(?!\*)|\*(?!/)|[(),.=<>+])""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Every token that a statement may have. No quoted name, no line comment, no semicolon, no @ of a link, no & of SQL*Plus."""


def views_of_tree(text: str) -> set[str]:
    """The tables of a statement as the parser sees them."""
    tree = sqlglot.parse_one(text, read="oracle")
    return {".".join(filter(None, (one.db.lower(), one.name.lower()))) for one in tree.find_all(exp.Table)}


def parser_faults(text: str, views: Iterable[str]) -> list[str]:
    """What the parser finds in a text that no query over these views has. Empty if it proves the text."""
    try:
        trees = sqlglot.parse(text, read="oracle")
    except SqlglotError as error:
        return [f"does not parse: {str(error)[:80]}"]
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        return ["is not one query"]
    return list(_in_tree(trees[0], frozenset(views)))


def _in_tree(tree: exp.Select, views: frozenset[str]) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, exp.Table):
            view = ".".join(part.name.lower() for part in node.parts)
            if view not in views or node.args.get("version"):
                yield f"reads {view}"
        elif isinstance(node, exp.Anonymous):
            allowed = HINTS if node.find_ancestor(exp.Hint) else FUNCTIONS
            if node.name.lower() not in allowed:
                yield f"calls {node.name}"
        elif isinstance(node, exp.Column):
            if node.name.lower() in ("nextval", "currval"):
                yield "uses a sequence"
        elif isinstance(node, exp.Var):
            if node.name.lower() not in HINTS | {"m", "hour", "minute"}:
                yield f"says {node.name}"
        elif type(node) not in NODES:
            yield f"has {type(node).__name__}"


def token_faults(text: str, views: Iterable[str]) -> list[str]:
    """What the tokens of a text have that no query over these views has. Empty if they prove the text."""
    if not text.isascii():
        return ["is not ASCII"]
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            return [f"has {text[place]!r} at {place}"]
        if found.lastgroup != "space":
            tokens.append((str(found.lastgroup), found.group().lower()))
        place = found.end()
    return list(_in_tokens(tokens, frozenset(views)))


def _in_tokens(tokens: list[tuple[str, str]], views: frozenset[str]) -> Iterator[str]:
    comments = [word for kind, word in tokens if kind == "comment"]
    if not MARK.match(comments[0] if comments else ""):
        yield "lacks our mark"
    for comment in comments:
        hints = re.findall(r"\w+(?=\(\w\)|\b)", re.sub(r"\(\w\)", "", comment)) if comment.startswith("/*+ ") else None
        if not MARK.fullmatch(comment) and (hints is None or set(hints) - HINTS):
            yield f"has the comment {comment}"
    words = [(kind, word) for kind, word in tokens if kind != "comment"]
    if not words or words[0] != ("name", "select"):
        yield "does not begin with select"
    known = KEYWORDS | WITHOUT_ARGUMENTS | _columns(views) | _given(words, views)
    following = [*words[1:], ("", "")]
    before = [("", ""), *words]
    for (kind, word), (_, after), (_, ahead) in zip(words, following, before, strict=False):
        if kind != "name":
            continue
        if after == "(" and (word not in FUNCTIONS | KEYWORDS or ahead == "."):
            yield f"calls {word}"
        elif after != "(" and ahead != "." and word in FUNCTIONS - known:
            yield f"names {word}"
        elif word not in known | FUNCTIONS and not _part_of(word, after, ahead, views):
            yield f"has the word {word}"
    for first, second in zip(words, following, strict=True):
        if first[1] == "from" and second[0] == "name" and not _is_view(second[1], views):
            yield f"reads {second[1]}"


def _columns(views: frozenset[str]) -> frozenset[str]:
    """The columns that these views have in any release."""
    bare = [view.removeprefix("sys.").replace("gv$", "v$") for view in views]
    own = frozenset({"inst_id"}) if any(view.startswith("gv$") for view in views) else frozenset()
    return own.union(*(columns_of(view, release) for view in bare for release in RELEASES))


def _given(words: list[tuple[str, str]], views: frozenset[str]) -> frozenset[str]:
    """Names that the text itself gives: behind `as`, behind a view, and behind a bracket."""
    return frozenset(
        word
        for (_, first), (kind, word) in itertools.pairwise(words)
        if kind == "name" and (first in ("as", ")") or _is_view(first, views))
    )


def _part_of(word: str, after: str, ahead: str, views: frozenset[str]) -> bool:
    """Whether a word is a view, or the owner or the name of one."""
    if word == "sys":
        return after == "." and _is_view(word, views)
    return _is_view(word, views) or (ahead == "." and f"sys.{word}" in views)


def _is_view(word: str, views: frozenset[str]) -> bool:
    return word in views or (word == "sys" and any(view.startswith("sys.") for view in views))


def known_view(view: str) -> bool:
    """Whether the list of Oracle's views in `catalogue` has it, and no licence is needed to read it."""
    bare = view.removeprefix("sys.").replace("gv$", "v$")
    return not LICENSED.match(bare) and any(columns_of(bare, release) for release in RELEASES)
