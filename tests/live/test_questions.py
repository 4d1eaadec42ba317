"""The answers that docs/unproven.md waits for, from a real database. `make test-live DSN=… ONLY=S4` asks a single one."""

import sys
from collections.abc import Iterator

import pytest

from collectors.ondemand.check import limited
from collectors.oracle import OracleConnection
from tests.live.questions import QUESTIONS
from tests.live.test_live import connect, given

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def dba() -> Iterator[OracleConnection]:
    opened = connect(given("DBA_USER", given("USER")), given("DBA_PASSWORD", given("PASSWORD")))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_live_question_has_an_answer(dba: OracleConnection, name: str) -> None:
    answer = dba.query(limited(QUESTIONS[name].sql), {})
    assert len(answer.rows) == 1
    sys.stdout.write(f"\n{name}: {answer.rows[0][0]} ({QUESTIONS[name].reading})\n")
