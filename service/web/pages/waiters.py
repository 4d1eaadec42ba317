"""Who waits, summed by SQL and by module."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rules.model import Diagnosis, WaiterTotal
from service.web.charts import small
from service.web.pages import words

BY_TIME = "The verdict has another average: the time waited, divided by the length of the interval."
MOST_NAMED = 5
"""Rows by SQL or by module. The rest is one more."""


@dataclass(frozen=True, slots=True)
class WaitersRow:
    """One SQL, module or cache with its share of the waiters."""

    name: str
    code: bool
    share: float
    bar: Markup


@dataclass(frozen=True, slots=True)
class WaitersTotals:
    """Who waits, summed by SQL and by module."""

    about: str
    groups: Sequence[tuple[str, Sequence[WaitersRow]]]
    blocked: str


def waiters_totals(diagnosis: Diagnosis) -> WaitersTotals | None:
    """Waiters by SQL and by module."""
    totals = diagnosis.who_totals
    if totals is None:
        return None
    blockers: Counter[str] = Counter()
    for group in diagnosis.who:
        if group.blocker:
            blockers[group.blocker] += group.share  # type: ignore[assignment]
    most = blockers.most_common(1)
    waiting = sum(total.sessions for total in totals.by_module)
    found = f"{words.plural(totals.looks, 'look')} found {words.plural(totals.waiters, 'waiting session')}"
    counted = f"{found}, {words.sessions(waiting)} on average."
    groups = (("By SQL", _ranked(totals.by_sql_id, True)), ("By module", _ranked(totals.by_module, False)))
    return WaitersTotals(
        about=f"{counted} {BY_TIME}",
        groups=[(title, rows) for title, rows in groups if rows],
        blocked=_blocked(most[0] if most else None, totals.waiters),
    )


def _blocked(most: tuple[str, float] | None, waiters: int) -> str:
    """The session that most of them wait for. Empty without waiters."""
    if most is None:
        return "No session was seen to block another." if waiters else ""
    return f"In these looks, {words.share(min(most[1], 1.0))} waited for session {most[0]}."


def _ranked(totals: Sequence[WaiterTotal], code: bool) -> Sequence[WaitersRow]:
    rows = [
        WaitersRow(total.name or "not known", code and total.name is not None, total.share, small.bar(total.share))
        for total in totals[:MOST_NAMED]
    ]
    if rest := totals[MOST_NAMED:]:
        value = sum(total.share for total in rest)
        rows.append(WaitersRow(f"{len(rest)} others", False, value, small.bar(value, "s5")))
    return rows
