"""Hang analyses drawn with a truth: trees, circles, sessions behind circles, and sessions that are counted and not listed.

A hang is drawn first and written after it (tests/collectors/logs/dumps.py), so what must be read is known: how many sessions
wait, who holds what most of them wait for, and who is in a circle.
"""

import io
import random
from dataclasses import dataclass, field

import pytest

from collectors.logs.trace import looks_like_trace, read
from collectors.model import Delta
from rules.engine import diagnose
from tests.collectors.logs import dumps
from tests.collectors.logs.dumps import Hang, Sleeper

EVENTS = (
    "row cache lock",
    "library cache lock",
    "library cache pin",
    "enq: TX - row lock contention",
    "buffer busy waits",
)
JUDGED = 20
"""Every so many hangs are diagnosed as well, which takes longer than reading them."""
drawn = pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 2_060), marks=pytest.mark.slow)], ids=len)


@dataclass
class Group:
    """Sessions that wait for each other: session → the one it waits for. `told`: how many the dump counts behind the holder."""

    ahead: dict[int, int] = field(default_factory=dict)
    circle: list[int] = field(default_factory=list)
    holder: int = 0
    told: int = 0
    event: str = ""

    @property
    def waiting(self) -> int:
        return max(len(self.ahead), self.told)


@dataclass
class Drawn:
    """A hang: its groups, and for each session its instance, serial number and seconds."""

    groups: list[Group]
    about: dict[int, tuple[int, int, int]]
    layout: str


def draw(chance: random.Random) -> Drawn:
    """One hang of one to three groups."""
    layout = chance.choice(("braces", "braces", "brackets"))
    sids = chance.sample(range(1, 4_000), 60)
    groups = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        group = Group(event=chance.choice(EVENTS))
        inside = [sids.pop() for _ in range(chance.randint(2, 4) if chance.random() < 0.35 else 1)]
        if len(inside) > 1:
            group.circle = inside[:]
            group.ahead = {sid: inside[(place + 1) % len(inside)] for place, sid in enumerate(inside)}
        else:
            group.holder = inside[0]
        for _ in range(chance.randint(0 if group.circle else 1, 9)):
            sid = sids.pop()
            group.ahead[sid] = chance.choice(inside)
            inside.append(sid)
        if group.holder and layout == "braces" and chance.random() < 0.5:
            group.told = len(group.ahead) + chance.randint(0, 400)
        groups.append(group)
    instances = chance.choice(((1,), (1, 2, 3))) if layout == "braces" else (0,)
    every = {sid for group in groups for sid in (*group.ahead, group.holder) if sid}
    about = {
        sid: (chance.choice(instances), chance.randint(1, 65_000), chance.randint(11, 9_000)) for sid in sorted(every)
    }
    return Drawn(groups, about, layout)


def written(hang: Drawn) -> bytes:
    """The hang as its layout has it."""
    sleepers = {
        sid: Sleeper(sid, serial, sid % 500 + 9, sid + 20_000, "oracle@db7", None, "X", seconds, instance)
        for sid, (instance, serial, seconds) in hang.about.items()
    }
    for group in hang.groups:
        for sid, ahead in group.ahead.items():
            waiter = sleepers[sid]
            waiter.ahead, waiter.event, waiter.counted = sleepers[ahead], group.event, 1
        if group.holder:
            sleepers[group.holder].counted = group.told or len(group.ahead)
    return dumps.written(Hang([*sleepers.values()], 13, 1), hang.layout)


def check(hang: Drawn, delta: Delta) -> None:
    (event,) = delta.events
    facts, most = event.facts, max(hang.groups, key=lambda group: group.waiting)
    rows = {row["sid"]: row for row in delta.rows("chain_sessions")}
    assert event.kind == "wait_chain" and facts["sessions"] == sum(group.waiting for group in hang.groups)
    for group in hang.groups:
        assert {sid: rows[sid]["blocking_session"] for sid in group.ahead} == group.ahead
        assert all(rows[sid]["event"] == group.event for sid in group.ahead)
    if [group.waiting for group in hang.groups].count(most.waiting) > 1:
        return  # two are the largest
    assert facts.get("sid") == (most.holder or None) and facts["event"] == most.event
    circle = f"{len(most.circle)} sessions wait for each other in a circle"
    assert (circle in event.text) == ("in a circle" in event.text) == bool(most.circle)
    if hang.layout == "braces":
        assert facts["seconds"] == max(hang.about[sid][2] for group in hang.groups for sid in group.ahead)


def check_chains(hang: Drawn, delta: Delta) -> None:
    """What people read of the groups that wait for the row cache: the same counts, ends and circles."""
    ours = [group for group in hang.groups if group.event == "row cache lock"]
    found = diagnose(delta).blockers
    told = {(chain.end and chain.end.sid, chain.waiting, chain.circle) for chain in found.chains} if found else set()
    assert told == {(group.holder or None, group.waiting, len(group.circle)) for group in ours}


@drawn
def test_counts_and_holders_are_those_of_the_truth(seeds: range) -> None:
    kinds = set()
    for seed in seeds:
        hang = draw(random.Random(seed))
        data = written(hang)
        try:
            assert looks_like_trace(data)
            delta = read(io.BytesIO(data), "case")
            check(hang, delta)
            if seed % JUDGED == 0:
                check_chains(hang, delta)
        except Exception as error:
            error.add_note(f"hang {seed}")
            raise
        kinds |= {(hang.layout, bool(group.circle), group.told > len(group.ahead)) for group in hang.groups}
    assert len(kinds) == 5, "each layout with and without circles, and sessions that are counted alone"
