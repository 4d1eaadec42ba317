"""An interval as two snapshots, with only the views and columns that the collectors declare, and with less sight on request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from collectors.model import ColumnKind, Missing, Reading, Row, Rows, Snapshot
from collectors.registry import collectors
from tests.truth.outcome import ROW_CACHE_EVENTS, Outcome
from tests.truth.sessions import blockers, in_library_cache, looks, waiting
from tests.truth.settings import END, UNDO_ROWS
from tests.truth.views import views

DATABASE = "truth"
WORTH_A_LOOK = 0.005
"""Share of DB time from which somebody would look at the sessions. Below it, usually nobody does."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What is hidden from the reader: whole views, columns, a view at the begin alone, or rows that have counted nothing."""

    refused: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    late: tuple[str, ...] = ()
    unsampled: bool = False
    zeros_cut: bool = False
    called: str = ""
    """A name, where the list of what is hidden would be long."""

    def __str__(self) -> str:
        if self.called:
            return self.called
        parts = [f"{view} refused" for view in self.refused]
        parts += [f"no {column} in {view}" for view, column in self.columns]
        parts += [f"{view} not at the begin" for view in self.late]
        return ", ".join([*parts, *(["no sessions sampled"] if self.unsampled else [])]) or "everything"


FULL = Sight()


def snapshots(outcome: Outcome, sight: Sight = FULL) -> tuple[Snapshot, Snapshot]:
    """The begin and the end of an interval."""
    it = outcome.instance
    pairs: dict[str, tuple[Sequence[Mapping[str, object]], Sequence[Mapping[str, object]]]] = dict(views(outcome))
    pairs["waiting_sessions"] = (waiting(outcome, at_end=False), waiting(outcome, at_end=True))
    pairs["library_cache_sessions"] = (in_library_cache(outcome, at_end=False), in_library_cache(outcome, at_end=True))
    seen = looks(outcome)
    held = blockers(outcome)
    worth = bool(it.hangs or it.looks) or _share(outcome) >= WORTH_A_LOOK or it.dice.chance(0.3)
    begin: dict[str, Reading] = {}
    end: dict[str, Reading] = {}
    for view in collectors():
        if view == "v$session":
            end[view] = _rows(view, seen, sight) if worth and not sight.unsampled else _not_sampled()
        elif view == "row_cache_blockers":
            if held:
                end[view] = _rows(view, held, sight)
        elif view == "v$latch_children" and it.release.guard == "mutex":
            begin[view] = end[view] = Missing(view, "not_asked", "mutexes guard the row cache", "nothing to do")
        elif view in pairs:
            first, last = pairs[view]
            begin[view] = _rows(view, first, sight, at_begin=True)
            end[view] = _rows(view, last, sight)
    at = END - timedelta(seconds=round(it.seconds))
    return Snapshot(DATABASE, at, begin), Snapshot(DATABASE, END, end)


def less(begin: Snapshot, end: Snapshot, sight: Sight) -> tuple[Snapshot, Snapshot]:
    """The same interval as a reader with less sight records it."""
    first, last = (
        {
            view: _rows(view, reading.rows, sight, at_begin=at_begin) if isinstance(reading, Rows) else reading
            for view, reading in snapshot.readings.items()
        }
        for snapshot, at_begin in ((begin, True), (end, False))
    )
    if sight.unsampled:
        last["v$session"] = _not_sampled()
    return replace(begin, readings=first), replace(end, readings=last)


def _share(outcome: Outcome) -> float:
    lost = sum(
        c.micros_fg for c in outcome.counted if c.stream.event in ROW_CACHE_EVENTS or c.stream.surface == "result-cache"
    )
    return lost / max(outcome.times["DB time"], 1)


def _not_sampled() -> Missing:
    return Missing("v$session", "not_asked", "nobody looked at waiting sessions", "ask for a burst")


def _rows(view: str, rows: Sequence[Mapping[str, object]], sight: Sight, *, at_begin: bool = False) -> Reading:
    collector = collectors()[view]
    if view in sight.refused or (at_begin and view in sight.late):
        return Missing(view, "refused", f"{view}: ORA-00942: table or view does not exist", f"grant select on {view}")
    hidden = {column for of, column in sight.columns if of == view}
    wanted = [column.name for column in collector.columns if column.name not in hidden]
    if view == "v$undostat" and "con_id" not in wanted:
        rows = rows[:UNDO_ROWS]  # the statement limits the rows, whatever their container
    if sight.zeros_cut:
        counters = [column.name for column in collector.columns if column.kind is ColumnKind.COUNTER]
        rows = [row for row in rows if not counters or any(row.get(name) for name in counters)]
    kept: list[Row] = [{name: row[name] for name in wanted if name in row} for row in rows]  # type: ignore[misc]
    return Rows(view, tuple(kept))
