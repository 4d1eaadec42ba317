"""A session on the stand-in: cheap, marked, read-only, bounded in time, and clear about errors."""

import gc
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from collectors.deadline import MOST_LEFT_BEHIND, SPARE_THREADS, left_behind
from collectors.demo.scenarios import scenarios
from collectors.errors import (
    Cancelled,
    CredentialError,
    SessionError,
    SetupError,
    TooLarge,
    UnlistedStatement,
    ViewRefused,
)
from collectors.model import Missing, Rows
from collectors.oracle import (
    MOST_TOGETHER,
    ROOM,
    USUAL_BYTES,
    ConnectTarget,
    Deadlines,
    HeldAnswers,
    OracleConnection,
    TooSlow,
    _Remains,
    prepare,
)
from collectors.poll import Grouping, poll
from collectors.registry import collectors, views_of
from collectors.release import text_for
from collectors.sql_list import MOST_BYTES, MOST_ROWS, rows_at_most, texts
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, DictBackend, OracleType, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend, demo_services
from tests.oracle_standin.server import Listener
from tests.service.standin import becomes

LIMIT = HANGS
QUICK = Deadlines(connect=4.0, statement=1.0, ping=1.0, close=0.5)
HASTY = replace(QUICK, connect=0.4)
"""For logins without an answer. Others may take their time on a busy machine."""
ONE, MANY, SLOW = "select one from standin", "select many from standin", "select slow from standin"
ACCEPTED = texts() | {ONE, MANY, SLOW}
"""The bill, and the statements of these tests."""


@pytest.fixture(autouse=True, scope="module")
def _thin() -> None:
    prepare("thin")


@pytest.fixture
def listener() -> Iterator[Listener]:
    many = [(number, f"row {number}") for number in range(ROOM + 500)]
    scripts = {
        ONE: Answer([ResultColumn("ONE")], [(1,)]),
        SLOW: Answer([ResultColumn("ONE")], [(1,)], delay=60.0),
        MANY: Answer([ResultColumn("N"), ResultColumn("Text", OracleType.VARCHAR2)], many),
    }
    with Listener({"orcl": Service(DictBackend(scripts), {USER: Account(PASSWORD)})}) as running:
        yield running


def orcl(listener: Listener) -> Service:
    return listener.services["orcl"]


def session(
    listener: Listener,
    deadlines: Deadlines = QUICK,
    dsn: str = "",
    accepted: frozenset[str] | None = ACCEPTED,
    name: str = "orcl",
    **given: object,
) -> OracleConnection:
    target = ConnectTarget(dsn or listener.dsn(name), USER, PASSWORD, **given)  # type: ignore[arg-type]
    return within(LIMIT, lambda: OracleConnection(name, target, deadlines, accepted))


def ask(connection: OracleConnection, sql: str = ONE) -> list[tuple[object, ...]]:
    return list(within(LIMIT, lambda: connection.query(sql, {})).rows)


