"""Alert logs: what is recognised, which lines become events, when they were, and of which instance they are."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from collectors.logs.alert import KEPT, looks_like_alert_log, read
from collectors.model import Delta
from tests.collectors.logs.published import PUBLISHED, PublishedLog
from tests.paths import REPORTS

TIMEOUT = (
    ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={}\nSystem State dumped to trace file /t/db1_ora_{}.trc\n"
)
START = """Sun Mar 01 06:00:00 2026
Starting ORACLE instance (normal) (OS id: 77)
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
Version 19.8.0.0.0.
Node name:    dbhost
  db_name                  = "erp"
  instance_number          = 2
  cluster_database         = TRUE
Successfully onlined Undo Tablespace 2.
"""


def told(log: str | bytes, since: datetime | None = None, until: datetime | None = None) -> Delta:
    return read(io.BytesIO(log if isinstance(log, bytes) else log.encode()), "a log", since, until)


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case.page)
def test_published_log_says_what_its_page_says(case: PublishedLog) -> None:
    assert looks_like_alert_log(case.log.encode())
    delta = told(case.log)
    assert tuple(event.kind for event in delta.events) == case.kinds
    first = delta.events[0]
    assert case.text in first.text
    assert {name: first.facts.get(name) for name in case.facts} == case.facts
    if case.at:
        assert first.at == datetime.fromisoformat(case.at)
    assert delta.release == case.release


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"anything at all\nand more of it\n",
        b'{"format": "latchscope-capture"}',
        b"24-NOV-2009 14:02:20 * (CONNECT_DATA=(SID=x)) * (ADDRESS=(PROTOCOL=tcp)) * establish * x * 0\n",
        b"<msg time='2026-03-01T10:00:00.000+00:00' org_id='oracle' comp_id='tnslsnr'\n <txt>x</txt></msg>",
        b"Trace file /t/db1_ora_9.trc\nUnix process pid: 9\n*** 2026-03-01T10:00:00\nORA-00060: deadlock\n",
        b"2026-03-01T10:00:00.000+00:00 INFO some program started\n",
        b"2026-03-01 10:00:00 INFO started\nORA-00942: table or view does not exist\n",
    ],
)
def test_other_files_are_no_alert_logs(head: bytes) -> None:
    assert not looks_like_alert_log(head)


def test_reports_are_no_alert_logs() -> None:
    assert [path.name for path in REPORTS.iterdir() if looks_like_alert_log(path.read_bytes())] == []


def test_release_instance_and_cluster_come_from_the_start() -> None:
    delta = told(START)
    (row,) = delta.rows("v$instance")
    assert (delta.database, delta.release) == ("erp/2", "19.8.0.0.0")
    assert {"host_name": "dbhost", "instance_number": 2, "parallel": "YES"}.items() <= row.items()
    assert [event.kind for event in delta.events] == ["instance_start"], "each start puts undo to use"


def test_instance_comes_from_a_trace_file_where_no_start_is_there() -> None:
    delta = told("Sun Mar 01 06:00:00 2026\n" + TIMEOUT.format(1, 2))
    assert delta.database == "db1"
    assert told("Sun Mar 01 06:00:00 2026\n" + TIMEOUT[:50]).database == "a log"


def test_repeated_lines_are_one_event_with_its_number() -> None:
    error = "ORA-1653: unable to extend table APP.SECRET_TABLE by 128 in                 tablespace USERS\n"
    log = "".join(f"Sun Mar 01 06:0{minute}:00 2026\n{error}" for minute in range(4))
    (event,) = told(log).events
    assert (event.line, event.facts["times"]) == (2, 4)
    assert event.facts["until"] == datetime(2026, 3, 1, 6, 3)  # noqa: DTZ001 - as the log has it
    assert "SECRET" not in event.text
    log = "".join(f"Sun Mar 01 0{hour}:00:00 2026\nPMON failed to acquire latch, see PMON dump\n" for hour in (6, 7))
    assert len(told(log).events) == 2, "equal lines of another hour"


def test_events_are_bounded_and_the_rest_is_counted() -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    count = 3 * KEPT
    log = "".join(f"{(begin + timedelta(hours=n)).isoformat()}\n{TIMEOUT.format(n, n)}" for n in range(count))
    delta = told(log)
    pids = [event.facts["pid"] for event in delta.events]
    assert pids == [*range(KEPT), *range(count - KEPT, count)]
    assert sum(int(str(event.facts.get("left_out", 0))) for event in delta.events) == count - 2 * KEPT
    assert f"{KEPT} more events of the kind row_cache_timeout are left out" in delta.notes[0]


@pytest.mark.parametrize(
    "stamp",
    [
        "Tue Nov 24 14:02:20 2009",
        "Tue Nov 24 14:02:20 CET 2009",
        "Die Nov 24 14:02:20 2009",
        "火 11月 24 14:02:20 2009",
        "mar nov. 24 14:02:20 2009",
        "2009-11-24T14:02:20.000000",
        "2009-11-24 14:02:20",
    ],
)
def test_moment_is_read_in_both_forms_and_in_other_languages(stamp: str) -> None:
    (event,) = told(f"{stamp}\n{TIMEOUT.format(1, 2)}").events
    assert event.at == datetime(2009, 11, 24, 14, 2, 20)  # noqa: DTZ001 - as the log has it


SHIPPED = {
    "cloud service": lambda moment, text: f"{moment.isoformat()} {text}",
    "classic": lambda moment, text: f"[{moment:%a %b %d %H:%M:%S %Y}] {text}",
    "query as CSV": lambda moment, text: f'"{moment:%d-%b-%y %I.%M.%S.%f %p} +00:00","{text}"'.replace("Nov", "NOV"),
    "syslog": lambda moment, text: f"<134>1 {moment.isoformat()} db2 oracle 77 - {text}",
    "syslog of a file": lambda moment, text: f"{moment.isoformat()} db2 oracle[77]: {text}",
    "JSON lines": lambda moment, text: json.dumps({"host": "db2", "time": moment.isoformat(), "line": text}),
}


@pytest.mark.parametrize("write", SHIPPED.values(), ids=SHIPPED)
def test_moment_may_be_on_each_line(write: Callable[[datetime, str], str]) -> None:
    begin = datetime(2025, 11, 16, 21, 4, 11, tzinfo=UTC)
    texts = (
        "Thread 2 advanced to log sequence 88117 (LGWR switch)",
        *TIMEOUT.format(7, 8).splitlines(),
        "Thread 2 opened at log 9",
    )
    log = "".join(f"{write(begin + timedelta(minutes=n), text)}\n" for n, text in enumerate(texts))
    assert looks_like_alert_log(log.encode())
    delta = told(log)
    (event,) = delta.events
    assert event.at is not None and event.at.replace(tzinfo=UTC) == begin + timedelta(minutes=1)
    assert (event.kind, event.facts) == ("row_cache_timeout", {"pid": 7, "trace_file": "db1_ora_8.trc"})
    assert delta.basis.seconds == 180


@pytest.mark.parametrize(
    "stamp", ["Xxx Yyy 24 14:03:20 2009", "0001-01-01T00:00:00.000000+14:00", "Fri Dec 31 23:59:59 9999"]
)
def test_unread_moment_leaves_its_lines_undated(stamp: str) -> None:
    log = f"Tue Nov 24 14:02:20 2009\n{TIMEOUT.format(1, 2)}{stamp}\n{TIMEOUT.format(3, 4)}"
    delta = told(log)
    assert [event.at is None for event in delta.events] == [False, True]
    assert any("could not be read" in note for note in delta.notes)


def test_clock_that_goes_back_is_said_and_the_order_stays() -> None:
    log = f"Sun Oct 25 02:59:00 2026\n{TIMEOUT.format(1, 2)}Sun Oct 25 02:01:00 2026\n{TIMEOUT.format(3, 4)}"
    delta = told(log)
    assert [event.facts["pid"] for event in delta.events] == [1, 3]
    assert any("the clock of the log goes back" in note for note in delta.notes)
    assert delta.basis.seconds == 58 * 60


def test_window_keeps_what_is_inside_and_what_has_no_time() -> None:
    log = TIMEOUT.format(0, 0) + "".join(
        f"2026-03-01T{hour}:00:00+01:00\n{TIMEOUT.format(hour, hour)}" for hour in (10, 11, 12)
    )
    since, until = datetime(2026, 3, 1, 10, 30), datetime(2026, 3, 1, 11, 30)  # noqa: DTZ001 - by the clock of the log
    assert [event.facts["pid"] for event in told(log, since, until).events] == [0, 11]
    in_utc = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
    assert [event.facts["pid"] for event in told(log, in_utc).events] == [0, 12]


@pytest.mark.parametrize(
    "written",
    [
        lambda log: log.encode("utf-16"),
        lambda log: log.encode("utf-8-sig"),
        lambda log: log.replace("\n", "\r\n").encode(),
        lambda log: b"cut line \xff\xfe of before\n" + log.encode() + "Überlauf\n".encode("cp1252"),
    ],
    ids=["UTF-16", "UTF-8 with its mark", "Windows", "mixed and cut"],
)
def test_encodings_and_a_cut_first_line(written: object) -> None:
    assert callable(written)
    data = written(f"Tue Nov 24 14:02:20 2009\n{TIMEOUT.format(5, 6)}")
    assert looks_like_alert_log(data)
    (event,) = told(data).events
    assert event.facts == {"pid": 5, "trace_file": "db1_ora_6.trc"}


def test_log_xml_is_read_without_its_entities() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    text = "&gt;&gt;&gt; WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid=9 &b; &lt;&lt;&lt;"
    log = f"{bomb}<msg time='2026-03-01T10:00:00.000+01:00' comp_id='rdbms'\n host_id='h'>\n <txt>{text}\n </txt>\n</msg>\n"
    assert looks_like_alert_log(log.encode())
    (event,) = told(log).events
    assert event.at == datetime.fromisoformat("2026-03-01T10:00:00+01:00")
    assert (event.kind, event.facts["pid"]) == ("row_cache_timeout", 9)


def test_values_that_may_be_secret_are_not_kept() -> None:
    log = (
        "Sun Mar 01 06:00:00 2026\n"
        "ALTER SYSTEM SET wallet_password='hunter2' SCOPE=MEMORY;\n"
        "ALTER SYSTEM SET shared_pool_size='2G' SCOPE=BOTH;\n"
        "alter user app identified by hunter2\n"
        "create table payroll (id number)\n"
    )
    delta = told(log)
    words = [event.text for event in delta.events]
    assert words == [
        "parameter wallet_password was set",
        "parameter shared_pool_size was set to 2G",
        "DDL: alter user",
        "DDL: create table",
    ]
    assert "hunter2" not in repr(delta.events) and "payroll" not in repr(delta.events)


def test_statement_that_fails_to_parse_is_no_ddl() -> None:
    log = (
        "2026-03-01T10:00:00+01:00\nWARNING: too many parse errors, count=100 SQL hash=0x1\n"
        "PARSE ERROR: ospid=1, error=942 for statement:\ncreate table t as select 1 from nothing\n"
        "Additional information: hd=0x1 phd=0x2\ncreate index i on t (x)\n"
    )
    assert [event.text for event in told(log).events if event.kind == "ddl"] == ["DDL: create index"]


def test_hang_manager_says_what_it_did() -> None:
    log = (
        "Sun Mar 01 06:00:00 2026\nDIA0 started with pid=8, OS id=1234\n"
        "DIA0 terminating blocker (ospid: 12 sid: 56 ser#: 789) of hang with ID = 3\n"
        "DIA0 successfully terminated session sid:56 ospid:12 with status 31.\n"
    )
    assert [event.text for event in told(log).events] == [
        "Oracle ends session 56,789 to resolve hang 3",
        "Oracle ended session 56 to resolve a hang",
    ]


def test_blocks_do_not_break_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "".join(f"2026-03-01T10:{n:02}:00+01:00\n{TIMEOUT.format(n, n)}" for n in range(60))
    whole = told(log).events
    for size in (64, 100, 1000):
        monkeypatch.setattr("collectors.logs.alert._BLOCK", size)
        assert told(log).events == whole
