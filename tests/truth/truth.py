"""The truth of a generated instance, which the measurement compares with the diagnosis."""

from dataclasses import dataclass, field
from typing import Literal

from tests.truth.recording import FULL, Sight

Kind = Literal["single", "pair", "look-alike", "healthy", "degraded", "hang", "crowd"]
Strength = Literal["weak", "medium", "strong"]
STRENGTHS: dict[Strength, tuple[float, float]] = {"weak": (0.02, 0.05), "medium": (0.08, 0.20), "strong": (0.25, 0.70)}
"""Share of DB time lost in row cache waits."""
SEVERITIES = ((0.10, "critical"), (0.02, "warning"), (0.005, "notice"))
"""The severity of such a share, by the reference (section 5.6). Less is info."""
BORDER = 0.1
"""This near to a border, as a ratio, both severities are right."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One cause at work: its surface, its caches, and its share of DB time."""

    cause: str
    group: str
    surfaces: tuple[str, ...]
    caches: tuple[str, ...]
    share: float
    also: frozenset[str] = frozenset()
    """Causes that are true as well, because this one includes them."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth of one seed. `share` is of all row cache waits, including those of the result cache latch."""

    seed: int
    kind: Kind
    strength: Strength | None
    troubles: tuple[Trouble, ...]
    release: str
    cpus: int
    seconds: float
    db_time: float
    share: float
    hanging: int = 0
    sight: Sight = field(default=FULL)

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(trouble.cause for trouble in self.troubles)

    @property
    def also(self) -> frozenset[str]:
        """What is true as well as the causes."""
        return frozenset().union(*(trouble.also for trouble in self.troubles))

    @property
    def true(self) -> frozenset[str]:
        """Every cause that a diagnosis may rightly name."""
        return frozenset(self.causes) | self.also

    @property
    def held_back(self) -> bool:
        """Whether the seed belongs to the half that nobody looks at while rules change."""
        return self.seed % 2 == 1

    def severities(self) -> frozenset[str]:
        """The severity of the share; two severities near a border."""
        return frozenset(graded(self.share * factor) for factor in (1 - BORDER, 1.0, 1 + BORDER))


def graded(share: float) -> str:
    """The severity of a share of DB time."""
    return next((word for floor, word in SEVERITIES if share >= floor), "info")
