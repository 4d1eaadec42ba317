"""Writes dumps of made-up hangs as Oracle lays them out. Nothing here is shared with the readers.

Each session of a hang waits for at most one other, most for a row cache lock. Layouts: the hang analysis of 11.2 and later in
braces, the one before in angle brackets, its nodes, and the system state of 10.2, 11.2 and 23ai. The two analyses may have
circles, several instances and any event.
"""

import random
from dataclasses import dataclass

CACHES = {0: "dc_tablespaces", 3: "dc_rollback_segments", 8: "dc_objects", 10: "dc_users", 13: "dc_sequences"}
IDLE = "SQL*Net message from client"


@dataclass(eq=False)
class Sleeper:
    """One session of a made-up hang."""

    sid: int
    serial: int
    pid: int
    ospid: int
    image: str
    ahead: "Sleeper | None"
    """The session it waits for."""
    asks: str
    seconds: int
    instance: int = 1
    event: str = "row cache lock"
    counted: int | None = None
    """How many an analysis says wait behind it, if not those that do directly."""

    @property
    def root(self) -> "Sleeper":
        """The session at the end of its chain."""
        return self if self.ahead is None else self.ahead.root


@dataclass
class Hang:
    """A made-up hang on one cache of one instance."""

    sleepers: list[Sleeper]
    cache_id: int
    instance: int

    @property
    def edges(self) -> set[tuple[int, int]]:
        """Who waits for whom, by SID."""
        return {(one.sid, one.ahead.sid) for one in self.sleepers if one.ahead}

    @property
    def roots(self) -> set[int]:
        """Sessions that others wait for and that wait for nobody."""
        return {one.ahead.root.sid for one in self.sleepers if one.ahead}

    def behind(self, sleeper: Sleeper) -> list[Sleeper]:
        """Those that wait for it directly."""
        return [one for one in self.sleepers if one.ahead is sleeper]


def hang(chance: random.Random, most: int = 14) -> Hang:
    """A random forest of two sessions or more, of which one waits at least."""
    sids = chance.sample(range(1, 3000), chance.randint(2, most))
    images = ("oracle@db7 (TNS V1-V3)", "oracle@db7 (TNS V1-V3)", "oracle@db7 (J003)", "oracle@db7")
    sleepers: list[Sleeper] = []
    for place, sid in enumerate(sids):
        waits = place == 1 or (place > 0 and chance.random() < 0.8)
        ahead = chance.choice(sleepers) if waits else None
        sleepers.append(
            Sleeper(
                sid,
                chance.randint(1, 65_000),
                place + 20,
                7_000 + place,
                chance.choice(images),
                ahead,
                chance.choice("SX"),
                chance.randint(11, 9_000),
            )
        )
    chance.shuffle(sleepers)
    made = Hang(sleepers, chance.choice(list(CACHES)), chance.randint(1, 4))
    for sleeper in sleepers:
        sleeper.instance = made.instance
    return made


def head(instance: int, moment: str = "2021-03-02 07:15:31.402") -> list[str]:
    """The head of a trace file."""
    return [
        "Trace file /u01/app/oracle/diag/rdbms/mill/mill1/trace/mill1_ora_6120.trc",
        "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production",
        "Version 19.10.0.0.0",
        "System name:\tLinux",
        "Node name:\tdb7",
        "Release:\t5.4.17",
        "Instance name: mill1",
        f"Instance number: {instance}",
        "Redo thread mounted by this instance: 1",
        "Oracle process number: 61",
        "Unix process pid: 6120, image: oracle@db7 (TNS V1-V3)",
        "",
        "",
        f"*** {moment}",
        f"*** SESSION ID:(17.9) {moment}",
        f"*** CLIENT ID:(somebody) {moment}",
        f"*** SERVICE NAME:(SYS$USERS) {moment}",
    ]


def spoken(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} sec" if minutes else f"{rest}.250000 sec"


MODE = {"S": "0x3", "X": "0x5"}


# Hang analyses


