"""Who holds the row cache latch: many quick looks at v$latchholder, on request only, bounded in time and number.

Each look costs the database a little processor time, so a profile never runs on a timer.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from collectors.model import Value
from collectors.poll import Connection

MOST_SECONDS = 10.0
MOST_LOOKS = 2000
PAUSE_SECONDS = 0.005

STATEMENT = """\
select /* latchscope v$latchholder */
       h.sid, rawtohex(h.laddr) as laddr, s.sql_id, s.module, s.program, s.username
  from v$latchholder h, v$session s
 where s.sid (+) = h.sid
   and h.name = :latch"""


@dataclass(frozen=True, slots=True)
class Holder:
    """One session, holding one child, running one statement."""

    sid: int
    address: str
    sql_id: str | None
    module: str | None
    program: str | None
    username: str | None


@dataclass(frozen=True, slots=True)
class HolderProfile:
    """Holders by the number of looks that met them; `seconds` and `looks` say how much was looked."""

    latch: str
    seconds: float
    looks: int
    held: tuple[tuple[Holder, int], ...]


def profile(
    connection: Connection, latch: str, seconds: float, looks: int, clock: Callable[[], float] = time.monotonic
) -> HolderProfile:
    """Look until the time or the number is used up. Raises StatementError or SessionError."""
    met: Counter[Holder] = Counter()
    began, taken = clock(), 0
    seconds, looks = min(seconds, MOST_SECONDS), min(looks, MOST_LOOKS)
    while taken < looks and clock() - began < seconds:
        answer = connection.query(STATEMENT, {"latch": latch})
        met.update(_holder(dict(zip(answer.columns, cells, strict=True))) for cells in answer.rows)
        taken += 1
        time.sleep(PAUSE_SECONDS)
    return HolderProfile(latch, clock() - began, taken, tuple(met.most_common()))


def _holder(row: dict[str, Value]) -> Holder:
    def cell(name: str) -> str | None:
        value = row.get(name)
        return None if value is None else str(value)

    sid = row.get("sid")
    return Holder(
        int(sid) if isinstance(sid, int | float) else 0,
        cell("laddr") or "",
        cell("sql_id"),
        cell("module"),
        cell("program"),
        cell("username"),
    )
