"""What /metrics says of one metric family, and what docs/metrics.md adds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """One metric: its name, type and help, and where the document tells of it."""

    name: str
    type: Literal["counter", "gauge"]
    help: str
    section: Literal["polls", "replicas", "instance", "latch", "mutex", "caches", "verdict", "outcomes"]
    """The table of docs/metrics.md it stands in."""
    labels: tuple[str, ...] = ()
    """Beside `db` and `rac`, which every sample has."""
    source: tuple[str, ...] = ("latchscope",)
    """Columns of ours as `view.column`, or who says so."""
    series: str = "1"
    """How many of one database."""
    note: str = ""
    """What the document says beyond the help."""
    stays: bool = False
    """Whether it is exported while the database does not answer."""


Labels = Mapping[str, str]
FamilySample = tuple[Family, float | None, Labels]
"""A sample that is still to be written: absent where its value is None."""
