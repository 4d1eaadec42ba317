"""Hang analyses drawn with a truth: trees, circles, sessions behind circles, and sessions that are counted and not listed.

The layouts are those of published files (tests/collectors/logs/published_traces.py). A hang is drawn first and written after it,
so what must be read is known: how many sessions wait, who holds what most of them wait for, and who is in a circle.
"""

import io
import random
from dataclasses import dataclass, field

import pytest

from collectors.logs.trace import looks_like_trace, read
from collectors.model import Delta
from rules.engine import diagnose

EVENTS = (
    "row cache lock",
    "library cache lock",
    "library cache pin",
    "enq: TX - row lock contention",
    "buffer busy waits",
)
IDLE = "SQL*Net message from client"
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

    def who(self, sid: int) -> str:
        return f"'instance: {self.about[sid][0]}, os id: {sid + 20_000}, session id: {sid}'"


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


def paths(group: Group) -> list[list[int]]:
    """Chains that together list each session once at the least: from one that nobody waits for up to the end, or all round."""
    begins = [sid for sid in group.ahead if sid not in group.ahead.values()] or group.circle[:1]
    found = []
    for sid in begins:
        path = [sid]
        while (ahead := group.ahead.get(path[-1])) is not None and ahead not in path:
            path.append(ahead)
        found.append(path)
    return found


def braces(hang: Drawn) -> list[str]:
    """Chains of 11.2 and later. A session that an earlier chain has is named and not described again."""
    out = ["HANG ANALYSIS:", "  instances (db_name.oracle_sid): mill.mill1", "  analysis initiated by oradebug"]
    placed: dict[int, int] = {}
    number = 0
    for group in hang.groups:
        for path in paths(group):
            number += 1
            out += ["-" * 79, f"Chain {number}:", "-" * 79]
            for place, sid in enumerate(path):
                out += ["    Oracle session identified by:" if not place else " => Oracle session identified by:"]
                out += described(hang, group, sid, first=not place)
                placed[sid] = number
                ahead = group.ahead.get(sid)
                if ahead is None:
                    break
                if ahead == path[0]:
                    out.append("    and is blocked by the session at the start of the chain.")
                elif ahead in placed:
                    out += [
                        f"    and is blocked by {hang.who(ahead)},",
                        f"    which is a member of 'Chain {placed[ahead]}'.",
                    ]
                    break
                else:
                    out.append("    and is blocked by")
    return out


def described(hang: Drawn, group: Group, sid: int, *, first: bool) -> list[str]:
    instance, serial, seconds = hang.about[sid]
    out = [
        "    {",
        f"                instance: {instance} (mill.mill{instance})",
        f"                   os id: {sid + 20_000}",
    ]
    out += [f"              process id: {sid % 500 + 9}, oracle@db7", f"              session id: {sid}"]
    out += [f"        session serial #: {serial}", "    }"]
    if sid not in group.ahead:
        told = group.told or len(group.ahead)
        return [*out, "    which is not in a wait:", "    {", f"                blocking: {told} sessions", "    }"]
    out += [f"    {'is' if first else 'which is'} waiting for '{group.event}' with wait info:", "    {"]
    out += ["                      p1: 'x'=0xd", f"            time in wait: {seconds // 60} min {seconds % 60} sec"]
    return [
        *out,
        "                blocking: 1 session",
        "            wait history:",
        "              1.       event: 'x'",
        "    }",
    ]


def brackets(hang: Drawn) -> list[str]:
    """Lists up to 11.1: the one that is waited for first. A circle is a list of its own, which its last session closes."""
    fields = "<cnode/sid/sess_srno/proc_ptr/ospid/wait_event>"
    out = ["==============", "HANG ANALYSIS:", "=============="]
    number = 0
    for group in hang.groups:
        lists = [("Cycle", list(reversed(group.circle)))] if group.circle else []
        lists += [("Chain", list(reversed(path))) for path in paths(group) if path[0] not in group.circle]
        for kind, listed in lists:
            number += 1
            out.append(f"{kind} {number} : {fields} :")
            for place, sid in enumerate(listed):
                event = group.event if sid in group.ahead else "No Wait"
                node, serial, _ = hang.about[sid]
                line = f"<{node}/{sid}/{serial}/0xd81{sid:05x}/{sid + 20_000}/{event}>"
                out.append(f"{' -- ' if place else '    '}{line}")
    return out


def written(hang: Drawn) -> bytes:
    head = [
        "Trace file /u01/diag/rdbms/mill/mill1/trace/mill1_diag_7.trc",
        "Instance name: mill1",
        "*** 2021-03-02 07:15:31.402",
    ]
    body = {"braces": braces, "brackets": brackets}[hang.layout](hang)
    return "\n".join([*head, *body, "====", "END OF HANG ANALYSIS", "====", ""]).encode()


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
