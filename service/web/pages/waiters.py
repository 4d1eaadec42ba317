"""Who waits, summed by SQL and by module."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rules.model import Diagnosis
from service.web.charts import small
from service.web.pages import words

MOST_NAMED = 5
"""Rows by SQL or by module; the rest is one more."""


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
    if not diagnosis.who:
        return None
    sql: Counter[str] = Counter()
    module: Counter[str] = Counter()
    blockers: Counter[str] = Counter()
    for group in diagnosis.who:
        sql[group.sql_id or "not known"] += group.share  # type: ignore[assignment]
        module[" ".join(part for part in (group.module, group.program) if part) or "not known"] += group.share  # type: ignore[assignment]
        if group.blocker:
            blockers[group.blocker] += group.share  # type: ignore[assignment]
    waiting = sum(group.sessions for group in diagnosis.who)
    most = blockers.most_common(1)
    return WaitersTotals(
        about=f"Share of {words.sessions(waiting)} sessions that wait, on average",
        groups=[("By SQL", _ranked(sql, True)), ("By module", _ranked(module, False))],
        blocked=f"{words.share(min(most[0][1], 1.0))} wait for session {most[0][0]}."
        if most
        else "No session blocks another: all wait for the same thing.",
    )


def _ranked(shares: Mapping[str, float], code: bool) -> Sequence[WaitersRow]:
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    shown = ordered[:MOST_NAMED]
    rest = ordered[MOST_NAMED:]
    rows = [WaitersRow(name, code and name != "not known", value, small.bar(value)) for name, value in shown]
    if rest:
        value = sum(each for _, each in rest)
        rows.append(WaitersRow(f"{len(rest)} others", False, value, small.bar(value, "s5")))
    return rows
