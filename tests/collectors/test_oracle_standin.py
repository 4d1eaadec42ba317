"""The stand-in listener with the real, unmodified driver: what tests of latchscope do not show of it anyway. Every driver call
that could wait without end runs `within` a deadline.
"""

import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from threading import Timer
from typing import Any

import oracledb
import pytest

from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, DictBackend, OracleType, ResultColumn, Script
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import PROFILES
from tests.oracle_standin.server import Listener
from tests.oracle_standin.values import decode_number, encode_number

pytestmark = pytest.mark.slow  # no line of the product runs here
oracledb.enable_thin_mode()  # type: ignore[no-untyped-call]

USER, PASSWORD = "latchscope", "a Passw0rd with spaces, ünd umlauts"
LIMIT = HANGS
ONE = "select one from standin"
MANY = "select eleven columns from standin"
SLOW = "select something slow from standin"
MOMENT = datetime(2024, 2, 29, 23, 59, 58)  # noqa: DTZ001 - a DATE has no zone

ELEVEN = [ResultColumn(f"C{at}", OracleType.NUMBER) for at in range(9)] + [
    ResultColumn("NAME", OracleType.VARCHAR2, 64),
    ResultColumn("SEEN", OracleType.TIMESTAMP),
]


def eleven(count: int) -> list[tuple[object, ...]]:
    return [(*(row * 1_000_003 + at for at in range(9)), f"row {row}", MOMENT) for row in range(count)]


def scripts() -> dict[str, Script]:
    return {
        ONE: Answer([ResultColumn("ONE")], [(1,)]),
        MANY: Answer(ELEVEN, eleven(300)),
        SLOW: Answer([ResultColumn("ONE")], [(1,)], delay=30.0),
    }


@pytest.fixture(params=list(PROFILES))
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    """A listener with one service, on each release in turn."""
    service = Service(DictBackend(scripts()), {USER: Account(PASSWORD)}, PROFILES[request.param])
    with Listener({"orcl": service}) as running:
        yield running


@pytest.fixture
def modern() -> Iterator[Listener]:
    """The same on 19c alone, for what does not depend on the release."""
    with Listener({"orcl": Service(DictBackend(scripts()), {USER: Account(PASSWORD)})}) as running:
        yield running


def orcl(listener: Listener) -> Service:
    return listener.services["orcl"]


def script(listener: Listener, sql: str, answer: Script) -> None:
    backend = orcl(listener).backend
    assert isinstance(backend, DictBackend)
    backend.scripts[sql] = answer


def connect(listener: Listener, **given: Any) -> oracledb.Connection:
    arguments = {"user": USER, "password": PASSWORD, "dsn": listener.dsn("orcl")} | given
    return within(LIMIT, lambda: oracledb.connect(**arguments))


def ask(connection: oracledb.Connection, sql: str, binds: Any = None, **settings: int) -> list[tuple[Any, ...]]:
    def run() -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            for name, value in settings.items():
                setattr(cursor, name, value)
            return list(cursor.execute(sql, binds or {}).fetchall())

    return within(LIMIT, run)


def refusal(call: Callable[[], object]) -> str:
    """The error code of `call`, which must fail."""
    with pytest.raises(oracledb.Error) as caught:
        call()
    return str(caught.value.args[0].full_code)


def works(connection: oracledb.Connection) -> bool:
    return ask(connection, ONE) == [(1,)]


# What a healthy database does


def test_standin_connects_and_answers(listener: Listener) -> None:
    connection = connect(listener)
    assert tuple(map(int, connection.version.split("."))) == orcl(listener).profile.release
    assert works(connection)
    connection.close()
    assert not listener.problems
    counters = orcl(listener).counters
    assert (counters.connections, counters.logins, counters.failed_logins, counters.statements) == (1, 1, 0, 1)


