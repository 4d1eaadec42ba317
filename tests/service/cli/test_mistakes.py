"""Mistakes that people make, and latchscope's answer to each: one line with what, where and the way out, in our own words."""

import os
import re
import shlex
import signal
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner, Result

from service.cli.main import cli
from tests.paths import INCIDENT

DEMO = "databases: [{name: a, dsn: 'demo:undo-storm'}]\n"
OPEN = "listen: others can reach 0.0.0.0:0: set auth.tokens_file, or use --insecure"
GOOD = f"listen: 127.0.0.1:0\n{DEMO}"


@dataclass(frozen=True)
class CommonMistake:
    """A line of a shell, its files, and words that the answer must have."""

    what: str
    line: str
    said: str
    files: Mapping[str, str] = field(default_factory=dict)


def in_file(what: str, text: str, said: str) -> CommonMistake:
    """A mistake within latchscope.yaml."""
    return CommonMistake(what, "config validate c.yaml", said, {"c.yaml": text})


def of_database(what: str, entry: str, said: str) -> CommonMistake:
    """A database that refuses the login."""
    return CommonMistake(
        what,
        "capture a -o out.json --seconds 0 --config c.yaml",
        said,
        {"c.yaml": f"databases: [{{name: a, {entry}}}]"},
    )


def with_tokens(what: str, text: str, said: str, named: str = "tokens") -> CommonMistake:
    """An unusable tokens file."""
    files = {"c.yaml": f"auth: {{tokens_file: {named}}}\n{GOOD}", "tokens": text}
    return CommonMistake(what, "serve --config c.yaml", said, files)


