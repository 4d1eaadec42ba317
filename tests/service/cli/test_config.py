"""`latchscope config validate`: every mistake at once with its line, in our own words."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collectors.grants import grantee
from service.cli.main import cli
from service.config import load
from tests.service.receiver import receiver

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


WORD = "zx9mark"
MISTAKEN = (
    f"user: 'scott/{WORD}'", f"user: 'scott {WORD}'", f"password_file: {WORD}", f"password_file: '{WORD}/{WORD}'",
    f"password_env: {WORD}", f"password_file: '{WORD * 50}'", f"wallet_password_file: '{WORD}!'",
    f"password_file: x}}]\nnotifications: [{{name: n, url_file: 'slack://{WORD}/x'",
    f"password_file: x}}]\nwebhooks: [{{name: n, url: 'http://127.0.0.1:1/', secret_file: '{WORD}+/='",
)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path, mistake: str) -> None:
    told = validate(tmp_path, f"databases: [{{name: a, dsn: '127.0.0.1:1/s', {mistake}}}]")
    checked = CliRunner().invoke(cli, ["check", "--config", str(tmp_path / "latchscope.yaml")])
    for done in (told, checked):
        assert WORD not in done.output + done.stderr and "Traceback" not in done.stderr and done.output, done.output


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


MOST = "databases: [{name: a, dsn: 'demo:undo-storm'}]\n"
CONTAINERS = "no `user`, so it is LATCHSCOPE; in a container database"
TOLD: list[tuple[str, int, list[str]]] = [
    (MOST, 0, ["1 database; no mistakes"]),
    (
        "databases:\n- {name: a, dsn: 'demo:undo-storm'}\n- {name: b, dsn: erp, password_file: /no/such/file}\n"
        "- {name: c, dsn: h/s}\n",
        2,
        [
            f"note: b, c: {CONTAINERS}",
            "note: b: password_file /no/such/file does not exist here",
            "note: b: dsn erp is an alias",
            ":4: databases[2]: c has no password; set password_file",
            "has 1 mistake; correct it",
        ],
    ),
    (
        "databases: [{name: a, dsn: h/s, password_env: PATH}, {name: b, dsn: h/s, user: LATCHSCOPE, password_env: PATH}, "
        "{name: c, dsn: 'demo:undo-storm'}]",
        0,
        [f"note: a: {CONTAINERS}", "note: a and b have the same dsn and user", "3 databases; 2 notes"],
    ),
    (
        MOST + "notifications: [{name: n, urlfile: f}]",
        2,
        ["notifications[0].urlfile: no such setting; did you mean url_file?", "has 1 mistake"],
    ),
    (
        MOST + "notifications: [{name: n, xyz: f}]",
        2,
        ["notifications[0].xyz: no such", "notifications[0].url_file: is missing", "has 2 mistakes"],
    ),
    (
        "lisen: x\ndatabases:\n- name: a\n  dsn: h/s\n  user: C ##LATCHSCOPE\n",
        2,
        ["did you mean listen?", "note: line 5: user is 'C', since ` #` begins a comment", "has 1 mistake"],
    ),
    (
        "listen: 0.0.0.0:0\ndatabases: [{name: a, dsn: h/s, user: x, password_env: NOT_SET}]",
        2,
        [
            ":1: listen: others can reach 0.0.0.0:0: set auth.tokens_file, or use --insecure",
            "note: a: the environment has no NOT_SET here",
            "has 1 mistake",
        ],
    ),
    (
        "databases:\n- {name: a, dsn: h/s, password: tiger}\n- {name: b, dsn: h/s, pdb: SALES}\n",
        2,
        [
            ":2: databases[0].password: no password is ever written into this file; name a file of it as password_file",
            ":3: databases[1].pdb: no such setting, as latchscope watches an instance with all its PDBs; let `dsn`",
            "has 2 mistakes",
        ],
    ),
    (
        "auth: {audit_file: FOLDER/none/audit.jsonl}\n" + MOST,
        0,
        [
            "note: auth.audit_file FOLDER/none/audit.jsonl cannot be written: there is no folder FOLDER/none",
            "1 database; 1 note",
        ],
    ),
    (
        "store: postgresql://u:tiger@h/d\nauth: {tokens_file: FOLDER/tokens}\n"
        "notifications: [{name: empty, url_file: FOLDER/empty}, {name: slak, url_file: FOLDER/slak},"
        " {name: chat, url_file: FOLDER/chat}]\n"
        "databases:\n- name: a\n  dsn: h/s\n  password_file: FOLDER/empty\n  user: c ##latchscope\n",
        0,
        [
            "note: line 8: user is 'c', since ` #` begins a comment; where `##latchscope` belongs to it, take the blank away",
            "note: store has a password in clear text; leave it out",
            "tokens line 1: write name, read or operate, sha256 of the token",
            "note: a: password_file FOLDER/empty can be read by other accounts; chmod 600 it",
            "note: notification empty: url_file FOLDER/empty can be read by other accounts",
            "empty is empty; write an address into it",
            "slak has no address that Apprise knows; https://appriseit.com/services/ lists them",
            "note: a: password_file FOLDER/empty is empty here; write the password into it",
            "1 database; 8 notes",
        ],
    ),
    *(
        (
            "databases: [{name: a, dsn: 'demo:undo-storm'}, {name: b, dsn: 'demo:undo-storm'}]\n"
            f"notifications: [{{name: chat, url_file: FOLDER/chat{more}}}]",
            0,
            [f"note: no notification says when {silent} does not answer", "1 note"] if silent else ["no mistakes"],
        )
        for more, silent in {
            "": None,
            ", databases: [b]": "a",
            ", min_severity: critical": "a, b",
            ", on: [begin]": "a, b",
        }.items()
    ),
]
"""The text of a file, the exit code, and a part of each line that is told; the last line counts. FOLDER has some files."""


@pytest.mark.parametrize(("text", "code", "said"), TOLD)
def test_each_line_tells_a_mistake_or_what_will_not_work_here_and_the_last_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, code: int, said: list[str]
) -> None:
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    files = {"empty": "", "slak": "slak://a/b/c/#x", "chat": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlaz", "tokens": "me"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o644 if name == "empty" else 0o600)
    if "notifications:" in text:
        without = validate(tmp_path, text.replace("FOLDER", str(tmp_path))).stderr
        assert code or "no `public_url`, so the messages of notifications have no link" in without
        text += "\npublic_url: https://latchscope.example.com"
    told = validate(tmp_path, text.replace("FOLDER", str(tmp_path)))
    assert (told.exit_code, told.stdout) == (code, "") and "tiger" not in told.stderr and "TIiajk" not in told.stderr
    *lines, last = told.stderr.splitlines()
    assert said[-1] in last and len(lines) == len(said) - 1, told.stderr
    for words in said[:-1]:
        assert sum(words.replace("FOLDER", str(tmp_path)) in line for line in lines) == 1, (words, told.stderr)


def test_notes_on_an_alias_and_on_containers_say_what_to_write(tmp_path: Path) -> None:
    told = validate(tmp_path, "databases: [{name: b, dsn: erp, password_env: PATH}]").stderr
    assert "here; of a host write erp:1521/service" in told
    assert "C##LATCHSCOPE, and dsn names a service of CDB$ROOT, not of a PDB" in told


def test_file_is_named_as_other_commands_name_it_and_may_be_open_if_that_is_meant(tmp_path: Path) -> None:
    assert validate(tmp_path, f"listen: 0.0.0.0:0\n{MOST}", "--insecure").exit_code == 0
    named = ["config", "validate", "--config", str(tmp_path / "latchscope.yaml"), "--insecure"]
    once, twice = CliRunner().invoke(cli, named), CliRunner().invoke(cli, [*named, "y.yaml"])
    assert (once.exit_code, once.stderr.endswith("latchscope.yaml: 1 database; no mistakes\n")) == (0, True)
    assert twice.exit_code == 2 and "are two files; name one" in twice.stderr


def test_extras_that_are_not_installed_are_told_before_the_service_refuses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda package: None)
    told = validate(
        tmp_path, f"{MOST}notifications: [{{name: chat, url_file: chat}}]\nstore: 'postgresql+psycopg://u@h/d'\n"
    )
    assert told.exit_code == 0
    assert all(f"install the extra `{name}`" in told.stderr for name in ("notify", "postgresql"))


def init(*words: object) -> Result:
    return CliRunner().invoke(cli, ["init", *map(str, words)])


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
    assert (database.name, database.dsn, database.user) == ("erp", "host:1521/erp.world", grantee("LATCHSCOPE", "cdb"))


def test_file_without_a_database_of_yours_has_an_example(tmp_path: Path) -> None:
    told = init("-o", tmp_path / "x.yaml")
    assert told.exit_code == 0 and "x.yaml: written, with an example; put your database in its place" in told.stderr
    (database,) = load.read(tmp_path / "x.yaml").databases
    assert (database.name, database.dsn) == ("erp1", "db1.example.com:1521/erp1")


def test_mistakes_are_one_line_and_write_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.yaml"
    there.write_text("kept", encoding="utf-8")
    new = tmp_path / "new.yaml"
    for words, said in (
        (("-o", there, "--dsn", "demo:undo-storm"), "exists already; name another with --output"),
        (("-o", new, "--dsn", "h:1:X", "--password-env", "P"), "names a SID"),
        (("-o", new, "--dsn", "demo:undo-strom"), "did you mean undo-storm?"),
        (
            ("-o", new, "--dsn", "h/s", "--name", "a b", "--password-env", "P"),
            "databases[0].name: 'a b' cannot be a name",
        ),
        (("-o", new, "--dsn", "h/s", "--user", "a b", "--password-env", "P"), "databases[0].user: has a blank"),
        (("-o", new, "--dsn", "h/s", "--password-file", "f", "--password-env", "P"), "keep one"),
        (("-o", tmp_path / "no/folder.yaml", "--dsn", "demo:undo-storm"), "cannot be written"),
    ):
        told = init(*words)
        assert (told.exit_code, told.stderr.count("\n")) == (2, 1) and said in told.stderr, (words, told.stderr)
    assert there.read_text(encoding="utf-8") == "kept" and not new.exists()


# `latchscope notify test`: a line for each receiver, and one for each mistake

SECRET = "zx9mark-of-the-key"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def notified(folder: Path, text: str, *names: str) -> Result:
    path = folder / "latchscope.yaml"
    path.write_text(f"databases: [{{name: a, dsn: 'demo:undo-storm'}}]\n{text}", encoding="utf-8")
    return CliRunner().invoke(cli, ["notify", "test", *names, "--config", str(path)])


def test_each_receiver_gets_a_test_and_a_line(tmp_path: Path) -> None:
    with receiver() as to:
        (tmp_path / "address").write_text(to.url.replace("http://", f"json://u:{SECRET}@"), encoding="utf-8")
        (tmp_path / "gone").write_text(f"json://127.0.0.1:1/{SECRET}", encoding="utf-8")
        text = (
            f"public_url: https://latchscope.example.com\nauth: {{audit_file: {tmp_path}/audit}}\n"
            f"webhooks: [{{name: hook, url: '{to.url}'}}]\n"
            f"notifications: [{{name: chat, url_file: {tmp_path}/address, quiet_hours: '22:00-07:00'}},"
            f" {{name: gone, url_file: {tmp_path}/gone}}]\n"
        )
        told = notified(tmp_path, text)
        assert told.exit_code == 1
        lines = told.stdout.splitlines()
        assert lines[:2] == ["hook: sent (webhook)", "chat: sent (json)"]
        assert lines[2].startswith("gone: not sent: ") and lines[2].endswith("(json)")
        hook, chat = to.taken
        assert (hook["event"], hook["url"]) == ("test", "https://latchscope.example.com/db/latchscope")
        assert chat["title"] == "latchscope: a test" and chat["type"] == "info"
        assert "You get episodes of every database from warning on." in chat["message"]
        assert "Below critical they wait for the end of 22:00-07:00 (UTC)." in chat["message"]
        audit = (tmp_path / "audit").read_text(encoding="utf-8")
        assert audit.count("notify test") == 3 and '"outcome": "sent"' in audit
        assert SECRET not in told.output + audit and "of-a-secret-path" not in told.output + audit
        assert notified(tmp_path, text, "chat").stdout == "chat: sent (json)\n" and len(to.taken) == 3


def test_mistakes_of_receivers_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = f"notifications: [{{name: chat, url_file: {tmp_path}/none}}]"
    unknown = notified(tmp_path, one, "chatt")
    assert unknown.exit_code == 2
    assert unknown.stderr == "latchscope: `notifications` and `webhooks` have no chatt; the names are: chat\n"
    nobody = notified(tmp_path, "listen: 127.0.0.1:0")
    assert nobody.exit_code == 2 and "has no receivers; add `notifications` or `webhooks`" in nobody.stderr
    unread = notified(tmp_path, one)
    assert unread.exit_code == 1 and "chat: not sent: url_file" in unread.stdout and "No such file" in unread.stdout
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    missing = notified(tmp_path, one)
    assert missing.exit_code == 2 and "the extra `notify`" in missing.stderr and missing.stderr.count("\n") == 1
