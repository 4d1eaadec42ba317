"""Certificates of generated instances: how many the checker accepts, and how many changed ones it refuses, with the capture too.

A change is made to one place of a certificate that is accepted. Where a row is changed, its hash is either left as it was or made
again, as somebody who means to deceive would. Whoever makes all again also writes each value and outcome that follows.
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
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Group
from rich.table import Table

from collectors.capture import delta_of, dump, load
from collectors.model import NotComparable
from exam.captured import Captured
from exam.check_certificate import CAUSES, CLOSE, Catalogue, Refused, Rows, check
from exam.check_rows import differences
from rules.certificate import certificates, digest
from rules.engine import diagnose
from tests.truth.generate import EDITION, Draw, case
from tests.truth.plan import seeds

TINY = "--first 2 --changes 20"
WORKERS = 2
SPREAD = 37
"""Seeds apart, so that a few of them are of every kind."""
Json = dict[str, Any]
Change = Callable[[Json, Random], bool]
"""Changes one place of a certificate. False if there is none of its kind."""


def certified(seed: int) -> tuple[Json, str] | None:
    """The certificate of a seed as a reader of the file gets it, and the text of its capture. None if nothing was judged.

    A seed beyond the plan is one of the plan in another edition of the generator.
    """
    edition, place = divmod(seed, len(seeds()))
    text = dump(case(place, draw=Draw(EDITION + edition)).capture)
    change = delta_of(load(text, f"seed {seed}"))
    if isinstance(change, NotComparable):
        return None
    written = certificates([(f"seed {seed}", change, diagnose(change))]).model_dump_json(exclude_defaults=True)
    return json.loads(written)["certificates"][0], text


def captured(text: str) -> Captured:
    """A capture as the checker reads it from a file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "capture.json"
        file.write_text(text, encoding="utf-8")
        return Captured(file)


# The places of a certificate.


def _steps(certificate: Json) -> list[Json]:
    return [step for verdict in certificate["verdicts"] for step in verdict.get("steps", ())]


def _nodes(expression: Json) -> Iterator[Json]:
    yield expression
    for terms in expression.values():
        for term in terms if isinstance(terms, list) else [terms]:
            if isinstance(term, dict):
                yield from _nodes(term)


def _computed(certificate: Json) -> list[Json]:
    """The steps and the costs with an expression."""
    costs = [verdict["cost"] for verdict in certificate["verdicts"] if "cost" in verdict]
    return [holder for holder in (*_steps(certificate), *costs) if "expression" in holder]


def _expressions(certificate: Json) -> list[Json]:
    return [node for holder in _computed(certificate) for node in _nodes(holder["expression"])]


def _another(value: Any, dice: Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, str):
        return value + "x"
    other = type(value)(value * dice.choice((0.5, 1.5, 2, 10)) + (1 if isinstance(value, int) else 0.01))
    return other + 1 if other == value else other


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


def _all_again(change: Change) -> Change:
    """The same change, and then every hash, value and outcome that follows from it; rows that nothing uses go."""

    def made(certificate: Json, dice: Random) -> bool:
        if not change(certificate, dice):
            return False
        for row in certificate["rows"]:
            row["sha256"] = digest(row["view"], row["columns"])
        rows = Rows(certificate["rows"])
        try:
            for holder in _computed(certificate):
                holder["value"] = value = rows.value(holder["expression"], [])
                if "holds" in holder:
                    holder["holds"] = (
                        value >= holder["bound"] if holder["comparison"] == ">=" else value <= holder["bound"]
                    )
        except Refused:
            return False  # it has no value, so nobody can write one
        certificate["rows"] = [row for row in certificate["rows"] if row["id"] in rows.used]
        return True

    return made


def _row_of(node: Json) -> int:
    number: int = node["cell"][0] if "cell" in node else node["row"]
    return number


def _is_leaf(node: Json) -> bool:
    return "cell" in node or "row" in node


def _pointed(node: Json, number: int) -> None:
    node.update({"cell": [number, node["cell"][1]]} if "cell" in node else {"row": number})


