"""What a signal gives: a number that could be told, or why it could not."""

from dataclasses import dataclass

from rules.formatting import part_of


@dataclass(frozen=True, slots=True)
class Known:
    """A number that could be told, and the figures it was derived from."""

    value: float
    derivation: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A number that could not be told: what was missing, why, and the way out."""

    missing: str
    why: str
    way_out: str


SignalValue = Known | Unknown


def share(part: SignalValue, whole: SignalValue) -> SignalValue:
    """part / whole, or the first of the two that is unknown."""
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    return Known(part.value / whole.value, part_of(part.value, whole.value))
