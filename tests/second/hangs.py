"""The second stage: worlds with a truth, watched by the real service, whose every command is judged by that truth.

`python -m tests.second.hangs --worlds 5000 --seed 1` prints what it counted, and the story of each wrong command. The service
polls the world on its own clock, its REST is read between the polls, and a DBA obeys each command half a minute later, as
`action.check` says. tests/second/test_hangs.py runs a drawn part of the same.
"""

import argparse
import asyncio
import itertools
import logging
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import httpx

from collectors.errors import StatementError
from service import app as service_app
from service.config.settings import DatabaseSettings, Defaults, OracleSettings, Settings, SpoolSettings
from service.fleet.coordinator import WorkerFactory
from service.state.board import Board, MonitoredDatabase
from service.watch.scheduler import PollScheduler
from tests.second.stories import LENGTH, STORIES, Story, draw
from tests.second.views import BEGAN, Database
from tests.second.world import EXCLUSIVE, Key, Truth

NAME, ZERO = "world", 1000.0
"""The database's name, and time.monotonic() at moment 0."""
OBEYS_AFTER, OLDEST, HANG, SLACK = 30.0, 60.0, 10.0, 0.02
LONG_ENOUGH = 75.0
"""Seconds for which a command has to be right before its absence counts: a poll, a wait of 10 s, a look, and a poll."""
KINDS = ("whole waits", "slices", "far")
"""How sessions wait for the holder: until it lets go, in slices, or from another instance."""
SWEPT = ("works", "queue")
QUEUE = "in a queue that moves"
SESSION = re.compile(r"(?:session|sql|kill|cancel|disconnect)\w*\W\D*(\d+)\D+(\d+)(?:\s*,\s*@(\d+))?", re.IGNORECASE)
JOB = re.compile(r"stop_job\s*\([^']*'([^']+)'", re.IGNORECASE)


class Told(NamedTuple):
    """A command that REST gave at a moment."""

    at: float
    seen_at: float
    kind: str
    command: str
    check: str
    target: Key | None


class Counted(defaultdict[str, Counter[str]]):
    """What was counted over many worlds: worlds by story, moments, wrong commands by fault, and by story and kind of wait the
    worlds in which a command is right for long enough, and those in which it was given."""

    def __init__(self) -> None:
        super().__init__(Counter)

    @property
    def share(self) -> float:
        """Of the worlds in which a command is right, those in which it was given."""
        return self["given"].total() / max(1, self["right"].total())

    @property
    def harmful(self) -> int:
        """Commands against a session that did not hold or was killed when it was seen, or when the command was obeyed."""
        return sum(count for fault, count in self["wrong"].items() if fault.endswith(("does not hold", "killed")))

    def table(self, most: int) -> Iterator[str]:
        """What was counted, as lines. `most`: of each kind of story."""
        yield f"worlds {self['worlds'].total()}, " + ", ".join(
            f"{what} {count}" for what, count in self["moments"].items()
        )
        yield f"against a session that does not hold or is killed: {self.harmful}"
        yield f"a command where one is right: {self.share:.1%}"
        yield f"{'story':26} {'worlds':>7}" + "".join(f"{f'{kind}: given of right':>32}" for kind in KINDS)
        for story in ("", *sorted(self["worlds"])):
            of = [
                [label for label in self["right"] if label.startswith(story and f"{story},") and label.endswith(kind)]
                for kind in KINDS
            ]
            cells = [
                " of ".join(str(sum(self[what][one] for one in each)) for what in ("given", "right")) for each in of
            ]
            yield f"{story or 'all':26} {self['worlds'][story] or '':>7}" + "".join(f"{cell:>32}" for cell in cells)
        for title in ("wrong", "not given", "cannot be run", "said", "story", "missed"):
            yield from (f"{title}: {count:6}  {what}" for what, count in self[title].most_common(most))


