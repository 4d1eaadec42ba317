"""`latchscope init`: a file that works at once, by options or by questions. It replaces nothing in silence."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli
from service.config import sources


def init(*words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["init", *map(str, words)], input=typed)


def test_options_write_a_file_that_is_checked_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    told = init("--dsn", "demo:undo-storm", "-o", path)
    assert told.exit_code == 0, told.output
    assert "undo-storm: Oracle 11.2.0.4.0" in told.stdout and "can be read" in told.stdout
    (database,) = sources.read(path).databases
    assert (database.name, database.scripted) == ("undo-storm", "undo-storm")
    text = path.read_text(encoding="utf-8")
    whole = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if not line.endswith(("reason.", "change."))
    )
    path.write_text(whole, encoding="utf-8")
    assert [str(mistake) for mistake in sources.checked(path).mistakes] == [], "the commented settings work too"


def test_database_without_its_password_file_is_written_and_says_what_is_next(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    told = init("--dsn", "host:1521/erp.world", "--password-file", tmp_path / "secret", "-o", path)
    assert told.exit_code == 0, told.output
    assert "`latchscope grants --for KIND` prints the script for its user" in told.stderr
    assert f"put the password into {tmp_path / 'secret'}, then run `latchscope check --config {path}`" in told.stderr
    (database,) = sources.read(path).databases
    assert (database.name, database.dsn, database.user) == ("erp", "host:1521/erp.world", "LATCHSCOPE")


def test_answers_of_a_person_write_the_file_and_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("service.cli.init._can_ask", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "geheim")
    told = init("--no-check", typed="host:1521\nhost:1521/erp\nerp1\n\n\ngeheim\n")
    assert told.exit_code == 0, told.output
    assert "names no service; write host:1521/service" in told.stderr, "it repeats the question after a bad answer"
    (database,) = sources.read(tmp_path / "latchscope.yaml").databases
    assert (database.name, str(database.password_file)) == ("erp1", "erp1.password")
    secret = tmp_path / "erp1.password"
    assert secret.read_text(encoding="utf-8") == "geheim\n" and secret.stat().st_mode & 0o077 == 0
    assert "geheim" not in (tmp_path / "latchscope.yaml").read_text(encoding="utf-8")


def test_each_answer_is_judged_before_the_next_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    monkeypatch.setattr("service.cli.init._can_ask", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "")
    answers = [
        "demo:undostorm",
        "erp",
        "host:1521/erp",
        "erp1",
        "C ##LATCHSCOPE",
        "C##LATCHSCOPE",
        "no/f",
        ".",
        "f",
        "",
    ]
    told = init("--no-check", typed="".join(f"{answer}\n" for answer in answers))
    assert told.exit_code == 0, told.output
    said = (
        "names no scripted database; did you mean undo-storm?",
        "erp is an alias of tnsnames.ora; if it is a host, end with Ctrl-C and write erp:1521/service",
        "'host:1521/erp' cannot be a name; use letters",
        "'C ##LATCHSCOPE' has a blank",
        f"there is no folder {tmp_path}/no; create it",
        ". is a folder; name a file in it",
    )
    places = [told.stderr.find(words) for words in said]
    assert -1 not in places and places == sorted(places), told.stderr
    assert "Oracle user (C##LATCHSCOPE in a container database)" in told.output
    (database,) = sources.read(tmp_path / "latchscope.yaml").databases
    assert (database.name, database.dsn, database.user) == ("erp1", "erp", "C##LATCHSCOPE")


def test_mistakes_are_one_line_and_write_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.yaml"
    there.write_text("kept", encoding="utf-8")
    new = tmp_path / "new.yaml"
    for words, said in (
        (("-o", there, "--dsn", "demo:undo-storm"), "exists already; name another with --output"),
        (("-o", new), "--dsn and --password-file or --password-env must be given without a terminal"),
        (("-o", new, "--dsn", "h:1:X", "--password-env", "P"), "names a SID"),
        (("-o", new, "--dsn", "demo:undo-strom"), "did you mean undo-storm?"),
        (("-o", new, "--dsn", "h/s", "--name", "a b", "--password-env", "P"), "--name 'a b' cannot be a name"),
        (("-o", new, "--dsn", "h/s", "--user", "a b", "--password-env", "P"), "--user 'a b' has a blank"),
        (("-o", new, "--dsn", "h/s", "--password-file", "f", "--password-env", "P"), "keep one"),
        (("-o", tmp_path / "no/folder.yaml", "--dsn", "demo:undo-storm"), "cannot be written"),
    ):
        told = init(*words)
        assert (told.exit_code, told.stderr.count("\n")) == (2, 1) and said in told.stderr, (words, told.stderr)
    assert there.read_text(encoding="utf-8") == "kept" and not new.exists()
