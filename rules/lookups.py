"""What was asked of a dictionary cache: gets and fastgets together are the work, gets alone the pressure on a latch or mutex."""

from collections.abc import Iterable

from collectors.mechanism import Mechanism
from collectors.model import Row, number
from collectors.release import at_least

LOOKUPS = "lookups"
"""What a row has beside the columns of v$rowcache."""


def with_lookups(rows: Iterable[Row], fast_way: bool) -> tuple[Row, ...]:
    """Rows of v$rowcache, each with what was asked of the cache, where that is known.

    What is looked up in the fast way is counted in fastgets alone; without that way a row that lacks them has none.
    """
    each = [(row, lookups_of(row, fast_way)) for row in rows]
    return tuple(row if lookups is None else {**row, LOOKUPS: lookups} for row, lookups in each)


def has_fast_way(release: str | None, mechanism: Mechanism | None) -> bool:
    """Whether a release may count look-ups in fastgets: not up to 12.1, where `_kqr_optimistic_reads` is off."""
    return mechanism != "latch" if release is None else at_least(release, "12.2")


def lookups_of(row: Row, fast_way: bool) -> float | None:
    """Gets and fastgets of a row; None where one of them counts and is not there."""
    gets, fast = number(row.get("gets")), number(row.get("fastgets"))
    if fast is None and not fast_way:
        fast = 0.0
    return None if gets is None or fast is None else gets + fast