class Watch:
    """The service, around one database whose world changes."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.counted = Counted()
        self._settings = Settings(
            store=f"sqlite:///{folder}/store.db",
            databases=[DatabaseSettings(name=NAME, dsn="world:1521/world", user="latchscope")],
            defaults=Defaults(look_for_changes="off"),
            oracle=OracleSettings(statements="single"),
            spool=SpoolSettings(directory=folder / "spool"),
        )
        self._watched = MonitoredDatabase(self._settings.databases[0], 15.0)
        with patch.object(service_app, "Board", lambda _: Board([self._watched])):
            self._app = service_app.create_app(self._settings)
        self._loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(self._app, client=("127.0.0.1", 9))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")

    def close(self) -> None:
        """Release what the app holds."""
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._app.state.close()

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Every module of the product reads the clock of the world."""
        moments = {"monotonic": lambda: ZERO + self.now, "time": lambda: BEGAN.timestamp() + self.now}
        fake = SimpleNamespace(**{name: getattr(time, name) for name in dir(time) if name[0] != "_"} | moments)
        ours = ("service", "rules", "collectors")
        loaded = [each for name, each in sys.modules.items() if name.partition(".")[0] in ours]
        read = [module for module in loaded if getattr(module, "time", None) is time]
        for module in read:
            vars(module)["time"] = fake
        try:
            yield
        finally:
            for module in read:
                vars(module)["time"] = time

    def worker(self, database: Database) -> Any:
        """A worker as the service makes it, for a database that nobody has polled yet."""
        vars(self._watched).update(vars(MonitoredDatabase(self._watched.settings, self._watched.interval)))
        opener = SimpleNamespace(credential=lambda _: None, open=lambda *_: database)
        keeper = SimpleNamespace(keep=lambda *_: None)
        factory = WorkerFactory(opener, keeper, self._settings, lambda _: None, None, PollScheduler())
        return factory.make_workers([(self._watched, SimpleNamespace(held=lambda: True))])[0]

    def rest(self, what: str) -> Mapping[str, Any]:
        """What REST says now of the database."""
        answer = self._loop.run_until_complete(self._client.get(f"/api/v1/databases/{NAME}/{what}"))
        told: Mapping[str, Any] = answer.raise_for_status().json()
        return told


