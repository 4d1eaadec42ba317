"""What must be remembered of a Delta beside its verdicts: assumptions, counters left out, views that gave nothing."""

from collectors.model import Missing
from rules.context import Scene
from rules.plausibility import implausible
from rules.printed import REMEMBER


def notes(scene: Scene) -> tuple[str, ...]:
    """Notes of the source, assumptions, disagreements of the map, figures that cannot be, counters left out, refusals."""
    readings = sorted(scene.delta.readings.items())
    assumed = [
        f"assumed: {note}" for _, reading in readings if not isinstance(reading, Missing) for note in reading.notes
    ]
    refused = [
        f"{reading.why}; {reading.way_out}"
        for _, reading in readings
        if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
    ]
    source = [REMEMBER] if scene.printed else []
    doubts = [str(one) for one in scene.map.disagreements]
    odd = sorted(str(oddity) for oddity in scene.delta.oddities)
    return (*source, *scene.delta.notes, *assumed, *doubts, *implausible(scene.delta), *odd, *refused)
