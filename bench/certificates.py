"""Certificates of generated instances: how many the checker accepts, and how many changed ones it refuses.

A change is made to one place of a certificate that is accepted. Where a row is changed, its hash is either left as it was or made
again, as somebody who means to deceive would.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import isclose
from random import Random
from typing import Any

from rich.console import Group
from rich.table import Table

from collectors.delta import between
from exam.check_certificate import CAUSES, CLOSE, Catalogue, Rows, check
from rules.certificate import certificates, digest
from rules.engine import diagnose
from tests.truth.generate import case
from tests.truth.plan import seeds

TINY = "--first 2 --changes 20"
WORKERS = 2
SPREAD = 37
"""Seeds apart, so that a few of them are of every kind."""
Json = dict[str, Any]
Change = Callable[[Json, Random], bool]
"""Changes one place of a certificate. False if there is none of its kind."""


def certified(seed: int) -> Json | None:
    """The certificate of a seed as a reader of the file gets it. None if nothing was judged."""
    generated = case(seed)
    change = between(generated.begin, generated.end)
    diagnosis = diagnose(change) if not hasattr(change, "why") else None
    if diagnosis is None:
        return None
    written = json.loads(certificates([(f"seed {seed}", change, diagnosis)]).model_dump_json(exclude_defaults=True))
    found: Json = written["certificates"][0]
    return found


# The places of a certificate.


def _steps(certificate: Json) -> list[Json]:
    return [step for verdict in certificate["verdicts"] for step in verdict.get("steps", ())]


def _nodes(expression: Json) -> Iterator[Json]:
    yield expression
    for terms in expression.values():
        for term in terms if isinstance(terms, list) else [terms]:
            if isinstance(term, dict):
                yield from _nodes(term)


def _expressions(certificate: Json) -> list[Json]:
    costs = [verdict["cost"] for verdict in certificate["verdicts"] if "cost" in verdict]
    holders = [*_steps(certificate), *costs]
    return [node for holder in holders if "expression" in holder for node in _nodes(holder["expression"])]


def _another(value: Any, dice: Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, str):
        return value + "x"
    return type(value)(value * dice.choice((0.5, 1.5, 2, 10)) + (1 if isinstance(value, int) else 0.01))


def _cells(certificate: Json, *, used: bool) -> list[tuple[Json, str]]:
    """Row and column of the cells that expressions use, or of those that only name a row."""
    read = {tuple(node["cell"]) for node in _expressions(certificate) if "cell" in node}
    cells = [(row, column) for row in certificate["rows"] for column in row["columns"]]
    return [(row, column) for row, column in cells if ((row["id"], column) in read) is used]


def _cell(certificate: Json, dice: Random, *, used: bool, again: bool) -> bool:
    places = _cells(certificate, used=used)
    if not places:
        return False
    row, column = dice.choice(places)
    row["columns"][column] = _another(row["columns"][column], dice)
    if again:
        row["sha256"] = digest(row["view"], row["columns"])
    return True


def _of(
    places: Callable[[Json], list[Json]], change: Callable[[Json, Random], None], fits: Callable[[Json], bool]
) -> Change:
    """A change of one of the places that fit."""

    def made(certificate: Json, dice: Random) -> bool:
        fitting = [place for place in places(certificate) if fits(place)]
        if fitting:
            change(dice.choice(fitting), dice)
        return bool(fitting)

    return made


def _set(name: str, values: Sequence[Any] = ()) -> Callable[[Json, Random], None]:
    def change(place: Json, dice: Random) -> None:
        others = [value for value in values if value != place[name]]
        place[name] = dice.choice(others) if others else _another(place[name], dice)

    return change


OPERATORS = ("sum", "difference", "ratio", "share", "largest")


def _operator(node: Json, dice: Random) -> None:
    (now,) = set(node) & set(OPERATORS)
    node[dice.choice([name for name in OPERATORS if name != now])] = node.pop(now)


def _term(node: Json, dice: Random) -> None:
    (now,) = set(node) & set(OPERATORS)
    del node[now][dice.randrange(len(node[now]))]


def _pointer(node: Json, dice: Random) -> None:
    leaf: Any = node.get("cell", node)
    leaf[0 if "cell" in node else "row"] += dice.choice((-1, 1))


def _dropped(holder: str, *, of: Callable[[Json], list[Json]]) -> Change:
    def drop(place: Json, dice: Random) -> None:
        del place[holder][dice.randrange(len(place[holder]))]

    return _of(of, drop, lambda place: bool(place.get(holder)))


def _hash(row: Json, dice: Random) -> None:
    place = dice.randrange(len(row["sha256"]))
    digit = row["sha256"][place]
    row["sha256"] = row["sha256"][:place] + ("0" if digit != "0" else "1") + row["sha256"][place + 1 :]


def _whole(certificate: Json) -> list[Json]:
    return [certificate]


def _rows(certificate: Json) -> list[Json]:
    return list(certificate["rows"])


def _verdicts(certificate: Json) -> list[Json]:
    return list(certificate["verdicts"])


def _always(place: Json) -> bool:
    return True


def _is_operation(node: Json) -> bool:
    return bool(set(node) & set(OPERATORS))


UNEXPLAINED = "not explained"
CHANGES: dict[str, Change] = {
    "value of a row": lambda certificate, dice: _cell(certificate, dice, used=True, again=False),
    "value of a row, hash made again": lambda certificate, dice: _cell(certificate, dice, used=True, again=True),
    "name of a row": lambda certificate, dice: _cell(certificate, dice, used=False, again=False),
    "name of a row, hash made again": lambda certificate, dice: _cell(certificate, dice, used=False, again=True),
    "hash": _of(_rows, _hash, _always),
    "bound": _of(_steps, _set("bound"), _always),
    "comparison": _of(_steps, _set("comparison", (">=", "<=")), _always),
    "operator": _of(_expressions, _operator, _is_operation),
    "term left out": _of(_expressions, _term, _is_operation),
    "another row in an expression": _of(_expressions, _pointer, lambda node: "cell" in node or "row" in node),
    "value of a condition": _of(_steps, _set("value"), lambda step: step["value"] is not None),
    "outcome of a condition": _of(_steps, _set("holds", (True, False, None)), _always),
    "signal": _of(_steps, _set("signal"), _always),
    "id of a condition": _of(_steps, _set("condition"), _always),
    "id of a cause": _of(_verdicts, _set("cause"), _always),
    "verdict": _of(_verdicts, _set("verdict", ("found", "ruled out", "cannot tell")), _always),
    "way to a verdict": _of(
        _verdicts,
        _set("by", ("conditions", "condition", "release", "kind of wait", "fix", "cost", "explained", "unknown")),
        _always,
    ),
    "condition left out": _dropped("steps", of=_verdicts),
    "verdict left out": _dropped("verdicts", of=_whole),
    "row left out": _dropped("rows", of=_whole),
}
"""What is changed → how."""


@dataclass
class Tried:
    """What the checker said of some certificates, and of changed ones."""

    verdicts: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[int, str]] = field(default_factory=list)
    """Seed and sentence of the certificates that were refused as they are."""
    certificates: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    survived: list[tuple[int, str, str]] = field(default_factory=list)
    """Seed, kind of change and reason."""


def tried(seed: int, changes: int) -> Tried:
    """The certificate of a seed, and so many changes of it, one of each kind in turn."""
    found, certificate = Tried(), certified(seed)
    if certificate is None:
        return found
    catalogue, dice = _catalogue(), Random(seed)
    found.certificates = 1
    found.verdicts.update(verdict["verdict"] for verdict in certificate["verdicts"])
    found.steps.update(map(_kind, _steps(certificate)))
    found.refused += [(seed, why) for why in check(certificate, catalogue)]
    if found.refused:
        return found  # a change of what is refused anyway shows nothing
    kinds, text = list(CHANGES), json.dumps(certificate)
    for place in range(changes):
        kind = kinds[(seed * changes + place) % len(kinds)]
        other = json.loads(text)
        if not CHANGES[kind](other, dice) or other == certificate:
            continue
        found.changed[kind] += 1
        if not check(other, catalogue):
            found.survived.append((seed, kind, _why(kind, certificate, other)))
    return found


def _kind(step: Json) -> str:
    if step["value"] is None:
        return "unknown"
    return "stated" if "stated" in step else "no such row" if step.get("nothing") else "with an expression"


SAME_VALUE = "no value changes: terms that are zero, cancel, or are not the largest"
NO_NAME = "it names which child, session, container or other cache of a whole: the checker knows no such names"

ONLY_STATED = "the value is stated without an expression, which the certificate lists as not covered"


def _why(kind: str, before: Json, after: Json) -> str:
    """Why a changed certificate may be accepted. What has no such reason is a hole in the checker."""
    if kind == "name of a row, hash made again":
        return NO_NAME
    differing = [one for one, other in zip(_steps(before), _steps(after), strict=False) if one != other]
    if kind == "value of a condition" and all("stated" in step for step in differing):
        return ONLY_STATED
    if kind == "value of a condition":
        return UNEXPLAINED
    same = all(map(partial(isclose, rel_tol=CLOSE), _values(before), _values(after)))
    return SAME_VALUE if same and len(_values(before)) == len(_values(after)) else UNEXPLAINED


def _values(certificate: Json) -> list[float]:
    """What each expression is."""
    rows = Rows(certificate.get("rows", ()))
    return [rows.value(step["expression"], []) for step in _steps(certificate) if "expression" in step]


_CATALOGUE: list[Catalogue] = []


def _catalogue() -> Catalogue:
    if not _CATALOGUE:
        _CATALOGUE.append(Catalogue(CAUSES))
    return _CATALOGUE[0]


def _tried(work: tuple[int, int]) -> Tried:
    return tried(*work)


def together(parts: Iterable[Tried]) -> Tried:
    """The sum of what was tried."""
    whole = Tried()
    for part in parts:
        whole.certificates += part.certificates
        whole.verdicts += part.verdicts
        whole.steps += part.steps
        whole.changed += part.changed
        whole.refused += part.refused
        whole.survived += part.survived
    return whole


def spread(count: int) -> list[int]:
    """So many seeds, in an order in which any few of them are of every kind."""
    every = seeds()
    return [every[place * SPREAD % len(every)] for place in range(min(count, len(every)))]


def figures(arguments: Sequence[str] = ()) -> Group:
    """How many certificates are accepted, and how many changed ones are refused."""
    parser = argparse.ArgumentParser(prog="python -m bench certificates", description=__doc__)
    parser.add_argument("--first", type=int, default=1000, help="certificates to make")
    parser.add_argument("--changes", type=int, default=7, help="changes of each")
    parser.add_argument("--survivors", action="store_true", help="name the seed and the kind of each accepted change")
    asked = parser.parse_args(arguments)
    work = [(seed, asked.changes) for seed in spread(asked.first)]
    if len(work) <= WORKERS:
        result = together(map(_tried, work))
    else:
        with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
            result = together(pool.map(_tried, work, chunksize=4))
    return Group(_accepted(result), _refused(result), *([_survivors(result)] if asked.survivors else []))


def _accepted(result: Tried) -> Table:
    heads = (
        "certificates",
        "accepted",
        "verdicts",
        "conditions",
        "with an expression",
        "no such row",
        "stated",
        "unknown",
    )
    table = Table(*heads, title="Certificates as they are written")
    accepted = result.certificates - len({seed for seed, _ in result.refused})
    steps = [result.steps[name] for name in heads[4:]]
    counts = (result.certificates, accepted, result.verdicts.total(), result.steps.total(), *steps)
    table.add_row(*map(str, counts))
    return table


def _refused(result: Tried) -> Table:
    table = Table(
        "what was changed", "changes", "refused", "share", "why the others are accepted", title="Changed certificates"
    )
    accepted = Counter(kind for _, kind, _ in result.survived)
    reasons = {kind: reason for _, kind, reason in result.survived}
    for kind in CHANGES:
        many = result.changed[kind]
        share = f"{100 * (many - accepted[kind]) / many:.1f} %" if many else "–"
        table.add_row(kind, str(many), str(many - accepted[kind]), share, reasons.get(kind, ""))
    many = result.changed.total()
    table.add_row(
        "all", str(many), str(many - accepted.total()), f"{100 * (many - accepted.total()) / max(many, 1):.1f} %", ""
    )
    return table


def _survivors(result: Tried) -> Table:
    table = Table("seed", "what was changed", "why it is accepted")
    for seed, kind, reason in result.survived:
        table.add_row(str(seed), kind, reason)
    for seed, why in result.refused:
        table.add_row(str(seed), "nothing", f"refused: {why}")
    return table