class Run:
    """One world, watched from its first to its last moment."""

    def __init__(self, watch: Watch, story: Story, seed: int, *, sweep: bool = False) -> None:
        """`sweep`: note what the diagnosis says too."""
        self._watch, self._counted, self._sweep, self._said = watch, watch.counted, sweep, set[str]()
        self._story, self._world, self._seed, self._rng = story, story.world, seed, Random(seed + 1)
        self._database = Database(story.world, story.sight, spend=self._spend)
        self._turns: list[tuple[float, float]] = []
        self._of = {1: self._database, 2: Database(story.world, story.sight, 2)}
        self._told: list[Told] = []
        self._checks: list[tuple[float, Told]] = []
        self._faults: list[tuple[str, Told]] = []
        self._obeyed: list[tuple[float, Told]] = []
        self._right: list[tuple[float, frozenset[Key]]] = []
        self._why_not: Counter[str] = Counter()

    def go(self, until: float = LENGTH) -> None:
        """Watch, obey and judge."""
        self._watch.now = 0.0
        worker = self._watch.worker(self._database)
        poll, read = self._rng.uniform(0, 15), 5.0
        while (due := min(poll, read, *(at for at, _ in self._checks))) < until:
            self._spend(max(0.0, due - self._world.now))
            began = self._world.now
            if due == poll:
                poll = max(worker.take_turn() - ZERO, began + 0.01)
                self._turns.append((began, self._world.now))
            elif due == read:
                self._read()
                read = began + self._rng.uniform(3, 14)
            else:
                self._obey(self._checks.pop(0)[1])
        self._judge()

    def _spend(self, seconds: float) -> None:
        self._world.run(self._world.now + seconds)
        self._watch.now = self._world.now

    def _read(self) -> None:
        """What REST tells now, and whom a command would be right for."""
        found, now = self._watch.rest("blockers"), self._world.now
        self._counted["moments"]["reads"] += 1
        self._right.append((now, self._would_be_right()))
        new: list[Told] = []
        for chain in found["chains"]:
            action, end = chain["action"], chain["end"] or {}
            self._why_not[str(chain["why_no_action"])] += action is None
            at = chain["seen_at"]
            seen = now if at is None else (datetime.fromisoformat(at) - BEGAN).total_seconds() - self._story.sight.skew
            for each in () if action is None else (action, *action["then"]):
                target = self._target(each["command"], end.get("instance") or 1)
                new.append(Told(now, seen, each["kind"], each["command"], action["check"], target))
        for blocker in found["blockers"]:
            if blocker["kill"] and all(told.command != blocker["kill"] for told in new):
                target = self._target(blocker["kill"], blocker["instance"] or 1)
                new.append(Told(now, now, "kill", blocker["kill"], "", target))
        self._told += new
        if self._sweep:
            told = self._watch.rest("diagnosis")
            self._said |= {f"{each['cause']}, {each['confidence']}" for each in told["findings"]}
            self._said |= {"sessions hang"} if any(group["hanging"] for group in told["waiting"]) else set()
            ends = {
                (end["instance"], end["sid"], end["serial"]) for end in (each["end"] for each in found["chains"]) if end
            }
            self._said |= {"the holder is named"} if ends & self._right[-1][1] else set()
        self._checks += [(now + OBEYS_AFTER, told) for told in new if told.check]

    def _target(self, command: str, instance: int) -> Key | None:
        """The session that a command ends."""
        if (job := JOB.search(command)) is not None:
            name = job[1].replace('"', "")
            return next((one.key for one in self._world.sessions if one.job == name), None)
        found = SESSION.search(command)
        return None if found is None else (int(found[3] or instance), int(found[1]), int(found[2]))

    def _would_be_right(self) -> frozenset[Key]:
        """Who may be ended: the end of a hang that lasts, as far as the views that may be read could show it."""
        world, refused, now = self._world, self._story.sight.refused, self._world.now
        found: set[Key] = set()
        for entry in world.resources:
            waits = [now - one.since for one, _ in entry.queue if one.instance == 1]
            if entry.kind != "row cache" or max(waits, default=0.0) < HANG or self._database.away:
                continue
            alone = [one for one, mode in entry.held.items() if mode == EXCLUSIVE and now - entry.since[one] >= HANG]
            for holder in alone:
                (end, why), *others = world.ends(holder)
                needed = {"v$rowcache_parent"} | ({"v$px_session"} if end.coordinator else set())
                needed |= {view for view in refused if "jobs" in view} if end.job else set()
                needed |= set() if end is holder else {"v$lock"}
                needed |= {"gv$session", "gv$ges_blocking_enqueue"} if end.instance != 1 else set()
                by_lock = end is holder or holder.asks is None or (holder.asks[0].kind == "TX" and end.instance == 1)
                if not why and not others and not needed & refused and by_lock:
                    found.add((end.coordinator or end).key)
        return frozenset(found)

    def _obey(self, told: Told) -> None:
        """Half a minute later: the check, and the command only if the check says that the session still holds."""
        if told.target is None:
            return
        try:
            answer = self._of[told.target[0]].rows(told.check, {})
        except StatementError as error:
            self._faults.append((f"the check cannot be run: {error}", told))
            return
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        still = any(self._still(row, told.target) for row in rows)
        self._counted["moments"]["obeyed" if still else "held back by the check"] += 1
        fault = self._fault(told.target, self._world.truths_about(self._world.now)[-1:])
        if still and fault in ("does not hold", "killed"):
            self._faults.append((f"obeyed after the check: {fault}", told))
        elif still:
            self._obeyed.append((self._world.now, told))

    @staticmethod
    def _still(row: Mapping[str, object], target: Key) -> bool:
        """Whether a row of the check is this session, not KILLED, with what it holds in an exclusive mode."""
        if (row.get("sid"), row.get("serial#")) != target[1:] or row.get("status") == "KILLED":
            return "job_name" in row and row.get("session_id") == target[1]
        modes = [row[name] for name in ("lock_mode", "lmode") if name in row]
        return not modes or any(mode in (5, 6) for mode in modes)

    @staticmethod
    def _fault(target: Key, truths: Sequence[Truth]) -> str:
        """Why a command was wrong at a moment. "" if it was right by one of the truths about that moment."""
        faults = ["killed" if target in each.killed else each.holders.get(target, "does not hold") for each in truths]
        return "" if "" in faults else faults[-1]

    def _truths_of_look(self, seen_at: float) -> list[Truth]:
        """What was true at a look: within its turn, if its statements took a time."""
        ends = [end for began, end in self._turns if began - SLACK <= seen_at <= end]
        return [
            *self._world.truths_about(seen_at, SLACK),
            *(each for each in self._world.truths if seen_at < each.at <= max(ends, default=0.0)),
        ]

    def _judge(self) -> None:
        given: set[Key] = set()
        for told in self._told:
            if told.target is None:
                self._faults.append(("a command that is not understood", told))
                continue
            fault = self._fault(told.target, self._truths_of_look(told.seen_at))
            if not fault and told.at - told.seen_at > OLDEST:
                fault = f"shown when older than {OLDEST:g} s"
            fault = fault or self._moves(told.target, told.seen_at)
            if fault:
                self._faults.append((fault, told))
            else:
                given.add(told.target)
        for at, told in self._obeyed:
            if moves := self._moves(told.target, at):
                self._faults.append((f"obeyed after the check: {moves}", told))
        self._count_right(given)
        counted = self._counted
        counted["worlds"][self._story.name] += 1
        counted["said"].update(f"{self._story.name}: {said}" for said in self._said)
        counted["moments"]["commands"] += len(self._told)
        counted["wrong"].update(fault for fault, _ in self._faults)
        for fault, told in dict(reversed(self._faults)).items():
            counted["story"][f"{self._where()}: {fault}: {self._account(told)}"] += 1
        for database in self._of.values():
            texts = database.problems.items()
            counted["cannot be run"].update(f"{error}: {' '.join(sql.split())[:200]}" for sql, error in texts)

    def _moves(self, target: Key, moment: float) -> str:
        """Whether a session held for so short a time that nobody hung on it."""
        short = 0.0 < self._world.spell(target, moment) < HANG
        return QUEUE if short else ""

    def _count_right(self, given: set[Key]) -> None:
        """Whether a command was right for long enough, and whether one was given."""
        longest, since, ends, whose = 0.0, 0.0, frozenset[Key](), frozenset[Key]()
        for at, keys in self._right:
            since, ends = (since, keys & ends) if keys & ends else (at, keys)
            if ends and at - since > longest:
                longest, whose = at - since, ends
        if longest < LONG_ENOUGH:
            return
        far = all(instance != 1 for instance, *_ in whose)
        label = f"{self._story.name}, {'far' if far else 'slices' if self._world.near else 'whole waits'}"
        self._counted["right"][label] += 1
        self._counted["given"][label] += bool(given & whose)
        if not given & whose:
            common = self._why_not.most_common(1)[0][0] if self._why_not else "no chain at all"
            self._counted["not given"][f"{label}: {common}"] += 1
            self._counted["missed"][f"{self._where()}: right for {longest:.0f} s at {sorted(whose)}: {common}"] += 1

    def _where(self) -> str:
        sight = self._story.sight
        more = [*["cluster"] * sight.cluster, *["slices"] * bool(self._world.near), f"blockers {sight.named}"]
        more += [*(f"without {view}" for view in sorted(sight.refused)), *[f"away {sight.away}"] * any(sight.away)]
        return f"seed {self._seed}, {self._story.name} ({self._story.ending}), {sight.release}, {', '.join(more)}"

    def _account(self, told: Told) -> str:
        """A command beside what happened to its session."""
        story, last = [], ""
        for truth in self._world.truths:
            state = self._fault(told.target, [truth]) or "may be ended" if told.target else ""
            story += [f"{truth.at:.1f} {state}"] if state != last else []
            last = state
        held = self._world.truths_about(told.seen_at)[-1].holders
        return f"read at {told.at:.1f} s, seen at {told.seen_at:.1f} s: {told.command} | held by {held} | {'; '.join(story[:9])}"


def watch_worlds(seeds: Sequence[int], only: str = "", until: float = LENGTH, *, sweep: bool = False) -> Counted:
    """Watch the world of each seed. `sweep`: a hang in slices and a queue that moves of each, and what is said of them."""
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder))
        try:
            with watch.clock():
                for seed, story in itertools.product(seeds, SWEPT if sweep else (only,)):
                    Run(watch, draw(seed, only=story, sliced=sweep), seed, sweep=sweep).go(until)
        finally:
            watch.close()
            logging.disable(logging.NOTSET)
    return watch.counted


def main() -> None:
    """Watch worlds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--only", choices=tuple(STORIES), default="", help="worlds of one story")
    parser.add_argument("--stories", type=int, default=40, help="how many of each are told")
    parser.add_argument("--sweep", action="store_true", help="hangs in slices and queues that move, one of each a seed")
    chosen = parser.parse_args()
    counted = watch_worlds(range(chosen.seed, chosen.seed + chosen.worlds), chosen.only, sweep=chosen.sweep)
    sys.stdout.write("\n".join([*counted.table(chosen.stories), ""]))


if __name__ == "__main__":
    main()
