"""From a configured database to a connection: which settings reach the driver, and clear words where they cannot."""

from pathlib import Path

import pytest

from collectors.demo.scenarios import scenarios
from collectors.errors import SetupError
from collectors.poll import poll
from service.bill import texts
from service.config.settings import DatabaseSettings, Defaults, OracleSettings
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector, target_of


def test_target_is_what_is_configured(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("word\n", encoding="utf-8")
    (tmp_path / "wallet-password").write_text("wallet word\n", encoding="utf-8")
    files = {"password_file": tmp_path / "password", "wallet_password_file": tmp_path / "wallet-password"}
    folders = {"config_dir": tmp_path, "wallet_dir": tmp_path}
    target = target_of(DatabaseSettings(name="erp1", dsn="erp1_tcps", user="C##LATCHSCOPE", **files, **folders))
    assert (target.dsn, target.user, target.password) == ("erp1_tcps", "C##LATCHSCOPE", "word")
    assert (target.config_dir, target.wallet, target.wallet_password) == (tmp_path, tmp_path, "wallet word")
    assert "word" not in repr(target).replace("wallet_password", "")


def test_deadlines_follow_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("service.watch.connect.OracleConnection", lambda *given: seen.append(given))
    monkeypatch.setenv("WORD", "x")
    database = DatabaseSettings(name="erp1", dsn="h:1/s", password_env="WORD")
    Connector(OracleSettings(connect_timeout=4, statement_timeout=3)).open(MonitoredDatabase(database, 15.0))
    given = Defaults(blocker_look_timeout=2)
    Connector(OracleSettings(), given).open(MonitoredDatabase(database, 15.0))
    (name, _, deadlines, accepted, _), (_, _, others, _, _) = seen
    assert accepted == texts(), "the bill of SQL with the confirming queries"
    assert (name, deadlines.connect, deadlines.statement, deadlines.frozen) == ("erp1", 4.0, 3.0, 8.0)
    assert (deadlines.blocker_look, others.blocker_look) == (3.0, 2.0)


def test_scripted_databases_start_with_the_process_and_an_unknown_one_is_told_the_known() -> None:
    connector = Connector(OracleSettings())
    database = DatabaseSettings(name="any", dsn="demo:undo-storm")
    first = poll("any", connector.open(MonitoredDatabase(database, 2.0)))
    again = poll("any", connector.open(MonitoredDatabase(database, 2.0)))
    assert first.startup_time == again.startup_time
    assert connector.credential(MonitoredDatabase(database, 2.0)) == ""
    database = DatabaseSettings(name="any", dsn="demo:nothing")
    with pytest.raises(SetupError, match=", ".join(scenarios())):
        connector.open(MonitoredDatabase(database, 2.0))
