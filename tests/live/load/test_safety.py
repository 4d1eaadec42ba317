"""Each reason for which the loads refuse: one line with the way out, exit code 2, and nothing is made."""

from pathlib import Path

import pytest
import yaml

from tests.live.load.conftest import Disposable
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.disposable import WRITER
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER

pytestmark = pytest.mark.slow


def refused(database: Disposable, *more: str) -> str:
    """The one line of a refusal."""
    before = dict(database.backend.made)
    code, told = database.run("--only", "sequence", *more)
    assert code == 2
    assert database.backend.made == before and not database.backend.sent and not database.output.exists()
    (line,) = told.strip().splitlines()
    return line


def configuration(folder: Path, **database: object) -> str:
    file = folder / "other.yaml"
    entry = {"name": "erp", "user": "C##WATCH", "password_env": "ERP", **database}
    file.write_text(yaml.safe_dump({"databases": [entry]}), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("said", ["", "no", "1", "YES"])
@pytest.mark.parametrize("more", [(), ("--clean",)])
def test_refuses_unless_the_environment_says_yes(
    database: Disposable, monkeypatch: pytest.MonkeyPatch, said: str, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ON_A_DISPOSABLE_DATABASE", said)
    line = refused(database, *more)
    assert "it writes to the database" in line and "set ON_A_DISPOSABLE_DATABASE=yes" in line
    monkeypatch.delenv("ON_A_DISPOSABLE_DATABASE")
    assert refused(database, *more) == line and database.connections == 0


@pytest.mark.parametrize("missing", ["DSN", "WRITER", "WRITER_PASSWORD", "USER", "PASSWORD"])
def test_refuses_without_a_variable(database: Disposable, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv(f"LATCHSCOPE_TEST_{missing}")
    assert f"LATCHSCOPE_TEST_{missing} is missing" in refused(database) and database.connections == 0


@pytest.mark.parametrize(
    ("name", "value", "why", "asked"),
    [
        ("WRITER", "system", "SYSTEM may change too much; make a user", False),
        ("WRITER", '"SYS"', "SYS may change too much; make a user", False),
        ("WRITER", USER.lower(), "would write and monitor; make a user", False),
        ("WRITER", "latchscope_load_me", "begins like what a load makes and drops; give the user another name", False),
        ("WRITER", "proxy", "the session belongs to WRITER, not to proxy; log on without a proxy", True),
        ("PASSWORD", "wrong", "the monitoring user gets no session: ORA-01017", True),
        ("DSN", "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(PORT=1521)))", "its address has no host; correct DSN", False),
    ],
)
def test_refuses_a_user_that_is_not_its_own_or_logs_on_nowhere(
    database: Disposable, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str, asked: bool
) -> None:
    monkeypatch.setenv(f"LATCHSCOPE_TEST_{name}", value)
    database.listener.services["free"].accounts["PROXY"] = Account(PASSWORD)
    assert why in refused(database) and (database.connections > 0) == asked


WATCHED = {
    "address": "127.0.0.1:{port}/another",
    "name": "localhost:{port}/another",
    "one of several": "(DESCRIPTION=(ADDRESS_LIST=(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT=1))"
    "(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port})))(CONNECT_DATA=(SERVICE_NAME=x)))",
}


@pytest.mark.parametrize("dsn", WATCHED.values(), ids=WATCHED)
@pytest.mark.parametrize("more", [(), ("--clean",)])
def test_refuses_a_database_of_the_configuration_under_any_service(
    database: Disposable, tmp_path: Path, dsn: str, more: tuple[str, ...]
) -> None:
    database.backend.made = {"LATCHSCOPE_LOAD_NUMBERS": "SEQUENCE"}
    config = configuration(tmp_path, dsn=dsn.format(port=database.listener.port))
    line = refused(database, "--config", config, *more)
    assert "latchscope watches erp at" in line and "at another address" in line and database.connections == 0
    (tmp_path / "other.yaml").rename(tmp_path / "latchscope.yaml")
    assert refused(database, *more) == line, "the configuration at its usual place counts"


def test_refuses_the_monitoring_user_of_the_configuration_and_where_it_logs_on(
    database: Disposable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configuration(tmp_path, dsn="127.0.0.1:1/erp", user=WRITER)
    assert "is a monitoring user of the configuration" in refused(database, "--config", config)
    monkeypatch.setenv("LATCHSCOPE_TEST_MONITOR_DSN", "127.0.0.1:1/root")
    config = configuration(tmp_path, dsn="127.0.0.1:1/erp")
    assert "latchscope watches erp at 127.0.0.1:1" in refused(database, "--config", config)


def test_refuses_if_a_configured_address_cannot_be_compared(database: Disposable, tmp_path: Path) -> None:
    line = refused(database, "--config", configuration(tmp_path, dsn="erp", config_dir=str(tmp_path)))
    assert "erp of the configuration cannot be compared" in line and "CONFIG" in line


def test_refuses_a_host_that_is_unknown(database: Disposable, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("tests.live.load.safety.socket.getaddrinfo", unknown)
    assert "the host name 127.0.0.1 cannot be resolved; correct DSN" in refused(database)


def test_refuses_an_old_release(database: Disposable) -> None:
    database.listener.services["free"].profile = ORACLE_12_1
    assert "is too old for the loads; use 18c or later" in refused(database)


@pytest.mark.parametrize(
    ("fact", "value", "why"),
    [
        ("container", "CDB$ROOT", "CDB$ROOT is no place for objects; use the service of a PDB"),
        ("uptime", 86_400.0 * 2, "the instance started 48 hours ago, more than a day; start a new database"),
        ("uptime", None, "does not say when the instance started"),
        ("parallel", "YES", "belongs to a cluster"),
        ("others", {"HR": 2, "SYS": 3, "OPS$ORACLE": 1}, "others have sessions: HR; end them"),
        ("sees_writer", False, "does not see our own session; give both users a service of the same database"),
    ],
)
def test_refuses_a_database_that_somebody_may_need(database: Disposable, fact: str, value: object, why: str) -> None:
    setattr(database.backend, fact, value)
    assert why in refused(database)


def test_refuses_if_the_monitoring_user_may_not_look(database: Disposable) -> None:
    database.listener.services["free"].faults.fail_statements(lambda sql: "parallel" in sql, 942)
    line = refused(database)
    assert "cannot read v$instance and v$session" in line and "latchscope grants" in line


def test_refuses_leftovers_until_they_are_gone_and_clean_needs_no_young_instance(database: Disposable) -> None:
    database.backend.made = {"LATCHSCOPE_LOAD_NUMBERS": "SEQUENCE", "LATCHSCOPE_LOAD_LOGON": "USER"}
    database.listener.services["free"].accounts["LATCHSCOPE_LOAD_LOGON"] = Account("Aa1_x")
    line = refused(database)
    assert "an earlier run left sequence LATCHSCOPE_LOAD_NUMBERS of WRITER, user LATCHSCOPE_LOAD_LOGON;" in line
    assert "`make test-live-load CLEAN=1`" in line
    database.backend.uptime = 86_400.0 * 2
    code, told = database.run("--clean")
    assert code == 0 and "dropped user LATCHSCOPE_LOAD_LOGON" in told and not database.backend.made