def braces(made: Hang) -> list[str]:
    """Chains as 11.2 and later write them: who is in an earlier chain is only referred to."""
    rule = "=" * 79
    out = [
        rule,
        "HANG ANALYSIS:",
        "  instances (db_name.oracle_sid): mill.mill1",
        "  oradebug_node_dump_level: 3",
        rule,
        "",
    ]
    placed: dict[int, int] = {}
    number = 0
    # A circle that nobody stands behind begins at any of its sessions.
    for sleeper in (*(one for one in made.sleepers if not made.behind(one)), *made.sleepers):
        if sleeper.sid in placed:
            continue
        number += 1
        out += ["-" * 79, f"Chain {number}:", "-" * 79]
        arrow, word, one = "    ", "is", sleeper
        while True:
            out += _braced(made, one, arrow, word)
            placed[one.sid] = number
            if one.ahead is None:
                break
            if one.ahead is sleeper:
                out.append("    and is blocked by the session at the start of the chain.")
                break
            if one.ahead.sid in placed:
                named = f"instance: {one.ahead.instance}, os id: {one.ahead.ospid}, session id: {one.ahead.sid}"
                out += [
                    f"    and is blocked by '{named}',",
                    f"    which is a member of 'Chain {placed[one.ahead.sid]}'.",
                ]
                break
            out.append("    and is blocked by")
            arrow, word, one = " => ", "which is", one.ahead
        out += [
            " ",
            f"Chain {number} Signature: <not in a wait><='row cache lock'",
            f"Chain {number} Signature Hash: 0x1e72",
        ]
    return [*out, rule, "END OF HANG ANALYSIS", rule]


def _braced(made: Hang, one: Sleeper, arrow: str, word: str) -> list[str]:
    out = [
        f"{arrow}Oracle session identified by:",
        "    {",
        f"                instance: {one.instance} (mill.mill1)",
        f"                   os id: {one.ospid}",
        f"              process id: {one.pid}, {one.image}",
        f"              session id: {one.sid}",
        f"        session serial #: {one.serial}",
        "             module name: 0 (night run)",
        "    }",
    ]
    blocked = len(made.behind(one)) if one.counted is None else one.counted
    if one.ahead is None:
        return [
            *out,
            f"    {word} not in a wait:",
            "    {",
            "               last wait: 0.4 sec ago",
            f"                blocking: {blocked} sessions",
            "             current sql: alter sequence shop.no_one_may_see_this",
            "    }",
        ]
    return [
        *out,
        f"    {word} waiting for '{one.event}' with wait info:",
        "    {",
        f"                      p1: 'cache id'={made.cache_id:#x}",
        "                      p2: 'mode'=0x0",
        f"                      p3: 'request'={MODE[one.asks]}",
        f"            time in wait: {spoken(one.seconds)}",
        "           timeout after: never",
        "                 wait id: 40",
        f"                blocking: {blocked} sessions",
        "             current sql: select shop.no_one_may_see_this.nextval from dual",
        "            wait history:",
        "              * time between current wait and wait #1: 0.000458 sec",
        "              1.       event: 'row cache lock'",
        "                 time waited: 3.000012 sec",
        "                     wait id: 39               p1: 'cache id'=0x63",
        "                                               p2: 'mode'=0x5",
        "    }",
    ]


def brackets(made: Hang, *, pointers: bool = True) -> list[str]:
    """Lists as 9i and 10g write them: the one that is waited for first. Each session is in a list of its own with the one it
    waits for; a circle is one list, which its last session closes."""
    fields = "<cnode/sid/sess_srno/proc_ptr/ospid/wait_event>" if pointers else "<cnode/sid/sess_srno/ospid/wait_event>"
    out = ["==============", "HANG ANALYSIS:", "==============", "Open chains found:"]
    circled: set[int] = set()
    for number, sleeper in enumerate((one for one in made.sleepers if one.ahead), 1):
        line = [sleeper]
        while (ahead := line[0].ahead) is not None and ahead not in line:
            line.insert(0, ahead)
        if closed := ahead is sleeper:
            if sleeper.sid in circled:
                continue
            circled |= {one.sid for one in line}
        out.append(f"{'Cycle' if closed else 'Chain'} {number} : {fields} :")
        for place, one in enumerate(line):
            event = one.event if one.ahead else "No Wait"
            pointer = f"0x{0xA0000000 + one.pid:x}/" if pointers else ""
            dash = " -- " if place else "    "
            out.append(f"{dash}<0/{one.sid}/{one.serial}/{pointer}{one.ospid}/{event}>")
    return [*out, "Other chains found:", "====================", "END OF HANG ANALYSIS", "===================="]