MISTAKES = (
    CommonMistake("misspelt command", "diagnos x", "did you mean diagnose? `latchscope --help` has the rest"),
    CommonMistake(
        "misspelt option", "diagnose x --formt json", "diagnose: there is no option --formt; did you mean --format?"
    ),
    CommonMistake("option of other tools", "diagnose x --jsn", "there is no option --jsn; did you mean --json?"),
    CommonMistake("help for a misspelt command", "help diagnos", "did you mean diagnose?"),
    CommonMistake("format in place of a file", "diagnose {incident} -o md", "write --format markdown, or -o report.md"),
    CommonMistake("--url without a database", "compare a b --url http://127.0.0.1:1", "name it with --db"),
    CommonMistake("mark where nothing runs", "mark a x --url http://127.0.0.1:1", "is `latchscope serve` running?"),
    CommonMistake("no file named", "diagnose", "FILE… is missing; `latchscope diagnose --help` has the rest"),
    CommonMistake("one argument too many", "grants x", "grants: x is an extra argument;"),
    CommonMistake(
        "unknown format", "diagnose x --format pdf", "--format: 'pdf' is not one of 'text', 'json', 'markdown',"
    ),
    CommonMistake("port that is no number", "demo --port x", "'x' is not a number"),
    CommonMistake("port out of range", "demo --port 99999", "demo: --port: 99999 is out of range: 0 to 65535"),
    CommonMistake("interval that is no number", "demo --interval nan", "nan is not a number"),
    CommonMistake("interval without end", "demo --interval inf", "out of range: 0.2 to 3600"),
    CommonMistake("seconds that are no number", "capture a -o o.json --seconds nan", "nan is not a number"),
    in_file("setting without end", f"defaults: {{interval: .inf}}\n{GOOD}", "is not a duration that can pass"),
    in_file("an alias in itself", "a: &a [*a]", "an alias is part of itself; write it flat"),
    CommonMistake("file that is not there", "diagnose none.html", "none.html does not exist; give the path"),
    CommonMistake("file of nearly that name", "diagnose awr1.html", "did you mean awr.html?", {"awr.html": ""}),
    CommonMistake("file in no folder", "diagnose no/awr.html", "there is no folder no either"),
    CommonMistake("empty file", "diagnose f", "is empty", {"f": ""}),
    CommonMistake("file that cannot be read", "diagnose /proc/self/mem", "error; give the right to read it"),
    CommonMistake("wrong file", "diagnose f", "is not an AWR or Statspack report", {"f": "nothing of ours"}),
    CommonMistake("half a capture", "diagnose f", "it ends too early", {"f": '{"format": "latchscope-capture", "ver'}),
    CommonMistake("empty folder", "diagnose .", "is a directory without files"),
    CommonMistake("folder in place of a configuration", "config validate .", "or name a file"),
    CommonMistake("folder in place of a table", "study scaling .", "is a directory; name a file within it"),
    CommonMistake("option that must be given", "capture a --config c.yaml", "--output is missing;", {"c.yaml": DEMO}),
    CommonMistake(
        "file in place of a folder", "dashboards export c.yaml", "is a file; name a folder", {"c.yaml": DEMO}
    ),
    CommonMistake(
        "no store", "compare --db a --mark last --config c.yaml", "`latchscope serve` creates it", {"c.yaml": DEMO}
    ),
    CommonMistake("export of something else", "store import c.yaml --config c.yaml", "copy it again", {"c.yaml": DEMO}),
    CommonMistake(
        "nobody to tell", "notify test --config c.yaml", "add `notifications` or `webhooks`", {"c.yaml": DEMO}
    ),
    CommonMistake("service without http://", "top --url 127.0.0.1:8000", "write http://127.0.0.1:8000"),
    CommonMistake("service that does not run", "top --url http://127.0.0.1:1", "is `latchscope serve` running?"),
    CommonMistake(
        "missing token file", "mcp --token-file none --url http://127.0.0.1:1", "name the file that holds your token"
    ),
    CommonMistake(
        "output that cannot be written", "diagnose {incident} -o no/folder/x", "make the folder no/folder first"
    ),
    CommonMistake("output that is a folder", "diagnose {incident} -o .", "name a file in it"),
    CommonMistake("no configuration", "check", "latchscope.yaml does not exist; `latchscope init` writes one"),
    in_file("bad YAML: bracket", "listen: [", "the file ends too early"),
    in_file("bad YAML: tab", "listen:\n\t- x", "YAML is indented with spaces"),
    in_file("bad YAML: colon", "store: a: b", "a colon too many"),
    in_file("no settings at all", "- just a list", "has no settings"),
    in_file("no databases", "listen: 127.0.0.1:0", "list them under `databases`"),
    in_file("bad address", f"listen: everywhere\n{DEMO}", "write 127.0.0.1:8000"),
    in_file("bad duration", f"defaults: {{interval: soon}}\n{DEMO}", "write 500ms, 15s, 2m, 1h or 90d"),
    in_file("polled too often", f"defaults: {{interval: 1s}}\n{DEMO}", "polled no more often than every 10 s"),
    in_file("database without dsn", "databases: [{name: a}]", "is missing; every entry of `databases` needs it"),
    in_file("name with a space", "databases: [{name: a b, dsn: h/s}]", "cannot be a name; use letters"),
    in_file("dsn with a password", "databases: [{name: a, dsn: 'u/tiger@h/s'}]", "set `user` and `password_file`"),
    in_file("dsn without service", "databases: [{name: a, dsn: 'h:1521'}]", "write h:1521/service"),
    in_file("unknown script", "databases: [{name: a, dsn: 'demo:undostorm'}]", "did you mean undo-storm?"),
    in_file("user with a blank", "databases: [{name: a, dsn: h/s, user: 'c ##x'}]", "has a blank; write the name"),
    in_file("store by another name", f"{DEMO}store: postgres://u@h/d", "write postgresql://user@host/database"),
    in_file("store of another kind", f"{DEMO}store: mysql://u:tiger@h/d", "'mysql' is not a kind of store"),
    in_file("open to all, before it is served", f"listen: 0.0.0.0:0\n{DEMO}", OPEN),
    of_database("missing password file", "dsn: 'h:1/s', password_file: /none/secret", "/none/secret cannot be read"),
    of_database("missing password variable", "dsn: 'h:1/s', password_env: NOT_SET", "the environment has no NOT_SET"),
    of_database("no password named", "dsn: 'h:1/s'", "set password_file, password_env or password_command"),
    of_database("password command that is not there", "dsn: h/s, password_command: [/none/x]", "run it by hand"),
    of_database("password file that is a folder", "dsn: h/s, password_file: /", "cannot be read: Is a directory"),
    of_database("alias without tnsnames.ora", "dsn: erp, password_env: PATH", "the dsn is an alias, and no folder"),
    of_database("nothing listens", "dsn: '127.0.0.1:1/s', password_env: PATH", "nothing listens at host and port"),
    CommonMistake("unknown database", "check b --config c.yaml", "no database named b", {"c.yaml": DEMO}),
    CommonMistake(
        "port in use",
        "serve --config c.yaml",
        "Address already in use; choose another port",
        {"c.yaml": f"listen: 127.0.0.1:{{port}}\n{DEMO}"},
    ),
    CommonMistake(
        "misspelt setting to be served", "serve --config c.yaml", "did you mean listen?", {"c.yaml": "lisen: x"}
    ),
    CommonMistake("nothing to serve", "serve --config c.yaml", "c.yaml does not exist"),
    CommonMistake("open to all", "serve --config c.yaml", OPEN, {"c.yaml": f"listen: 0.0.0.0:0\n{DEMO}"}),
    with_tokens("missing tokens file", "", "cannot be read: No such file", "none"),
    with_tokens("tokens file without a hash", "me read secret", "line 1: write name, read or operate, sha256"),
    with_tokens("empty tokens file", "# nobody", "has no token"),
    CommonMistake(
        "store nowhere",
        "serve --config c.yaml",
        "cannot be opened",
        {"c.yaml": f"{GOOD}store: sqlite:////no/such/x.db"},
    ),
    CommonMistake("unknown kind", "grants --for autonomus", "did you mean autonomous?"),
    CommonMistake("bad user", "grants --user 'a;b'", "is not an Oracle user name"),
    CommonMistake("unknown cause", "causes show undo-segmets", "did you mean undo-segments?"),
    CommonMistake("compare without sides", "compare a.json", "name two files, BEFORE and AFTER"),
    CommonMistake("study of no table", "study scaling none.csv", "there is no file none.csv; name a table"),
    CommonMistake(
        "init over a file", "init -o c.yaml --dsn demo:undo-storm", "replace it with --force", {"c.yaml": DEMO}
    ),
)


