"""A reading of changes: each view once, within limits, and what it could not read stays known as such."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from collectors.bill import statements
from collectors.deadline import STATEMENT_SECONDS
from collectors.errors import Cancelled, SessionError, StatementError, ViewRefused
from collectors.model import Binds, Missing, Row, Rows, Snapshot, unread
from collectors.ondemand.changes import (
    KEPT,
    MANY,
    UNCOUNTED,
    WAITED,
    gaps,
    kept,
    not_read,
    read_changes,
    views,
    why_none_in_containers,
)
from collectors.poll import Answer
from collectors.registry import collectors, view_of

SINCE_12_1 = {"v$pdbs", "patches_applied"}


class Asked:
    """Answers with one row, or with an error by view."""

    def __init__(self, errors: Mapping[str, Exception] | None = None) -> None:
        self.errors, self.asked = errors or {}, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        view = str(view_of(sql))
        self.asked.append(view)
        if view in self.errors:
            raise self.errors[view]
        return Answer(("happened_at",), [("2026-03-01 14:02:00",)])

    def close(self) -> None:
        raise AssertionError("a reading closes nothing")


@pytest.mark.parametrize(("release", "lacking"), [("11.2.0.4.0", SINCE_12_1), ("19.0.0.0.0", set())])
def test_reading_asks_each_view_of_the_release_once(release: str, lacking: set[str]) -> None:
    asked = Asked()
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
    asked = Asked()
    against = why_none_in_containers(Snapshot("cdb", None, {"sys_context": place}), containers, waited=waited)
    found = read_changes(asked, "19.0.0.0.0", against)
    assert against == why and set(found) == set(views())
    assert asked.asked == ["v$pdbs"] if why else asked.asked[0] == "v$pdbs" and len(asked.asked) == len(views())
    assert all(line.endswith(why or "") for line in gaps(found)) and len(gaps(found)) == (len(views()) - 1) * bool(why)


def test_refused_view_names_its_grant_and_the_others_are_read() -> None:
    found = read_changes(Asked({"dba_objects": ViewRefused("ORA-00942")}), "19.0.0.0.0")
    assert gaps(found) == (
        "objects that DDL changed, grants and revokes included: not readable: grant read on sys.cdb_objects to <user>",
    )


def test_deadline_ends_the_reading_and_what_was_read_stays() -> None:
    second, asked = views()[1], Asked({views()[1]: Cancelled("DPY-4024")})
    found = read_changes(asked, "19.0.0.0.0")
    assert asked.asked == list(views()[:2]) and isinstance(found[views()[0]], Rows)
    first, *later = gaps(found)
    assert first == f"{second}: the statement hit its deadline and was ended: DPY-4024"
    assert len(later) == len(views()) - 2 and all(
        line.endswith(f"not read, because {second} hit its deadline") for line in later
    )


def test_statement_that_breaks_is_a_gap_and_a_lost_session_is_raised() -> None:
    found = read_changes(Asked({"jobs_begun": StatementError("ORA-00904")}), "19.0.0.0.0")
    assert gaps(found) == ("jobs_begun: ORA-00904",)
    with pytest.raises(SessionError):
        read_changes(Asked({"jobs_begun": SessionError("ORA-03113")}), "19.0.0.0.0")


def test_later_polls_carry_no_rows_and_say_when_they_were_read() -> None:
    at = datetime(2026, 3, 1, 14, 2, tzinfo=UTC)
    after = kept(read_changes(Asked({"dba_objects": ViewRefused("ORA-00942")}), "19.0.0.0.0"), at)
    assert after["v$pdbs"].why.endswith("read at 14:02:00 UTC, 1 row") and after["v$pdbs"].way_out == KEPT
    assert len(gaps(after)) == 1 and len(gaps(not_read())) == len(views())


def test_every_statement_of_a_reading_is_bounded_and_no_poll_reads_its_view() -> None:
    bill = [one for one in statements() if one.kind == "changes"]
    assert {one.name for one in bill} == set(views())
    assert {(one.most_rows, one.deadline_seconds) for one in bill} == {(50, STATEMENT_SECONDS)}
    assert all(collectors()[view].optional and collectors()[view].on_request for view in views())
