"""One metric family: its part of /metrics and of docs/metrics.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """One metric: its name, type and help, and its place in the document."""

    name: str
    type: Literal["counter", "gauge"]
    help: str
    section: Literal["polls", "replicas", "instance", "latch", "mutex", "caches", "verdict", "outcomes"]
    """Its table in docs/metrics.md."""
    labels: tuple[str, ...] = ()
    """Labels beside `db` and `rac`, which every sample has."""
    source: tuple[str, ...] = ("latchscope",)
    """Columns of ours as `view.column`, or another source."""
    series: str = "1"
    """How many series of one database."""
    note: str = ""
    """Further text for the document."""
    stays: bool = False
    """Whether it is exported while the database does not answer."""


Labels = Mapping[str, str]
FamilySample = tuple[Family, float | None, Labels]
"""A sample that is not rendered yet. Absent if its value is None."""
