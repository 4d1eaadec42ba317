"""Requests to a dictionary cache: gets and fastgets together are the work, gets alone the load on a latch or mutex."""

from collections.abc import Iterable

from collectors.model import Row, number
from collectors.release import Mechanism, at_least

LOOKUPS = "lookups"
"""What a row has besides the columns of v$rowcache."""


def with_lookups(rows: Iterable[Row], fast_way: bool) -> tuple[Row, ...]:
    """Rows of v$rowcache, each with the requests to the cache, if they are known.

    Look-ups by the fast way are counted only in fastgets. On a release without that way, a row without fastgets has none.
    """
    each = [(row, lookups_of(row, fast_way)) for row in rows]
    return tuple(row if lookups is None else {**row, LOOKUPS: lookups} for row, lookups in each)


def has_fast_way(release: str | None, mechanism: Mechanism | None) -> bool:
    """Whether a release may count look-ups in fastgets. Not up to 12.1, where `_kqr_optimistic_reads` is off."""
    return mechanism != "latch" if release is None else at_least(release, "12.2")


def lookups_of(row: Row, fast_way: bool) -> float | None:
    """Gets and fastgets of a row. None if one of them counts and is missing."""
    gets, fast = number(row.get("gets")), number(row.get("fastgets"))
    if fast is None and not fast_way:
        fast = 0.0
    return None if gets is None or fast is None else gets + fast
