"""One engine per store, and the message for a missing driver."""

import pytest

from service.store.repository import Repository
from service.store.schema.engine import StoreError


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    with pytest.raises(StoreError, match="the extra `postgresql`") as error:
        Repository("postgresql+psycopg://u:geheim@h/db")
    assert "geheim" not in str(error.value) and "\n" not in str(error.value)
