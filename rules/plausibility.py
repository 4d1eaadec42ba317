"""Numbers that cannot be: rows that contradict themselves are named, so that nobody reads a verdict into them."""

from collectors.model import Delta, number
from rules.formatting import count

MINIMUM_MISSES = 100
"""Views are read without a lock, so a few more misses than gets are no contradiction."""


def implausible(delta: Delta) -> tuple[str, ...]:
    """Sentences about dictionary caches with more misses than gets, in the order of their names."""
    told = []
    for row in delta.rows("v$rowcache"):
        gets, misses = number(row.get("gets")), number(row.get("getmisses"))
        if gets is not None and misses is not None and misses > max(gets, MINIMUM_MISSES):
            told.append(
                f"v$rowcache {row.get('parameter')} has {count(misses)} misses on {count(gets)} gets, which cannot be: "
                "rely on neither"
            )
    return tuple(sorted(told))
