"""The few functions of Oracle's SQL that turn rows into records, written from its reference. No Oracle runs here."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlglot import exp

Env = Mapping[str, Any]
Value = Callable[[Env], Any]


class InvalidIdentifier(Exception):
    """ORA-00904: a column that the row does not have."""


def evaluate(node: exp.Expr, env: Env) -> Any:
    """The value of an expression for one row; an empty text is NULL, as in Oracle."""
    return compiled(node)(env)


_compiled: dict[int, tuple[exp.Expr, Value]] = {}
"""Keyed by the identity of an expression, which the cache keeps alive: comparing trees would cost more than it saves."""


def compiled(node: exp.Expr) -> Value:
    """An expression as a function of the row, built once: the same few run over every row of every spool."""
    if id(node) not in _compiled:
        make = _maker_of(type(node))
        assert make, f"the script uses what its stand-in does not know: {node!r}"
        made = make(node)
        _compiled[id(node)] = (node, lambda env: None if (value := made(env)) == "" else value)
    return _compiled[id(node)][1]


@cache
def _maker_of(kind: type) -> Callable[[Any], Value] | None:
    return next((make for known, make in MAKERS.items() if issubclass(kind, known)), None)


def _column(node: Any) -> Value:
    name = node.name.lower()

    def read(env: Env) -> Any:
        if name not in env:
            raise InvalidIdentifier(name.upper())
        return env[name]

    return read


def _literal(node: Any) -> Value:
    value = node.this if node.is_string else int(node.this)
    return lambda env: value


def _joined(node: Any) -> Value:
    pieces = [one if isinstance(one, str) else compiled(one) for one in _pieces(node)]
    return lambda env: "".join([one if isinstance(one, str) else _text(one(env)) for one in pieces])


def _pieces(node: Any) -> list[Any]:
    """The parts that a || b || c joins, in order. A part that is the same for every row is a plain text."""
    sides = [_pieces(side) if isinstance(side, exp.DPipe) else [side] for side in (node.this, node.expression)]
    return [one.this if isinstance(one, exp.Literal) and one.is_string else one for side in sides for one in side]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _to_char(node: Any) -> Value:
    of, how = compiled(node.this), node.args["format"].this
    code = how
    for letters, part in (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"), ("HH24", "%H"), ("MI", "%M"), ("SS", "%S")):
        code = code.replace(letters, part)

    def told(env: Env) -> str | None:
        value = of(env)
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.strftime(code.replace('"', "").replace(".FF3", f".{value.microsecond // 1000:03}"))
        assert how == "TM9"
        assert node.args["nlsparam"].this == "nls_numeric_characters='.,'", "a decimal comma would get through"
        number = float(value) if isinstance(value, str) else value
        return str(number) if isinstance(number, int) else re.sub(r"^0\.", ".", repr(number))

    return told


def _decode(node: Any) -> Value:
    parts = [compiled(one) for one in node.expressions]

    def chosen(env: Env) -> Any:
        given, *pairs = [part(env) for part in parts]
        for wanted, then in zip(pairs[::2], pairs[1::2], strict=False):
            if given == wanted:
                return then
        return pairs[-1] if len(pairs) % 2 else None

    return chosen


def _translate(node: Any) -> Value:
    parts = [compiled(node.args[name]) for name in ("this", "from_", "to")]

    def translated(env: Env) -> str:
        value, old, new = (_text(part(env)) for part in parts)
        return value.translate({ord(char): new[place] if place < len(new) else None for place, char in enumerate(old)})

    return translated


def _substring(node: Any) -> Value:
    whole, first, count = (compiled(part) for part in (node.this, node.args["start"], node.args["length"]))

    def cut(env: Env) -> str:
        start = first(env)
        return _text(whole(env))[start - 1 : start - 1 + count(env)]

    return cut


def _regexp_substr(node: Any) -> Value:
    of, pattern, place = compiled(node.this), node.expression.this, int(node.args["occurrence"].this)

    def occurrence(env: Env) -> str | None:
        found = re.findall(pattern, _text(of(env)))
        return found[place - 1] if place <= len(found) else None

    return occurrence


def _case(node: Any) -> Value:
    pairs = [(compiled(one.this), compiled(one.args["true"])) for one in node.args["ifs"]]
    otherwise = compiled(node.args["default"])
    return lambda env: next((then for when, then in pairs if when(env)), otherwise)(env)


def _call(node: Any) -> Value:
    name, parts = node.name.lower(), [compiled(one) for one in node.expressions]
    if name == "dump":
        typed = {int: "Typ=2 Len=3", float: "Typ=2 Len=3", str: "Typ=1 Len=9"}
        return lambda env: "NULL" if (value := parts[0](env)) is None else typed[type(value)]
    known: Mapping[str, Value] = {
        "asciistr": lambda env: _asciistr(parts[0](env)),
        "sys_context": lambda env: env["sys_context"][parts[1](env)],
    }
    return known[name]


def _asciistr(value: Any) -> str:
    text = _text(value)
    if text.isascii() and "\\" not in text and "\x7f" not in text:
        return text
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(f"\\{code:04X}" if code > 126 or code == 92 else chr(code) for code in codes)


def _replace(node: Any) -> Value:
    parts = [compiled(part) for part in (node.this, node.expression, node.args["replacement"])]

    def replaced(env: Env) -> str:
        value, old, new = (_text(part(env)) for part in parts)
        return value.replace(old, new)

    return replaced


def _of_one(how: Callable[[Any], Any]) -> Callable[[Any], Value]:
    """A function of one value."""

    def make(node: Any) -> Value:
        of = compiled(node.this)
        return lambda env: how(of(env))

    return make


def _of_two(how: Callable[[Any, Any], Any]) -> Callable[[Any], Value]:
    """An operator between two values."""

    def make(node: Any) -> Value:
        left, right = compiled(node.this), compiled(node.expression)
        return lambda env: how(left(env), right(env))

    return make


def _coalesce(node: Any) -> Value:
    first, second = compiled(node.this), compiled(node.expressions[0])
    return lambda env: second(env) if (value := first(env)) is None else value


def _placeholder(node: Any) -> Value:
    name = f":{node.name}"
    return lambda env: env[name]


def _chr(node: Any) -> Value:
    char = chr(int(node.expressions[0].this))
    return lambda env: char


def _time_to_str(node: Any) -> Value:
    of, how = compiled(node.this), node.args["format"].this
    return lambda env: of(env).strftime(how)


MAKERS: Mapping[type[exp.Expr], Callable[[Any], Value]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: lambda node: lambda env: None,
    exp.DPipe: _joined,
    exp.ToChar: _to_char,
    exp.DecodeCase: _decode,
    exp.Translate: _translate,
    exp.Substring: _substring,
    exp.RegexpSubstr: _regexp_substr,
    exp.Case: _case,
    exp.Replace: _replace,
    exp.Length: _of_one(lambda value: len(_text(value)) or None),
    exp.Coalesce: _coalesce,
    exp.ToNumber: _of_one(lambda value: None if value is None else int(value)),
    exp.Chr: _chr,
    exp.Lower: _of_one(lambda value: value.lower()),
    exp.Paren: _of_one(lambda value: value),
    exp.GTE: _of_two(operator.ge),
    exp.Add: _of_two(operator.add),
    exp.Mul: _of_two(operator.mul),
    exp.Placeholder: _placeholder,
    exp.TimeToStr: _time_to_str,
    exp.CurrentTimestamp: lambda node: lambda env: env["sysdate"],
    exp.Anonymous: _call,
}


def project(select: exp.Select, rows: Iterable[Env], around: Env) -> list[dict[str, Any]]:
    """The rows of a SELECT over rows; rownum and count(*) over () count these rows."""
    given = list(rows)
    columns = [
        (
            (one.alias or (one.name if isinstance(one, exp.Column) else "ls_line")).lower(),
            None if isinstance(one.unalias(), exp.Window) else one.unalias(),
        )
        for one in select.selects
    ]
    told = []
    made = [(name, None if node is None else compiled(node)) for name, node in columns] if given else []
    for number, row in enumerate(given, 1):
        env = {**around, **row, "rownum": number}
        told.append({name: len(given) if value is None else value(env) for name, value in made})
    return told
