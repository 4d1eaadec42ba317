"""Each reason for which the selftest refuses: one line with the way out, exit code 2, and nothing is made."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import cli
from service.selftest.safety import OLDEST
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import USER
from tests.oracle_standin.selftest import WRITER
from tests.service.disposable import Disposable


def refused(database: Disposable, *more: str, user: str = WRITER) -> str:
    """The one line of a refusal."""
    before = dict(database.backend.made)
    said = database.run("--only", "sequence", *more, user=user)
    assert said.code == 2 and said.stdout == ""
    assert database.backend.made == before and not database.backend.sent and not database.output.exists()
    (line,) = said.stderr.strip().splitlines()
    return line


def configuration(folder: Path, **database: object) -> str:
    file = folder / "other.yaml"
    entry = {"name": "erp", "user": "C##WATCH", "password_env": "ERP", **database}
    file.write_text(yaml.safe_dump({"databases": [entry]}), encoding="utf-8")
    return str(file)


def test_refuses_without_the_flag(database: Disposable) -> None:
    told = CliRunner().invoke(cli, database.line())
    assert told.exit_code == 2
    assert "it writes to the database" in told.stderr and "--on-a-disposable-database" in told.stderr
    assert database.listener.services["free"].counters.connections == 0


@pytest.mark.parametrize("missing", ["--dsn", "--user", "--password-file", "--monitor-user", "--monitor-password-file"])
def test_refuses_without_an_option(database: Disposable, missing: str) -> None:
    line = database.line("--on-a-disposable-database")
    at = line.index(missing)
    told = CliRunner().invoke(cli, [*line[:at], *line[at + 2 :]])
    assert told.exit_code == 2 and "is missing; give --" in told.stderr


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("system", "SYSTEM may change too much; make a user"),
        ('"SYS"', "SYS may change too much; make a user"),
        (USER.lower(), "would write and monitor; make a user"),
        ("latchscope_selftest_me", "begins like what the selftest makes and drops; give the user another name"),
    ],
)
def test_refuses_a_user_that_is_not_its_own(database: Disposable, user: str, why: str) -> None:
    assert why in refused(database, user=user)
    assert database.listener.services["free"].counters.connections == 0


def test_refuses_the_monitoring_user_of_the_configuration(database: Disposable, tmp_path: Path) -> None:
    config = configuration(tmp_path, dsn="127.0.0.1:1/erp", user=WRITER)
    assert "is a monitoring user of the configuration" in refused(database, "--config", config)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_refuses_a_database_of_the_configuration_under_any_service(
    database: Disposable, tmp_path: Path, host: str
) -> None:
    config = configuration(tmp_path, dsn=f"{host}:{database.listener.port}/another")
    line = refused(database, "--config", config)
    assert "latchscope watches erp at" in line and "at another address" in line
    assert database.listener.services["free"].counters.connections == 0


def test_refuses_a_descriptor_with_the_address_among_others(database: Disposable, tmp_path: Path) -> None:
    addresses = "".join(
        f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))" for port in (1, database.listener.port)
    )
    dsn = f"(DESCRIPTION=(ADDRESS_LIST={addresses})(CONNECT_DATA=(SERVICE_NAME=x)))"
    assert "latchscope watches erp" in refused(database, "--config", configuration(tmp_path, dsn=dsn))


def test_refuses_if_a_configured_address_cannot_be_compared(database: Disposable, tmp_path: Path) -> None:
    line = refused(database, "--config", configuration(tmp_path, dsn="erp", config_dir=str(tmp_path)))
    assert "erp of the configuration cannot be compared" in line and "--config" in line


def test_refuses_a_host_that_is_unknown(database: Disposable, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("service.selftest.safety.socket.getaddrinfo", unknown)
    assert "the host name 127.0.0.1 cannot be resolved; correct --dsn" in refused(database)


def test_clean_needs_no_young_instance(database: Disposable) -> None:
    database.backend.uptime = 86_400.0 * 2
    assert database.run("--clean").code == 0


def test_the_configuration_at_its_usual_place_counts(database: Disposable, tmp_path: Path) -> None:
    configuration(tmp_path, dsn=f"127.0.0.1:{database.listener.port}/another")
    (tmp_path / "other.yaml").rename(tmp_path / "latchscope.yaml")
    assert "latchscope watches erp" in refused(database)


def test_refuses_the_root_of_a_container_database(database: Disposable) -> None:
    database.backend.container = "CDB$ROOT"
    assert "CDB$ROOT is no place for objects; use the service of a PDB" in refused(database)


def test_refuses_an_old_release(database: Disposable) -> None:
    database.listener.services["free"].profile = ORACLE_12_1
    assert f"is too old for the selftest; use {OLDEST.partition('.')[0]}c or later" in refused(database)


def test_refuses_an_instance_that_started_more_than_a_day_ago(database: Disposable) -> None:
    database.backend.uptime = 86_400.0 * 2
    assert "the instance started 48 hours ago, more than a day; start a new database" in refused(database)


def test_an_unknown_start_is_not_a_young_instance(database: Disposable) -> None:
    database.backend.uptime = None
    assert "does not say when the instance started" in refused(database)


def test_refuses_a_cluster(database: Disposable) -> None:
    database.backend.parallel = "YES"
    assert "belongs to a cluster" in refused(database)


def test_refuses_while_others_have_sessions(database: Disposable) -> None:
    database.backend.others = {"HR": 2, "SYS": 3, "OPS$ORACLE": 1}
    assert "others have sessions: HR; end them" in refused(database)


def test_refuses_if_the_monitoring_user_looks_at_another_instance(database: Disposable) -> None:
    database.backend.sees_writer = False
    assert "does not see our own session; give both users a service of the same database" in refused(database)


def test_refuses_if_the_monitoring_user_may_not_look(database: Disposable) -> None:
    database.listener.services["free"].faults.fail_statements(lambda sql: "parallel" in sql, 942)
    line = refused(database)
    assert "cannot read v$instance and v$session" in line and "latchscope grants" in line


def test_refuses_leftovers_until_they_are_gone(database: Disposable) -> None:
    database.backend.made = {"LATCHSCOPE_SELFTEST_NUMBERS": "SEQUENCE", "LATCHSCOPE_SELFTEST_LOGON": "USER"}
    database.listener.services["free"].accounts["LATCHSCOPE_SELFTEST_LOGON"] = Account("Aa1_x")
    line = refused(database)
    assert "an earlier run left sequence LATCHSCOPE_SELFTEST_NUMBERS of WRITER, user LATCHSCOPE_SELFTEST_LOGON;" in line
    assert "`latchscope selftest --clean`" in line
    said = database.run("--clean")
    assert said.code == 0 and "dropped user LATCHSCOPE_SELFTEST_LOGON" in said.stderr
    assert not database.backend.made


def test_clean_refuses_a_watched_database_too(database: Disposable, tmp_path: Path) -> None:
    database.backend.made = {"LATCHSCOPE_SELFTEST_NUMBERS": "SEQUENCE"}
    config = configuration(tmp_path, dsn=f"127.0.0.1:{database.listener.port}/another")
    assert "latchscope watches erp" in refused(database, "--clean", "--config", config)