def _copied(certificate: Json, node: Json) -> Json:
    """The row of a leaf once more, with another number."""
    row = next(row for row in certificate["rows"] if row["id"] == _row_of(node))
    other: Json = {**row, "id": 1 + max(row["id"] for row in certificate["rows"]), "columns": {**row["columns"]}}
    certificate["rows"].append(other)
    return other


KEPT = {"name", "stat_name", "parent_name", "event", "parameter", "location", "component", "type"}
"""Columns by which the checker knows what a row is about."""


def _invented(certificate: Json, dice: Random) -> bool:
    """A row that nobody read, with other names and figures, in place of one."""
    node = dice.choice([node for node in _expressions(certificate) if _is_leaf(node)] or [{}])
    if node:
        columns = (other := _copied(certificate, node))["columns"]
        columns.update({name: _another(cell, dice) for name, cell in columns.items() if name not in KEPT})
        _pointed(node, other["id"])
    return bool(node)


def _twice(certificate: Json, dice: Random) -> bool:
    """A row that a sum counts twice, under two numbers."""
    sums = [node["sum"] for node in _expressions(certificate) if "sum" in node and any(map(_is_leaf, node["sum"]))]
    if sums:
        terms = dice.choice(sums)
        term = dict(dice.choice([term for term in terms if _is_leaf(term)]))
        _pointed(term, _copied(certificate, term)["id"])
        terms.append(term)
    return bool(sums)


def _neighbour(certificate: Json, dice: Random) -> bool:
    """Another row of the same view with that column."""
    by_id = {row["id"]: row for row in certificate["rows"]}
    places = []
    for node in filter(_is_leaf, _expressions(certificate)):
        own, column = by_id[_row_of(node)], node["cell"][1] if "cell" in node else None
        others = [n for n, row in by_id.items() if row["view"] == own["view"] and column in (None, *row["columns"])]
        places += [(node, number) for number in others if number != own["id"]]
    if places:
        _pointed(*dice.choice(places))
    return bool(places)


def _nothing(step: Json, dice: Random) -> None:
    step.update(expression={"number": 0}, nothing=True)


RELEASES = {"11.2.0.4.0": "latch", "12.1.0.2.0": "latch", "19.21.0.0.0": "mutex", "23.5.0.24.7": "mutex"}


def _release(certificate: Json, dice: Random) -> None:
    release = dice.choice([name for name in RELEASES if name != certificate["release"]])
    certificate.update(release=release, guarded_by=RELEASES[release])


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
    "another row in an expression": _of(_expressions, _pointer, _is_leaf),
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
    "release": _of(_whole, _release, _always),
    "basis": _of(_whole, _set("basis", ("interval", "since_startup", "totals")), _always),
    "value of a row, all made again": _all_again(
        lambda certificate, dice: _cell(certificate, dice, used=True, again=True)
    ),
    "row invented, all made again": _all_again(_invented),
    "row counted twice, all made again": _all_again(_twice),
    "another row, all made again": _all_again(_neighbour),
    "term left out, all made again": _all_again(_of(_expressions, _term, lambda node: len(node.get("sum", ())) > 2)),
    "said to be nothing, all made again": _all_again(_of(_steps, _nothing, lambda step: "expression" in step)),
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
    """Seed, kind of change and reason of those that are accepted without the capture."""
    passed: list[tuple[int, str, str]] = field(default_factory=list)
    """The same of those that are accepted with the capture, too."""


def tried(seed: int, changes: int) -> Tried:
    """The certificate of a seed, and so many changes of it, one of each kind in turn."""
    found, made = Tried(), certified(seed)
    if made is None:
        return found
    certificate, capture = made[0], captured(made[1])
    catalogue, dice = _catalogue(), Random(seed)
    found.certificates = 1
    found.verdicts.update(verdict["verdict"] for verdict in certificate["verdicts"])
    found.steps.update(map(_kind, _steps(certificate)))
    found.refused += [(seed, why) for why in check(certificate, catalogue) or differences(certificate, [capture])]
    if found.refused:
        return found  # a change of what is refused anyway shows nothing
    kinds, text = list(CHANGES), json.dumps(certificate)
    for place in range(changes):
        kind = kinds[(seed * changes + place) % len(kinds)]
        other = json.loads(text)
        if not CHANGES[kind](other, dice) or other == certificate:
            continue
        found.changed[kind] += 1
        if check(other, catalogue):
            continue
        found.survived.append((seed, kind, _why(kind, certificate, other)))
        if not differences(other, [capture]):
            found.passed.append((seed, kind, _why(kind, certificate, other, with_capture=True)))
    return found


