"""Mistakes and hints that show only in the configuration as a whole, and where passwords come from: no error shows one."""

import os
import sys
from pathlib import Path

import pytest

from collectors.errors import SetupError
from service.config import load
from service.config.load import (
    NotYaml,
    fingerprint,
    own_mistakes,
    password_of,
    refusals,
    settings_below,
    warnings,
    yaml_text,
)
from service.config.settings import BadSettings, DatabaseSettings, Settings
from tests.oracle_standin.deadline import HANGS

SCRIPTED = [DatabaseSettings(name="a", dsn="demo:undo-storm")]


def test_open_address_without_tokens_is_refused_unless_it_is_meant() -> None:
    open_to_all = Settings(listen="0.0.0.0:80", databases=SCRIPTED)
    (refusal,) = refusals(open_to_all)
    assert str(refusal) == "listen: others can reach 0.0.0.0:80: set auth.tokens_file, or use --insecure"
    assert not list(refusals(open_to_all, insecure=True)) and not list(refusals(Settings(databases=SCRIPTED)))
    guarded = open_to_all.model_copy(update={"auth": open_to_all.auth.model_copy(update={"tokens_file": Path("t")})})
    assert not list(refusals(guarded))


def test_password_in_the_store_is_warned_of_unless_it_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holding = Settings(store="postgresql://u:tiger@h/d")
    (warning,) = warnings(holding)
    assert "~/.pgpass" in warning and "tiger" not in warning
    assert not list(warnings(Settings(store="postgresql://u@h/d")))
    monkeypatch.setenv("LATCHSCOPE_STORE", holding.store)
    assert not list(warnings(holding))


def test_each_member_has_its_line() -> None:
    text = yaml_text("a: 1\nb:\n  - c: 2\n    d: 3\n  - e\n")
    assert text.members == {"a": 1, "b": [{"c": 2, "d": 3}, "e"]}
    assert text.lines == {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 0, "d"): 4, ("b", 1): 5}
    assert text.line_of(("b", 0, "missing")) == 3 and text.line_of(("nothing",)) is None


def test_name_that_stands_twice_is_kept_with_both_lines() -> None:
    assert yaml_text("a: 1\nb: 2\na: 3\n").repeated == ((("a",), 1, 3),)
    assert yaml_text("a: [1, 1]\n").repeated == ()
    assert yaml_text("").members is None


def test_value_that_a_comment_may_have_cut_is_kept_with_the_comment() -> None:
    text = yaml_text("a: c ##latchscope\nb:\n  - d #was e\n  - 'f' #g\nh: i  #j\nk: l # m\nn: #o\np: q#r\n")
    assert [(each.place, each.line, each.value, each.comment) for each in text.cut] == [
        (("a",), 1, "c", "##latchscope"),
        (("b", 0), 3, "d", "#was"),
    ]


def test_text_that_is_no_yaml_names_line_and_column() -> None:
    for text, line, said in (
        ("a: [1", 1, "not closed"),
        ("a:\n\t- b", 2, "a tab"),
        ("a: @b", 1, "column 4"),
        ("\x00", None, "UTF-8"),
    ):
        with pytest.raises(NotYaml, match="is not valid YAML") as error:
            yaml_text(text)
        assert (error.value.line, said in str(error.value)) == (line, True), (text, str(error.value))


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "is not valid YAML: aliases repeat more than 100,000 values here; write out what is needed"),
        (
            "a: &a [*a]",
            "is not valid YAML: its groups are nested too deeply, or an alias is part of itself; write it flat",
        ),
        (
            "[" * 1000,
            "is not valid YAML: its groups are nested too deeply, or an alias is part of itself; write it flat",
        ),
    ],
    ids=["aliases of aliases", "an alias in itself", "1000 brackets"],
)
def test_text_that_would_take_for_ever_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(NotYaml) as refused:
        yaml_text(text)
    assert str(refused.value) == said


def test_aliases_may_repeat_what_a_large_fleet_shares() -> None:
    entries = "\n".join(["- {<<: *usual}"] * 2000)
    text = yaml_text(f"usual: &usual {{user: u, interval: 15s}}\ndatabases:\n{entries}")
    assert len(text.members["databases"]) == 2000


