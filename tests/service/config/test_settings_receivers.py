"""Rules for webhooks and notifications alike: unique names, and databases that exist."""

from pathlib import Path

import pytest

from service.config import load
from service.config.settings import BadSettings, Settings

HEAD = "databases: [{name: erp1, dsn: h/s}]\n"


def read(folder: Path, text: str) -> Settings:
    path = folder / "latchscope.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return load.read(path)


def test_webhook_and_notification_need_names_that_differ(tmp_path: Path) -> None:
    both = "webhooks: [{url: 'https://a.example.com/', name: n}]\nnotifications: [{name: n, url_file: f}]"
    with pytest.raises(BadSettings, match="two notifications or webhooks are named n; give each a name of its own"):
        read(tmp_path, both)


def test_notification_of_an_unknown_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"notifications\[0\]\.databases\[0\]: erp9 is not under `databases`"):
        read(tmp_path, "notifications: [{name: n, url_file: f, databases: [erp9]}]")
