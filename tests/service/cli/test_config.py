"""`latchscope config validate`: every mistake at once with its line, in our own words."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli
from service.config import load

BAD = """\
lisen: 127.0.0.1:8000
interval: 10s
oracle:
  mode: thinn
  connect_timeout: 0
databases:
  - name: erp1
    dns: "host:1521/svc"
  - name: erp1
    dsn: "jdbc:oracle:thin:@host:1521/svc"
    interval: 5s
    password_file: /x
    password_env: Y
  - name: bad name
    dsn: demo:undostorm
    dsn: "host:1521:ORCL"
webhooks:
  - url: ftp://secret
    min_severity: warn
    databases: [erp9]
"""
SAID = {
    (1, "lisen"): "no such setting; did you mean listen?",
    (2, "interval"): "did you mean defaults.interval or databases[].interval?",
    (4, "oracle.mode"): "'thinn' is not a choice; did you mean thin?",
    (5, "oracle.connect_timeout"): "0 s is out of range; it is above 0 s",
    (8, "databases[0].dns"): "no such setting; did you mean dsn?",
    (9, "databases[1].name"): "two databases are named erp1, the first on line 7",
    (10, "databases[1].dsn"): "is an address for JDBC",
    (11, "databases[1].interval"): "a real database is polled no more often than every 10 s",
    (13, "databases[1].password_env"): "erp1 has password_file and password_env; keep one",
    (14, "databases[2].name"): "cannot be a name; use letters",
    (16, "databases[2].dsn"): "is on line 15 already",
    (18, "webhooks[0].url"): "is not an address to post to",
    (19, "webhooks[0].min_severity"): "did you mean warning?",
    (20, "webhooks[0].databases[0]"): "erp9 is not under `databases`; did you mean erp1?",
}
LIBRARY = re.compile(r"Value error|Extra inputs|Input should|Field required|DPY-|pydantic|Errno|Traceback")


def validate(tmp_path: Path, text: str, *options: str) -> Result:
    path = tmp_path / "latchscope.yaml"
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(cli, ["config", "validate", str(path), *options])


def test_every_mistake_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    told = validate(tmp_path, BAD)
    assert told.exit_code == 2 and told.stdout == ""
    *lines, last = told.stderr.splitlines()
    found = {(int(line.split(":")[1]), line.split(": ")[1]): line for line in lines if "SID" not in line}
    assert set(found) == set(SAID)
    for place, said in SAID.items():
        assert said in found[place], found[place]
    assert last.endswith(f"has {len(lines)} mistakes; correct them and try again")
    assert not LIBRARY.search(told.stderr) and "secret" not in told.stderr


def test_text_that_is_no_yaml_is_told_with_line_and_column(tmp_path: Path) -> None:
    for text, said in {
        "listen: [": ":1: is not valid YAML: column 10: the file ends too early",
        "listen: x\n\tstore: y": ":2: is not valid YAML: column 1: a tab; YAML is indented with spaces",
        "a: b: c": ":1: is not valid YAML: column 5: a colon too many",
        "databases:\n  - name: a\n   dsn: b": ":3: is not valid YAML: column 4: a line with another indentation",
        "dsn: '": "a quote that is not closed",
        "- a": ":1: has no settings",
    }.items():
        told = validate(tmp_path, text).stderr
        assert said in told and "while " not in told, (text, told)


def test_file_without_databases_is_a_mistake(tmp_path: Path) -> None:
    told = validate(tmp_path, "listen: 127.0.0.1:8000")
    assert told.exit_code == 2 and "no databases; list them under `databases`" in told.stderr


def test_good_file_is_said_to_be_good_with_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    told = validate(
        tmp_path,
        "databases:\n- {name: a, dsn: 'demo:undo-storm'}\n- {name: b, dsn: erp, password_file: /no/such/file}\n"
        "- {name: c, dsn: h/s}\n",
    )
    assert told.exit_code == 0, told.output
    for said in (
        "3 databases; 4 notes",
        "note: b, c: no `user`, so it is LATCHSCOPE; in a container database",
        "note: b: password_file /no/such/file does not exist here",
        "note: b: dsn erp is an alias",
        "here; of a host write erp:1521/service",
        "note: c: no password; set password_file",
    ):
        assert said in told.stderr


def test_misspelt_setting_that_is_needed_is_one_mistake(tmp_path: Path) -> None:
    text = "databases: [{name: a, dsn: 'demo:undo-storm'}]\nnotifications: [{name: n, urlfile: f}]"
    told = validate(tmp_path, text).stderr
    assert "notifications[0].urlfile: no such setting; did you mean url_file?" in told and "has 1 mistake" in told
    told = validate(tmp_path, text.replace("urlfile: f", "xyz: f")).stderr
    assert "notifications[0].url_file: is missing" in told and "has 2 mistakes" in told


def test_notes_are_told_beside_mistakes(tmp_path: Path) -> None:
    told = validate(tmp_path, "lisen: x\ndatabases:\n- name: a\n  dsn: h/s\n  user: C ##LATCHSCOPE\n")
    mistake, note, closing = told.stderr.splitlines()
    assert told.exit_code == 2 and "did you mean listen?" in mistake and "has 1 mistake" in closing
    assert "note: line 5: user is 'C', since ` #` begins a comment" in note
    told = validate(tmp_path, "listen: 0.0.0.0:0\ndatabases: [{name: a, dsn: h/s, password_env: NOT_SET}]")
    assert told.exit_code == 2 and "others can reach" in told.stderr
    assert "note: a: the environment has no NOT_SET here" in told.stderr


def test_default_user_is_noted_for_databases_that_may_have_containers(tmp_path: Path) -> None:
    entries = "{name: a, dsn: h/s, password_env: PATH}, {name: b, dsn: h/s, user: LATCHSCOPE, password_env: PATH}"
    told = validate(tmp_path, f"databases: [{entries}, {{name: c, dsn: 'demo:undo-storm'}}]")
    assert told.exit_code == 0 and "3 databases; 1 note\n" in told.stderr
    assert "note: a: no `user`, so it is LATCHSCOPE; in a container database" in told.stderr
    assert "C##LATCHSCOPE, and dsn names a service of CDB$ROOT, not of a PDB" in told.stderr


def test_audit_file_that_cannot_be_written_is_noted(tmp_path: Path) -> None:
    text = f"auth: {{audit_file: {tmp_path}/none/audit.jsonl}}\ndatabases: [{{name: a, dsn: 'demo:undo-storm'}}]"
    told = validate(tmp_path, text)
    assert told.exit_code == 0 and f"audit.jsonl cannot be written: there is no folder {tmp_path}/none" in told.stderr


def test_what_people_look_for_and_no_setting_takes_is_said(tmp_path: Path) -> None:
    told = validate(
        tmp_path, "databases:\n- {name: a, dsn: h/s, password: tiger}\n- {name: b, dsn: h/s, pdb: SALES}\n"
    ).stderr
    assert (
        ":2: databases[0].password: no password is ever written into this file; name a file of it as password_file"
        in told
    )
    assert "password_env, or a command that prints it as password_command" in told and "tiger" not in told
    assert (
        ":3: databases[1].pdb: no such setting, as latchscope watches an instance with all its PDBs; let `dsn`" in told
    )


def test_file_is_named_as_other_commands_name_it(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("databases: [{name: a, dsn: 'demo:undo-storm'}]", encoding="utf-8")
    named = ["config", "validate", "--config", str(tmp_path / "x.yaml")]
    once, twice = CliRunner().invoke(cli, named), CliRunner().invoke(cli, [*named, "y.yaml"])
    assert (once.exit_code, once.stderr.endswith("x.yaml: 1 database; no mistakes\n")) == (0, True), once.output
    assert twice.exit_code == 2 and "are two files; name one" in twice.stderr


def test_file_without_notes_is_the_only_one_that_is_praised(tmp_path: Path) -> None:
    told = validate(tmp_path, "databases: [{name: a, dsn: 'demo:undo-storm'}]").stderr
    assert told.endswith("1 database; no mistakes\n") and told.count("\n") == 1


def test_what_is_right_in_form_and_will_not_work_is_noted(tmp_path: Path) -> None:
    for name, text in {
        "empty": "",
        "slak": "slak://a/b/c/#x",
        "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlaz",
        "tokens": "me",
    }.items():
        (tmp_path / name).write_text(text)
    channels = ", ".join(f"{{name: {name}, url_file: {tmp_path / name}}}" for name in ("empty", "slak", "slack"))
    told = validate(
        tmp_path,
        f"store: postgresql://u:tiger@h/d\nauth: {{tokens_file: {tmp_path / 'tokens'}}}\nnotifications: [{channels}]\n"
        f"databases:\n- name: a\n  dsn: h/s\n  password_file: {tmp_path / 'empty'}\n  user: c ##latchscope\n",
    )
    assert told.exit_code == 0 and "1 database; 6 notes" in told.stderr, told.output
    for said in (
        "note: line 8: user is 'c', since ` #` begins a comment; where `##latchscope` belongs to it, take the blank away",
        "note: store has a password in clear text; leave it out",
        "tokens line 1: write name, read or operate, sha256 of the token",
        "empty is empty; write an address into it",
        f"note: a: password_file {tmp_path / 'empty'} is empty here; write the password into it",
        "slak has no address that Apprise knows; https://appriseit.com/services/ lists them",
    ):
        assert said in told.stderr, told.stderr
    assert "tiger" not in told.stderr and "TIiajk" not in told.stderr and "notification slack:" not in told.stderr


def test_databases_of_whose_outages_nobody_hears_are_noted(tmp_path: Path) -> None:
    (tmp_path / "chat").write_text("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlaz")
    both = "databases: [{name: a, dsn: 'demo:undo-storm'}, {name: b, dsn: 'demo:undo-storm'}]\n"
    for more, silent in {
        "": None,
        "databases: [b]": "a",
        "min_severity: critical": "a, b",
        "on: [begin]": "a, b",
    }.items():
        text = f"{both}notifications: [{{name: chat, url_file: {tmp_path / 'chat'}{', ' if more else ''}{more}}}]"
        told = validate(tmp_path, text).stderr
        assert (f"note: no notification says when {silent} does not answer" in told) == (silent is not None), told
        assert ("no mistakes" in told) == (silent is None), told


def test_open_address_is_refused_as_serve_would_with_its_line_unless_it_is_meant(tmp_path: Path) -> None:
    text = "databases: [{name: a, dsn: 'demo:undo-storm'}]\nlisten: 0.0.0.0:0\n"
    told = validate(tmp_path, text)
    assert told.exit_code == 2
    assert ":2: listen: others can reach 0.0.0.0:0: set auth.tokens_file, or use --insecure" in told.stderr
    assert validate(tmp_path, text, "--insecure").exit_code == 0


def test_extras_that_are_not_installed_are_told_before_the_service_refuses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda package: None)
    file = tmp_path / "c.yaml"
    file.write_text(
        "databases: [{name: a, dsn: 'demo:undo-storm'}]\n"
        "notifications: [{name: chat, url_file: chat}]\nstore: 'postgresql+psycopg://u@h/d'\n"
    )
    told = CliRunner().invoke(cli, ["config", "validate", str(file)])
    assert told.exit_code == 0
    assert [name for name in ("notify", "postgresql") if f"install the extra `{name}`" in told.stderr] == [
        "notify",
        "postgresql",
    ]


def init(*words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["init", *map(str, words)], input=typed)


def test_options_write_a_file_that_is_checked_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "latchscope.yaml"
    told = init("--dsn", "demo:undo-storm", "-o", path)
    assert told.exit_code == 0, told.output
    assert "undo-storm: Oracle 11.2.0.4.0" in told.stdout and "can be read" in told.stdout
    (database,) = load.read(path).databases
    assert (database.name, database.scripted) == ("undo-storm", "undo-storm")
    text = path.read_text(encoding="utf-8")
    whole = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if not line.endswith(("reason.", "change."))
    )
    path.write_text(whole, encoding="utf-8")
    assert [str(mistake) for mistake in load.checked(path).mistakes] == [], "the commented settings work too"


def test_database_without_its_password_file_is_written_and_says_what_is_next(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    told = init("--dsn", "host:1521/erp.world", "--password-file", tmp_path / "secret", "-o", path)
    assert told.exit_code == 0, told.output
    assert "`latchscope grants --for KIND` prints the script for its user" in told.stderr
    assert f"put the password into {tmp_path / 'secret'}, then run `latchscope check --config {path}`" in told.stderr
    (database,) = load.read(path).databases
    assert (database.name, database.dsn, database.user) == ("erp", "host:1521/erp.world", "LATCHSCOPE")


def test_answers_of_a_person_write_the_file_and_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("service.cli.config._can_ask", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "geheim")
    told = init("--no-check", typed="host:1521\nhost:1521/erp\nerp1\n\n\ngeheim\n")
    assert told.exit_code == 0, told.output
    assert "names no service; write host:1521/service" in told.stderr, "it repeats the question after a bad answer"
    (database,) = load.read(tmp_path / "latchscope.yaml").databases
    assert (database.name, str(database.password_file)) == ("erp1", "erp1.password")
    secret = tmp_path / "erp1.password"
    assert secret.read_text(encoding="utf-8") == "geheim\n" and secret.stat().st_mode & 0o077 == 0
    assert "geheim" not in (tmp_path / "latchscope.yaml").read_text(encoding="utf-8")


def test_each_answer_is_judged_before_the_next_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    monkeypatch.setattr("service.cli.config._can_ask", lambda: True)
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
    (database,) = load.read(tmp_path / "latchscope.yaml").databases
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
