"""What is said of a log: only what it can say, which trace to bring, and never more than a warning."""

import io
from collections.abc import Sequence

import pytest

from collectors.logs import trace
from collectors.logs.alert import read
from collectors.model import LoggedEvent
from rules.engine import diagnose
from rules.logs import NAMES, weighed
from rules.model import MOST_LOGGED, Diagnosis, Severity
from tests.collectors.logs.published_traces import HANG, chained

TIMEOUT = (
    ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={0}\nSystem State dumped to trace file /t/db1_ora_{0}.trc\n"
)
QUIET = "Sun Mar 01 06:00:00 2026\nThread 1 advanced to log sequence 5\nSun Mar 01 08:00:00 2026\nThread 1 opened at log 6\n"


def told(log: str) -> Diagnosis:
    return diagnose(read(io.BytesIO(log.encode()), "a log"))


def step(diagnosis: Diagnosis, name: str) -> str:
    return next((one.statement for one in diagnosis.steps if one.step == name), "")


def test_timeouts_give_the_first_their_number_and_the_trace_to_bring() -> None:
    log = "".join(f"Sun Mar 01 14:0{n}:20 2026\n{TIMEOUT.format(n)}" for n in range(2, 9))
    diagnosis = told(log)
    assert diagnosis.headline == (
        "2026-03-01 14:02:20: the first of 7 timeouts of a row cache enqueue lock, up to 2026-03-01 14:08:20; bring db1_ora_2.trc"
    )
    assert (diagnosis.severity, diagnosis.state) == (Severity.WARNING, "Warning")
    assert diagnosis.findings == ()
    assert [event.trace_file for event in diagnosis.events] == [f"db1_ora_{n}.trc" for n in range(2, 9)]
    assert "db1_ora_2.trc, db1_ora_3.trc" in step(diagnosis, "bring next")
    assert [candidate.cause for candidate in diagnosis.candidates] == ["row-cache-lock-hang"]


def test_what_came_before_and_after_is_listed_and_not_blamed() -> None:
    log = (
        "Sun Mar 01 12:00:00 2026\nALTER SYSTEM SET open_cursors=300 SCOPE=BOTH;\n"
        "Sun Mar 01 13:58:00 2026\nORA-1653: unable to extend table A.B by 128 in                 tablespace USERS\n"
        f"Sun Mar 01 14:02:20 2026\n{TIMEOUT.format(2)}"
        "Sun Mar 01 14:30:00 2026\nORA-00020: maximum number of processes (200) exceeded\n"
    )
    diagnosis = told(log)
    before, after = step(diagnosis, "before it"), step(diagnosis, "after it")
    assert "2026-03-01 13:58:00 no space to extend table" in before and "not blamed" in before
    assert "open_cursors" not in before, "it is two hours older"
    assert "no process is left" in after


def test_old_timeout_is_no_warning() -> None:
    log = (
        f"Sun Mar 01 14:02:20 2026\n{TIMEOUT.format(2)}Sun Mar 08 14:02:20 2026\nThread 1 advanced to log sequence 6\n"
    )
    assert told(log).severity is Severity.NOTICE


def test_log_without_a_line_of_the_row_cache_cannot_tell() -> None:
    diagnosis = told(QUIET)
    assert (diagnosis.severity, diagnosis.state) == (Severity.INFO, "No data")
    assert diagnosis.headline.startswith("Cannot tell: the log has no line of the row cache in an interval of 7,200 s")
    rests = step(diagnosis, "what this rests on")
    assert (
        "no timeout of a row cache lock was logged, which rules out" in rests and "shorter waits leave no line" in rests
    )
    assert {verdict.why for verdict in diagnosis.undetermined} == {"an alert log has no figures of the row cache"}


@pytest.mark.parametrize(
    ("line", "cause", "words"),
    [
        (
            "ORA-04021: timeout occurred while waiting to lock object",
            "ddl-invalidation",
            "1 timeout in the library cache",
        ),
        (
            'ORA-04031: unable to allocate 9 bytes of shared memory ("shared pool")',
            "shared-pool-shrink",
            "1 shortage in",
        ),
        ("WARNING: too many parse errors, count=100 SQL hash=0x1", "failed-parses", "1 warning of statements"),
    ],
)
def test_what_may_belong_to_the_row_cache_is_a_reason_to_look(line: str, cause: str, words: str) -> None:
    diagnosis = told(f"Sun Mar 01 06:00:00 2026\n{line}\n")
    assert f"The log has no timeout of a row cache lock, but {words}" in diagnosis.headline
    assert [candidate.cause for candidate in diagnosis.candidates] == [cause]
    assert diagnosis.state == "No data", "nobody knows whether the row cache was in it"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            "ORA-00060: Deadlock detected. More info in file /t/db1_ora_5.trc.",
            "1 deadlock, 2026-03-01 06:00:00; bring db1_ora_5.trc, whose graph says whether it is the application's, as nearly",
        ),
        (
            "Global Enqueue Services Deadlock detected. More info in file\n /t/db1_lmd0_5.trc.",
            "1 deadlock, 2026-03-01 06:00:00; bring db1_lmd0_5.trc, whose graph",
        ),
        ('ORA-04031: unable to allocate 9 bytes of shared memory ("java pool")', "1 shortage in the java pool"),
        ("ORA-04031: no more is said", "1 shortage in another pool"),
        (
            "ORA-04031 heap dump being written to trace file /t/a_i1.trc\nErrors in file /t/a_ora_1.trc:\n"
            'ORA-04031: unable to allocate 9 bytes of shared memory ("large pool")',
            "1 shortage in the large pool, 2026-03-01 06:00:00; bring a_ora_1.trc",
        ),
    ],
    ids=["deadlock", "trace on the next line", "java pool", "no pool", "an announcement is no error"],
)
def test_what_need_not_belong_to_it_is_none_yet(lines: str, words: str) -> None:
    diagnosis = told(f"Sun Mar 01 06:00:00 2026\n{lines}\n")
    assert words in diagnosis.headline and diagnosis.candidates == () and diagnosis.state == "No data"


