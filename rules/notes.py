"""The notes on a Delta beside its verdicts: assumptions, omitted counters, views that gave nothing."""

from collectors.model import LONG_WINDOW, Missing, long_window, number
from rules.containers import pdb_note
from rules.context import SignalContext
from rules.formatting import count
from rules.long_waits import long_waits
from rules.lookups import LOOKUPS
from rules.misplaced import misplaced_notes
from rules.printed import REMEMBER

MINIMUM_MISSES = 100
"""Views are read without a lock, so a few more misses than gets are not a contradiction."""


def notes(context: SignalContext) -> tuple[str, ...]:
    """Notes of the source, assumptions, disagreements of the map, impossible figures, omitted counters, refusals."""
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
    # A view with repeated rows is missing for that reason, so its note is among the refusals.
    odd = sorted(str(oddity) for oddity in context.delta.oddities if oddity.what != "repeated")
    misplaced = misplaced_notes(context.delta, context.mechanism)
    own = (*source, *context.delta.notes, *pdb_note(context.delta), *_window(context), *misplaced)
    return (*own, *assumed, *doubts, *implausible(context), *long_waits(context), *odd, *refused)


def _window(context: SignalContext) -> tuple[str, ...]:
    """That an average over hours hides short storms. The reader of a report says so itself."""
    seconds = context.delta.basis.seconds or 0.0
    return () if context.printed or seconds <= LONG_WINDOW else (long_window(seconds),)


def implausible(context: SignalContext) -> tuple[str, ...]:
    """Sentences about dictionary caches with more misses than look-ups, in the order of their names."""
    sentences = []
    for row in context.rowcache:
        lookups, misses = number(row.get(LOOKUPS, row.get("gets"))), number(row.get("getmisses"))
        if lookups is not None and misses is not None and misses > max(lookups, MINIMUM_MISSES):
            words = "gets" if number(row.get("fastgets")) is None else "look-ups"
            sentences.append(
                f"v$rowcache {row.get('parameter')} has {count(misses)} misses on {count(lookups)} {words}, which is impossible: "
                "do not rely on either number"
            )
    return tuple(sorted(sentences))
