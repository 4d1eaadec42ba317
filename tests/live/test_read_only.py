"""`make test-live` only reads: what a run on the stand-in sends is proven text by text, and no module that writes is loaded."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from collectors.demo.scenarios import scenarios
from collectors.errors import UnlistedStatement
from collectors.ondemand.check import limited
from tests.collectors.sql_proof import parser_faults, views_of_tree
from tests.live.questions import ACCEPTED, QUESTIONS
from tests.live.test_live import connect
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS
from tests.oracle_standin.granted import GrantedBackend
from tests.oracle_standin.profiles import ORACLE_19C
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener
from tests.paths import ROOT

pytestmark = pytest.mark.slow

ASKED = {limited(question.sql) for question in QUESTIONS.values()}
RUN = """
import sys, pytest
code = pytest.main(sys.argv[1:])
loaded = {name: module for name, module in sys.modules.items() if name.startswith("tests.")}
print("loaded", *loaded)
print("write", *(name for name, module in loaded.items() if "oracledb" in vars(module) or ".load" in name))
sys.exit(code)
"""


class Recorded(ScriptedBackend):
    """A healthy database that keeps each text it is sent."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        super().__init__(scenarios()["healthy-19c"])

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """See `Backend.answer`; 1 to each question."""
        self.sent.add(sql)
        scripted = self if "latchscope confirm" not in sql and sql not in ASKED else GrantedBackend(views_of_tree(sql))
        return super().answer(service, sql, binds) if scripted is self else scripted.answer(service, sql, binds)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """The database of LATCHSCOPE_TEST_DSN."""
    backend = Recorded()
    with Listener({"free": Service(backend, {USER: Account(PASSWORD)}, ORACLE_19C)}) as listener:
        for name in ("DBA_USER", "DBA_PASSWORD", "MODE"):
            monkeypatch.delenv(f"LATCHSCOPE_TEST_{name}", raising=False)
        for name, value in {"DSN": listener.dsn("free"), "USER": USER, "PASSWORD": PASSWORD}.items():
            monkeypatch.setenv(f"LATCHSCOPE_TEST_{name}", value)
        yield backend
        assert not listener.problems


def test_whole_run_sends_queries_only_and_loads_no_module_that_writes(recorded: Recorded) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (words,) = re.findall(r"pytest -q -s (-m oracle [\w./ ]+) \$\(if", makefile)
    command = [sys.executable, "-c", RUN, "-q", "--tb=line", *words.split()]
    kept = {name: value for name, value in os.environ.items() if name != "LATCHSCOPE_REQUIRE_ALL"}
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    loaded, writing = (re.findall(rf"^{word}(.*)$", done.stdout, re.M)[0].split() for word in ("loaded", "write"))
    assert {"tests.live.test_live", "tests.live.test_questions"} <= set(loaded) and writing == []
    assert ASKED <= recorded.sent <= ACCEPTED and len(recorded.sent - ASKED) > 50
    assert {sql: wrong for sql in recorded.sent if (wrong := parser_faults(sql, views_of_tree(sql)))} == {}


@pytest.mark.parametrize("sql", ["drop table T", "select 1 from dual for update", "select count(*) from dual"])
def test_session_refuses_every_other_text(recorded: Recorded, sql: str) -> None:
    session = connect(USER, PASSWORD)
    with pytest.raises(UnlistedStatement):
        session.query(sql, {})
    session.close()
    assert recorded.sent == set()
