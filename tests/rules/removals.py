"""Every way to remove something from a case, and what must not follow.

A removed value was not captured, and less knowledge must not give a stronger conclusion: no cause becomes ruled out, no
finding appears, and no severity falls to Fine. The exceptions are listed here, each with its reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from collectors.model import Changes, Delta, Row, Value, unread
from rules.cause import catalogue
from rules.model import Confidence, Finding, RuledOut, Severity
from tests.rules.case_files import Told
from tests.rules.concluded import Concluded

MISSING_ROW_MEANS_NONE: Mapping[str, str] = {
    "row_cache_blockers": "a row for each holder that was met",
    "v$event_name": "a release does not list an event it has not",
    "v$latch_misses": "only locations are asked for where somebody slept",
    "v$mutex_sleep": "a location where nobody slept has no row",
    "v$session": "a row for each session that was met",
    "v$sga_resize_ops": "a row for each operation, and most hours have none",
    "v$system_event": "an event nobody waited for has no row; see the events that other views prove",
    "waiting_sessions": "a row for each session that was met",
}
"""Views where any row may be missing."""
JUDGED_LATCHES = ("row cache objects", "Result Cache: RC Latch")
LOOKS: Mapping[str, tuple[str, ...]] = {
    "v$session": ("event",),
    "waiting_sessions": ("event", "wait_time_micro"),
    "row_cache_blockers": (),
}
"""Looks at one moment, and the columns that show that a session waits.

A missing look is a state of its own: candidates rest on other figures, and hangs stay unseen.
"""

Kind = Literal["view", "column", "row", "cell"]


@dataclass(frozen=True)
class Removal:
    """One removed thing."""

    kind: Kind
    view: str
    what: str

    @property
    def whole_look(self) -> bool:
        """Whether a look is gone, or a column that its rows need."""
        return self.view in LOOKS and (self.kind == "view" or (self.kind == "column" and self.what in LOOKS[self.view]))

    def unasked(self, asked: Mapping[tuple[str, int], set[str]]) -> bool:
        """Whether nothing reads what is removed. `asked`: columns by view and place of the row."""
        if self.kind == "column":
            return all(self.what not in columns for (view, _), columns in asked.items() if view == self.view)
        column, _, place = self.what.rpartition(" of ")
        return self.kind == "cell" and column not in asked[self.view, int(place)]

    @property
    def waiters(self) -> bool:
        """Whether a waiting session is gone."""
        return self.whole_look or (self.view in LOOKS and self.kind == "row")


def concluding(told: Told) -> bool:
    """Whether everything of a case was read. That is false for a report, and for totals from a ticket."""
    return told.case.source == "views" and told.case.basis == "interval"


def removals(delta: Delta) -> Iterator[tuple[Removal, Delta]]:
    """The Delta without each view, column, row and cell in turn. A NULL cell cannot be removed."""
    for view, reading in sorted(delta.readings.items()):
        if not isinstance(reading, Changes):
            continue
        yield Removal("view", view, ""), replace(delta, readings={**delta.readings, view: unread(view)})
        for column in sorted({name for row in reading.rows for name in row}):
            yield (
                Removal("column", view, column),
                _with(delta, reading, [_without(row, column) for row in reading.rows]),
            )
        for place, row in enumerate(reading.rows):
            before, after = reading.rows[:place], reading.rows[place + 1 :]
            if not lacking_by_right(view, row):
                yield Removal("row", view, str(place)), _with(delta, reading, [*before, *after])
            for column in (name for name, cell in row.items() if cell is not None):
                one = _with(delta, reading, [*before, _without(row, column), *after])
                yield Removal("cell", view, f"{column} of {place}"), one


def lacking_by_right(view: str, row: Row) -> bool:
    """Whether a missing row may mean that there is none."""
    if view == "v$latch":  # of the neighbours a release lists those it has
        return row.get("name") not in JUDGED_LATCHES
    if view == "v$osstat":  # not kept on every platform, and LOAD stands for it
        return row.get("stat_name") == "OS_CPU_WAIT_TIME"
    if view == "v$parameter":  # a hidden one that nobody set, or a container without a setting of its own
        return str(row.get("name")).startswith("_") or bool(row.get("con_id"))
    if view == "v$sgastat":  # a pool that holds nothing
        return str(row.get("name")).startswith("KQR")
    return view in MISSING_ROW_MEANS_NONE


def _without(row: Row, column: str) -> dict[str, Value]:
    return {name: cell for name, cell in row.items() if name != column}


def _with(delta: Delta, reading: Changes, rows: list[Row]) -> Delta:
    return replace(delta, readings={**delta.readings, reading.view: replace(reading, rows=tuple(rows))})


def violations(base: Concluded, got: Concluded, removal: Removal) -> list[str]:
    """What follows from less."""
    wrong: list[str] = []
    out: Mapping[str, RuledOut] = {verdict.cause: verdict for verdict in base.ruled_out}
    found = {finding.cause for finding in base.findings}
    if not removal.whole_look:
        wrong += [f"{one.cause} is ruled out by {one.signal}" for one in got.ruled_out if one.cause not in out]
        wrong += [
            f"{one.cause} appears"
            for one in got.findings
            if one.cause not in found and not _stands_in(one, base) and not _lacks_what_refuted(one, out)
        ]
    if not removal.waiters and base.severity is not Severity.INFO and got.severity is Severity.INFO:
        wrong.append(f"{base.severity} falls to Fine")
    return wrong


def _lacks_what_refuted(one: Finding, out: Mapping[str, RuledOut]) -> bool:
    """Whether what ruled a cause out is gone, and the finding says so and is less than sure.

    What was not captured lowers how sure a finding is that something else speaks for; it is no veto.
    """
    return one.cause in out and bool(one.unknown) and one.confidence is not Confidence.HIGH


def _stands_in(general: Finding, base: Concluded) -> bool:
    """Whether a general cause replaces the special one that was found, for the same waits and without a higher severity.

    With full knowledge it was true as well, and gave way because the special one says the same and more (see `rules.rivals`).
    """
    gave_way = any(out.cause == general.cause and "explains these waits" in out.because for out in base.ruled_out)
    return gave_way and any(
        general.cause in catalogue()[special.cause].explains
        and special.surface == general.surface
        and special.severity.rank >= general.severity.rank
        for special in base.findings
    )
