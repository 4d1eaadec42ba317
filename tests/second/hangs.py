"""The second stage: worlds with a truth, watched by the real service, whose every command is judged by that truth.

`python -m tests.second.hangs --worlds 5000 --seed 1` prints what it counted, and the story of each wrong command. The service
polls the world on its own clock, its REST is read between the polls, and a DBA obeys each command half a minute later, as
`action.check` says. tests/second/test_hangs.py runs a drawn part of the same.
"""

import argparse
import asyncio
import logging
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx

from collectors.errors import StatementError
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, Defaults, OracleSettings, Settings, SpoolSettings
from service.fleet.coordinator import WorkerFactory
from service.state.board import Board, MonitoredDatabase
from service.watch.scheduler import PollScheduler
from tests.second.stories import STORIES, Story, draw
from tests.second.views import BEGAN, Database
from tests.second.world import Key, Truth

NAME = "world"
ZERO = 1000.0
"""time.monotonic() at moment 0."""
OBEYS_AFTER = 30.0
OLDEST = 60.0
LONG_ENOUGH = 75.0
"""Seconds for which a command has to be right before its absence counts: a poll, a wait of 10 s, a look, and a poll."""
HANG = 10.0
SLACK = 0.02
KINDS = ("whole waits", "slices", "far")
"""How sessions wait for the holder: until it lets go, in slices, or from another instance."""

SESSION = re.compile(r"(?:session|sql)\s+'\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*@(\d+)\s*)?(?:,[^']*)?'", re.IGNORECASE)
RDS = re.compile(r"rdsadmin_util\.(?:kill|cancel|disconnect)\w*\s*\(\D*(\d+)\D+(\d+)", re.IGNORECASE)
JOB = re.compile(r"stop_job\s*\([^']*'([^']+)'", re.IGNORECASE)


class Clock:
    """The clock of the service, which stands where the world does."""

    def __init__(self) -> None:
        self.now = 0.0

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Every module of the product reads this clock."""
        fake = SimpleNamespace(
            **{name: getattr(time, name) for name in dir(time) if not name.startswith("_")}
            | {
                "monotonic": lambda: ZERO + self.now,
                "time": lambda: BEGAN.timestamp() + self.now,
                "perf_counter": lambda: ZERO + self.now,
            }
        )
        product = [
            module
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in ("service", "rules", "collectors") and getattr(module, "time", None) is time
        ]
        for module in product:
            module.time = fake  # type: ignore[attr-defined]
        try:
            yield
        finally:
            for module in product:
                module.time = time  # type: ignore[attr-defined]


class Nothing:
    """A keeper that keeps nothing."""

    def keep(self, *_: object) -> None:
        """Nobody reads the store here."""


class Told(NamedTuple):
    """A command that REST gave at a moment."""

    at: float
    seen_at: float
    kind: str
    command: str
    check: str
    target: Key | None


@dataclass
class Counted:
    """What was counted over many worlds."""

    worlds: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    commands: int = 0
    obeyed: int = 0
    held_back: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    """Faults → commands."""
    right: Counter[str] = field(default_factory=Counter)
    """Story and kind of wait → worlds in which a command is right for long enough."""
    given: Counter[str] = field(default_factory=Counter)
    """Of those, worlds in which it was given."""
    stories: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    statements: Counter[str] = field(default_factory=Counter)
    why_not: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Of the worlds in which a command is right, those in which it was given."""
        return self.given.total() / self.right.total() if self.right else 0.0

    def share_by_kind(self) -> Iterator[str]:
        """The same for each kind of wait."""
        for kind in KINDS:
            right = sum(count for label, count in self.right.items() if label.endswith(kind))
            given = sum(count for label, count in self.given.items() if label.endswith(kind))
            yield f"{kind} {given} of {right}" + (f" ({given / right:.1%})" if right else "")

    @property
    def harmful(self) -> int:
        """Commands against a session that did not hold or was killed when it was seen, or when the command was obeyed."""
        return sum(count for fault, count in self.wrong.items() if fault.endswith(("does not hold", "killed")))


