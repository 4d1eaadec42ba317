"""The look for blockers: one statement, bounded, that finds the holder of a hang and asks nothing of a calm instance."""

import pytest

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Rows
from collectors.ondemand.blockers import VIEW, look_for_blockers
from collectors.oracle_errors import Cancelled
from collectors.poll import Answer
from collectors.registry import collectors


class Asked:
    """A connection that raises, and counts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.sent = error, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        self.sent.append(sql)
        if self.error is not None:
            raise self.error
        return Answer(("cache#", "sid"), [(8, 312)])

    def close(self) -> None:
        pass


def test_look_is_one_marked_statement_with_a_row_limit() -> None:
    asked = Asked()
    assert look_for_blockers(asked, "19.0.0.0.0") == Rows(VIEW, ({"cache#": 8, "sid": 312},))
    (sql,) = asked.sent
    assert "/* latchscope row_cache_blockers */" in sql and "rownum <= 20" in sql and "exists" in sql


@pytest.mark.parametrize(
    ("error", "kind"), [(ViewRefused("ORA-00942"), "refused"), (StatementError("ORA-01013"), "failed")]
)
def test_look_that_is_refused_or_fails_says_so(error: Exception, kind: str) -> None:
    found = look_for_blockers(Asked(error), "11.2.0.4.0")
    assert isinstance(found, Missing) and found.kind == kind
    assert kind == "failed" or found.way_out == "grant select on sys.v_$rowcache_parent to <user>;"


def test_look_that_hits_its_deadline_says_so_and_how_to_go_on() -> None:
    found = look_for_blockers(Asked(Cancelled("DPY-4024; the statement was cancelled")), "11.2.0.4.0")
    assert isinstance(found, Missing) and found.kind == "failed"
    assert "hit its deadline" in found.why and "DPY-4024" in found.why
    assert "docs/emergency.md" in found.way_out


def test_look_that_loses_its_session_raises() -> None:
    with pytest.raises(SessionError):
        look_for_blockers(Asked(SessionError("ORA-03113")), "11.2.0.4.0")


def test_look_is_never_a_part_of_a_poll() -> None:
    assert collectors()[VIEW].on_request