def test_more_than_a_thousand_connections_are_served(modern: Listener) -> None:
    """Neither the driver nor the listener may use select(), which refuses descriptors above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048) if hard < 0 else hard, hard))
    with ExitStack() as held:
        while (taken := os.open(os.devnull, os.O_RDONLY)) < 1024:
            held.callback(os.close, taken)
        held.callback(os.close, taken)
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        connection = connect(modern)
        assert works(connection)
        connection.call_timeout = 30
        assert refusal(lambda: ask(connection, SLOW)) == "DPY-4024"
        connection.call_timeout = 0
        within(LIMIT, connection.ping)
        assert works(connection)
        connection.close()
    assert not modern.problems


def test_numbers_arrive_exactly(listener: Listener) -> None:
    numbers: list[int | float | Decimal | None] = [0, 1, -1, 99, 100, -100, 10**37, int("9" * 38), -int("9" * 38), None]
    numbers += [0.5, -0.25, 123.45, -1e-7, 1e100, -9.87e-120, Decimal("12345678901234567890.123456789012345678")]
    script(listener, "select numbers", Answer([ResultColumn("N")], [(number,) for number in numbers]))
    connection = connect(listener)
    with connection.cursor() as cursor:
        cursor.outputtypehandler = lambda cursor, _: cursor.var(Decimal, arraysize=cursor.arraysize)
        rows = within(LIMIT, lambda: cursor.execute("select numbers").fetchall())
    assert [row[0] for row in rows] == [None if n is None else Decimal(str(n)) for n in numbers]
    assert [row[0] for row in ask(connection, "select numbers")][:9] == numbers[:9]


def test_column_types_all_arrive_with_null_too(listener: Listener) -> None:
    text, raw, fraction = "häuser 漢字 " * 400, bytes(range(256)) * 4, MOMENT.replace(microsecond=123456)
    zone = timezone(-timedelta(hours=3, minutes=30))
    columns = [ResultColumn(kind.name, kind, 32767) for kind in OracleType]
    rows = [
        (1, text, raw, MOMENT, fraction, fraction.replace(tzinfo=zone)),
        (2, "x", b"\x00", MOMENT, MOMENT, MOMENT.replace(tzinfo=UTC)),
        (None,) * 6,
    ]
    script(listener, "select types", Answer(columns, rows))
    expected = [(1, text, raw, MOMENT, fraction, fraction), (2, "x", b"\x00", MOMENT, MOMENT, MOMENT), (None,) * 6]
    assert ask(connect(listener), "select types") == expected
    assert not listener.problems


def test_binds_arrive_by_name(listener: Listener) -> None:
    seen: list[dict[str, object]] = []

    def remember(binds: Mapping[str, object]) -> Answer:
        seen.append(dict(binds))
        return Answer([ResultColumn("N")], [(len(seen),)])

    sql = "select ':no' /* :no */ from t where a = :a and b = :b and a2 = :a and c = :c and d = :d and e = :e --:no"
    script(listener, sql, remember)
    values: list[dict[str, Any]] = [
        {"a": 1, "b": "x" * 9000, "c": 0.1, "d": None, "e": MOMENT},
        {"a": -7, "b": "ü", "c": 2.5, "d": None, "e": None},
        {"a": "text", "b": 12, "c": 1e-9, "d": b"\x01\xff", "e": MOMENT},  # other types: a full execute again
    ]
    connection = connect(listener)
    assert [ask(connection, sql, given) for given in values] == [[(1,)], [(2,)], [(3,)]]
    assert seen == values
    assert not listener.problems


def test_small_packets_and_long_descriptors_are_understood(listener: Listener) -> None:
    sql = "select " + "x" * 30_000 + " from t where a = :a"
    script(listener, sql, lambda binds: Answer(ELEVEN, eleven(len(str(binds["a"])))))
    address = f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={listener.port}))"
    target = f"(CONNECT_DATA=(SERVICE_NAME=orcl)(COLOCATION_TAG={'tag' * 100}))"
    connection = connect(listener, dsn=f"(DESCRIPTION=(SDU=512){address}{target})")
    assert ask(connection, sql, {"a": "b" * 2000}, arraysize=1500) == eleven(2000)
    assert not listener.problems


# Breaks


@pytest.mark.parametrize("disable_oob", [False, True])
def test_cancel_works_while_running_and_while_idle(listener: Listener, disable_oob: bool) -> None:
    connection = connect(listener, disable_oob=disable_oob)
    timer = Timer(0.1, connection.cancel)
    timer.start()
    assert refusal(lambda: ask(connection, SLOW)) == "ORA-01013"
    timer.join()
    assert works(connection)
    connection.cancel()
    assert refusal(lambda: ask(connection, ONE)) == "ORA-01013"
    assert works(connection)
    assert not listener.problems


# The listener itself


def test_listener_listens_on_loopback_only(modern: Listener) -> None:
    assert modern.dsn("orcl") == f"127.0.0.1:{modern.port}/orcl"
    with socket.socket() as other:  # 127.0.0.2 is this machine too, without a listener there
        assert other.connect_ex(("127.0.0.2", modern.port)) != 0


def test_number_format_is_the_published_one_and_reversible() -> None:
    published = {0: "80", 1: "c102", -1: "3e6466", 100: "c202", 123.45: "c202182e", -123.45: "3d644e3866", 0.01: "c002"}
    assert {value: encode_number(value).hex() for value in published} == published
    for value in (*published, 10**125, -(10**125), 1.5e-129, int("1" * 38), -0.001, 7e-10):
        assert decode_number(encode_number(value)) == value
    assert encode_number(1e-200) == encode_number(0)
    for no_number in (float("nan"), float("-inf"), 1e126):
        with pytest.raises(ValueError, match="NUMBER"):
            encode_number(no_number)


def test_standin_can_be_run_by_hand() -> None:
    command = [sys.executable, "-m", "tests.oracle_standin", "--port", "0", "--user", "me", "--password", "mine"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            line = within(LIMIT, process.stdout.readline)
            dsn = line.strip().partition("@")[2]
            connection = within(LIMIT, lambda: oracledb.connect(user="me", password="mine", dsn=dsn))
            assert ask(connection, "select dummy from dual") == [("X",)]
        finally:
            process.terminate()