def tell(mistake: CommonMistake) -> Result:
    """latchscope's answer, in a folder with only the files of the mistake."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for name, text in mistake.files.items():
            (Path(folder) / name).write_text(text.replace("{port}", str(taken.getsockname()[1])), encoding="utf-8")
        os.chdir(folder)
        try:
            words = shlex.split(mistake.line.replace("{incident}", str(INCIDENT)))
            with (
                patch("service.cli.serve.configure_logging"),
                patch("service.cli.serve.faulthandler.enable"),
                patch.dict(os.environ, {"TNS_ADMIN": ""}),
            ):
                return CliRunner().invoke(cli, words, prog_name="latchscope")
        finally:
            os.chdir(home)


LIBRARY = re.compile(r"Value error|Extra inputs|Input should|Field required|DPY-|pydantic|Errno|Traceback|Usage:|Error")
WAY_OUT = re.compile(r"; |did you mean|`latchscope |: set |: name |, such as ")


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]


def test_each_common_mistake_is_one_line_with_the_way_out() -> None:
    assert len(MISTAKES) >= 40
    before = handlers()
    for mistake in MISTAKES:
        told = tell(mistake)
        assert told.exit_code == 2 and told.stdout == "", (mistake.what, told.output)
        assert isinstance(told.exception, SystemExit), (mistake.what, told.exception)
        first, *more = told.stderr.splitlines()
        assert not LIBRARY.search(told.stderr) and "tiger" not in told.stderr, (mistake.what, told.stderr)
        closing = mistake.line.startswith("config validate")  # names the line of the file, and what is wrong there
        assert mistake.said in first and (closing or WAY_OUT.search(first)), (mistake.what, first)
        assert len(more) <= closing, (mistake.what, told.stderr)
    assert handlers() == before, "a service that does not start leaves no handler behind"