def test_ended_sessions_are_freed_although_python_collects_rarely(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left() -> int:
        return sum(type(each).__name__ == "ThinConnImpl" for each in gc.get_objects())

    monkeypatch.setattr("collectors.oracle.REMAINS", 10)
    monkeypatch.setattr("collectors.oracle.REMAINS_PAUSE", 0.0)
    monkeypatch.setattr("collectors.oracle._REMAINS", _Remains())
    gc.collect()
    before, collects = left(), gc.isenabled()
    gc.disable()
    try:
        for number in range(35):
            connection = session(listener)
            assert ask(connection) == [(1,)]
            if number % 2:
                orcl(listener).drop_connections()
                with pytest.raises(SessionError):
                    ask(connection)
            connection.close()
        del connection
        assert left() - before <= 10
    finally:
        if collects:
            gc.enable()


def test_remains_are_collected_once_a_minute_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    collected, now = [], [1000.0]
    monkeypatch.setattr("collectors.oracle.gc.collect", lambda: collected.append(now[0]))
    remains = _Remains(lambda: now[0])
    for _ in range(500):
        remains.add()
        now[0] += 0.5
    assert collected == [1049.5, 1109.5, 1169.5, 1229.5]


def test_session_keeps_no_more_room_than_its_statements_need() -> None:
    name = "undo-storm"
    with Listener({name: demo_services([name])[name]}) as listener:
        connection = session(listener, Deadlines(), accepted=None, name=name)
        before, snapshot = roomy(), None
        for _ in range(3):
            snapshot = within(LIMIT, lambda last=snapshot: poll(name, connection, last))  # type: ignore[misc]
        kept = roomy() - before
        connection.close()
    assert kept == 0, "each of a thousand sessions keeps the columns with room for a first answer"


def roomy() -> int:
    """Lists as long as the driver makes them for a column of a first execution."""
    gc.collect()
    return sum(type(one) is list and len(one) == ROOM for one in gc.get_objects())


def test_answer_counts_the_round_trips_of_a_large_result(listener: Listener) -> None:
    connection = session(listener, Deadlines())
    trips = []
    for _ in range(3):
        before = orcl(listener).counters.round_trips
        answer = within(LIMIT, lambda: connection.query(MANY, {}))
        assert orcl(listener).counters.round_trips - before == answer.round_trips
        assert answer.columns == ("n", "text") and len(answer.rows) == ROOM + 500
        assert answer.rows[-1] == (ROOM + 499, f"row {ROOM + 499}")
        trips.append(answer.round_trips)
    assert trips == [4, 1, 1], "a statement with many rows gets room for them"


class Endless(Sequence[Sequence[object]]):
    """Rows without an end, made when they are fetched. `given` counts them."""

    def __init__(self, row: Sequence[object]) -> None:
        self._row = row
        self.given = 0

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, place: object) -> object:  # type: ignore[override]
        if isinstance(place, slice) and place.stop is not None:
            self.given += place.stop
            return [self._row] * place.stop
        return self