def test_settings_of_a_group_and_of_entries_of_a_list_are_found() -> None:
    assert "listen" in settings_below(()) and "mode" in settings_below(("oracle",))
    assert "dsn" in settings_below(("databases", 0)) and "url" in settings_below(("webhooks", 3))
    assert settings_below(("listen",)) == {} and settings_below(("nothing", "below")) == {}


def test_names_are_held_together_whatever_else_is_wrong() -> None:
    text = yaml_text("lisen: x\ndatabases:\n- {name: a, dsn: 'demo:healthy'}\n- {name: a}\n- 7\n")
    assert [(each.line, each.where) for each in own_mistakes(text)] == [
        (3, "databases[0].dsn"),
        (4, "databases[1].name"),
    ]
    assert list(own_mistakes(yaml_text("[]"))) == []


def test_read_refuses_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadSettings, match=r"latchscope\.yaml is not valid YAML"):
        load.read(path)


def test_demo_serves_loopback_only() -> None:
    told = load.demo(["undo-storm"], 8123, "sqlite:///x.db", 2.0)
    assert told.loopback
    assert told.port == 8123
    assert [(one.name, one.scripted, told.interval_of(one)) for one in told.databases] == [
        ("undo-storm", "undo-storm", 2.0)
    ]


# Passwords

WORD = "Tr0ub4dor&3"


def database(**source: object) -> DatabaseSettings:
    return DatabaseSettings(name="erp1", dsn="h:1/s", **source)  # type: ignore[arg-type]


def command(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_password_comes_from_a_file_the_environment_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_bytes(f" {WORD} ü\r\n".encode())
    monkeypatch.setenv("ERP1_PASSWORD", WORD)
    assert password_of(database(password_file=file)) == f" {WORD} ü", "only the line end is taken off"
    assert password_of(database(password_env="ERP1_PASSWORD")) == WORD
    assert password_of(database(password_command=command(f"print({WORD!r})"))) == WORD


def test_password_follows_a_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first", encoding="utf-8")
    before = password_of(database(password_file=file))
    file.write_text("second", encoding="utf-8")
    assert (before, password_of(database(password_file=file))) == ("first", "second")


def test_password_failure_is_one_line_without_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + WORD.encode())
    (tmp_path / "long").write_text(WORD * 2**14, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    said_aloud = f"import sys; print({WORD!r}); print({WORD!r}, file=sys.stderr); "
    wrong = {
        "^erp1: no password; set": {},
        "cannot be read: No such file": {"password_file": tmp_path / "none"},
        "cannot be read: it is not text": {"password_file": tmp_path / "binary"},
        "pipe cannot be read: it is not a file of at most 64 KiB": {"password_file": tmp_path / "pipe"},
        "long cannot be read: it is not a file of at most 64 KiB": {"password_file": tmp_path / "long"},
        "zero cannot be read: it is not a file of at most 64 KiB": {"password_file": Path("/dev/zero")},
        r"password_file \(not repeated.* it is not text": {"password_file": Path("a\0b")},
        "cannot be run: its words": {"password_command": ["a\0b"]},
        "the environment has no NOT_SET": {"password_env": "NOT_SET"},
        "exit code 3": {"password_command": command(said_aloud + "sys.exit(3)")},
        "longer than 0.2 s": {"password_command": command(said_aloud + "import time; time.sleep(99)")},
        "cannot be run: No such file": {"password_command": ["/no/such/program", WORD]},
    }
    for expected, source in wrong.items():
        hangs = expected == "longer than 0.2 s"
        monkeypatch.setattr("service.config.load.COMMAND_SECONDS", 0.2 if hangs else HANGS)
        with pytest.raises(SetupError, match=expected) as caught:
            password_of(database(**source))
        assert "erp1" in str(caught.value) and "\n" not in str(caught.value)
        assert WORD not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_fingerprint_distinguishes_credentials_and_reveals_nothing() -> None:
    assert fingerprint("A", "B") == fingerprint("A", "B")
    assert len({fingerprint("A", "B"), fingerprint("A", "C"), fingerprint("AB", ""), fingerprint("", "AB")}) == 4
    assert WORD not in fingerprint("A", WORD)
    assert len({fingerprint(user, "B") for user in ("scope", "SCOPE", '"SCOPE"', "Scope[app]")}) == 1, (
        "one account, one key"
    )
    assert fingerprint('"scope"', "B") != fingerprint("scope", "B")
