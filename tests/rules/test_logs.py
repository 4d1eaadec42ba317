"""What is said of a log: only what it can say, which trace to bring, and never more than a warning: tests/golden/logs.txt.

`pytest FILE --renew-golden` writes the file; read the difference before you keep it.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence

from collectors.logs import trace
from collectors.logs.alert import read
from collectors.model import LoggedEvent
from rules.engine import diagnose
from rules.logs import NAMES, weighed
from rules.model import MOST_LOGGED, Diagnosis
from tests.collectors.logs.published_traces import HANG, chained

TIMEOUT = (
    ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={0}\nSystem State dumped to trace file /t/db1_ora_{0}.trc\n"
)
QUIET = "Sun Mar 01 06:00:00 2026\nThread 1 advanced to log sequence 5\nSun Mar 01 08:00:00 2026\nThread 1 opened at log 6\n"


def told(log: str) -> Diagnosis:
    return diagnose(read(io.BytesIO(log.encode()), "a log"))


def scenes() -> Iterator[tuple[str, Diagnosis]]:
    day, first = "Sun Mar 01 06:00:00 2026\n", f"Sun Mar 01 14:02:20 2026\n{TIMEOUT.format(2)}"
    many = "".join(f"Sun Mar 01 14:0{n}:20 2026\n{TIMEOUT.format(n)}" for n in range(2, 9))
    yield "seven timeouts", told(many)
    before = (
        "Sun Mar 01 12:00:00 2026\nALTER SYSTEM SET open_cursors=300 SCOPE=BOTH;\n"
        "Sun Mar 01 13:58:00 2026\nORA-1653: unable to extend table A.B by 128 in                 tablespace USERS\n"
    )
    after = "Sun Mar 01 14:30:00 2026\nORA-00020: maximum number of processes (200) exceeded\n"
    yield "a timeout with lines before and after", told(f"{before}{first}{after}")
    yield "an old timeout", told(f"{first}Sun Mar 08 14:02:20 2026\nThread 1 advanced to log sequence 6\n")
    yield "timeouts without a time", told(TIMEOUT.format(7) + TIMEOUT.format(8))
    yield "no line of the row cache", told(QUIET)
    heap = "ORA-04031 heap dump being written to trace file /t/a_i1.trc\nErrors in file /t/a_ora_1.trc:\n"
    for line in (
        "ORA-04021: timeout occurred while waiting to lock object",
        'ORA-04031: unable to allocate 9 bytes of shared memory ("shared pool")',
        'ORA-04031: unable to allocate 9 bytes of shared memory ("java pool")',
        "ORA-04031: no more is said",
        f'{heap}ORA-04031: unable to allocate 9 bytes of shared memory ("large pool")',
        "WARNING: too many parse errors, count=100 SQL hash=0x1",
        "ORA-00060: Deadlock detected. More info in file /t/db1_ora_5.trc.",
        "Global Enqueue Services Deadlock detected. More info in file\n /t/db1_lmd0_5.trc.",
        "ORA-00600: internal error code, arguments: [kqrfrpo], [0x1], [], []",
        "ORA-00600: internal error code, arguments: [kcbzib], [0x1], [], []",
    ):
        yield line.rpartition("\n")[2], told(f"{day}{line}\n")
    for resources in (("TX", "TX"), ("TM", "UL"), ("QI", "LB"), ("TX", "NB"), ("CF", "CF")):
        graph = "".join(
            f"{resource}-7f2c91aa-00000000        45     {sid}     X             52     {411 - sid}           X\n"
            for resource, sid in zip(resources, (137, 274), strict=True)
        )
        head = "*** 2025-05-20 10:11:12.345\nDEADLOCK DETECTED ( ORA-00060 )\nDeadlock graph:\nResource Name process\n"
        yield f"a deadlock of {resources}", traced(head + graph)
    habits: Sequence[tuple[Iterable[int], str]] = (
        (range(1, 7), "01:3{}:07"), (range(1, 7), "12:0{}:07"), ((1, 8, 15, 22), "01:3{}:07"), ((1, 2, 5, 9), "01:3{}:07"),
        ((1, 2), "01:3{}:07"), (range(1, 7), "{}3:30:07"),
    )  # fmt: skip
    for days, clock in habits:
        lines = (f"2026-03-{day:02}T{clock.format(n % 2)}\n{TIMEOUT.format(day)}" for n, day in enumerate(days))
        yield f"timeouts on days {[*days]} at {clock}", told("".join(lines))
    head = "Version 19.21.0.0.0\n*** 2025-11-17T14:02:07.118204+01:00\n"
    sql = "PARSING IN CURSOR #140 len=49 dep=0 uid=114 tim=9 ad='7f1a2b3c' sqlid='7k2m4p9x1q3vz'\ninsert into hidden\n"
    wait = "WAIT #140: nam='row cache lock' ela= 3000400 cache id=10 mode=0 request=3 obj#=-1 tim=912\n"
    other = "WAIT #140: nam='db file sequential read' ela= 999999999 file#=10 block#=0 blocks=3 tim=912\n"
    yield "a SQL trace", traced(f"{head}{sql}{wait * 3}{other}PARSE #140:c=1204,e=9001212,p=0,cr=2\n")
    lock = "                      p3: '100*mode+namespace'=0x4f0003"
    chain = chained(1408, "library cache lock", lock, 977, "not in a wait:")
    hang = f"{HANG}  analysis initiated by oradebug\n{chain}".replace("blocking: 1 session", "blocking: 187 sessions")
    yield "who waits for a lock on an account logs on", traced(hang)


def traced(text: str) -> Diagnosis:
    return diagnose(trace.read(io.BytesIO(text.encode()), "a trace"))


def lines(got: Diagnosis) -> Iterator[str]:
    yield f"{got.state}, {got.severity}: {got.headline}"
    yield from (
        f"{step.step}: {step.statement}" for step in got.steps if got.state != "No data" or step.step != "logged"
    )
    yield from (f"look at {candidate.cause}" for candidate in got.candidates)
    yield from (f"{reason}; {way_out}" for reason, way_out in {(one.why, one.way_out) for one in got.undetermined})
    yield f"{len(got.events)} events, of {', '.join(sorted({event.trace_file or 'no trace' for event in got.events}))}"


def test_what_is_said_of_each_log(golden: Callable[[str, str], None]) -> None:
    told_of = dict(scenes())
    assert not any(got.findings for got in told_of.values()) and "hidden" not in repr(told_of)
    golden("logs.txt", "\n".join(line for name, got in told_of.items() for line in (f"== {name}", *lines(got), "")))


def test_left_out_lines_count() -> None:
    log = "".join(f"2026-03-{1 + n // 24:02}T{n % 24:02}:00:00\n{TIMEOUT.format(n)}" for n in range(500))
    diagnosis = told(log)
    assert "the first of 500 timeouts" in diagnosis.headline
    assert len(diagnosis.events) == MOST_LOGGED


def test_every_kind_has_a_name_and_a_place_and_is_shown_a_little() -> None:
    kinds = LoggedEvent.__annotations__["kind"].__args__
    assert set(kinds) == set(NAMES)
    kinds = ["ddl"] * 50 + ["row_cache_timeout"] * 50
    assert weighed(kinds, 6) == [0, 1, 2, 50, 51, 52]  # type: ignore[arg-type]
    assert weighed(kinds, 8) == [0, 1, 2, 50, 51, 52, 53, 54]  # type: ignore[arg-type]
