"""The verdicts on a Delta without the words: a third of the time of a Diagnosis, and all that the removals compare."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from collectors.model import Changes, Delta, Row, Value
from rules.cause import catalogue
from rules.context import LOOKUPS, SignalContext, lookups_of
from rules.engine import judged, severity_by_cost
from rules.gaps import gaps_of
from rules.model import Diagnosis, Finding, RuledOut, Severity
from rules.rivals import rank

JUDGED = {name: cause for name, cause in catalogue().items() if not cause.handbook}


@dataclass(frozen=True)
class Concluded:
    """The verdicts of a Diagnosis and its severity."""

    severity: Severity
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> "Concluded":
        """The verdicts of a complete Diagnosis, without what it has beside them."""
        return cls(diagnosis.severity, diagnosis.findings, diagnosis.ruled_out)


def concluded(delta: Delta) -> Concluded:
    """The same verdicts as `rules.engine.diagnose`. The test compares the two."""
    return _of(SignalContext(delta.without(gaps_of(delta))))


def _of(context: SignalContext) -> Concluded:
    verdicts = judged(context, JUDGED.values())
    findings = rank((verdict for verdict in verdicts if isinstance(verdict, Finding)), JUDGED)
    out = tuple(verdict for verdict in verdicts if isinstance(verdict, RuledOut))
    return Concluded(severity_by_cost(context, JUDGED, findings), findings, out)


@dataclass(frozen=True, repr=False, eq=False)
class WatchedRow(Mapping[str, Value]):
    """A row that records which of its columns are read. Copying or printing it reads all of them."""

    row: Row
    beside: Row = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def __getitem__(self, column: str) -> Value:
        if column in self.beside:
            return self.beside[column]
        self.asked.add(column)
        return self.row[column]

    def __iter__(self) -> Iterator[str]:
        self.asked.update(self.row)
        return iter({**self.row, **self.beside})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __bool__(self) -> bool:
        """Whether the row has columns. It still has some if one of several is missing."""
        return len(self.row) > 1 or len(self) > 0

    def __repr__(self) -> str:
        return repr(dict(self))


class _Watching(SignalContext):
    """A context whose rows of v$rowcache have their look-ups beside them, where `SignalContext` copies them."""

    @cached_property
    def rowcache(self) -> tuple[Row, ...]:
        rows = [(row, lookups_of(row, self.fast_way)) for row in self.delta.rows("v$rowcache")]
        return tuple(
            WatchedRow(row.row, {LOOKUPS: lookups}, row.asked)
            if isinstance(row, WatchedRow) and lookups is not None
            else row
            for row, lookups in rows
        )


def watched(delta: Delta) -> tuple[Concluded, Mapping[tuple[str, int], set[str]]]:
    """The verdicts on a Delta, and the columns that they read, by view and place of a row.

    The verdicts depend only on what they read, so a cell that nothing reads cannot change them.
    """
    rows = {
        view: tuple(WatchedRow(row) for row in reading.rows)
        for view, reading in delta.readings.items()
        if isinstance(reading, Changes)
    }
    readings = {
        view: replace(reading, rows=rows[view]) if isinstance(reading, Changes) else reading
        for view, reading in delta.readings.items()
    }
    watching = replace(delta, readings=readings)
    got = _of(_Watching(watching.without(gaps_of(watching))))
    return got, {(view, place): row.asked for view, each in rows.items() for place, row in enumerate(each)}