def _kind(step: Json) -> str:
    if step["value"] is None:
        return "unknown"
    return "stated" if "stated" in step else "no such row" if step.get("nothing") else "with an expression"


SAME_VALUE = "no value changes: terms that are zero, cancel, or are not the largest"
ONLY_STATED = "the value is stated without an expression, which the certificate lists as not covered"
NOT_READ = "only the capture shows it: it has no such row, or another release or basis"
OTHER_ROWS = "the rows are those of the capture; which of them a signal has to use is not covered"
OF_OTHER_ROWS = {"another row", "term left out", "said to be nothing"}
OF_THE_CAPTURE = {"name of a row", "release", "basis"}


def _why(kind: str, before: Json, after: Json, *, with_capture: bool = False) -> str:
    """Why a changed certificate may be accepted. What has no such reason is a hole in the checker."""
    what, _, again = kind.partition(", ")
    differing = [one for one, other in zip(_steps(before), _steps(after), strict=False) if one != other]
    if kind == "value of a condition" and all("stated" in step for step in differing):
        return ONLY_STATED
    if kind == "value of a condition":
        return UNEXPLAINED
    one, other = _values(before), _values(after)
    if len(one) == len(other) and all(map(partial(isclose, rel_tol=CLOSE), one, other)) and what not in OF_THE_CAPTURE:
        return SAME_VALUE
    if again == "all made again" and what in OF_OTHER_ROWS:
        return OTHER_ROWS
    return NOT_READ if not with_capture and (what in OF_THE_CAPTURE or again == "all made again") else UNEXPLAINED


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
        whole.passed += part.passed
    return whole


def spread(count: int, first: int = 0) -> list[int]:
    """So many seeds from the first on, in an order in which any few of them are of every kind."""
    every = len(seeds())
    return [first + place * SPREAD % every for place in range(min(count, every))]


def figures(arguments: Sequence[str] = ()) -> Group:
    """How many certificates are accepted, and how many changed ones are refused."""
    parser = argparse.ArgumentParser(prog="python -m bench certificates", description=__doc__)
    parser.add_argument("--first", type=int, default=1000, help="certificates to make")
    parser.add_argument("--changes", type=int, default=7, help="changes of each")
    parser.add_argument(
        "--seeds-from", type=int, default=0, help="the first seed; beyond the plan they are new instances"
    )
    parser.add_argument("--survivors", action="store_true", help="name the seed and the kind of each accepted change")
    asked = parser.parse_args(arguments)
    work = [(seed, asked.changes) for seed in spread(asked.first, asked.seeds_from)]
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
    heads = ("what was changed", "changes", "refused", "share", "with the capture", "its share")
    table = Table(*heads, "why the others are accepted by both", title="Changed certificates")
    accepted, passed = (Counter(kind for _, kind, _ in which) for which in (result.survived, result.passed))
    reasons = {kind: reason for _, kind, reason in result.passed}
    counts = {kind: (result.changed[kind], accepted[kind], passed[kind]) for kind in CHANGES}
    for kind, (many, *others) in (*counts.items(), ("all", tuple(map(sum, zip(*counts.values(), strict=True))))):
        cells = [cell for other in others for cell in (str(many - other), _share(many - other, many))]
        table.add_row(kind, str(many), *cells, reasons.get(kind, ""))
    return table


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _survivors(result: Tried) -> Table:
    table = Table("seed", "what was changed", "why it is accepted")
    for seed, kind, reason in result.passed:
        table.add_row(str(seed), kind, reason)
    for seed, why in result.refused:
        table.add_row(str(seed), "nothing", f"refused: {why}")
    return table
