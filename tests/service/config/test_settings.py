"""The configuration: values, environment before file, and one line for every mistake, without a secret."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rules.model import Severity
from service.config import load, settings
from service.config.settings import (
    BadSettings,
    NotificationSettings,
    Settings,
    holds_password,
    is_alias,
    plain_dsn,
    plain_store,
)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in os.environ if one.startswith("LATCHSCOPE_")]:
        monkeypatch.delenv(name)


def read(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "latchscope.yaml"
    path.write_text(text, encoding="utf-8")
    return load.read(path)


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(BadSettings) as error:
        read(tmp_path, text)
    said = str(error.value)
    assert "\n" not in said and "latchscope.yaml" in said
    assert not re.search(r"secret(?!_file|: no such)", said), "an address or a key is shown"
    return said


def test_settings_of_an_empty_file_are_the_defaults(tmp_path: Path) -> None:
    told = read(tmp_path, "")
    assert (told.host, told.port, told.loopback) == ("127.0.0.1", 8000, True)
    assert told.store == "sqlite:///latchscope.db"
    assert (told.defaults.interval, told.oracle.mode, told.databases) == (15.0, "thin", [])
    assert (told.reports.max_bytes, told.spool.max_bytes) == (16 * 2**20, 256 * 2**20)


def test_durations_are_read_as_seconds_and_sizes_as_bytes() -> None:
    durations = {"15s": 15.0, "15": 15.0, "1500ms": 1.5, "2m": 120.0, "1h": 3600.0, "1.5 m": 90.0, 20: 20.0}
    assert {written: settings.seconds(written) for written in durations} == durations
    sizes = {"16MiB": 2**24, "500 KiB": 512_000, "77": 77, 77: 77}
    assert {written: settings.size(written) for written in sizes} == sizes


def test_interval_of_a_database_overrides_the_default(tmp_path: Path) -> None:
    told = read(
        tmp_path,
        "defaults: {interval: 30s}\ndatabases: [{name: a, dsn: h/s}, {name: b, dsn: h/s, interval: 1m}, "
        "{name: c, dsn: 'demo:undo-storm', interval: 500ms}]",
    )
    assert [told.interval_of(one) for one in told.databases] == [30.0, 60.0, 0.5], "a scripted one may be short"


def test_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATCHSCOPE_LISTEN", "127.0.0.1:9000")
    monkeypatch.setenv("LATCHSCOPE_DEFAULTS__INTERVAL", "45s")
    monkeypatch.setenv("LATCHSCOPE_DATABASES", '[{"name": "a", "dsn": "demo:undo-storm"}]')
    told = read(tmp_path, "listen: 127.0.0.1:8001\ndefaults: {interval: 30s}\nstore: sqlite:///kept.db")
    assert (told.port, told.defaults.interval, told.store) == (9000, 45.0, "sqlite:///kept.db")
    assert [one.scripted for one in told.databases] == ["undo-storm"]
    monkeypatch.setenv("LATCHSCOPE_DEFAULTS__INTERVAL", "soon")
    said = refused(tmp_path, "")
    assert "defaults.interval (from LATCHSCOPE_DEFAULTS__INTERVAL in the environment): 'soon' is not a duration" in said
    monkeypatch.delenv("LATCHSCOPE_DEFAULTS__INTERVAL")
    twice = '{"name": "a", "dsn": "demo:undo-storm"}'
    monkeypatch.setenv("LATCHSCOPE_DATABASES", f"[{twice}, {twice}]")
    assert "databases[1].name: two databases are named a; names are labels and must differ" in refused(tmp_path, "")


@pytest.mark.parametrize(
    ("listen", "host", "port", "loopback"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000, True),
        ("localhost:80", "localhost", 80, True),
        ("[::1]:8000", "::1", 8000, True),
        ("0.0.0.0:8000", "0.0.0.0", 8000, False),
        ("192.0.2.7:0", "192.0.2.7", 0, False),
    ],
)
def test_listen_addresses_are_read_and_loopback_is_recognised(
    tmp_path: Path, listen: str, host: str, port: int, loopback: bool
) -> None:
    told = read(tmp_path, f'listen: "{listen}"')
    assert (told.host, told.port, told.loopback) == (host, port, loopback)


ERP = "databases: [{name: erp1, dsn: h/s}]\n"
NO_POST = "webhooks[0].url: is not an address to post to"
TOO_OFTEN = "is 9 s; a real database is polled no more often than every 10 s"
REFUSED = {
    "lisen: 127.0.0.1:8000": "lisen: no such setting",
    "databases[0]: x": "databases[0]: no such setting",
    "defaults: {'interval (s)': 15s}": "defaults.interval (s): no such setting",
    "defaults: {intervall: 15s}": "defaults.intervall: no such setting",
    **{f"{group}: {{misspelt: 1}}": f"{group}.misspelt: no such" for group in ("auth", "replica", "reports", "spool")},
    "databases: [{name: a, dsn: h/s, pasword: x}]": "databases[0].pasword: no such setting",
    "databases: [{name: a}]": "databases[0].dsn: is missing",
    "databases: [{name: a, dsn: ''}]": "databases[0].dsn",
    "databases: [{name: 'a b', dsn: h/s}]": "databases[0].name",
    "databases: [{name: '<b>', dsn: h/s}]": "databases[0].name",
    "databases: [{name: a, dsn: h/s}, {name: a, dsn: h/t}]": "two databases are named a",
    "databases:": "databases: must be a list: one entry per line",
    "databases: [{name: a, dsn: h/s, interval: 9s}]": f"databases[0].interval: interval {TOO_OFTEN}",
    "defaults: {interval: 9s}": f"interval {TOO_OFTEN}",
    "defaults: {interval: 0}": "defaults",
    "defaults: {interval: .nan}": "defaults",
    "oracle: {mode: slim}": "oracle.mode: 'slim' is not a choice; the names are: thin, thick",
    "listen: [": "is not valid YAML",
    "listen:\n\t- x": "is not valid YAML",
    **{
        f'listen: "{one}"': f"listen: {one!r} is not an address; write 127.0.0.1:8000"
        for one in ("localhost", "db.example.com:80", "127.0.0.1:99999", "127.0.0.1:", ":8000", "a:b:c")
    },
    **{
        f'reports: {{max_bytes: "{one}"}}': f"reports.max_bytes: '{one}' is not a size; write 16MiB or 500KiB"
        for one in ("much", "", "16MB", "-1MiB", "1.5MiB")
    },
    "reports: {max_bytes: 0}": "reports.max_bytes",
    "reports: {max_bytes: 65MiB}": "reports.max_bytes",
    "spool: {max_bytes: 1023KiB}": "spool.max_bytes",
    **{
        f'defaults: {{interval: "{one}"}}': f"interval: '{one}' is not a duration; write 500ms, 15s, 2m, 1h or 90d"
        for one in ("soon", "", "15 parsecs", "-5s", "1e3s", "5s5s")
    },
    **{
        f'history: {{episodes: "{one}"}}': f"history.episodes: '{one}' is not a duration; {meant}"
        for one, meant in {
            "90 days": "did you mean 90d?",
            "90Days": "did you mean 90d?",
            "36 hours": "did you mean 36h?",
            "2 mins": "did you mean 2m?",
            "two days": "write 90d, 48h or 120m",
        }.items()
    },
    **{
        f"{ERP}notifications: [{{{one}}}]": said
        for one, said in {
            "url_file: f": "notifications[0].name",
            "name: n": "notifications[0].url_file",
            "name: 'a b', url_file: f": "notifications[0].name",
            "name: n, url_file: f, url: 'slack://secret'": "notifications[0].url: no such setting",
            "name: n, url_file: f, quiet_hours: night": "'night' is not a span of a day; write two different times",
            "name: n, url_file: f, quiet_hours: '07:00-07:00'": "is not a span of a day",
            "name: n, url_file: f, quiet_hours: '25:00-07:00'": "is not a span of a day",
            "name: n, url_file: f, quiet_zone: Mars/Base": "'Mars/Base' is not a time zone of this machine",
            "name: n, url_file: f, quiet_zone: ../etc": "'../etc' is not a time zone of this machine",
            "name: n, url_file: f, group: 2h": "notifications[0].group",
            "name: n, url_file: f, on: [sometimes]": "notifications[0].on[0]",
            "name: n, url_file: f, databases: [erp9]": "notifications[0].databases[0]: erp9 is not under `databases`",
        }.items()
    },
    f"{ERP}webhooks: [{{url: 'https://a.example.com/', name: n}}]\nnotifications: [{{name: n, url_file: f}}]": (
        "two notifications or webhooks are named n; give each a name of its own"
    ),
    **{
        f"{ERP}webhooks: [{{{one}}}]": said
        for one, said in {
            "url: 'ftp://secret.example.com/'": NO_POST,
            "url: 'file:///etc/secret'": NO_POST,
            "url: 'https:///secret'": NO_POST,
            "url: 'https://secret.example.com:port/'": NO_POST,
            'url: "https://a.example.com/secret\\nX: y"': NO_POST,
            "url: 'https://me:secret@a.example.com/'": "webhooks[0].url: has a user or a password in it",
            "url: 'https://a.example.com/', secret: secret": "webhooks[0].secret: no such setting",
            "url: 'https://a.example.com/', on: [sometimes]": "webhooks[0].on[0]",
            "url: 'https://a.example.com/', on: []": "webhooks[0].on",
            "url: 'https://a.example.com/', min_severity: bad": "webhooks[0].min_severity",
            "url: 'https://a.example.com/', name: n, databases: [erp9]": "databases[0]: erp9 is not under `databases`",
            "url: 'https://a.example.com/'}, {url: 'https://a.example.com/'": "two webhooks are named a.example.com-",
        }.items()
    },
}


@pytest.mark.parametrize("text", REFUSED)
def test_mistake_is_one_line_that_names_the_setting_and_shows_no_secret(tmp_path: Path, text: str) -> None:
    assert REFUSED[text] in refused(tmp_path, text)


# Addresses: latchscope refuses one that no driver can use before anybody connects, without repeating a password.

DSN = (
    "host:1521/svc", "host/svc", "h/s", "//host:1521/svc", "tcps://host:2484/svc?wallet_location=/w",
    "[::1]:1521/svc", "erp.world", "host1,host2:1521/svc",
    "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))",
)  # fmt: skip
NO_DSN = {
    " ": "is empty",
    "jdbc:oracle:thin:@h:1521/s": "is an address for JDBC",
    "scott/tiger@h/s": "has a user or a password in it",
    "h : 1521": "holds a space",
    "h:1521:ORCL": "names a SID",
    "h:1521": "names no service; write h:1521/service",
    "h:99999/s": "has the port 99999",
    "(DESCRIPTION=(ADDRESS=": "parentheses do not match",
}
STORE = {
    "sqlite:///latchscope.db": False,
    "sqlite://": False,
    "sqlite:////var/lib/a:b@c/x.db": False,
    "postgresql://latchscope@pg.example/latchscope": False,
    "postgresql://h:5432/d": False,
    "postgresql://u@[::1]:5432/d": False,
    "postgresql://u@/d?host=/run/postgresql&passfile=/etc/p@ss": False,
    "postgresql+psycopg://u:tiger@h:5432/d": True,
    "postgresql://u:ti/ger@h/d": True,
    "postgresql://u@h/d?password=tiger": True,
}
"""Address → whether it holds a password."""
NO_STORE = {
    "": "is not the address of a store; write sqlite:///FILE or postgresql://",
    "latchscope.db": "is not the address of a store",
    "postgres://u:tiger@h/d": "begins with postgres://, which no driver answers to; write postgresql://",
    "mysql://u:tiger@h/d": "'mysql' is not a kind of store",
    "postgresql+asyncpg://h/d": "'postgresql+asyncpg' is not a kind of store",
    "postgresql://u:tiger@h:x/d": "has a port that is not a number; write special characters of a password as %XX",
}


def test_form_of_an_address_is_held_to_what_drivers_take() -> None:
    assert [plain_dsn(dsn) for dsn in DSN] == [*DSN]
    assert [is_alias(dsn) for dsn in ("erp1", "erp.world", "h/s", "h:1", "(DESCRIPTION=)")] == [True] * 2 + [False] * 3
    assert {url: holds_password(plain_store(url)) for url in STORE} == STORE
    for form, wrong in ((plain_dsn, NO_DSN), (plain_store, NO_STORE)):
        for address, said in wrong.items():
            with pytest.raises(ValueError, match=re.escape(said)) as error:
                form(address)
            assert "tiger" not in str(error.value)


# Webhooks and notifications


def test_setting_on_may_be_written_bare(tmp_path: Path) -> None:
    """YAML 1.1 reads it as true."""
    for on in ("on", '"on"'):
        told = read(
            tmp_path,
            f"{ERP}webhooks: [{{url: 'https://a.example.com/x', {on}: [end]}}]\n"
            f"notifications: [{{name: n, url_file: f, {on}: [end]}}]",
        )
        assert told.webhooks[0].on == told.notifications[0].on == ["end"]


def test_webhook_name_is_its_own_or_made_from_the_host(tmp_path: Path) -> None:
    hooks = "{url: 'https://a.example.com/x'}, {url: 'https://a.example.com/y'}, {url: 'http://[::1]:9/', name: n}"
    long = f"{{url: 'https://{'a' * 60}.{'b' * 60}.example.com/'}}"
    one, two, three, four = (each.target for each in read(tmp_path, f"{ERP}webhooks: [{hooks}, {long}]").webhooks)
    assert one.startswith("a.example.com-") and two.startswith("a.example.com-") and one != two
    assert three == "n" and len(four) <= 63


NIGHT = {"name": "n", "url_file": "f", "quiet_hours": "22:00-07:00", "quiet_zone": "Europe/Berlin"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}+00:00").astimezone(UTC)


def test_quiet_hours_hold_until_their_end_by_the_clock_of_the_zone() -> None:
    night = NotificationSettings.model_validate(NIGHT)
    expected = {
        "01-15T20:59": "01-15T20:59",  # 21:59 in Berlin
        "01-15T21:00": "01-16T06:00",
        "01-15T23:30": "01-16T06:00",  # half past midnight
        "01-16T05:59": "01-16T06:00",
        "01-16T06:00": "01-16T06:00",
        "07-15T20:00": "07-16T05:00",  # summer time
        "03-28T22:00": "03-29T05:00",  # the night that loses an hour
        "10-24T22:00": "10-25T06:00",  # and the one that gains it
    }
    assert {when: night.held_until(at(when), Severity.WARNING).strftime("%m-%dT%H:%M") for when in expected} == expected


def test_quiet_hours_of_one_day_hold_and_the_worst_passes_them() -> None:
    noon = NotificationSettings.model_validate({**NIGHT, "quiet_hours": "12:00-14:00", "quiet_zone": "UTC"})
    assert noon.held_until(at("01-15T12:00"), Severity.WARNING) == at("01-15T14:00")
    assert noon.held_until(at("01-15T11:59"), Severity.WARNING) == at("01-15T11:59")
    assert noon.held_until(at("01-15T12:00"), Severity.CRITICAL) == at("01-15T12:00")
    never = NotificationSettings.model_validate({"name": "n", "url_file": "f"})
    assert never.held_until(at("01-15T12:00"), Severity.NOTICE) == at("01-15T12:00")
