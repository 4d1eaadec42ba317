"""The configuration: durations, environment before file, and one line for every mistake."""

import os
from pathlib import Path

import pytest

from service.config import load, settings
from service.config.settings import BadSettings, Settings


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
    assert "\n" not in str(error.value)
    assert "latchscope.yaml" in str(error.value)
    return str(error.value)


def test_settings_of_an_empty_file_are_the_defaults(tmp_path: Path) -> None:
    told = read(tmp_path, "")
    assert (told.host, told.port, told.loopback) == ("127.0.0.1", 8000, True)
    assert told.store == "sqlite:///latchscope.db"
    assert (told.defaults.interval, told.oracle.mode, told.databases) == (15.0, "thin", [])


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("15s", 15.0), ("15", 15.0), ("1500ms", 1.5), ("2m", 120.0), ("1h", 3600.0), ("1.5 m", 90.0), (20, 20.0)],
)
def test_durations_are_read_as_seconds(written: object, seconds: float) -> None:
    assert settings.seconds(written) == seconds


@pytest.mark.parametrize(("written", "size"), [("16MiB", 2**24), ("500 KiB", 512_000), ("77", 77), (77, 77)])
def test_sizes_are_read_as_bytes(written: object, size: int) -> None:
    assert settings.size(written) == size


@pytest.mark.parametrize("written", ["much", "", "16MB", "-1MiB", "1.5MiB"])
def test_size_error_shows_how_to_write_one(tmp_path: Path, written: str) -> None:
    said = refused(tmp_path, f'reports: {{max_bytes: "{written}"}}')
    assert f"reports.max_bytes: '{written}' is not a size; write 16MiB or 500KiB" in said


@pytest.mark.parametrize("wrong", ["0", "65MiB"])
def test_max_bytes_outside_its_bounds_is_refused(tmp_path: Path, wrong: str) -> None:
    assert "reports.max_bytes" in refused(tmp_path, f"reports: {{max_bytes: {wrong}}}")


@pytest.mark.parametrize("written", ["soon", "", "15 parsecs", "-5s", "1e3s", "5s5s"])
def test_duration_error_shows_how_to_write_one(tmp_path: Path, written: str) -> None:
    said = refused(tmp_path, f'defaults: {{interval: "{written}"}}')
    assert f"defaults.interval: '{written}' is not a duration; write 500ms, 15s, 2m, 1h or 90d" in said


def test_duration_in_words_is_told_with_the_unit_that_it_means(tmp_path: Path) -> None:
    for written, said in {
        "90 days": "did you mean 90d?",
        "90Days": "did you mean 90d?",
        "36 hours": "did you mean 36h?",
        "2 mins": "did you mean 2m?",
        "two days": "write 90d, 48h or 120m",
    }.items():
        told = refused(tmp_path, f'history: {{episodes: "{written}"}}')
        assert f"history.episodes: '{written}' is not a duration; {said}" in told, told


def test_interval_of_a_database_overrides_the_default(tmp_path: Path) -> None:
    told = read(
        tmp_path,
        "defaults: {interval: 30s}\ndatabases: [{name: a, dsn: h/s}, {name: b, dsn: h/s, interval: 1m}]",
    )
    assert [told.interval_of(one) for one in told.databases] == [30.0, 60.0]


def test_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATCHSCOPE_LISTEN", "127.0.0.1:9000")
    monkeypatch.setenv("LATCHSCOPE_DEFAULTS__INTERVAL", "45s")
    told = read(tmp_path, "listen: 127.0.0.1:8001\ndefaults: {interval: 30s}\nstore: sqlite:///kept.db")
    assert (told.port, told.defaults.interval, told.store) == (9000, 45.0, "sqlite:///kept.db")


def test_environment_can_name_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATCHSCOPE_DATABASES", '[{"name": "a", "dsn": "demo:undo-storm"}]')
    assert [one.scripted for one in read(tmp_path, "").databases] == ["undo-storm"]


def test_environment_mistake_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATCHSCOPE_DEFAULTS__INTERVAL", "soon")
    said = refused(tmp_path, "")
    assert "defaults.interval (from LATCHSCOPE_DEFAULTS__INTERVAL in the environment): 'soon' is not a duration" in said


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


@pytest.mark.parametrize(
    "listen", ["localhost", "db.example.com:80", "127.0.0.1:99999", "127.0.0.1:", ":8000", "a:b:c"]
)
def test_listen_error_shows_how_to_write_an_address(tmp_path: Path, listen: str) -> None:
    assert f"listen: {listen!r} is not an address; write 127.0.0.1:8000" in refused(tmp_path, f'listen: "{listen}"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lisen: 127.0.0.1:8000", "lisen: no such setting"),
        ("defaults: {intervall: 15s}", "defaults.intervall: no such setting"),
        ("databases: [{name: a, dsn: h/s, pasword: x}]", "databases[0].pasword: no such setting"),
        ("databases: [{name: a}]", "databases[0].dsn: is missing"),
        ("databases: [{name: a, dsn: ''}]", "databases[0].dsn"),
        ("databases: [{name: 'a b', dsn: h/s}]", "databases[0].name"),
        ("databases: [{name: '<b>', dsn: h/s}]", "databases[0].name"),
        ("databases: [{name: a, dsn: h/s}, {name: a, dsn: h/t}]", "two databases are named a"),
        ("databases:", "databases: must be a list: one entry per line"),
        (
            "databases: [{name: a, dsn: h/s, interval: 9s}]",
            "interval of a is 9 s; a real database is polled no more often than every 10 s",
        ),
        ("defaults: {interval: 9s}", "interval is 9 s; a real database is polled no more often than every 10 s"),
        ("defaults: {interval: 0}", "defaults"),
        ("defaults: {interval: .nan}", "defaults"),
        ("oracle: {mode: slim}", "oracle.mode: 'slim' is not a choice; the names are: thin, thick"),
        ("listen: [", "is not valid YAML"),
        ("listen:\n\t- x", "is not valid YAML"),
    ],
)
def test_settings_mistake_is_one_line_naming_the_setting(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_interval_of_a_scripted_database_may_be_short(tmp_path: Path) -> None:
    told = read(tmp_path, "databases: [{name: a, dsn: 'demo:undo-storm', interval: 500ms}]")
    assert told.interval_of(told.databases[0]) == 0.5