class Watch:
    """The service, around one database whose world changes."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.counted = Counted()
        self._settings = Settings(
            store=f"sqlite:///{folder}/store.db",
            databases=[DatabaseSettings(name=NAME, dsn="world:1521/world", user="latchscope")],
            spool=SpoolSettings(directory=folder / "spool"),
            auth=AuthSettings(),
            defaults=Defaults(look_for_changes="off"),
            oracle=OracleSettings(statements="single"),
        )
        self._boards: list[Board] = []
        self._app = self._made()
        self._watched = next(iter(self._boards[0]))
        self._loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(self._app, client=("127.0.0.1", 9))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")

    def _made(self) -> Any:
        import service.app

        board = service.app.Board

        def made(watched: list[MonitoredDatabase]) -> Board:
            self._boards.append(board(watched))
            return self._boards[-1]

        service.app.Board = made  # type: ignore[assignment, misc]
        try:
            return create_app(self._settings)
        finally:
            service.app.Board = board  # type: ignore[misc]

    def close(self) -> None:
        """Release what the app holds."""
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._app.state.close()

    def run(self, seed: int, only: str = "") -> None:
        """Watch the world of one seed from its first to its last moment, and judge what was told."""
        with self.clock.kept():
            self.clock.now = 0.0
            Run(self, draw(seed, only=only), seed).go()

    def worker(self, database: Database) -> Any:
        """A worker as the service makes it, for a database that nobody has polled yet."""
        fresh = MonitoredDatabase(self._watched.settings, self._watched.interval)
        vars(self._watched).update(vars(fresh))
        opener = SimpleNamespace(credential=lambda watched: None, open=lambda watched, *_: database)
        factory = WorkerFactory(opener, Nothing(), self._settings, lambda ours: None, None, PollScheduler())  # type: ignore[arg-type]
        return factory.make_workers([(self._watched, SimpleNamespace(held=lambda: True))])[0]  # type: ignore[list-item]

    def blockers(self) -> Mapping[str, Any]:
        """What REST says now of who holds what sessions hang on."""

        answer = self._loop.run_until_complete(self._client.get(f"/api/v1/databases/{NAME}/blockers"))
        answer.raise_for_status()
        return answer.json()  # type: ignore[no-any-return]


class Run:
    """One world, watched."""

    def __init__(self, watch: Watch, story: Story, seed: int) -> None:
        self._watch, self._story, self._seed = watch, story, seed
        self._world = story.world
        self._rng = Random(seed + 1)
        self._database = Database(story.world, story.sight)
        self._dba = {1: self._database, 2: Database(story.world, story.sight, 2)}
        self._told: list[Told] = []
        self._checks: list[tuple[float, Told]] = []
        self._faults: list[tuple[str, Told]] = []
        self._right: list[tuple[float, bool, frozenset[Key]]] = []
        self._why_not: Counter[str] = Counter()

    def go(self) -> None:
        """From the first moment to the last."""
        worker = self._watch.worker(self._database)
        poll, read = self._rng.uniform(0, 15), 5.0
        while (now := min(poll, read, *(at for at, _ in self._checks))) < self._story.until:
            self._world.run(now)
            self._watch.clock.now = now
            if now == poll:
                poll = max(worker.take_turn() - ZERO, now + 0.01)
            elif now == read:
                self._read()
                read = now + self._rng.uniform(3, 14)
            else:
                due = [told for at, told in self._checks if at == now]
                self._checks = [(at, told) for at, told in self._checks if at != now]
                for told in due:
                    self._obey(told)
        self._world.run(self._story.until)
        self._judge()

    # What REST tells, and whether one would have been right.

    def _read(self) -> None:
        found, now = self._watch.blockers(), self._world.now
        self._watch.counted.reads += 1
        self._right.append((now, *self._would_be_right()))
        new = []
        for chain in found["chains"]:
            action = chain["action"]
            if action is None:
                self._why_not[str(chain["why_no_action"])] += 1
            seen_at = chain["seen_at"]
            seen = now if seen_at is None else (datetime.fromisoformat(seen_at) - BEGAN).total_seconds()
            end = chain["end"] or {}
            for each in () if action is None else (action, *action["then"]):
                key = self._target(each["command"], end.get("instance") or 1)
                new.append(Told(now, seen, each["kind"], each["command"], action["check"], key))
        for blocker in found["blockers"]:
            if blocker["kill"] and all(told.command != blocker["kill"] for told in new):
                key = self._target(blocker["kill"], blocker["instance"] or 1)
                new.append(Told(now, now, "kill", blocker["kill"], "", key))
        self._told += new
        self._checks += [(now + OBEYS_AFTER, told) for told in new if told.check]

    def _target(self, command: str, instance: int) -> Key | None:
        """The session that a command ends."""
        if (job := JOB.search(command)) is not None:
            name = job[1].replace('"', "")
            keys = [one.key for one in self._world.sessions if one.job == name]
            return keys[0] if keys else None
        if (found := SESSION.search(command)) is not None:
            return int(found[3] or instance), int(found[1]), int(found[2])
        if (found := RDS.search(command)) is not None:
            return instance, int(found[1]), int(found[2])
        return None

    def _would_be_right(self) -> tuple[bool, frozenset[Key]]:
        """Whether a hang lasts whose end may be ended, as far as the views could show; and whose end that is."""
        world, refused, now = self._world, self._story.sight.refused, self._world.now
        if self._database.away or "v$rowcache_parent" in refused:
            return False, frozenset()
        found: set[Key] = set()
        for resource in world.resources:
            for holder, mode in resource.held.items():
                waits = [now - one.wait.since for one, _ in resource.queue if one.instance == 1]
                if resource.kind != "row cache" or mode != 5 or not waits or max(waits) < HANG:
                    continue
                ends = world.ends(holder)
                lasts = now - resource.since[holder] >= HANG
                for end, why in ends if lasts and len(ends) == 1 else ():
                    views = {"v$lock"} if end is not holder else set()
                    views |= {"v$px_session"} if end.coordinator else set()
                    views |= {name for name in refused if "jobs" in name} if end.job else set()
                    by_lock = end is holder or holder.asks is None or holder.asks[0].kind == "TX"
                    if not why and not views & refused and by_lock:
                        found.add((end.coordinator or end).key)
        return bool(found), frozenset(found)

    # What the DBA does, and what is right.

    def _obey(self, told: Told) -> None:
        """Half a minute later: the check, and the command only if the check says that the session still holds."""
        counted = self._watch.counted
        if told.target is None:
            return
        try:
            answer = self._dba[told.target[0]].rows(told.check, {})
        except StatementError as error:
            self._faults.append((f"the check cannot be run: {error}", told))
            return
        if not any(self._still(dict(zip(answer.columns, row, strict=True)), told.target) for row in answer.rows):
            counted.held_back += 1
            return
        counted.obeyed += 1
        fault = self._fault(told.target, self._world.truths_about(self._world.now, 0.0)[-1:])
        if fault in ("does not hold", "killed"):
            self._faults.append((f"obeyed after the check: {fault}", told))

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
        faults = [
            "killed" if target in truth.killed else truth.holders.get(target, "does not hold") for truth in truths
        ]
        return "" if "" in faults else faults[-1]

    def _judge(self) -> None:
        counted, world, story = self._watch.counted, self._world, self._story
        counted.worlds[story.name] += 1
        counted.commands += len(self._told)
        given: set[Key] = set()
        for told in self._told:
            if told.target is None:
                self._faults.append(("a command that is not understood", told))
                continue
            fault = self._fault(told.target, world.truths_about(told.seen_at, SLACK))
            if told.kind == "disconnect" and not fault:
                continue
            if not fault and told.at - told.seen_at > OLDEST:
                fault = f"shown when older than {OLDEST:g} s"
            if not fault and world.spell(told.target, told.seen_at) < HANG and not self._ends_chain(told.target):
                fault = "in a queue that moves"
            if fault:
                self._faults.append((fault, told))
            else:
                given.add(told.target)
        self._count_right(given)
        seen: set[str] = set()
        for fault, told in self._faults:
            counted.wrong[fault] += 1
            if fault not in seen:
                seen.add(fault)
                counted.stories.append(f"{self._where()}: {fault}: {self._account(told)}")
        for sql, problem in (*self._database.problems.items(), *self._dba[2].problems.items()):
            counted.problems[f"{problem}: {' '.join(sql.split())[:200]}"] += 1
        counted.statements.update(self._database.asked)

    def _ends_chain(self, target: Key) -> bool:
        """Whether it holds no row cache entry itself: its hold was not in question."""
        return all(who != target for who, *_ in self._world.spells)

    def _count_right(self, given: set[Key]) -> None:
        """Whether a command was right for long enough, and whether one was given."""
        counted, longest, since, ends = self._watch.counted, 0.0, None, set[Key]()
        for at, right, keys in self._right:
            if right and (since is None or not keys & ends):
                since, ends = at, set(keys)
            elif not right:
                since = None
            if since is not None and at - since > longest:
                longest, whose = at - since, set(ends)
        if longest < LONG_ENOUGH:
            return
        far = all(instance != 1 for instance, *_ in whose)
        kind = "far" if far else "slices" if self._world.slice_seconds else "whole waits"
        label = f"{self._story.name}, {kind}"
        counted.right[label] += 1
        if given & whose:
            counted.given[label] += 1
        else:
            common = self._why_not.most_common(1)[0][0] if self._why_not else "no chain at all"
            counted.why_not[f"{label}: {common}"] += 1
            counted.missed.append(f"{self._where()}: right for {longest:.0f} s at {sorted(whose)}: {common}")

    def _where(self) -> str:
        sight = self._story.sight
        parts = [
            f"seed {self._seed}",
            f"{self._story.name} ({self._story.ending})",
            sight.release,
            *(["cluster"] if sight.cluster else []),
            *(["slices"] if self._world.slice_seconds else []),
            f"blockers {sight.named}",
            *sorted(f"without {view}" for view in sight.refused),
            *([f"away {sight.away[0]:.0f} to {sight.away[1]:.0f} s"] if sight.away[1] else []),
        ]
        return ", ".join(parts)

    def _account(self, told: Told) -> str:
        truth = self._world.truths_about(told.seen_at, 0.0)[-1]
        changes = [
            f"{one.at:.1f}: {one.holders.get(told.target or (0, 0, 0), '-') or 'may be ended'}"
            f"{' KILLED' if told.target in one.killed else ''}"
            for one in self._world.truths
            if told.target in one.holders or told.target in one.killed or told.target in truth.holders
        ]
        brief = [
            change
            for index, change in enumerate(changes)
            if not index or change.split(": ")[1] != changes[index - 1].split(": ")[1]
        ]
        return (
            f"read at {told.at:.1f} s, seen at {told.seen_at:.1f} s, {told.kind}: {told.command}; "
            f"then held by {truth.holders or 'nobody'}; its story: {'; '.join(brief[:8]) or 'it never held'}"
        )


def table(counted: Counted) -> str:
    """What was counted, as lines."""
    worlds = sum(counted.worlds.values())
    lines = [
        f"worlds {worlds}, reads of REST {counted.reads}, commands {counted.commands}, obeyed {counted.obeyed}, "
        f"held back by the check {counted.held_back}",
        f"a command where one is right: {counted.share:.1%}; " + ", ".join(counted.share_by_kind()),
        "a session that does not hold or is killed: " + str(counted.harmful),
        "",
        f"{'story':28} {'worlds':>7}   " + "   ".join(f"{kind + ': given of right':>30}" for kind in KINDS),
    ]
    for story in sorted(counted.worlds):
        labels = [f"{story}, {kind}" for kind in KINDS]
        shown = [f"{counted.given[label]} of {counted.right[label]}" for label in labels]
        lines.append(f"{story:28} {counted.worlds[story]:7}   " + "   ".join(f"{each:>30}" for each in shown))
    lines += ["", "wrong commands:", *(f"{count:7}  {fault}" for fault, count in counted.wrong.most_common())]
    lines += [
        "",
        "why not, where one is right:",
        *(f"{count:7}  {why}" for why, count in counted.why_not.most_common(25)),
    ]
    lines += [
        "",
        "texts that could not be run:",
        *(f"{count:7}  {text}" for text, count in counted.problems.most_common()),
    ]
    return "\n".join(lines)


def watch_worlds(seeds: Sequence[int], only: str = "") -> Counted:
    """Watch the world of each seed."""
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder))
        try:
            for seed in seeds:
                watch.run(seed, only)
        finally:
            watch.close()
            logging.disable(logging.NOTSET)
        return watch.counted


def main() -> None:
    """Watch worlds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--only", choices=tuple(STORIES), default="")
    parser.add_argument("--stories", type=int, default=40, help="how many stories of wrong commands and of missed ones")
    chosen = parser.parse_args()
    counted = watch_worlds(range(chosen.seed, chosen.seed + chosen.worlds), chosen.only)
    print(table(counted))
    for title, told in (("wrong", counted.stories), ("missed", counted.missed)):
        print(f"\n{title}:", *told[: chosen.stories], sep="\n- ")


if __name__ == "__main__":
    main()