@pytest.mark.parametrize(
    ("limit", "length", "told", "at_most"),
    [
        ("", 1, f"more than {MOST_ROWS:,} rows", MOST_ROWS + 2 * ROOM),
        (" where rownum <= 20", 1, "more than 20 rows", ROOM),
        ("", 3900, "more than 32 MiB", MOST_BYTES // 3900 + 2 * ROOM),
    ],
)
def test_answer_without_an_end_costs_a_bounded_part_of_it_and_no_login(
    listener: Listener, limit: str, length: int, told: str, at_most: int
) -> None:
    sql, rows = f"select text from v$endless{limit}", Endless(("x" * length,))
    orcl(listener).backend = DictBackend(
        {sql: Answer([ResultColumn("TEXT", OracleType.VARCHAR2)], rows), ONE: Answer([ResultColumn("ONE")], [(1,)])}
    )
    connection = session(listener, Deadlines(), accepted=frozenset({sql, ONE}))
    with pytest.raises(TooLarge, match=f"{told}, which no such view should give"):
        ask(connection, sql)
    assert 0 < rows.given <= at_most
    assert ask(connection) == [(1,)] and orcl(listener).counters.logins == 1


class Owner:
    """A session, for those who only count what it holds."""


def test_answers_of_many_sick_databases_hold_a_bounded_part_together_and_usual_ones_are_never_counted() -> None:
    held, sick, usual = HeldAnswers(), [Owner() for _ in range(34)], [Owner() for _ in range(200)]
    kept: dict[tuple[Owner, str], int] = {}
    for size, sql, owner in product(range(2**20, MOST_BYTES, 3 * 2**20), ("first", "second"), [*sick, *usual]):
        if owner in sick:
            try:
                held.take(owner, sql, size)
                kept[owner, sql] = size
            except TooLarge:
                kept.pop((owner, sql), None)
        else:
            held.take(owner, sql, USUAL_BYTES // 2)
    assert MOST_TOGETHER // 2 <= sum(kept.values()) <= MOST_TOGETHER + len(sick) * USUAL_BYTES
    del sick[1:], kept, owner
    held.take(sick[0], "first", MOST_BYTES)


class OneEndlessView(ScriptedBackend):
    """A scripted database on which one view never ends."""

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        answer = super().answer(service, sql, binds)
        return replace(answer, rows=Endless(answer.rows[-1])) if "v$latch_misses" in views_of(sql) else answer


def test_view_without_an_end_is_missing_and_the_others_are_read() -> None:
    service = demo_services(["undo-storm"])["undo-storm"]
    service.backend = OneEndlessView(scenarios()["undo-storm"])
    with Listener({"erp": service}) as listener:
        connection = session(listener, Deadlines(), accepted=None, name="erp")
        grouping = Grouping("erp")
        first = within(LIMIT, lambda: poll("erp", connection, grouping=grouping))
        again = within(LIMIT, lambda: poll("erp", connection, first, grouping=grouping))
        connection.close()
    for snapshot in (first, again):
        missing = {view: one for view, one in snapshot.readings.items() if not isinstance(one, Rows)}
        lost = missing.pop("v$latch_misses")
        assert isinstance(lost, Missing) and lost.kind == "failed" and "latchscope stopped reading it" in lost.why
        assert all(one.kind == "not_asked" for one in missing.values()), missing
    assert service.counters.logins == 1


def test_limit_of_an_answer_is_that_of_its_statement() -> None:
    bounds = {rows_at_most(text) for text in texts()}
    assert {20, 50, 200, 500, MOST_ROWS} <= bounds and max(bounds) == MOST_ROWS


def test_session_sends_texts_of_the_bill_only(listener: Listener) -> None:
    connection = session(listener, accepted=None)
    before = orcl(listener).counters.round_trips
    for sql in (
        ONE,
        "select name from v$latch for update",
        "with function f return number is begin return 1; end; select f from dual",
        "delete from t",
        "begin null; end;",
        "alter system flush shared_pool",
        "/* select */ update t set a = 1",
        "",
    ):
        with pytest.raises(UnlistedStatement, match=r"not on the list of SQL .*latchscope sql list"):
            connection.query(sql, {})
    assert orcl(listener).counters.statements == 0 and orcl(listener).counters.round_trips == before


def test_session_is_marked_and_a_refused_view_leaves_it_alone(listener: Listener) -> None:
    connection = session(listener)
    orcl(listener).faults.fail_statements(lambda sql: sql == MANY, 942)
    with pytest.raises(ViewRefused, match="ORA-00942"):
        ask(connection, MANY)
    assert ask(connection) == [(1,)] and orcl(listener).counters.logins == 1
    record = orcl(listener).sessions[-1]
    assert (record.module, record.action, record.client_identifier) == ("latchscope", "poll", "latchscope")
    assert not record.in_transaction


def test_cancelled_statement_costs_a_ping_and_no_login(listener: Listener) -> None:
    connection = session(listener)
    with pytest.raises(Cancelled, match="DPY-4024"):
        ask(connection, SLOW)
    assert ask(connection) == [(1,)]
    assert orcl(listener).counters.logins == 1
    assert not orcl(listener).sessions[-1].ended


def test_session_that_answers_no_ping_is_replaced_and_given_up_only_then(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, close = session(listener), OracleConnection.close
    logins: list[int] = []

    def closing(self: OracleConnection) -> None:
        logins.append(orcl(listener).counters.logins)
        close(self)

    monkeypatch.setattr(OracleConnection, "close", closing)
    orcl(listener).faults.slow(4.0)
    with pytest.raises(Cancelled, match="DPY-4024"):
        ask(connection)
    assert logins == [2]
    orcl(listener).faults.clear()
    assert ask(connection) == [(1,)] and orcl(listener).counters.logins == 2


@pytest.mark.parametrize("recovers", [True, False])
def test_session_is_kept_until_another_ping_while_no_new_one_can_be_had(listener: Listener, recovers: bool) -> None:
    connection = session(listener)
    orcl(listener).faults.slow(4.0)
    orcl(listener).faults.fail_logins(18)  # maximum number of sessions exceeded
    with pytest.raises(SessionError, match="ORA-00018"):
        ask(connection)
    if recovers:
        orcl(listener).faults.clear()
        assert ask(connection) == [(1,)]
    else:
        with pytest.raises(SessionError, match="failed a second ping"):
            ask(connection)
    assert orcl(listener).counters.logins == 2, "one accepted login, one refused"


def test_refused_credential_of_a_new_session_is_told_as_such(listener: Listener) -> None:
    connection = session(listener)
    orcl(listener).faults.slow(4.0)
    orcl(listener).faults.fail_logins(28000)
    with pytest.raises(CredentialError, match="ORA-28000"):
        ask(connection)


def test_two_slow_statements_in_a_row_end_the_poll_and_keep_the_session(listener: Listener) -> None:
    connection = session(listener)
    with pytest.raises(Cancelled):
        ask(connection, SLOW)
    with pytest.raises(TooSlow, match="two statements in a row"):
        ask(connection, SLOW)
    assert ask(connection) == [(1,)]
    with pytest.raises(Cancelled):
        ask(connection, SLOW)
    assert orcl(listener).counters.logins == 1


def test_slow_look_for_blockers_says_nothing_of_the_polls(listener: Listener) -> None:
    look = text_for(collectors()["row_cache_blockers"].statements, "19")
    backend = orcl(listener).backend
    assert isinstance(backend, DictBackend) and look is not None
    backend.scripts[look] = Answer([ResultColumn("ONE")], [(1,)], delay=60.0)
    connection = session(listener, replace(QUICK, blocker_look=0.3))
    for _ in range(2):
        with pytest.raises(Cancelled):
            ask(connection, look)
    with pytest.raises(Cancelled):
        ask(connection, SLOW)
    with pytest.raises(Cancelled):
        ask(connection, look)
    with pytest.raises(TooSlow, match="two statements in a row"):
        ask(connection, SLOW)
    assert ask(connection) == [(1,)] and orcl(listener).counters.logins == 1


def test_database_slow_in_everything_is_left_after_two_statements(listener: Listener) -> None:
    connection = session(listener)
    orcl(listener).faults.slow(4.0)
    with pytest.raises(Cancelled):
        ask(connection)
    with pytest.raises(SessionError, match="two statements in a row"):
        ask(connection)
    assert orcl(listener).counters.logins == 2


def test_own_guard_leaves_the_driver_time_to_clean_up() -> None:
    """The driver waits its call_timeout for the answer, and the same time for the answer to its break."""
    for deadlines in (Deadlines(), QUICK, Deadlines(statement=30.0)):
        assert deadlines.frozen > 2 * deadlines.statement


def test_statement_cache_holds_all_that_a_session_asks(listener: Listener) -> None:
    asked = [f"select {number} from standin" for number in range(len(collectors()) + 12)]
    backend = orcl(listener).backend
    assert isinstance(backend, DictBackend)
    backend.scripts |= dict.fromkeys(asked, Answer([ResultColumn("ONE")], [(1,)]))
    connection = session(listener, accepted=frozenset(asked))
    for _ in range(3):
        assert [ask(connection, sql) for sql in asked] == [[(1,)]] * len(asked)
    assert orcl(listener).counters.parses == 2 * len(asked), "the first answer shows how much room to keep"


@pytest.mark.parametrize("stage", [Stage.ACCEPT, Stage.LOGIN])
def test_silent_login_ends_in_time_and_leaves_nothing_behind(listener: Listener, stage: Stage) -> None:
    orcl(listener).faults.hang(stage)
    for _ in range(MOST_LEFT_BEHIND + 2):
        with pytest.raises(SessionError, match=r"no answer to the login within 0\.4 s"):
            session(listener, HASTY)
        becomes(lambda: left_behind("session orcl") == 0, "the thread of the login has ended")
    orcl(listener).faults.clear()
    assert ask(session(listener)) == [(1,)]


def test_login_attempts_that_hang_for_good_are_bounded(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.oracle.left_behind", lambda _: MOST_LEFT_BEHIND)
    with pytest.raises(SessionError, match="no other is made"):
        session(listener)
    assert orcl(listener).counters.connections == 0


@pytest.mark.parametrize(("stage", "said"), [(Stage.EXECUTE, "DPY-4011"), (Stage.FETCH, "DPY-|no answer")])
def test_frozen_server_costs_one_deadline(listener: Listener, stage: Stage, said: str) -> None:
    connection = session(listener)
    orcl(listener).faults.hang(stage)
    with pytest.raises(SessionError, match=said):
        ask(connection)
    within(LIMIT, connection.close)


def test_wrong_password_is_sent_only_once(listener: Listener) -> None:
    with pytest.raises(CredentialError, match="ORA-01017"):
        within(LIMIT, lambda: OracleConnection("orcl", ConnectTarget(listener.dsn("orcl"), USER, "wrong"), QUICK))
    assert orcl(listener).counters.logins == 1


def test_login_failing_in_the_database_is_a_session_error_not_a_statement(listener: Listener) -> None:
    orcl(listener).faults.fail_logins(4088)  # a logon trigger
    with pytest.raises(SessionError, match="the login failed: ORA-04088"):
        session(listener)


def test_dsn_may_be_a_tns_alias_a_descriptor_or_easy_connect_plus(listener: Listener, tmp_path: Path) -> None:
    address = f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={listener.port}))"
    descriptor = f"(DESCRIPTION={address}(CONNECT_DATA=(SERVICE_NAME=orcl)))"
    (tmp_path / "tnsnames.ora").write_text(f"erp1 = {descriptor}\n", encoding="utf-8")
    assert ask(session(listener, dsn="erp1", config_dir=tmp_path)) == [(1,)]
    assert ask(session(listener, dsn=descriptor)) == [(1,)]
    plus = f"tcp://127.0.0.1:{listener.port}/orcl?transport_connect_timeout=3&retry_count=0"
    assert ask(session(listener, dsn=plus)) == [(1,)]
    with pytest.raises(SetupError, match=r"tnsnames.ora has no alias nowhere; write host:port/service"):
        session(listener, dsn="nowhere", config_dir=tmp_path)
    with pytest.raises(SetupError, match="descriptor in the dsn is not whole"):
        session(listener, dsn="(DESCRIPTION=(ADDRESS=")


def test_tcps_without_its_wallet_is_a_setup_error(listener: Listener, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="wallet"):
        session(listener, dsn=f"tcps://127.0.0.1:{listener.port}/orcl", wallet=tmp_path)


def test_thick_mode_without_instant_client_is_one_clear_line() -> None:
    code = "from collectors.oracle import prepare\nprepare('thick')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS)
    last = done.stderr.strip().splitlines()[-1]
    assert "SetupError: thick mode cannot be used: DPI-1047: Cannot locate a 64-bit Oracle Client library" in last
    assert last.endswith("see docs/connect.md") and "http" not in last


def test_process_keeps_its_driver_mode() -> None:
    with pytest.raises(SetupError, match="thick mode cannot be used"):
        prepare("thick", Path("/nowhere"))
    prepare("thin")


OUTSIDE = (
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    KeyError("AUTH_SESSKEY"),
    ValueError("non-hexadecimal number found"),
    RecursionError("maximum recursion depth exceeded"),
    MemoryError(),
)
"""Errors outside the driver's own classes that it raises on flipped bytes."""


@pytest.mark.parametrize("error", OUTSIDE, ids=lambda error: type(error).__name__)
def test_call_that_fails_inside_the_driver_is_a_session_error_and_a_login_leaves_nothing(
    error: Exception, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets: list[socket.socket] = []

    def connect(**given: object) -> None:
        sockets.append(socket.create_connection(("127.0.0.1", listener.port)))
        raise error

    def fetch(*_: object) -> None:
        raise error

    connection = session(listener)
    monkeypatch.setattr(connection, "_fetch", fetch)
    failed = f"failed inside the driver: {type(error).__name__}"
    with pytest.raises(SessionError, match=f"a statement {failed}") as raised:
        ask(connection)
    assert raised.type is SessionError
    connection.close()
    monkeypatch.setattr("oracledb.connect", connect)
    working = threads()
    for _ in range(30):
        with pytest.raises(SessionError, match=f"the login {failed}"):
            OracleConnection("orcl", ConnectTarget(listener.dsn("orcl"), USER, PASSWORD), QUICK)
    assert [each for each in sockets if each.fileno() >= 0] == []
    assert threads() <= working + SPARE_THREADS and left_behind("session orcl") == 0


def threads() -> int:
    """Threads that work, or wait to work, for a session."""
    return sum(each.name == "spare" or each.name.startswith("session ") for each in threading.enumerate())
