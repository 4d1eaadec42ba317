"""Mistakes and hints that show only in the configuration as a whole."""

from pathlib import Path

import pytest

from service.config.refusals import refusals, warnings
from service.config.settings import DatabaseSettings, Settings

SCRIPTED = [DatabaseSettings(name="a", dsn="demo:undo-storm")]


def test_open_address_without_tokens_is_refused_unless_it_is_meant() -> None:
    open_to_all = Settings(listen="0.0.0.0:80", databases=SCRIPTED)
    (refusal,) = refusals(open_to_all)
    assert str(refusal) == "listen: others can reach 0.0.0.0:80: set auth.tokens_file, or use --insecure"
    assert not list(refusals(open_to_all, insecure=True)) and not list(refusals(Settings(databases=SCRIPTED)))
    guarded = open_to_all.model_copy(update={"auth": open_to_all.auth.model_copy(update={"tokens_file": Path("t")})})
    assert not list(refusals(guarded))


def test_configuration_without_databases_is_refused() -> None:
    assert [str(each) for each in refusals(Settings())] == [
        "no databases; list them under `databases`, or let `latchscope init` write a file"
    ]


def test_password_in_the_store_is_warned_of_unless_it_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holding = Settings(store="postgresql://u:tiger@h/d")
    (warning,) = warnings(holding)
    assert "~/.pgpass" in warning and "tiger" not in warning
    assert not list(warnings(Settings(store="postgresql://u@h/d")))
    monkeypatch.setenv("LATCHSCOPE_STORE", holding.store)
    assert not list(warnings(holding))


def test_audit_file_that_cannot_be_written_is_warned_of(tmp_path: Path) -> None:
    settings = Settings(databases=SCRIPTED)
    for file, warned in ((tmp_path / "audit.jsonl", 0), (tmp_path / "none/audit.jsonl", 1)):
        auth = settings.auth.model_copy(update={"audit_file": file})
        told = list(warnings(settings.model_copy(update={"auth": auth})))
        assert len(told) == warned
        for warning in told:
            assert f"auth.audit_file {file} cannot be written: there is no folder" in warning
            assert warning.endswith("until then only the log has the actions")