@pytest.mark.parametrize(
    ("resources", "cause", "words"),
    [
        (("TX", "TX"), None, "1 deadlock of the application (TX)"),
        (("TM", "UL"), None, "1 deadlock of the application (TM, UL)"),
        (("QI", "LB"), "row-cache-library-deadlock", "1 deadlock, 2025-05-20 10:11:12"),
        (("TX", "NB"), "row-cache-library-deadlock", "1 deadlock, 2025-05-20 10:11:12"),
        (("CF", "CF"), None, "1 deadlock, 2025-05-20 10:11:12"),
    ],
)
def test_enqueues_of_a_graph_decide_whose_deadlock_it_is(
    resources: tuple[str, ...], cause: str | None, words: str
) -> None:
    graph = "".join(
        f"{resource}-7f2c91aa-00000000        45     {sid}     X             52     {411 - sid}           X\n"
        for resource, sid in zip(resources, (137, 274), strict=True)
    )
    text = (
        f"*** 2025-05-20 10:11:12.345\nDEADLOCK DETECTED ( ORA-00060 )\nDeadlock graph:\nResource Name process\n{graph}"
    )
    diagnosis = diagnose(trace.read(io.BytesIO(text.encode()), "a trace"))
    assert words in diagnosis.headline
    assert [candidate.cause for candidate in diagnosis.candidates] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("days", "clock", "words"),
    [
        (range(1, 7), "01:3{}:07", "6 timeouts of a row cache enqueue lock, each night at 01:30, 2026-03-01"),
        (range(1, 7), "12:0{}:07", "6 timeouts of a row cache enqueue lock, each day at 12:00, 2026-03-01"),
        ((1, 8, 15, 22), "01:3{}:07", "4 timeouts of a row cache enqueue lock, each Sunday at 01:30, 2026-03-01"),
        ((1, 2, 5, 9), "01:3{}:07", "4 timeouts of a row cache enqueue lock, on 4 days at 01:30, 2026-03-01"),
        ((1, 2), "01:3{}:07", "2026-03-01 01:30:07: the first of 2 timeouts"),
        (range(1, 7), "{}3:30:07", "2026-03-01 03:30:07: the first of 6 timeouts"),
    ],
)
def test_many_moments_are_told_as_the_habit_they_are(days: Sequence[int], clock: str, words: str) -> None:
    log = "".join(f"2026-03-{day:02}T{clock.format(n % 2)}\n{TIMEOUT.format(day)}" for n, day in enumerate(days))
    assert words in told(log).headline


def test_a_log_without_any_time_still_says_it_in_a_sentence() -> None:
    assert told(TIMEOUT.format(7) + TIMEOUT.format(8)).headline == (
        "The log has 2 timeouts of a row cache enqueue lock, without a time that could be read; bring db1_ora_7.trc"
    )


def test_waits_of_a_sql_trace_and_chains_of_another_wait_are_told() -> None:
    """The library cache lock of namespace 79 is one on an account, so who waits for it logs on."""
    head = "Version 19.21.0.0.0\n*** 2025-11-17T14:02:07.118204+01:00\n"
    sql = "PARSING IN CURSOR #140 len=49 dep=0 uid=114 tim=9 ad='7f1a2b3c' sqlid='7k2m4p9x1q3vz'\ninsert into hidden\n"
    wait = "WAIT #140: nam='row cache lock' ela= 3000400 cache id=10 mode=0 request=3 obj#=-1 tim=912\n"
    other = "WAIT #140: nam='db file sequential read' ela= 999999999 file#=10 block#=0 blocks=3 tim=912\n"
    text = f"{head}{sql}{wait * 3}{other}PARSE #140:c=1204,e=9001212,p=0,cr=2\n"
    diagnosis = diagnose(trace.read(io.BytesIO(text.encode()), "a trace"))
    assert diagnosis.headline == (
        "The SQL trace has 3 waits for row cache lock on dc_users (cache id 10), 9.0 s in all, the longest 3.0 s; statement "
        "7k2m4p9x1q3vz, whose parse took 9.0 s"
    )
    assert diagnosis.severity is Severity.NOTICE and "hidden" not in repr(diagnosis)
    lock = "                      p3: '100*mode+namespace'=0x4f0003"
    hang = (
        HANG + "  analysis initiated by oradebug\n" + chained(1408, "library cache lock", lock, 977, "not in a wait:")
    )
    diagnosis = diagnose(
        trace.read(io.BytesIO(hang.replace("blocking: 1 session", "blocking: 187 sessions").encode()), "a trace")
    )
    assert diagnosis.headline == (
        "2016-08-19 10:20:30: hang analysis asked for with oradebug: 187 sessions wait behind session 977,1248 on instance 1, "
        "which is not in a wait; most wait for library cache lock, the longest for 4 minutes"
    )
    assert [candidate.cause for candidate in diagnosis.candidates] == ["failed-logon-delay"]
    assert diagnosis.severity is Severity.NOTICE


def test_internal_error_in_the_row_cache_is_a_notice() -> None:
    line = "ORA-00600: internal error code, arguments: [{}], [0x1], [], []"
    assert told(f"Sun Mar 01 06:00:00 2026\n{line.format('kqrfrpo')}\n").severity is Severity.NOTICE
    assert told(f"Sun Mar 01 06:00:00 2026\n{line.format('kcbzib')}\n").severity is Severity.INFO


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
