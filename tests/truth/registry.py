"""The mechanisms by the id of the cause that they stage. Importing `tests.truth.causes` finds each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.truth.instance import Instance
from tests.truth.releases import EVERY

Stage = Callable[[Instance, float], None]
"""Puts into an instance a trouble that costs this many seconds a second in row cache waits."""
Role = Literal["cause", "look-alike", "hang"]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How one cause of the catalogue comes about, in numbers."""

    cause: str
    group: str
    stage: Stage
    releases: tuple[str, ...]
    caches: tuple[str, ...]
    """The right answers to "which cache"; empty if the trouble has no cache."""
    also: frozenset[str]
    """Causes that are true as well, because this one includes them."""
    general: frozenset[str]
    """Causes that say the same in general. They are not the right answer, and no wrong one where this cause is unknown."""
    cluster: bool | None
    role: Role


MECHANISMS: dict[str, Mechanism] = {}


def stages(
    cause: str,
    group: str,
    *,
    caches: Sequence[str] = (),
    releases: Sequence[str] = EVERY,
    also: Sequence[str] = (),
    general: Sequence[str] = (),
    cluster: bool | None = None,
    role: Role = "cause",
) -> Callable[[Stage], Stage]:
    """Register the function below as the mechanism of a cause."""

    def registered(stage: Stage) -> Stage:
        assert cause not in MECHANISMS, f"{cause} has two mechanisms"
        MECHANISMS[cause] = Mechanism(
            cause, group, stage, tuple(releases), tuple(caches), frozenset(also), frozenset(general), cluster, role
        )
        return stage

    return registered
