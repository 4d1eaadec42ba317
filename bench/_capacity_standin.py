"""The databases of `bench capacity`, a process of its own.

It encodes every answer beforehand, so it costs little. It prints its port as its first line, then serves until its input
ends. Each line of input is a command: `hang N` silences the first N databases, `well` ends that, `polls` prints as JSON the
times of all polls by database since the last `polls`, and the number of statements answered.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from tests.oracle_standin import calls
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.results import rows as encode
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener

FRAMES = 240
"""After this many polls a database restarts. Such a poll takes longer."""
STEP = 15.0


class Page(list[Any]):
    """Rows with their encoding, computed once."""

    encoded: bytes | None = None

    def __getitem__(self, place: Any) -> Any:
        whole = isinstance(place, slice) and not place.start and (place.stop is None or place.stop >= len(self))
        return self if whole else super().__getitem__(place)


def encoded_once(columns: Sequence[ResultColumn], values: Any) -> bytes:
    if not isinstance(values, Page):
        return encode(columns, values)
    if values.encoded is None:
        values.encoded = encode(columns, values)
    return values.encoded


BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass
class Film:
    """The answers of a scenario, poll by poll. All databases that play it share them."""

    scenario: Scenario
    began: datetime = BEGAN
    """The databases' clock at the first poll. Against the whole service it must be now: of a database whose clock is months
    behind, every round of the roll-up closes and computes again the five minutes that are still going on."""
    shown: dict[tuple[int, str], Answer] = field(default_factory=dict)

    def at(self, frame: int, sql: str, binds: Mapping[str, object]) -> Answer:
        if (frame, sql) not in self.shown:
            backend = ScriptedBackend(self.scenario)
            backend._database = ScriptedDatabase(self.scenario, self.began, lambda: frame * STEP)
            backend._database._now = frame * STEP
            answer = backend.answer("", sql, binds)
            self.shown[frame, sql] = replace(answer, rows=Page(answer.rows))
        return self.shown[frame, sql]


@dataclass
class Player:
    """One database: its place in the script, which moves with every poll."""

    film: Film
    delay: float
    frame: int = 0
    moments: list[float] = field(default_factory=list)
    """time.monotonic() of each poll's first statement."""

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        if "/* latchscope v$instance */" in sql:
            self.frame = (self.frame + 1) % FRAMES
            self.moments.append(monotonic())
        answer = self.film.at(self.frame, sql, binds)
        return replace(answer, delay=self.delay) if self.delay else answer


def steady(name: str) -> Scenario:
    """A scenario that stays at its worst moment."""
    scenario = scenarios()[name]
    worst = max(
        (load for _, load in scenario.loop), key=lambda load: sum(child.sleeps for child in load.children.values())
    )
    return replace(scenario, loop=((STEP * FRAMES, worst),), marks=())


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("databases", type=int)
    parser.add_argument("--troubled", type=float, default=1 / 3, help="share of undo-storm")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to each statement: the network")
    parser.add_argument("--alike", action="store_true", help="all the others play healthy-19c, none busy-but-fine")
    given = parser.parse_args()
    calls.rows = encoded_once  # type: ignore[attr-defined]  # the name that calls has for it
    began = datetime.now(UTC)
    films = {name: Film(steady(name), began) for name in ("undo-storm", "healthy-19c", "busy-but-fine")}
    account: dict[str, Account] = {USER: Account(PASSWORD)}
    services = {
        f"db-{number:04}": Service(
            Player(films[kind_of(number, given.troubled, alike=given.alike)], given.delay), account, ORACLE_12_1
        )
        for number in range(given.databases)
    }
    with Listener(services) as listener:
        print(listener.port, flush=True)
        for line in sys.stdin:
            command, _, count = line.strip().partition(" ")
            if command == "hang":
                for service in list(services.values())[: int(count)]:
                    service.faults.hang(Stage.EXECUTE)
            elif command == "well":
                for service in services.values():
                    service.faults.clear()
            else:
                print(json.dumps(told(services)), flush=True)


def told(services: Mapping[str, Service]) -> dict[str, Any]:
    """The polls and statements since the last call."""
    polls: dict[str, list[float]] = {}
    for name, service in services.items():
        assert isinstance(service.backend, Player)
        polls[name], service.backend.moments = service.backend.moments, []
    return {"polls": polls, "statements": sum(service.counters.statements for service in services.values())}


def kind_of(number: int, troubled: float, *, alike: bool = False) -> str:
    """The scenario of a database: the troubled ones are spread over the fleet, the others alternate between healthy and
    busy, or are all healthy.
    """
    if int((number + 1) * troubled) > int(number * troubled):
        return "undo-storm"
    return "healthy-19c" if alike else ("healthy-19c", "busy-but-fine")[number % 2]


if __name__ == "__main__":
    main()
