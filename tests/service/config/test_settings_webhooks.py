"""The settings of webhooks: accepted values, and one line for each mistake that never shows the address."""

from pathlib import Path

import pytest

from service.config import load
from service.config.settings import BadSettings, Settings

DATABASES = "databases: [{name: erp1, dsn: h/s}]\n"


def read(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "latchscope.yaml"
    path.write_text(DATABASES + text, encoding="utf-8")
    return load.read(path)


def test_webhook_setting_on_may_be_written_bare(tmp_path: Path) -> None:
    """YAML 1.1 reads it as true."""
    for written in ("on", '"on"'):
        (one,) = read(tmp_path, f"webhooks: [{{url: 'https://a.example.com/x', {written}: [end]}}]").webhooks
        assert one.on == ["end"]


def test_webhook_name_is_its_own_or_made_from_the_host(tmp_path: Path) -> None:
    hooks = "{url: 'https://a.example.com/x'}, {url: 'https://a.example.com/y'}, {url: 'http://[::1]:9/', name: n}"
    one, two, three = (each.target for each in read(tmp_path, f"webhooks: [{hooks}]").webhooks)
    assert one.startswith("a.example.com-") and two.startswith("a.example.com-") and one != two
    assert three == "n"
    long = read(tmp_path, f"webhooks: [{{url: 'https://{'a' * 60}.{'b' * 60}.example.com/'}}]").webhooks[0].target
    assert len(long) <= 63


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("url: 'ftp://secret.example.com/'", "webhooks[0].url: is not an address to post to"),
        ("url: 'file:///etc/secret'", "webhooks[0].url: is not an address to post to"),
        ("url: 'https:///secret'", "webhooks[0].url: is not an address to post to"),
        ("url: 'https://secret.example.com:port/'", "webhooks[0].url: is not an address to post to"),
        ('url: "https://a.example.com/secret\\nX: y"', "webhooks[0].url: is not an address to post to"),
        ("url: 'https://me:secret@a.example.com/'", "webhooks[0].url: has a user or a password in it"),
        ("url: 'https://a.example.com/', secret: secret", "webhooks[0].secret: no such setting"),
        ("url: 'https://a.example.com/', on: [sometimes]", "webhooks[0].on[0]"),
        ("url: 'https://a.example.com/', on: []", "webhooks[0].on"),
        ("url: 'https://a.example.com/', min_severity: bad", "webhooks[0].min_severity"),
        (
            "url: 'https://a.example.com/', name: n, databases: [erp9]",
            "webhooks[0].databases[0]: erp9 is not under `databases`",
        ),
        ("url: 'https://a.example.com/'}, {url: 'https://a.example.com/'", "two webhooks are named a.example.com-"),
    ],
)
def test_webhook_mistake_is_one_line_without_the_address(tmp_path: Path, hook: str, said: str) -> None:
    with pytest.raises(BadSettings) as error:
        read(tmp_path, f"webhooks: [{{{hook}}}]")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value).replace("webhooks[0].secret", "").replace("secret_file", "")
