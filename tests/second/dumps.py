"""Hang analyses drawn with a truth, in the layouts of 10.2 and of 11.1 to 19c, and read by the command line alone.

`python -m tests.second.dumps 2000 1` draws 2,000 from seed 1 and prints what `latchscope diagnose` told right and wrong of each.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROW_CACHE, TX = "row cache lock", "enq: TX - row lock contention"
WAITS = (ROW_CACHE, ROW_CACHE, ROW_CACHE, TX, "library cache lock", "library cache pin", "cursor: pin S wait on X")
ENDS = (None, None, "SQL*Net message from client", "db file sequential read", "log file sync")
SQL = ("<none>", "select 'blocking: 900 sessions' from t", "update t set c = 'and is blocked by'")
RELEASES = ("10.2.0.4.0", "11.1.0.7.0", "11.2.0.3.0", "11.2.0.4.0", "12.1.0.2.0", "12.2.0.1.0", "19.0.0.0.0")
FOUND, LINE, DOUBLE = 10, "-" * 79, "=" * 79  # FOUND: the fewest waiters whose number 10.2 prints
HEAD = """/u01/app/oracle/x/trace/{name}_ora_5511.trc
Oracle Database {release:.2}g Enterprise Edition Release {release} - 64bit Production
Instance name: {name}\n\n"""
SESSION = """Oracle session identified by:
    {{
                instance: {one.instance} (x.x{one.instance})
                   os id: {one.serial}
              session id: {one.sid}
        session serial #: {one.serial}{module}
    }}
    {verb} {state}
                blocking: {count} sessions
             current sql: {sql}
            wait history:
              1.       event: '{before}'
    }}"""
WAIT = """waiting for '{one.event}' with wait info:\n    {{
                      p1: '{p1}'=0xd
            time in wait: {time}"""
NO_WAIT = "not in a wait:\n    {{\n               last wait: {time} ago"
MODULE = "\n             module name: 0 (sqlplus@host-a (TNS V1-V3))\n                  pdb id: 1 (CDB$ROOT)"
NODE = "<cnode/sid/sess_srno/proc_ptr/ospid/wait_event>"


@dataclass(eq=False)
class Session:
    """A session, what it waits for, behind whom, and how many sessions beyond the listed wait for it."""

    instance: int
    sid: int
    serial: int
    event: str | None
    blocker: "Session | None" = None
    unlisted: int = 0

    def __str__(self) -> str:
        return f"<0/{self.sid}/{self.serial}/0xd81a2c40/{self.serial}/{self.event or 'No Wait'}>"


@dataclass
class Tree:
    """The sessions that hang on one end: first the holder, or the sessions of a circle."""

    sessions: list[Session]
    circle: int = 0

    def behind(self, held: Session) -> int:
        """How many sessions wait for this one, through others too, and beyond the listed."""
        found = [held]
        for one in found:
            found += [other for other in self.sessions if other.blocker is one and other not in found]
        return len(found) - 1 + sum(one.unlisted for one in found)

    @property
    def waiting(self) -> int:
        """All that wait: behind the holder, or in the circle and behind it."""
        return self.behind(self.sessions[0]) + bool(self.circle)

    def last(self) -> list[Session]:
        """The listed sessions that nobody listed waits for."""
        return [one for one in self.sessions if not any(other.blocker is one for other in self.sessions)]


class Dump(NamedTuple):
    """One trace file with its truth; the layout of 10.2 is old and prints no instance."""

    name: str
    release: str
    old: bool
    trees: list[Tree]
    text: str


def draw(seed: int) -> Dump:
    """A hang and its trace file: one hang analysis, or two of the same hang a minute apart."""
    at = Random(seed)
    name, release, trees = f"fz{seed}", at.choice(RELEASES), list[Tree]()
    instances = 1 if (is_old := release < "11") else at.choice((1, 1, 2, 3))
    places = iter(at.sample([(place % instances + 1, place // instances * 23 + 2) for place in range(150)], 50))

    def session(event: str | None, blocker: Session | None = None) -> Session:
        return Session(*next(places), at.randint(1, 65000), event, blocker)

    for _ in range(at.choice((1, 1, 1, 2, 3))):
        kind, other = at.choice(WAITS), at.choice(WAITS)
        tree = Tree([session(at.choice(ENDS))])
        if at.random() < 0.2:
            size = at.choice((2, 2, 3, 4))
            tree = Tree([session(kind) for _ in range(size)], size)
            for number, one in enumerate(tree.sessions):
                one.blocker = tree.sessions[(number + 1) % size]
        for _ in range(at.randint(not tree.circle, 7)):
            blocker = at.choice((tree.sessions[0], at.choice(tree.sessions)))
            tree.sessions.append(session(at.choice((kind, kind, kind, other)), blocker))
        if at.random() < 0.5 and not (is_old and tree.circle):
            held = tree.sessions[:1] if is_old else [one for one in tree.sessions if one not in tree.last()]
            at.choice(held).unlisted = at.randint(FOUND if is_old else 1, at.choice((FOUND, 400)))
        trees.append(tree)
    alone = [Tree([session(at.choice(ENDS[2:]))]) for _ in range(at.choice((0, 0, 1, 2)))]
    text = "Trace file " * (not is_old) + HEAD.format(name=name, release=release)
    for later in range(at.choice((1, 1, 1, 2))):
        for one in (one for tree in trees for one in tree.sessions):
            one.unlisted += later * bool(one.unlisted) * at.randint(0, 5)
        stamp = f"2025-03-01{'T' if release > '12.2' else ' '}10:0{later}:00.000{'000+00:00' * (release > '12.2')}"
        lines = old(trees, alone) if is_old else new(release, trees, alone, at)
        text += "\n".join((f"*** {stamp}", *lines, "", ""))
    return Dump(name, release, is_old, trees, text.replace("\n", at.choice(("\n", "\n", "\r\n"))))


def old(trees: list[Tree], alone: list[Tree]) -> Iterator[str]:
    """The layout of 10.2: a session holds what the one below it in a chain waits for."""
    yield "==============\nHANG ANALYSIS:\n=============="
    large = [tree for tree in trees if tree.waiting >= FOUND and not tree.circle]
    yield from (f"Found {tree.waiting} objects waiting for {NODE}\n    {tree.sessions[0]}" for tree in large)
    for number, members in enumerate((tree.sessions[: tree.circle] for tree in trees if tree.circle), 1):
        yield f"Cycle {number} : {NODE} :\n    " + "\n -- ".join(map(str, members[::-1]))
    number = 0
    for title, some in (("Open", trees), ("Other", alone)):
        yield f"{title} chains found:"
        for circle, last in ((tree.sessions[: tree.circle], last) for tree in some for last in tree.last()):
            number, path = number + 1, [last]
            while path[0].blocker and path[0] not in circle:
                path.insert(0, path[0].blocker)
            yield f"Chain {number} : {NODE} :\n    " + "\n -- ".join(map(str, path))
    yield "====================\nEND OF HANG ANALYSIS\n===================="


def new(release: str, trees: list[Tree], alone: list[Tree], at: Random) -> Iterator[str]:
    """The layout of 11.1 and later: a chain begins with a waiter, and ends with a holder, in a circle or in another chain."""

    def told(tree: Tree, one: Session, first: bool) -> str:
        time = at.choice((f"{at.uniform(0.4, 60):.6f} sec", f"{at.randint(1, 150)} min {at.randint(0, 59)} sec"))
        known = {"verb": "is" if first else "which is", "time": time, "before": at.choice(WAITS), "sql": at.choice(SQL)}
        known |= {"module": MODULE * (release > "12.2"), "p1": "cache id" if one.event == ROW_CACHE else "idn"}
        block = SESSION.replace("{state}", WAIT if one.event else NO_WAIT)
        text = block.format(one=one, count=tree.behind(one), **known).replace(": 1 sessions", ": 1 session")
        return ("    " if first else " => ") + text

    chains, member = list[tuple[bool, str, str]](), dict[int, int]()
    for tree in (*trees, *alone):
        for start in (*tree.sessions[: bool(tree.circle)], *tree.last()):
            path, one = [start], start.blocker
            while one and one not in path and id(one) not in member:
                path.append(one)
                one = one.blocker
            member |= {id(each): len(chains) + 1 for each in path}
            text = "\n    and is blocked by\n".join(told(tree, each, each is start) for each in path)
            signature = "<=".join(f"'{each.event}'" if each.event else "<not in a wait>" for each in path[::-1])
            if one is start:
                text += "\n    and is blocked by the session at the start of the chain."
            elif one:
                text += f"\n    and is blocked by 'instance: {one.instance}, os id: {one.serial}, "
                text += f"session id: {one.sid}',\n    which is a member of 'Chain {member[id(one)]}'."
            head = f"Chain {len(chains) + 1}"
            sign = f"{head} Signature: {signature}{' (cycle)' * (one is start)}\n{head} Signature Hash: 0x5c1d2e3f"
            chains.append((one not in (None, start), f"{LINE}\n{head}:\n{LINE}\n{text}\n\n{sign}\n{LINE}\n", sign))
    yield f"{DOUBLE}\nHANG ANALYSIS:\n  instances (db_name.oracle_sid): x.x1, x.x2\n  oradebug_node_dump_level: 3"
    yield f"  analysis initiated by oradebug\n{DOUBLE}\nChains most likely to have caused the hang:"
    for letter, (_, _, sign) in zip("abc", chains, strict=False):
        yield f" [{letter}] " + sign.replace("\n", "\n     ")
    for title, wanted in (("Non-intersecting", False), ("Intersecting", True)):
        yield f"\n{DOUBLE}\n{title} chains:\n"
        yield from (text for crosses, text, _ in chains if crosses == wanted)
    yield f"{DOUBLE}\nEND OF HANG ANALYSIS\n{DOUBLE}"


def diagnose(dumps: Sequence[Dump]) -> dict[str, dict[str, Any]]:
    """What the command line says of each of several files, by the name of the instance."""
    with tempfile.TemporaryDirectory() as folder:
        for dump in dumps:
            Path(folder, f"{dump.name}.trc").write_text(dump.text, newline="")
        command = (Path(sys.executable).with_name("latchscope"), "diagnose", "--format", "json")
        out = subprocess.run([*command, *Path(folder).iterdir()], capture_output=True, check=True).stdout
    return {one["database"]: one for one in json.loads(out)}


def judge(dump: Dump, said: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    """For each figure of the answer its kind, what it is in truth, and what was said."""
    event = [each["text"].replace(",", " ") for each in said["events"] if each["kind"] == "wait_chain"][-1]
    most = max(tree.waiting for tree in dump.trees)
    circles = {f"{tree.circle} + {tree.waiting - tree.circle}" for tree in dump.trees if tree.circle}
    ends = {f"{most} behind {t.sessions[0].sid}" for t in dump.trees if t.waiting == most and not t.circle} or circles
    circle = re.search(r"(\d+) sessions wait for each other in a circle(?:  and (\d+) more)?", event)
    end = re.search(r"(\d+) (?:of them|sessions? waits?) behind session (\d+)", event)
    got = f"{circle[1]} + {circle[2] or 0}" if circle else f"{end[1]} behind {end[2]}" if end else event
    truth, kind = (circles, "event: circle") if circle else (ends, "event: holder and count")
    yield kind, got if got in truth else truth, got
    if total := re.search(r": (\d+) sessions wait  \d+ of them", event):
        yield "event: all that wait", sum(tree.waiting for tree in dump.trees), int(total[1])
    chains, seen = (said["blockers"] or {"chains": []})["chains"], 0
    for tree in dump.trees:
        known = {(one.sid, None if dump.old else one.instance): one for one in tree.sessions}
        mine = [chain for chain in chains if any((each["sid"], each["instance"]) in known for each in chain["waiters"])]
        kind, first, seen = " of a circle" * bool(tree.circle), tree.sessions[0], seen + len(mine)
        kind += ", beyond the listed" * any(one.unlisted for one in tree.sessions)
        if any(one.blocker and one.event == ROW_CACHE for one in tree.sessions):
            yield "chain: told once", 1, len(mine)
        for chain in mine:
            end = chain["end"] and (chain["end"]["sid"], chain["end"]["serial"], chain["end"]["event"])
            yield "chain: holder", None if tree.circle else (first.sid, first.serial, first.event), end
            yield "chain: size of the circle", tree.circle, chain["circle"]
            yield f"chain: count{kind}", tree.waiting, chain["waiting"]
            for waiter in chain["waiters"]:
                held = known[waiter["sid"], waiter["instance"]].blocker
                place = held and f"{held.sid}" + f"@{held.instance}" * (not dump.old)
                yield "chain: behind whom", place, waiter["behind"]
    yield "chain: nobody else", len(chains), seen


def run(seeds: Sequence[int]) -> tuple[Counter[str], dict[str, list[str]]]:
    """How many figures were right, by kind, and what was wrong."""
    right, wrong = Counter[str](), defaultdict[str, list[str]](list)
    for start in range(0, len(seeds), 100):
        said = diagnose(dumps := [draw(seed) for seed in seeds[start : start + 100]])
        for one, (kind, truth, got) in ((dump, each) for dump in dumps for each in judge(dump, said[dump.name])):
            right["10.2, " * one.old + kind] += truth == got
            fault = f"{one.name} ({one.release}): {truth} in truth, told {got}"
            wrong["10.2, " * one.old + kind] += [fault] * (truth != got)
    return right, wrong


if __name__ == "__main__":
    draws, seed = (int(text) for text in sys.argv[1:])
    right, wrong = run(range(seed, seed + draws))
    sys.stdout.write(f"{draws} hang analyses from seed {seed}\n")
    for kind, faults in sorted(wrong.items()):
        sys.stdout.write(f"{kind}: {right[kind]} right, {len(faults)} wrong; {''.join(faults[:1])}\n")
