"""What is said of a log: only what it can say, which trace to bring, and never more than a warning."""

import io

import pytest

from collectors.logs.alert import read
from collectors.model import LoggedEvent
from rules.engine import diagnose
from rules.logs import NAMES, weighed
from rules.model import MOST_LOGGED, Diagnosis, Severity

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
            "ORA-00060: Deadlock detected. More info in file /t/db1_ora_5.trc.",
            "row-cache-library-deadlock",
            "1 deadlock",
        ),
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
