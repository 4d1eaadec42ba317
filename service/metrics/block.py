"""The sample lines of one database, rendered once per poll and joined per family at scrape."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache

from collectors.model import Row, number
from service.characters import visible
from service.config.settings import DatabaseSettings
from service.metrics.family import Family

Labels = Mapping[str, str]


class Block:
    """Sample lines of one database by family; cells that are absent or NULL add no line."""

    def __init__(self, database: DatabaseSettings) -> None:
        self._common = _common_labels(database.name, database.cluster)
        self._lines: dict[str, list[str]] = {}

    def add(self, family: Family, value: float | None, labels: Labels = {}) -> None:  # noqa: B006  never changed
        """One sample, unless there is no value."""
        if value is not None:
            self._add(family, value, _labels(labels))

    def _add(self, family: Family, value: float, labels: str) -> None:
        self._lines.setdefault(family.name, []).append(f"{family.name}{{{self._common}{labels}}} {_number(value)}\n")

    def add_rows(
        self, columns: Mapping[Family, tuple[str, float]], rows: Iterable[Row], labels: Callable[[Row], Labels]
    ) -> None:
        """A family per column, a sample per row."""
        for row in rows:
            named = _labels(labels(row))
            for family, (column, unit) in columns.items():
                if (value := number(row.get(column))) is not None:
                    self._add(family, value / unit, named)

    def text(self) -> dict[str, bytes]:
        """Family → its lines, encoded once."""
        return {family: "".join(lines).encode() for family, lines in self._lines.items()}


@cache
def _common_labels(db: str, rac: str | None) -> str:
    """The labels that every sample of a database has; made once, for a scrape needs them a thousand times."""
    return f'db="{_escaped(db)}"' + (f',rac="{_escaped(rac)}"' if rac else "")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _labels(labels: Labels) -> str:
    return "".join([f',{name}="{_escaped(text)}"' for name, text in labels.items()])


@lru_cache(4096)
def _escaped(text: str) -> str:
    return visible(text, keep="\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
