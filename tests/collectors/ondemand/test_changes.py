"""A reading of changes, and of what changes a few times a year: each view once, within limits; what is not read is said."""

from datetime import UTC, datetime

import pytest

from collectors.deadline import STATEMENT_SECONDS
from collectors.errors import Cancelled, SessionError, StatementError, ViewRefused
from collectors.model import Missing, Row, Rows, Snapshot, unread
from collectors.ondemand.blockers import of_look
from collectors.ondemand.changes import (
    KEPT,
    MANY,
    PATCHES,
    RARE,
    UNCOUNTED,
    WAITED,
    gaps,
    kept,
    not_read,
    read_changes,
    read_rarely,
    views,
    why_none_in_containers,
)
from collectors.registry import collectors
from collectors.sql_list import statements
from tests.collectors.scripted import Asked, Given, one_row

SINCE_12_1 = {"v$pdbs", "patches_applied"}


def changed(**answers: Given) -> Asked:
    """A session with one change in each view, but for these."""
    return Asked(answers, one_row({"happened_at": "2026-03-01 14:02:00"}))


@pytest.mark.parametrize(("release", "lacking"), [("11.2.0.4.0", SINCE_12_1), ("19.0.0.0.0", set())])
def test_reading_asks_each_view_of_the_release_once(release: str, lacking: set[str]) -> None:
    asked = changed()
    found = read_changes(asked, release)
    assert asked.asked == [view for view in views() if view not in lacking] and set(found) == set(views())
    assert {view for view, reading in found.items() if isinstance(reading, Missing)} == lacking
    assert gaps(found) == (), "what a release does not have is no gap"


@pytest.mark.parametrize(
    ("con_id", "modes", "waited", "why"),
    [
        (1, ["READ WRITE"] * 10 + ["MOUNTED"] * 200, False, None),
        (1, ["READ WRITE"] * 10 + ["READ ONLY"], False, MANY),
        (1, None, False, UNCOUNTED),
        (1, ["READ WRITE"], True, WAITED),
        (3, ["READ WRITE"] * 200, True, None),
    ],
)
def test_no_container_is_asked_while_the_row_cache_is_waited_for_nor_many(
    con_id: int, modes: list[str] | None, waited: bool, why: str | None
) -> None:
    place = Rows("sys_context", ({"con_id": con_id},))
    open_modes = ["READ WRITE", "READ ONLY", *(modes or ())]
    rows = tuple[Row, ...]({"con_id": number, "open_mode": mode} for number, mode in enumerate(open_modes, 1))
    containers = unread("v$containers") if modes is None else Rows("v$containers", rows)
    asked = changed()
    against = why_none_in_containers(Snapshot("cdb", None, {"sys_context": place}), containers, waited=waited)
    found = read_changes(asked, "19.0.0.0.0", against)
    assert against == why and set(found) == set(views())
    assert asked.asked == ["v$pdbs"] if why else asked.asked[0] == "v$pdbs" and len(asked.asked) == len(views())
    assert all(line.endswith(why or "") for line in gaps(found)) and len(gaps(found)) == (len(views()) - 1) * bool(why)


def test_deadline_ends_the_reading_and_what_was_read_stays() -> None:
    second = views()[1]
    asked = changed(**{second: Cancelled("DPY-4024")})
    found = read_changes(asked, "19.0.0.0.0")
    assert asked.asked == list(views()[:2]) and isinstance(found[views()[0]], Rows)
    first, *later = gaps(found)
    assert first == f"{second}: the statement hit its deadline and was ended: DPY-4024"
    assert len(later) == len(views()) - 2
    assert all(line.endswith(f"not read, because {second} hit its deadline") for line in later)


def test_statement_that_breaks_is_a_gap_and_a_lost_session_is_raised() -> None:
    found = read_changes(changed(jobs_begun=StatementError("ORA-00904")), "19.0.0.0.0")
    assert gaps(found) == ("jobs_begun: ORA-00904",)
    with pytest.raises(SessionError):
        read_changes(changed(jobs_begun=SessionError("ORA-03113")), "19.0.0.0.0")


def test_refused_view_names_its_grant_and_later_polls_carry_no_rows_but_when_they_were_read() -> None:
    found = read_changes(changed(dba_objects=ViewRefused("ORA-00942")), "19.0.0.0.0")
    refused = (
        "objects that DDL changed, grants and revokes included: not readable: grant read on sys.cdb_objects to <user>"
    )
    after = kept(found, datetime(2026, 3, 1, 14, 2, tzinfo=UTC))
    assert gaps(found) == gaps(after) == (refused,)
    assert after["v$pdbs"].why.endswith("read at 14:02:00 UTC, 1 row") and after["v$pdbs"].way_out == KEPT
    assert len(gaps(not_read())) == len(views())


def test_every_statement_of_a_reading_is_bounded_and_no_poll_reads_its_view() -> None:
    bill = [one for one in statements() if one.kind == "changes"]
    assert {one.name for one in bill} == set(views())
    assert {(one.most_rows, one.deadline_seconds) for one in bill} == {(50, STATEMENT_SECONDS)}
    assert all(collectors()[view].optional and collectors()[view].on_request for view in views())


# The installed patches and the names of containers and users.


def test_patches_are_read_by_bounded_statements_with_the_deadline_of_a_look() -> None:
    patch: Row = {"patch_id": 31_281_355, "action": "APPLY", "status": "SUCCESS", "description": "19.8.0.0.200714"}
    asked = Asked(other=one_row(patch))
    read = read_rarely(asked, "19.0.0.0.0")[PATCHES]
    assert isinstance(read, Rows) and read.rows == (patch,)
    assert asked.asked == list(RARE) and all(of_look(sql) and "rownum <=" in sql for sql, _ in asked.sent)
    older = read_rarely(asked, "11.2.0.4.0")[PATCHES]
    assert isinstance(older, Missing) and older.kind == "not_asked" and asked.asked.count(PATCHES) == 1


@pytest.mark.parametrize(
    ("error", "kind", "way_out"),
    [
        (ViewRefused("ORA-00942"), "refused", f"grant read on {collectors()[PATCHES].granted_on} to"),
        (Cancelled("DPY-4024"), "failed", "after an hour"),
    ],
)
def test_patches_that_are_not_read_are_missing_with_the_way_out(error: Exception, kind: str, way_out: str) -> None:
    read = read_rarely(Asked(other=error), "19.0.0.0.0")[PATCHES]
    assert isinstance(read, Missing) and read.kind == kind and way_out in read.way_out
