"""What must be remembered of a Delta beside its verdicts: assumptions, counters left out, views that gave nothing."""

from collectors.model import Delta, Missing, number
from rules.context import SignalContext
from rules.formatting import count
from rules.printed import REMEMBER

MINIMUM_MISSES = 100
"""Views are read without a lock, so a few more misses than gets are no contradiction."""


def notes(context: SignalContext) -> tuple[str, ...]:
    """Notes of the source, assumptions, disagreements of the map, figures that cannot be, counters left out, refusals."""
    readings = sorted(context.delta.readings.items())
    assumed = [
        f"assumed: {note}" for _, reading in readings if not isinstance(reading, Missing) for note in reading.notes
    ]
    refused = [
        f"{reading.why}; {reading.way_out}"
        for _, reading in readings
        if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
    ]
    source = [REMEMBER] if context.printed else []
    doubts = [str(disagreement) for disagreement in context.map.disagreements]
    # A view with repeated rows is missing for that reason, and says so among those.
    odd = sorted(str(oddity) for oddity in context.delta.oddities if oddity.what != "repeated")
    return (*source, *context.delta.notes, *assumed, *doubts, *implausible(context.delta), *odd, *refused)


def implausible(delta: Delta) -> tuple[str, ...]:
    """Sentences about dictionary caches with more misses than gets, in the order of their names."""
    sentences = []
    for row in delta.rows("v$rowcache"):
        gets, misses = number(row.get("gets")), number(row.get("getmisses"))
        if gets is not None and misses is not None and misses > max(gets, MINIMUM_MISSES):
            sentences.append(
                f"v$rowcache {row.get('parameter')} has {count(misses)} misses on {count(gets)} gets, which cannot be: "
                "rely on neither"
            )
    return tuple(sorted(sentences))
