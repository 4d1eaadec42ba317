"""Polls in a row of a generated instance, every 15 s, with a change in the middle; watched twice, judged as seldom as may be and
at each poll."""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Literal

from collectors.errors import NotApplicable, ViewRefused
from collectors.model import Binds, Reading, Rows, Snapshot, Value, number
from collectors.ondemand.sampling import VIEW as SAMPLED
from collectors.poll import Answer, Grouping
from collectors.registry import collectors, group_text_of, view_of
from rules.waiting import WAITING_SESSIONS
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase, Published
from service.watch.pipeline import PollContext, run_poll
from tests.service.stage import Kept

EVERY = 15.0
WAITS = {"v$system_event", "v$latch", "v$latch_children", "v$mutex_sleep", "v$latch_misses"}
"""Views in which a storm shows: what is in them grows with it."""
Change = Literal[
    "grade", "half", "cache", "hang", "hang ends", "restart", "lost view", "found view", "row", "over", "none"
]


@dataclass
class Series:
    """An instance that goes on as in the interval between two snapshots. At poll `at` something changes."""

    begin: Snapshot
    end: Snapshot
    change: Change = "none"
    at: int = 99
    noise: float = 0.0
    seed: int = 0
    place: int = 0
    """The poll of now."""
    _rng: Random = field(init=False)
    _totals: dict[tuple[str, tuple[Value, ...], str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)
        self.other = self._rng.random()
        self._rows: dict[str, list[dict[str, Value]] | None] = {}
        self.go_to(0)

    @property
    def changed(self) -> bool:
        return self.place >= self.at

    def go_to(self, place: int) -> None:
        """Let the time of a poll come. Polls come in order."""
        self.place = place
        moment = self.end.taken_at
        assert moment is not None
        now = moment + timedelta(seconds=EVERY * place)
        for view in {*self.begin.readings, *self.end.readings}:
            self._rows[view] = self._now(view)
        for row in self._rows["v$instance"] or ():
            row["taken_at"] = now.replace(tzinfo=None)
            row["uptime_seconds"] = (number(self.end.instance.get("uptime_seconds")) or 0.0) + EVERY * place
            if self.change == "restart" and self.changed:
                row["startup_time"] = "2026-11-29 11:11:11"

    def _now(self, view: str) -> list[dict[str, Value]] | None:
        """The rows of a view. None if it is refused."""
        last, first, collector = self.end.readings.get(view), self.begin.readings.get(view), collectors()[view]
        known = last if isinstance(last, Rows) else first
        gone = self.change == "lost view" and self.changed and view == self._victim()
        hidden = self.change == "found view" and not self.changed and view == self._victim()
        if not isinstance(known, Rows) or gone or hidden:
            return None
        before = {tuple(map(row.get, collector.key)): row for row in (first.rows if isinstance(first, Rows) else ())}
        seconds = (self.end.taken_at - self.begin.taken_at).total_seconds()  # type: ignore[operator]
        rows = []
        for row in known.rows:
            key, now = tuple(map(row.get, collector.key)), dict(row)
            for name in collector.counters:
                total, was = number(row.get(name)), number(before.get(key, {}).get(name)) or 0.0
                if total is None:
                    continue
                grown = (total - was) * EVERY / seconds * self._faster(view, key) * self._noise()
                grown += self._beside(view, key, name, EVERY / seconds)
                cell = (view, key, name)
                self._totals[cell] = self._totals.get(cell, total) + max(
                    grown, 0.0 if not collector.column(name).signed else grown
                )
                if self.change == "restart" and self.place == self.at:
                    self._totals[cell] = max(grown, 0.0)
                now[name] = int(self._totals[cell])
            rows.append(now)
        if self.change == "row" and self.changed and view == "v$system_event":
            rows.append(
                {**dict.fromkeys(rows[0]), "event": "enq: US - contention", **dict.fromkeys(collector.counters, 7)}
                if rows
                else {}
            )
        if view == WAITING_SESSIONS:
            rows = self._waiting(rows)
        return rows

    def _victim(self) -> str:
        views = sorted(WAITS & {view for view, one in self.end.readings.items() if isinstance(one, Rows)})
        return views[int(self.other * len(views))] if views else "v$system_event"

    def _noise(self) -> float:
        return max(0.0, self._rng.gauss(1.0, self.noise)) if self.noise else 1.0

    def _faster(self, view: str, key: tuple[Value, ...]) -> float:
        if not self.changed or view not in WAITS:
            return 1.0
        return {
            "grade": 0.12 if self.other < 0.5 else 6.0,
            "half": 0.45 if self.other < 0.5 else 1.6,
            "over": 0.001,
        }.get(self.change, 1.0)

    def _beside(self, view: str, key: tuple[Value, ...], name: str, part: float) -> float:
        """What a second cache adds: another child, or another location, sleeps as much as all together."""
        if self.change != "cache" or not self.changed or view not in WAITS - {"v$latch_misses"}:
            return 0.0
        last, first = self.end.readings[view], self.begin.readings.get(view)
        if not isinstance(last, Rows) or not isinstance(first, Rows):
            return 0.0
        whole = sum(number(row.get(name)) or 0.0 for row in last.rows) - sum(
            number(row.get(name)) or 0.0 for row in first.rows
        )
        chosen = sorted(last.rows, key=lambda row: number(row.get(name)) or 0.0)[0]
        mine = tuple(map(chosen.get, collectors()[view].key))
        if view in ("v$system_event", "v$latch"):
            return (
                0.4 * max(whole, 0.0) * part
                if key[0] in ("latch: row cache objects", "row cache mutex", "row cache objects")
                else 0.0
            )
        return max(whole, 0.0) * part if mine == key else 0.0

    def _waiting(self, rows: list[dict[str, Value]]) -> list[dict[str, Value]]:
        """Sessions that wait now: those of the snapshot, each in a new wait, and those that hang."""
        hangs = (self.change == "hang" and self.changed) or (self.change == "hang ends" and not self.changed)
        fresh = [{**row, "seq#": self.place * 7 + 3, "wait_time_micro": 900 + 7 * self.place} for row in rows]
        if not hangs:
            return fresh
        begun = self.at if self.change == "hang" else -3
        waited = int((EVERY * (self.place - begun) + 11.0) * 1e6)
        return [
            *fresh,
            *(
                {
                    **dict.fromkeys(column.name for column in collectors()[WAITING_SESSIONS].columns),
                    "sid": 900 + each,
                    "serial#": 5,
                    "seq#": 4711,
                    "event": "row cache lock",
                    "p1": 8,
                    "p2": 0,
                    "p3": 5,
                    "type": "USER",
                    "wait_time_micro": waited,
                    "met": len(fresh) + 4,
                }
                for each in range(4)
            ),
        ]

    def query(self, sql: str, binds: Binds) -> Answer:
        """The rows of now, or a refusal."""
        if (text := group_text_of(sql)) is not None:
            return Answer(text.columns, text.united({view: self.rows(view) for view in text.views}))
        view = view_of(sql)
        if view is None:
            raise NotApplicable("no statement of the collectors")
        rows = self.rows(view)
        columns = tuple(rows[0]) if rows else ()
        return Answer(columns, [tuple(row.get(name) for name in columns) for row in rows])

    def rows(self, view: str) -> list[dict[str, Value]]:
        rows = self._rows.get(view)
        if rows is None:
            raise ViewRefused("ORA-00942: table or view does not exist")
        return rows

    def close(self) -> None:
        """Nothing to release."""

    def samples(self) -> Reading | None:
        """Who was met waiting since the poll before."""
        seen = self.end.readings.get(SAMPLED)
        return seen if isinstance(seen, Rows) else None


@dataclass
class Watch:
    """One database that is polled over a series."""

    each_judged: bool
    database: MonitoredDatabase = field(
        default_factory=lambda: MonitoredDatabase(DatabaseSettings(name="db", dsn="stand-in"), EVERY)
    )
    kept: Kept = field(default_factory=lambda: Kept([]))
    grouping: Grouping = field(default_factory=lambda: Grouping("db"))

    def poll(self, series: Series) -> Published:
        costly = self.database.published and self.database.published.verdict.severity.rank > 0
        beside = PollContext(
            samples=series.samples() if costly else None, grouping=self.grouping, each_judged=self.each_judged
        )
        return run_poll(self.database, series, self.kept, beside)
