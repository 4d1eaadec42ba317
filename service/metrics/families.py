"""The metric families of databases and replicas, as families.yaml describes them. Code that fills one gives its name.

Parts of the service that count their own work name those metrics themselves: spool, threads, webhooks, notifications.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from collectors.registry import collectors
from rules.base import LOADER, Frozen

HOME = Path(__file__).parent / "families.yaml"


# One family, as the file has it.


class Family(Frozen):
    """One metric: its part of /metrics and of docs/metrics.md. families.yaml says what each member means."""

    name: str
    type: Literal["counter", "gauge"]
    help: str
    section: Literal["polls", "replicas", "instance", "latch", "mutex", "caches", "verdict", "outcomes"]
    labels: tuple[str, ...] = ()
    source: tuple[str, ...] = ("latchscope",)
    series: str = "1"
    note: str = ""
    stays: bool = False
    row: str = ""

    @property
    def column(self) -> tuple[str, float]:
        """The column of its row, and how many of the column's unit are one of the family's: times are in microseconds."""
        return self.source[0].rpartition(".")[2], 1e6 if self.name.endswith("_seconds_total") else 1.0


Labels = Mapping[str, str]
FamilySample = tuple[str, float | None, Labels]
"""A sample that is not rendered yet. Absent if its value is None."""


def load(home: Path = HOME) -> Iterator[Family]:
    """Every family of a file, checked: its rows and columns are read, its name is its own."""
    groups: list[dict[str, Any]] = yaml.load(home.read_text(encoding="utf-8"), Loader=LOADER)
    names = set[str]()
    for group in groups:
        for name, members in group.pop("families").items():
            family = Family(name=name, **{**group, **members})
            view = collectors().get(family.row)
            if name in names or (family.row and not (view and family.column[0] in {one.name for one in view.columns})):
                why = f"{family.row} has no column {family.column[0]}" if name not in names else "it is there twice"
                raise ValueError(f"{home.name}: {name}: {why}")
            names.add(name)
            yield family


FAMILIES: Mapping[str, Family] = {family.name: family for family in load()}
"""Name → family, in the order in which they are exported."""


def of_rows(view: str) -> Mapping[str, tuple[str, float]]:
    """The families with a sample for each row of a view, and what they make of it."""
    return {family.name: family.column for family in FAMILIES.values() if family.row == view}


def metric(
    name: str, value: float | None = None, labels: Sequence[str] | None = None
) -> CounterMetricFamily | GaugeMetricFamily:
    """A family for a collector of prometheus_client: with its one value, or with labels, for `add_metric`."""
    family = FAMILIES[name]
    kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
    return kind(name, family.help, value=value, labels=labels)
