"""The installed patches: read where the release has the view, and why not where they are not."""

import pytest

from collectors.errors import Cancelled, SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Rows
from collectors.ondemand.blockers import of_look
from collectors.ondemand.changes import PATCHES as VIEW
from collectors.ondemand.changes import RARE as VIEWS
from collectors.ondemand.changes import read_rarely
from collectors.poll import Answer
from collectors.registry import collectors

COLUMNS = ("patch_id", "action", "action_time", "status", "description")
ROW = (31_281_355, "APPLY", "2020-08-01 09:00:00", "SUCCESS", "Database Release Update : 19.8.0.0.200714 (31281355)")


class Patched:
    """A connection that answers with one patch, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.sent = error, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        self.sent.append(sql)
        if self.error is not None:
            raise self.error
        return Answer(COLUMNS, [ROW])

    def close(self) -> None:
        pass


def test_patches_are_read_by_bounded_statements_with_the_deadline_of_a_look() -> None:
    connection = Patched()
    read = read_rarely(connection, "19.0.0.0.0")[VIEW]
    assert isinstance(read, Rows) and read.rows == (dict(zip(COLUMNS, ROW, strict=True)),)
    assert len(connection.sent) == len(VIEWS)
    assert all(of_look(sent) and "rownum <=" in sent for sent in connection.sent)


def test_release_without_the_view_is_not_asked() -> None:
    connection = Patched()
    read = read_rarely(connection, "11.2.0.4.0")[VIEW]
    assert isinstance(read, Missing) and read.kind == "not_asked"
    assert not any("sqlpatch" in sent for sent in connection.sent)


@pytest.mark.parametrize(
    ("error", "kind", "way_out"),
    [
        (ViewRefused("ORA-00942"), "refused", f"grant read on {collectors()[VIEW].granted_on} to"),
        (Cancelled("DPY-4024"), "failed", "after an hour"),
        (StatementError("ORA-01555"), "failed", "the polls go on"),
    ],
)
def test_view_that_gives_nothing_is_missing_with_the_way_out(error: Exception, kind: str, way_out: str) -> None:
    read = read_rarely(Patched(error), "19.0.0.0.0")[VIEW]
    assert isinstance(read, Missing) and read.kind == kind and way_out in read.way_out


def test_lost_session_is_raised() -> None:
    with pytest.raises(SessionError):
        read_rarely(Patched(SessionError("gone")), "19.0.0.0.0")
