"""Who holds the row cache latch, and for how long: many looks at v$latchholder within one statement, on request only.

The rows of a counter drive a nested loop, so the database looks again for each row: tens of thousands of times a
second, where one round trip per look allows a few hundred. `gets` grows with every get of a latch. So its distinct values
count the holds, and the time over that count is their average. A profile costs one processor while it runs, so it never
runs on a timer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from collectors.errors import NotApplicable
from collectors.model import Reading, Row, Value, number, text
from collectors.poll import Connection, read_view
from collectors.registry import collectors
from collectors.release import mechanism_in
from collectors.statement import Statement

MOST_SECONDS = 4.0
"""Less than the time after which a statement is cancelled."""
MOST_LOOKS = 100_000
TRIAL_LOOKS = 1000
"""Looks of the first statement. Its duration gives the number of looks that fit into the time."""
MOST_HOLDERS = 50

STATEMENT = f"""\
select /* latchscope v$latchholder */
       h.sid, rawtohex(h.laddr) as laddr, h.sql_id, s.module, s.program, s.username, h.met, h.holds
  from (select sid, laddr, sql_id, met, holds
          from (select /*+ no_transform_distinct_agg */
                       sid, laddr, sql_id, count(*) as met, count(distinct gets) as holds
                  from (select /*+ no_merge ordered no_merge(m) use_nl(m) */
                               m.sid, m.laddr, m.gets,
                               (select w.sql_id from v$session w where w.sid = m.sid) as sql_id
                          from (select /*+ no_merge */ level as look from dual connect by level <= :looks) l,
                               v$latchholder m
                         where m.name = :latch)
                 group by sid, laddr, sql_id
                 order by met desc)
         where rownum <= {MOST_HOLDERS}) h,
       v$session s
 where s.sid (+) = h.sid
 order by h.met desc"""
STATEMENTS = (
    Statement(
        kind="holders",
        name="v$latchholder",
        text=STATEMENT,
        why="who holds the row cache latch, and for how long",
        when="a person asks: `latchscope holders` or the REST action",
        how_often=f"twice per request, for at most {MOST_SECONDS:g} s or {MOST_LOOKS:,} looks; one processor is busy meanwhile",
    ),
)


@dataclass(frozen=True, slots=True)
class Holder:
    """One session that held one child while it ran one statement: in how many looks and holds, and how long one lasts."""

    sid: int
    address: str
    sql_id: str | None
    module: str | None
    program: str | None
    username: str | None
    looks: int
    holds: int
    average_microseconds: float | None


@dataclass(frozen=True, slots=True)
class HolderProfile:
    """Holders by the number of looks that found them. `seconds` and `looks` give the effort."""

    latch: str
    seconds: float
    looks: int
    held: tuple[Holder, ...]

    @property
    def note(self) -> str | None:
        """A warning for a profile in which every look shows the same."""
        if not self.held or any(held.looks < self.looks or held.holds > 1 for held in self.held):
            return None
        return (
            "every sample found the same holds: the latch was held throughout, or the database read v$latchholder once for all "
            "samples; the duration of a hold is unknown"
        )


def profile(
    connection: Connection, latch: str, seconds: float, looks: int, clock: Callable[[], float] = time.monotonic
) -> HolderProfile:
    """Profile the holders for a time. Raises NotApplicable where mutexes guard, StatementError, SessionError."""
    _refuse_mutexes(connection)
    seconds, looks = min(seconds, MOST_SECONDS), min(looks, MOST_LOOKS)
    trial = _looked(connection, latch, min(looks, TRIAL_LOOKS), clock)
    left = seconds - trial.seconds
    fitting = min(looks, int(trial.looks * left / trial.seconds) if trial.seconds else looks)
    return _looked(connection, latch, fitting, clock) if fitting > trial.looks else trial


def _refuse_mutexes(connection: Connection) -> None:
    readings: dict[str, Reading] = {}
    for view in ("v$instance", "v$event_name"):
        readings[view], _ = read_view(collectors()[view], connection, readings)
    if mechanism_in(readings) == "mutex":
        raise NotApplicable(
            "mutexes guard the row cache of this instance, so there is no latch holder to profile; the samples of waiting "
            "sessions show who waits for whom"
        )


def _looked(connection: Connection, latch: str, looks: int, clock: Callable[[], float]) -> HolderProfile:
    began = clock()
    answer = connection.query(STATEMENT, {"looks": looks, "latch": latch})
    seconds = clock() - began
    rows = answer.as_rows()
    found = HolderProfile(latch, seconds, looks, tuple(_held(row, seconds / looks) for row in rows))
    if found.note is None:
        return found
    return replace(found, held=tuple(replace(held, average_microseconds=None) for held in found.held))


def _held(row: Row, seconds_per_look: float) -> Holder:
    met, holds = _count(row.get("met")), _count(row.get("holds"))
    return Holder(
        _count(row.get("sid")),
        text(row.get("laddr")) or "",
        text(row.get("sql_id")),
        text(row.get("module")),
        text(row.get("program")),
        text(row.get("username")),
        met,
        holds,
        met * seconds_per_look * 1e6 / holds if holds else None,
    )


def _count(value: Value) -> int:
    return int(number(value) or 0)
