"""The few functions of Oracle's SQL that turn rows into records, written from its reference; there is no Oracle here."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlglot import exp

Env = Mapping[str, Any]


class InvalidIdentifier(Exception):
    """ORA-00904: a column that the row does not have."""


def evaluate(node: exp.Expr, env: Env) -> Any:
    """The value of an expression for one row; an empty text is NULL, as in Oracle."""
    how = _function_of(type(node))
    assert how, f"the script uses what its stand-in does not know: {node!r}"
    value = how(node, env)
    return None if value == "" else value


@cache
def _function_of(kind: type) -> Callable[[Any, Env], Any] | None:
    return next((how for known, how in FUNCTIONS.items() if issubclass(kind, known)), None)


def _column(node: Any, env: Env) -> Any:
    name = node.name.lower()
    if name not in env:
        raise InvalidIdentifier(name.upper())
    return env[name]


def _literal(node: Any, env: Env) -> Any:
    return node.this if node.is_string else int(node.this)


def _joined(node: Any, env: Env) -> str:
    return "".join([piece if isinstance(piece, str) else _text(evaluate(piece, env)) for piece in _pieces(node)])


_known_pieces: dict[int, tuple[Any, list[Any]]] = {}
"""By the identity of a concatenation, which is kept with them: comparing trees would cost more than is saved."""


def _pieces(node: Any) -> list[Any]:
    """What a || b || c joins, in order; texts that are the same for every row are texts already."""
    if id(node) not in _known_pieces:
        sides = [_pieces(side) if isinstance(side, exp.DPipe) else [side] for side in (node.this, node.expression)]
        flat = [one.this if isinstance(one, exp.Literal) and one.is_string else one for side in sides for one in side]
        _known_pieces[id(node)] = (node, flat)
    return _known_pieces[id(node)][1]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _to_char(node: Any, env: Env) -> str | None:
    value, how = evaluate(node.this, env), node.args["format"].this
    if value is None:
        return None
    if isinstance(value, datetime):
        for letters, code in (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"), ("HH24", "%H"), ("MI", "%M"), ("SS", "%S")):
            how = how.replace(letters, code)
        return value.strftime(how.replace('"', "").replace(".FF3", f".{value.microsecond // 1000:03}"))
    assert how == "TM9"
    assert node.args["nlsparam"].this == "nls_numeric_characters='.,'", "a decimal comma would come through"
    number = float(value) if isinstance(value, str) else value
    return str(number) if isinstance(number, int) else re.sub(r"^0\.", ".", repr(number))


def _decode(node: Any, env: Env) -> Any:
    given, *pairs = [evaluate(one, env) for one in node.expressions]
    for wanted, then in zip(pairs[::2], pairs[1::2], strict=False):
        if given == wanted:
            return then
    return pairs[-1] if len(pairs) % 2 else None


def _translate(node: Any, env: Env) -> str:
    value, old, new = (_text(evaluate(node.args[name], env)) for name in ("this", "from_", "to"))
    return value.translate({ord(char): new[place] if place < len(new) else None for place, char in enumerate(old)})


def _substring(node: Any, env: Env) -> str:
    start, length = (evaluate(node.args[name], env) for name in ("start", "length"))
    return _text(evaluate(node.this, env))[start - 1 : start - 1 + length]


def _regexp_substr(node: Any, env: Env) -> str | None:
    found = re.findall(node.expression.this, _text(evaluate(node.this, env)))
    place = int(node.args["occurrence"].this)
    return found[place - 1] if place <= len(found) else None


def _case(node: Any, env: Env) -> Any:
    for one in node.args["ifs"]:
        if evaluate(one.this, env):
            return evaluate(one.args["true"], env)
    return evaluate(node.args["default"], env)


def _call(node: Any, env: Env) -> Any:
    values = [evaluate(one, env) for one in node.expressions]
    if node.name.lower() == "dump":
        typed = {int: "Typ=2 Len=3", float: "Typ=2 Len=3", str: "Typ=1 Len=9"}
        return "NULL" if values[0] is None else typed[type(values[0])]
    return {"asciistr": lambda: _asciistr(values[0]), "sys_context": lambda: env["sys_context"][values[1]]}[
        node.name.lower()
    ]()


def _asciistr(value: Any) -> str:
    units = _text(value).encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(f"\\{code:04X}" if code > 126 or code == 92 else chr(code) for code in codes)


def _number(node: Any, env: Env) -> Any:
    value = evaluate(node.this, env)
    return None if value is None else int(value)


def _replace(node: Any, env: Env) -> str:
    parts = (node.this, node.expression, node.args["replacement"])
    value, old, new = (_text(evaluate(one, env)) for one in parts)
    return value.replace(old, new)


def _length(node: Any, env: Env) -> int | None:
    return len(_text(evaluate(node.this, env))) or None


def _coalesce(node: Any, env: Env) -> Any:
    value = evaluate(node.this, env)
    return evaluate(node.expressions[0], env) if value is None else value


FUNCTIONS: Mapping[type[exp.Expr], Callable[[Any, Env], Any]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: lambda node, env: None,
    exp.DPipe: _joined,
    exp.ToChar: _to_char,
    exp.DecodeCase: _decode,
    exp.Translate: _translate,
    exp.Substring: _substring,
    exp.RegexpSubstr: _regexp_substr,
    exp.Case: _case,
    exp.Replace: _replace,
    exp.Length: _length,
    exp.Coalesce: _coalesce,
    exp.ToNumber: _number,
    exp.Chr: lambda node, env: chr(int(node.expressions[0].this)),
    exp.Lower: lambda node, env: evaluate(node.this, env).lower(),
    exp.Paren: lambda node, env: evaluate(node.this, env),
    exp.GTE: lambda node, env: evaluate(node.this, env) >= evaluate(node.expression, env),
    exp.Add: lambda node, env: evaluate(node.this, env) + evaluate(node.expression, env),
    exp.Mul: lambda node, env: evaluate(node.this, env) * evaluate(node.expression, env),
    exp.Placeholder: lambda node, env: env[f":{node.name}"],
    exp.TimeToStr: lambda node, env: evaluate(node.this, env).strftime(node.args["format"].this),
    exp.CurrentTimestamp: lambda node, env: env["sysdate"],
    exp.Anonymous: _call,
}


def project(select: exp.Select, rows: Iterable[Env], around: Env) -> list[dict[str, Any]]:
    """The rows of a SELECT over rows; rownum and count(*) over () are of these rows."""
    given = list(rows)
    told = []
    for number, row in enumerate(given, 1):
        env = {**around, **row, "rownum": number}
        told.append(
            {
                (one.alias or (one.name if isinstance(one, exp.Column) else "ls_line")).lower(): len(given)
                if isinstance(one.unalias(), exp.Window)
                else evaluate(one.unalias(), env)
                for one in select.selects
            }
        )
    return told
