"""The age of a view that is not read in every poll, told beside each figure that comes from it."""

from collectors.model import Delta, Missing, lasting


def age_of(delta: Delta, view: str) -> float:
    """How many seconds before the end of the interval a view was read. 0 if the last poll read it itself."""
    reading, end = delta.read(view), delta.basis.end
    read_at = None if isinstance(reading, Missing) else reading.read_at
    return 0.0 if read_at is None or end is None else max(0.0, (end - read_at).total_seconds())


def aged(delta: Delta, view: str, derivation: str) -> str:
    """The derivation of a figure, with the age of the view's rows if an earlier poll read them."""
    age = age_of(delta, view)
    return f"{derivation}{', ' if derivation else ''}read {lasting(age)} before the end" if age else derivation
