"""One engine per store, and the message for a missing driver."""

import os
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from service.store.repository import Repository
from service.store.schema.engine import StoreError, passfile_trouble


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    with pytest.raises(StoreError, match="the extra `postgresql`") as error:
        Repository("postgresql+psycopg://u:geheim@h/db")
    assert "geheim" not in str(error.value) and "\n" not in str(error.value)


def test_passfile_that_the_client_ignores_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pgpass"
    url = f"postgresql+psycopg://latchscope@127.0.0.1:1/latchscope?passfile={file}"
    assert passfile_trouble(url) == f"the password file {file} cannot be read: No such file or directory"
    file.write_text("*:*:*:latchscope:word\n")
    file.chmod(0o444)
    assert "has mode 0444, so others may read it" in (passfile_trouble(url) or "")
    file.chmod(0o400)
    assert passfile_trouble(url) is None
    assert passfile_trouble("sqlite:///x.db") is None

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    assert passfile_trouble(url) == (
        f"the password file {file} cannot be read: Permission denied; give it to uid {os.getuid()}, with mode 0400"
    )


def test_refusal_of_a_store_names_the_passfile_and_not_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_password(engine: object) -> None:
        raise OperationalError("", {}, Exception("fe_sendauth: no password supplied"))

    monkeypatch.setattr("service.store.repository.upgrade", no_password)
    file = tmp_path / "gone"
    url = f"postgresql+psycopg://latchscope@127.0.0.1:1/latchscope?passfile={file}"
    with pytest.raises(StoreError) as refused:
        Repository(url)
    assert f"the password file {file} cannot be read" in str(refused.value)
    assert "fe_sendauth" not in str(refused.value)
    with pytest.raises(StoreError, match="no password supplied; set `store`"):
        Repository("postgresql+psycopg://latchscope@127.0.0.1:1/latchscope")
