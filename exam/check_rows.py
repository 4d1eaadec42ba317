"""Compares the rows of a certificate with the capture that was judged: `python -m exam.check_certificate FILE --capture CAPTURE`.

Each row has to be a row of the capture with the same names and cells. No row may lack in the whole of a share, or in the sum of a
cache. It needs Python alone, and captured.py, which reads the capture.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exam.captured import COUNTERS, Captured, Json

AT_BEGIN = " at the beginning"
OF_A_CACHE = {"v$rowcache": "parameter"}
"""A figure of a cache has every row of the cache: its own and those of its subordinates."""
BY_CHILD = "hold_anomaly_index"
"""This signal takes the rows that one child latch guards, which may be a part of those of a cache."""
OF_A_WHOLE = {
    "v$latch_children": "latch#",
    "v$latch_misses": "parent_name",
    "v$mutex_sleep": "mutex_type",
    "v$rowcache": "",
}
"""The whole of a share has every row of these views that is equal in that column, of v$rowcache every row."""


class Differs(Exception):
    """Why a row is not what the capture says, in one sentence."""


def differences(certificate: Json, captures: Sequence[Captured]) -> list[str]:
    """Why the rows of a certificate are not those of its capture, one sentence each. Empty if they are, or without captures.

    The capture is the one with the name of the input, or the only one.
    """
    if not captures:
        return []
    source, given = certificate.get("source"), str(certificate.get("input"))
    if source != "views":
        counts = Counter(row["view"] for row in certificate["rows"])
        listed = ", ".join(f"{many} of {view}" for view, many in counts.items())
        return [f"its rows cannot be compared, because they come from another source ({source}): {listed}"]
    named = [each for each in captures if each.name == Path(given).name]
    if not named and len(captures) != 1:
        return [f"its rows cannot be compared, because no capture is named {given}"]
    captured = (named or captures)[0]
    bases = ("since_startup", "totals") if len(captured.views) == 1 else ("interval",)
    reasons, met = [], Counter[tuple[Any, ...]]()
    if certificate.get("basis") not in bases:
        reasons.append(f"its basis is {certificate.get('basis')}, and that of the capture {' or '.join(bases)}")
    if certificate.get("release") != captured.release:
        reasons.append(f"its release is {certificate.get('release')}, and that of the capture {captured.release}")
    for row in certificate["rows"]:
        try:
            name, there = found(row, captured)
            met[name] += 1
            if met[name] > there:
                raise Differs("is a row that the certificate has already")
        except Differs as differs:
            reasons.append(f"row {row['id']} of {row['view']} {differs}")
    return reasons or list(dict.fromkeys(_left_out(certificate, captured)))


def found(row: Json, captured: Captured) -> tuple[tuple[Any, ...], int]:
    """The name of a row, and how many such rows the capture has. Raises Differs if it has none, or has it otherwise."""
    columns, view = row["columns"], row["view"].removesuffix(AT_BEGIN)
    place = 0 if row["view"] != view else -1
    if any(type(cell) not in (int, float, str) for cell in columns.values()):
        raise Differs("has a cell that is neither a number nor a text")
    if view == "interval" and columns == {"seconds": captured.seconds}:
        return (view,), 1
    if view not in captured.named_by or (place == 0 and (view in COUNTERS or len(captured.views) == 1)):
        raise Differs(f"has {columns}, which the capture does not say")
    if view == "v$session" and "sessions" in columns:
        return _group(columns, captured)
    name = tuple(columns.get(column) for column in captured.named_by[view])
    given = captured.cells(view, name, columns, place)
    if columns in given:
        return (row["view"], *name), given.count(columns)
    named = " ".join(str(each) for each in name if each is not None)
    if not given:
        raise Differs(f"is {named}, which the capture does not have")
    column = next(column for column in columns if columns[column] != given[0][column])
    raise Differs(f"of {named} has {column} {columns[column]}, and the capture gives {given[0][column]}")


def _group(columns: Json, captured: Captured) -> tuple[tuple[Any, ...], int]:
    """Sampled sessions that are alike: the capture has a group of so many with these names."""
    names = {column: cell for column, cell in columns.items() if column != "sessions"}
    sizes = [many for alike, many in captured.alike if alike == names]
    if columns["sessions"] not in sizes:
        given = " or ".join(map(str, sizes)) or "none"
        raise Differs(f"counts {columns['sessions']} sessions in {names.get('event')}, and the capture {given}")
    return ("sessions", *sorted(columns.items())), sizes.count(columns["sessions"])


def _left_out(certificate: Json, captured: Captured) -> Iterator[str]:
    """Which row of the capture lacks in a sum. The certificate has to follow in itself."""
    rows = {row["id"]: row for row in certificate["rows"]}
    for verdict in certificate["verdicts"]:
        for step in (*verdict.get("steps", ()), verdict.get("cost", {})):
            for node, alike in _whole(step.get("expression", {})) if step.get("signal") != BY_CHILD else ():
                read = defaultdict[tuple[str, str], list[Json]](list)
                for number, column in _cells(node):
                    read[rows[number]["view"], column].append(rows[number]["columns"])
                for (view, column), there in read.items():
                    for name in captured.lacking(view, column, alike[view], there)[:1] if view in alike else ():
                        yield f"an expression of {verdict['cause']} leaves out {name} of {view}, which has {column} too"


def _whole(expression: Json) -> Iterator[tuple[Json, Mapping[str, str]]]:
    """The parts of an expression that have to have every row of a kind: view → the column with the kind."""
    for operator, terms in expression.items():
        nodes = [term for term in (terms if isinstance(terms, list) else [terms]) if isinstance(term, dict)]
        if operator == "sum":
            yield expression, OF_A_CACHE
        else:
            yield from ((node, OF_A_CACHE) for node in nodes if "cell" in node)
        if operator == "share":
            yield nodes[1], OF_A_WHOLE
        for node in nodes:
            yield from _whole(node)


def _cells(expression: Json) -> Iterator[Sequence[Any]]:
    """Row and column of each cell of an expression."""
    for operator, terms in expression.items():
        yield from [terms] if operator == "cell" else ()
        for term in terms if isinstance(terms, list) else [terms]:
            yield from _cells(term) if isinstance(term, dict) else ()
