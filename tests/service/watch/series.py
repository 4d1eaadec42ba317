"""Polls in a row of a generated instance, with a change among them, watched twice: judged seldom, and at each poll."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from collectors.errors import NotApplicable, ViewRefused
from collectors.model import Binds, Rows, Snapshot, Value, number
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.poll import Answer, Grouping
from collectors.registry import collectors, group_text_of, view_of
from rules.model import Severity
from rules.waiting_sessions import WAITING_SESSIONS
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase, Published
from service.store.record import record_of
from service.watch.pipeline import PollContext, run_poll
from tests.service.stage import Kept

EVERY = 15.0
WAITS = ("v$latch", "v$latch_children", "v$latch_misses", "v$mutex_sleep", "v$system_event")
"""Views in which a storm shows: what is in them grows with it."""
EVENTS = ("latch: row cache objects", "row cache mutex", "row cache objects")
FACTORS = {"grade": (0.12, 6.0), "cost": (0.45, 1.6), "over": (0.001, 0.001)}
RISE = {"rise": (30.0, 3000.0)}
"""Of what waited next to nothing."""
KINDS = (*FACTORS, "second cache", "hang", "end of a hang", "restart", "lost view", "new view", "new row", "one cell")


@dataclass
class Series:
    """An instance that goes on as between two snapshots of it, until a change of this kind comes."""

    begin: Snapshot
    end: Snapshot
    kind: str
    rng: Random
    noise: float = 0.0
    place: int = -1
    """The poll of now, from 0."""
    _totals: dict[tuple[object, ...], float] = field(default_factory=dict)
    _rows: dict[str, list[dict[str, Value]] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at, self.larger = self.rng.randrange(4, 7), self.rng.randrange(2)
        read = [view for view in WAITS if isinstance(self.end.readings.get(view), Rows) and self.end.rows(view)]
        self.victim = self.rng.choice(read or ["v$system_event"])
        self.length = (self.end.taken_at - self.begin.taken_at) / timedelta(seconds=EVERY)  # type: ignore[operator]

    def go_on(self) -> None:
        """Let the time of the next poll come."""
        self.place += 1
        for view in {**self.begin.readings, **self.end.readings}:
            self._rows[view] = self._now(view)
        for row in self._rows["v$instance"] or ():
            assert self.end.taken_at is not None
            row["taken_at"] = (self.end.taken_at + timedelta(seconds=EVERY * self.place)).replace(tzinfo=None)
            row["uptime_seconds"] = (number(row["uptime_seconds"]) or 0.0) + EVERY * self.place
            row["startup_time"] = "2026-11-29 11:11:11" if self._since("restart") else row["startup_time"]

    def _since(self, kind: str) -> bool:
        return self.kind == kind and self.place >= self.at

    def _now(self, view: str) -> list[dict[str, Value]] | None:
        """The rows of a view. None if it is refused."""
        first, last = (side.readings.get(view) for side in (self.begin, self.end))
        known, hidden = last if isinstance(last, Rows) else first, self.kind == "new view" and self.place < self.at
        if not isinstance(known, Rows) or (view == self.victim and (hidden or self._since("lost view"))):
            return None
        rows = [dict(row) for row in known.rows]
        of = collectors()[view]
        keys = [tuple(map(row.get, of.key)) for row in rows]
        old = {tuple(map(row.get, of.key)): row for row in (first.rows if isinstance(first, Rows) else ())}
        for name in of.counters:
            grown = {
                key: _grown(row.get(name), old.get(key, {}).get(name)) for key, row in zip(keys, rows, strict=True)
            }
            for key, row in zip(keys, rows, strict=True):
                if number(row.get(name)) is not None:
                    row[name] = self._total((view, key, name), number(row[name]) or 0.0, self._growth(view, key, grown))
        if rows and view == self.victim and self._since("one cell") and of.counters:
            rows[-1][of.counters[0]] = (None, -5, 3, "odd")[self.rng.randrange(4)]
        if rows and view == "v$system_event" and self._since("new row"):
            rows.append({**dict.fromkeys(rows[0]), **dict.fromkeys(of.counters, 7), "event": "enq: US - contention"})
        return self._waiting(rows) if view == WAITING_SESSIONS else rows

    def _total(self, cell: tuple[object, ...], begin: float, growth: float) -> int:
        if self._since("restart") and self.place == self.at:
            self._totals[cell] = 0.0
        self._totals[cell] = self._totals.get(cell, begin) + growth / self.length
        return int(self._totals[cell])

    def _growth(self, view: str, key: tuple[Value, ...], grown: dict[tuple[Value, ...], float]) -> float:
        """What a counter grows by until the next poll, as if that took as long as the interval."""
        own = grown[key] * (max(0.0, self.rng.gauss(1.0, self.noise)) if self.noise else 1.0)
        if view not in WAITS or self.place < self.at:
            return own
        if self.kind == "second cache":  # another child or place sleeps as much as all others
            coldest = min(grown, key=lambda each: grown[each]) == key and view in ("v$latch_children", "v$mutex_sleep")
            return own + max(sum(grown.values()), 0.0) * (coldest or 0.4 * (key[0] in EVENTS))
        return own * (FACTORS | RISE).get(self.kind, (1.0, 1.0))[self.larger]

    def _waiting(self, rows: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """Sessions that wait now, each in a wait of its own, and those that hang."""
        fresh = [{**row, "seq#": self.place * 7 + 3, "wait_time_micro": 900 + 7 * self.place} for row in rows]
        if not (self._since("hang") or (self.kind == "end of a hang" and self.place < self.at)):
            return fresh
        waited = int((EVERY * (self.place - (self.at if self.kind == "hang" else -3)) + 11.0) * 1e6)
        columns = dict.fromkeys(column.name for column in collectors()[WAITING_SESSIONS].columns)
        hung = {"serial#": 5, "seq#": 4711, "event": "row cache lock", "p1": 8, "p2": 0, "p3": 5, "type": "USER"}
        more = {"wait_time_micro": waited, "met": len(fresh) + 4}
        return [*fresh, *({**columns, **hung, **more, "sid": 900 + each} for each in range(4))]

    def query(self, sql: str, binds: Binds) -> Answer:
        """The rows of now, or a refusal."""
        if (text := group_text_of(sql)) is not None:
            return Answer(text.columns, text.united({view: self._read(view) for view in text.views}))
        view = view_of(sql)
        if view is None:
            raise NotApplicable("no statement of the collectors")
        rows = self._read(view)
        columns = tuple(rows[0]) if rows else ()
        return Answer(columns, [tuple(row.get(name) for name in columns) for row in rows])

    def _read(self, view: str) -> list[dict[str, Value]]:
        if (rows := self._rows.get(view)) is None:
            raise ViewRefused("ORA-00942: table or view does not exist")
        return rows

    def close(self) -> None:
        """Nothing to release."""


def _grown(total: Value, before: Value) -> float:
    return (number(total) or 0.0) - (number(before) or 0.0)


@dataclass
class Watch:
    """One database over a series, whose causes are judged at each poll or as seldom as may be."""

    each_judged: bool
    database: MonitoredDatabase = field(
        default_factory=lambda: MonitoredDatabase(DatabaseSettings(name="db", dsn="stand-in"), EVERY)
    )
    kept: Kept = field(default_factory=lambda: Kept([]))
    grouping: Grouping = field(default_factory=lambda: Grouping("db", lambda: 0.0))

    def poll(self, series: Series) -> Published:
        """One poll. A problem has samples, as a burst would bring them."""
        seen, last = series.end.readings.get(SAMPLED), self.database.published
        samples = seen if isinstance(seen, Rows) and last and last.verdict.severity is not Severity.INFO else None
        beside = PollContext(samples, grouping=self.grouping, each_judged=self.each_judged, clock=lambda: 0.0)
        return run_poll(self.database, series, self.kept, beside)

    @property
    def stored(self) -> dict[str, Any]:
        """What the store takes of the last poll, its snapshot included."""
        record = record_of(*self.kept.polls[-1], self.kept.records[-1], complete=False)
        return {name: getattr(record, name) for name in record.__slots__}


def scraped(published: Published) -> dict[str, list[bytes]]:
    """The samples of a poll, without those that tell a finding of severity info, and how long statements took."""
    told = {
        name: text.splitlines()
        for name, text in published.blocks.items()
        if name != "latchscope_collector_duration_seconds"
    }
    for family in ("latchscope_finding", "latchscope_verdict_info"):
        told[family] = [line for line in told.get(family, ()) if not re.search(rb'severity="(info|quiet)"', line)]
    return told


def differences(seldom: Watch, each: Watch, series: Series) -> Iterator[str]:
    """A poll by both, and what differs but for times and findings of severity info."""
    series.go_on()
    polls = [watch.poll(series) for watch in (seldom, each)]
    verdicts = [poll.verdict for poll in polls]
    harmless = [{one.cause for one in told.findings if one.severity is Severity.INFO} for told in verdicts]
    found = [
        {(f.cause, f.severity, f.child) for f in told.findings}
        - {(f.cause, f.severity, f.child) for f in told.findings if f.severity is Severity.INFO}
        for told in verdicts
    ]
    if found[0] != found[1]:
        yield "findings"
    for name in ("severity", "state", "basis", "impact", "surfaces", "other_wait", "waiting", "who", "blockers"):
        if getattr(verdicts[0], name) != getattr(verdicts[1], name):
            yield name
    stored = [watch.stored for watch in (seldom, each)]
    for name in stored[0]:
        if stored[0][name] != stored[1][name] and not (name == "headline" and harmless[0] != harmless[1]):
            yield f"stored {name}"
    if scraped(polls[0]) != scraped(polls[1]):
        yield "metrics"
