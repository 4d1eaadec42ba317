"""A stand-in for SQL*Plus:

it runs our script line by line against a scripted database and returns what SQL*Plus would spool. It follows the manual, not
a trace of the program. It knows the commands of the script and refuses all others, and lines that SQL*Plus would misread.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.errors import StatementError, ViewRefused
from collectors.model import Value
from collectors.ondemand.check import limited
from collectors.poll import Answer
from collectors.registry import collectors
from collectors.release import as_sent, text_for
from collectors.sqlplus.script import sqlplus_script
from collectors.views.latchname import LATCHES
from tests.collectors.oracle_text import InvalidIdentifier, project
from tests.collectors.scripted import BEGAN

NUMBER = re.compile(r"\(select latch# from v\$latchname where name = '([^']+)'\)")
LEAF = re.compile(r"from \((select (?:/\* latchscope|null as answer).*?)\) q\)\)", re.S)
IGNORED = {"variable"}
LONGEST_LINE = 2499


def with_binds(text: str) -> str:
    """A text of the script with binds again in place of the queries that stand for them."""
    of = {name: bind for bind, name in LATCHES.items()}
    return NUMBER.sub(lambda found: f":{of[found[1]]}", text)


@cache
def parsed(text: str) -> exp.Expr:
    """A statement as Oracle would understand it."""
    return sqlglot.parse_one(text, read="oracle")


class Killed(Exception):
    """Somebody ended the program. What it spooled remains."""


def normal(sql: str) -> str:
    """A statement without its line breaks."""
    return " ".join(sql.split())


class SqlPlus:
    """One run. It calls `hook(part, view)` before each statement; the hook may raise, as a database or a person would."""

    def __init__(
        self,
        scenario: Scenario,
        at: float,
        refused: tuple[str, ...] = (),
        packages: tuple[str, ...] = ("dbms_lock",),
        hook: Callable[[str, str], None] = lambda part, view: None,
        rewrite: Callable[[str, Answer], Answer] = lambda view, answer: answer,
        lacks: tuple[str, ...] = (),
        unwritable: bool = False,
        minds: bool = True,
    ) -> None:
        """`unwritable`: the directory. `minds`: a SPOOL that fails counts as an error of the system."""
        self.spooled: list[str] = []
        self.screen: list[str] = []
        self.module = "sqlplus"
        self._unwritable, self._minds = unwritable, minds
        self._shown, self._oserror = True, "continue"
        self.file = ""
        self.waits: list[float] = []
        self.sent: list[str] = []
        self._at = at
        self._database = ScriptedDatabase(scenario, BEGAN, lambda: self._at, refused)
        self._scenario = scenario
        self._refused = refused
        self._packages = packages
        self._hook = hook
        self._rewrite = rewrite
        self._lacks = lacks
        self._defined: dict[str, str] = {}
        self._new_value: set[str] = set()
        self._binds: dict[str, Any] = {":ls_wait": None, ":ls_n": None, ":ls_part": None}
        self._look: tuple[str, str] | None = None
        self._buffer = ""
        self._opened = ("", "")
        self._spooling = False

    def run(self, script: str) -> str:
        """The spooled text."""
        lines = iter(script.splitlines())
        try:
            for line in lines:
                self._command(line, lines)
        except Killed:
            pass
        return "\n".join(self.spooled) + "\n"

    def _command(self, line: str, rest: Iterator[str]) -> None:
        line = self._line(line)
        word, _, argument = line.strip().partition(" ")
        if not word or word.startswith("--") or word in IGNORED:
            return
        if word in ("select", "begin", "declare"):
            self._buffer = "\n".join([line, *map(self._line, iter(lambda: next(rest), "/"))])
            self._execute()
        elif word == "/":
            self._execute()
        elif word == "print":
            self._print()
        elif word == "exit":
            raise Killed
        else:
            {
                "prompt": self._prompt,
                "define": self._define,
                "column": self._column,
                "spool": self._spool,
                "set": self._set,
                "whenever": self._whenever,
            }[word](argument)

    def _line(self, line: str) -> str:
        """A line after substitution, as SQL*Plus would take it."""
        line = re.sub(r"&(\w+)\.?", lambda found: self._defined[found[1]], line)
        assert len(line) <= LONGEST_LINE and not line.rstrip().endswith("-"), line
        assert "&" not in line and "\t" not in line and line.isascii(), line
        return line

    def _prompt(self, text: str) -> None:
        self._say(text)
        if opened := re.search(r"\{ls\|([^|]+)\|([^|]+)\|open\|0\|\}", text):
            self._opened = (opened[1], opened[2])

    def _define(self, text: str) -> None:
        name, _, value = text.partition(" = ")
        self._defined[name] = value.strip("'")

    def _column(self, text: str) -> None:
        name, new_value, variable, noprint = text.split()
        assert (name, new_value, noprint) == (variable, "new_value", "noprint")
        self._new_value.add(name)

    def _set(self, text: str) -> None:
        option, _, value = text.partition(" ")
        self._shown = value == "on" if option == "termout" else self._shown

    def _whenever(self, text: str) -> None:
        what, _, then = text.partition(" ")
        self._oserror = then if what == "oserror" else self._oserror

    def _spool(self, text: str) -> None:
        if text != "off" and self._unwritable:
            self._say(f'SP2-0606: Cannot create SPOOL file "{text}"')
            if self._minds and self._oserror.startswith("exit"):
                raise Killed
            return
        self.file = self.file if text == "off" else text
        self._spooling = text != "off"

    def _say(self, text: str) -> None:
        if self._shown:
            self.screen.append(text)
        if self._spooling:
            self.spooled.append(text)

    def _execute(self) -> None:
        if self._buffer.lstrip().startswith("select"):
            self._select(self._buffer)
        elif "dbms_application_info" in self._buffer or ":ls_part :=" in self._buffer:
            self._assign()
        elif packages := re.findall(r"try\('(begin sys\.(\w+)\.sleep\(:s\); end;)'\)", self._buffer):
            self._binds[":ls_wait"] = next((text for text, one in packages if one in self._packages), None)
            self._binds[":ls_n"] = 0
        else:
            self._wait_and_open()

    def _assign(self) -> None:
        """A block that announces the next snapshot, or reads or sets the module of the session."""
        if part := re.search(r":ls_part := '(.)';", self._buffer):
            self._binds[":ls_part"] = part[1]
        if "read_module(:ls_module" in self._buffer:
            self._binds[":ls_module"] = self.module
        if named := re.search(r"set_module\((:\w+|'\w+'),", self._buffer):
            self.module = self._binds[named[1]] if named[1].startswith(":") else named[1].strip("'")

    def _wait_and_open(self) -> None:
        """The block that waits, and begins a look where it has one."""
        seconds = re.search(r"(?:execute immediate :ls_wait using |sys\.dbms_lock\.sleep\()([\d.]+)\)?;", self._buffer)
        assert seconds, self._buffer
        if self._binds[":ls_wait"] or ("dbms_lock" in self._packages and ":ls_wait" not in self._buffer):
            self.waits.append(float(seconds[1]))
            self._at += self.waits[-1]
        else:
            self._at += 0.05
        if opened := re.search(r"open :ls_look for '(.*)' using :ls_n, :ls_n;", self._buffer, re.S):
            self._binds[":ls_n"] += 1
            self._look = (opened[1].replace("''", "'"), str(self._binds[":ls_n"]))

    def _print(self) -> None:
        assert self._look, "print before open"
        text, number = self._look
        with contextlib.suppress(ViewRefused):  # the time of a scripted database comes from this view
            self._database.query(text_for(collectors()["v$instance"].statements, self._scenario.release) or "", {})
        self._select(text, {":n": number})

    def _select(self, text: str, binds: dict[str, Any] | None = None) -> None:
        text = re.sub(r"(?m)^\s*(/\* \*/ )*--.*$\n?", "", text).replace("/* */ ", "")
        self.sent.append(text)
        try:
            self._hook(*self._opened)
            rows = self._rows(parsed(text), text, {**self._binds, **(binds or {})})
        except InvalidIdentifier as unknown:
            self._fail(f'ORA-00904: "{unknown}": invalid identifier')
        except StatementError as error:
            self._fail(str(error))
        else:
            self._defined.update(
                {name: value for row in rows for name, value in row.items() if name in self._new_value}
            )
            for row in rows:
                self._say(str(row.get("ls_line", "")))

    def _fail(self, message: str) -> None:
        for line in ("          from somewhere", "               *", "ERROR at line 1:", message, "", ""):
            self._say(line)

    def _rows(self, node: Any, text: str, around: dict[str, Any]) -> list[dict[str, Any]]:
        if isinstance(node, exp.Subquery):
            return self._leaf(text) if node.alias == "q" else self._rows(node.this, text, around)
        if isinstance(node, exp.Union):
            return self._rows(node.left, text, around) + self._rows(node.right, text, around)
        source = node.args["from_"].this
        if isinstance(source, exp.Subquery):
            return project(node, self._rows(source, text, around), around)
        if source.name == "dual":
            now = BEGAN + timedelta(seconds=self._at)
            context = {"instance_name": self._scenario.name.replace("-", "_")}
            return project(node, [{}], {**around, "sys_context": context, "sysdate": now})
        assert source.name == "v$instance", source
        if "v$instance" in self._refused:
            raise ViewRefused("ORA-00942: table or view does not exist")
        return project(node, [{"version": self._scenario.release}], around)

    def _leaf(self, text: str) -> list[dict[str, Any]]:
        """The database's answer to our own statement inside a SELECT."""
        (raw,) = set(LEAF.findall(text))
        if "latchscope confirm" in raw:
            asked = re.fullmatch(r"select /\* latchscope confirm \*/ \((.*)\) as answer\s+from dual", raw, re.S)
            if asked is None:
                return [{"answer": None}]
            (answer,) = _as_rows(self._database.query(limited(asked[1], self._scenario.release), {}))
            return [{"answer": answer["answer"]}]
        if raw.startswith("select null as answer"):
            return [{"answer": None}]
        if raw.endswith("where 1 = 0"):
            return []
        sql = with_binds(normal(raw))
        for other in ("from x$kqrst", "from sys.x_$kqrst"):
            sql = sql.replace(other, "from sys.latchscope_kqrst")
        if "from x$kqrst" in raw and "sys" in self._refused:
            raise ViewRefused("ORA-00942: table or view does not exist")
        view = re.search(r"/\* latchscope (\S+) \*/", raw)
        assert view
        texts = collectors()[view[1]].statements
        fitting = text_for(texts, self._scenario.release)
        # The short script knows no release, and sends the oldest text to each.
        sent = fitting if any(name.startswith("ls_from") for name in self._defined) else text_for(texts, None)
        assert sent and fitting and normal(as_sent(sent)) == sql, f"not the text for {self._scenario.release}: {sql}"
        for column in self._lacks:
            if re.search(rf"\b{column}\b", sql):
                raise InvalidIdentifier(column.upper())
        answer = self._rewrite(view[1], self._database.query(fitting, {}))
        asked_for = parsed(sent).assert_is(exp.Query).selects
        return [
            {one.alias_or_name.lower(): row.get(one.alias_or_name.lower()) for one in asked_for}
            for row in _as_rows(answer)
        ]


def _as_rows(answer: Answer) -> list[dict[str, Value | datetime]]:
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


SICK_AT = {"undo-storm": 60.0, "users-mutex": 30.0}


@cache
def spooled(name: str = "undo-storm", looks: int = 15, seconds: int = 15) -> str:
    """What a run of the script leaves while that scripted database is sick."""
    return SqlPlus(scenarios()[name], SICK_AT[name]).run(sqlplus_script(seconds, looks))


def broken_at(width: int, text: str) -> str:
    """Every line broken hard, as a terminal, an editor or a mail program does."""
    return "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, max(len(line), 1), width))