def nodes(made: Hang) -> list[str]:
    """The nodes alone, as level 1 of a new release may end with: each with those it waits for."""
    number = {one.sid: one.sid - 1 for one in made.sleepers}
    out = [
        "=" * 79,
        "HANG ANALYSIS:",
        "=" * 79,
        "State of ALL nodes",
        "([nodenum]/cnode/sid/sess_srno/session/ospid/state/(wait_hash)/{time_in_wait}/[adjlist]):",
    ]
    for one in made.sleepers:
        state = "NLEAF" if one.ahead else "LEAF" if made.behind(one) else "SINGLE_NODE"
        adjacent = f"/[{number[one.ahead.sid]}]" if one.ahead else ""
        head_ = (
            f"[{number[one.sid]}]/{made.instance}/{one.sid}/{one.serial}/{0x879E0000 + one.pid:#x}/{one.ospid}/{state}"
        )
        out.append(f"{head_}/(0x30c5f6b4)/{{{one.seconds * 1000}}}{adjacent}")
    return [*out, "=" * 79, "END OF HANG ANALYSIS", "=" * 79]


# System states


def system_state(made: Hang, layout: str) -> list[str]:
    """A system state. `layout`: 10.2, which names no blocker but by the locks, 11.2 or 23ai."""
    out = ["=" * 51, "SYSTEM STATE (level=10, with short stacks)", "------------"]
    if layout == "23ai":
        out.append("Dumping the Process Summary")
    for one in made.sleepers:
        out += _process(made, one, layout)
    return [*out, "END OF SYSTEM STATE"]


def _process(made: Hang, one: Sleeper, layout: str) -> list[str]:
    zero = "" if layout == "10.2" else "0x"
    session = f"{zero}{0x7_0000_1000 + one.pid * 0x100:x}"
    object_ = f"{zero}{0x9_0000_1000 + one.pid * 0x100:x}"
    old = layout == "10.2"
    out = [
        "",
        f"PROCESS {one.pid}: ",
        "  ----------------------------------------",
        f"  SO: {object_}, type: 2, owner: {zero or ''}0, flag: INIT/-/-/0x00",
        f"  (process) Oracle pid{'=' if old else ':'}{one.pid}, calls cur/top: 0x1/0x1",
        "    O/S info: user: oracle, term: UNKNOWN, ospid: " + str(one.ospid),
        f"    OSD pid info: Unix process pid: {one.ospid}, image: {one.image}",
        "    Short stack dump: ksedsts()+409<-ksdxfstk()",
        "    ----------------------------------------",
    ]
    if layout == "23ai":
        out += [
            f"    SO: {object_}, type: session (4), map: {session}",
            "        state: LIVE (0x4532), flags: 0x1",
            f"    SOC: {session}, type: session (4), map: {object_}",
            "         state: LIVE (0x99fc), flags: INIT (0x1)",
        ]
    else:
        out += [f"    SO: {session}, type: 4, owner: {object_}, flag: INIT/-/-/0x00"]
    serial = "" if old else f" ser: {one.serial}"
    flags = "flag: (41) USR/- BSY/-/-/-/-/-" if old else ""
    out += [f"    (session) sid: {one.sid}{serial} trans: 0x0, creator: {object_}, {flags}"]
    if not old:
        out += ["              flags: (0x41) USR/- flags_idl: (0x1) BSY/-/-/-/-/-"]
    out += [
        "              DID: 0001-0029-00000002, short-term DID: 0000-0000-00000000",
        "              oct: 3, prv: 0, sql: 0x12, psql: 0x12, user: 91/SHOP",
        "    O/S info: user: hidden_person, term: pts/1, ospid: 99, machine: hidden-host",
        "              program: " + one.image,
        "    application name: night run, hash value=31",
    ]
    out += _wait(made, one, layout)
    if made.behind(one):
        out += _lock(made, one, one, session, "mode=X", layout)
    if one.ahead is not None:
        out += _lock(made, one.ahead, one, session, f"request={one.asks}", layout)
    return out


