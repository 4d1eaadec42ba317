"""The step of the confirming query: its text, its result and container, or what prevents it."""

from collections.abc import Mapping

from rules.formatting import number as spelled
from rules.model import Finding, Step
from rules.query import Confirmation


def confirming_step(query: Confirmation) -> Step:
    """The confirming query of the first finding."""
    result = f"; the record has {record_of(query)}" if query.result is not None else ""
    closed = f" It cannot run here: {query.obstacle}." if query.obstacle else ""
    return Step(step="confirming query", statement=f"{query.sql}{result}.{closed} {query.reading}")


def record_of(query: Confirmation) -> str:
    """The result of the query, its container, and what it counted. A number that did not cover everything says so."""
    names = f": {'; '.join(map(named, query.names))}" if query.names else ""
    return f"{number_of(query)}{names}"


def number_of(query: Confirmation) -> str:
    """The result of the query and its container; why names are missing; and what an incomplete number does not prove."""
    assert query.result is not None
    seen = f" ({query.seen})" if query.seen else ""
    unnamed = f", without names ({query.unnamed})" if query.unnamed else ""
    missed = query.needs is not None and query.confirms is None
    blind = "; that it misses the bound proves nothing, as other containers were not seen" if missed else ""
    return f"{spelled(query.result)}{seen}{unnamed}{blind}"


def speaks_against(finding: Finding) -> str | None:
    """That the confirming query speaks against a finding, with its number. None if it does not."""
    query = finding.confirm
    if query is None or query.result is None or query.confirms is not False:
        return None
    return f"the confirming query speaks against it: {number_of(query)}"


def named(row: Mapping[str, str | float | None]) -> str:
    """A row of names: "APP ORDERS_SEQ cache_size 0, last_number 4,711". A number has the name of its column."""
    words = [str(cell) for cell in row.values() if isinstance(cell, str)]
    figures = [f"{name} {spelled(cell)}" for name, cell in row.items() if isinstance(cell, int | float)]
    return " ".join([*words, ", ".join(figures)]).strip()