def _wait(made: Hang, one: Sleeper, layout: str) -> list[str]:
    history = [
        "    Session Wait History:",
        "     0: waited for 'row cache lock'",
        "        cache id=0x63, mode=0x5, request=0x5",
    ]
    if layout == "10.2":
        if one.ahead is None:
            return [
                "    last wait for 'db file sequential read' blocking sess=0x0 seq=88 wait_time=4 seconds since wait started=0"
            ]
        return [
            f"    waiting for 'row cache lock' blocking sess=0x0 seq=41 wait_time=0 seconds since wait started={one.seconds}",
            f"                cache id={made.cache_id:x}, mode=0, request={MODE[one.asks][2:]}",
            "    Dumping Session Wait History",
            "     for 'row cache lock' count=1 wait_time=2929693",
            "                cache id=63, mode=5, request=5",
        ]
    if one.ahead is None:
        return [
            "    Current Wait Stack:",
            "      Not in wait; last wait ended 0.310 sec ago ",
            f"    There are {len(made.behind(one))} sessions blocked by this session.",
            *history,
        ]
    return [
        "    Current Wait Stack:",
        "     0: waiting for 'row cache lock'",
        f"        cache id={made.cache_id:#x}, mode=0x0, request={MODE[one.asks]}",
        "        wait_id=33 seq_num=40 snap_id=1",
        f"        wait times: snap=0.250000 sec, exc={spoken(one.seconds)}, total={spoken(one.seconds)}",
        "        wait times: max=infinite, heur=9 min 0 sec",
        "        in_wait=1 iflags=0x5a2",
        "    There is at least one session blocking this session.",
        "      Dumping 1 direct blocker(s):",
        f"        inst: {made.instance}, sid: {one.ahead.sid}, ser: {one.ahead.serial}",
        "      Dumping final blocker:",
        f"        inst: {made.instance}, sid: {one.root.sid}, ser: {one.root.serial}",
        "    There are 3 sessions blocked by this session.",
        "    Dumping one waiter:",
        "      inst: 7, sid: 2999, ser: 2",
        "      wait event: 'row cache lock'",
        *history,
    ]


def _lock(made: Hang, holder: Sleeper, one: Sleeper, session: str, mode: str, layout: str) -> list[str]:
    zero = "" if layout == "10.2" else "0x"
    entry = f"{zero}{0xB_0000_1000 + holder.pid * 0x100:x}"
    lists = f"own={entry}a[{session},{session}] wat={entry}b[{session},{session}] mode=X"
    return [
        "      ----------------------------------------",
        f"      SO: {zero}{0xC_0000_1000 + one.pid:x}, type: 50, owner: {session}, flag: INIT/-/-/0x00",
        f"      row cache enqueue: count=1 session={session} object={entry}, {mode}",
        "      savepoint=0x1f",
        f"      row cache parent object: address={entry} cid={made.cache_id}({CACHES[made.cache_id]})",
        "      hash=a6840ab5 typ=9 transaction=0 flags=00008000",
        f"      {lists}",
        "      status=VALID/-/-/-/-/-/-/-/-",
        "      data=",
        "      00000000 5345 4352 4554 0000",
    ]


LAYOUTS = ("braces", "brackets", "brackets without pointers", "nodes", "10.2", "11.2", "23ai")


def written(made: Hang, layout: str) -> bytes:
    """A whole trace file with one dump."""
    body = {
        "braces": braces,
        "brackets": brackets,
        "brackets without pointers": lambda hang_: brackets(hang_, pointers=False),
        "nodes": nodes,
    }.get(layout)
    dump = body(made) if body else system_state(made, layout)
    return "\n".join([*head(made.instance), *dump, ""]).encode()
