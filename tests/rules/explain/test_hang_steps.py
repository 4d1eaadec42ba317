"""The blocker in words: an unknown part comes with the way to find it out, and two locks stay separate."""

import pytest

from rules.explain.hang_steps import APART, blocker_steps
from rules.hangs.model import Blocker, Blockers
from rules.hangs.words import EMERGENCY_NOTICE, LEFT_ALONE
from rules.library_cache_model import LibraryCacheWait
from rules.waiting import StillWaiting

HOLDER = Blocker(cache="dc_objects", instance=1, sid=312, serial=48211, background=False, no_kill="-")


def waiting(sid: int) -> StillWaiting:
    return StillWaiting(sid, 7, "row cache lock", "dc_objects", 671.0, 15.0, False, "312@1")


def wait(sessions: int = 12, **given: object) -> LibraryCacheWait:
    return LibraryCacheWait(event="library cache lock", sessions=sessions, longest_seconds=40, **given)  # type: ignore[arg-type]


def beside(*groups: LibraryCacheWait, holder: Blocker = HOLDER, stuck: tuple[StillWaiting, ...] = ()) -> str:
    steps = blocker_steps(Blockers(blockers=(holder,), library_cache=groups), stuck)
    return next((step.statement for step in steps if step.step == "library cache"), "")


@pytest.mark.parametrize("found", [Blockers(blockers=(HOLDER,)), Blockers(unknown="nobody is named")])
def test_hang_tells_what_not_to_kill_and_where_the_emergency_page_is(found: Blockers) -> None:
    (step,) = blocker_steps(found)
    assert step.statement.endswith(f"{LEFT_ALONE} {EMERGENCY_NOTICE}")


def test_library_cache_lock_is_told_apart_from_the_row_cache_lock() -> None:
    told = beside(wait(final_sid=77, final_instance=2))
    assert told == (
        "At the look, 12 sessions waited for library cache lock for up to 40 seconds, behind session 77 on "
        f"instance 2. {APART}"
    )


def test_nobody_in_the_library_cache_is_no_step() -> None:
    assert beside() == ""


def test_holder_of_both_is_said_to_be_one() -> None:
    told = beside(wait(final_sid=312))
    assert "Session 312 holds the entry of the row cache as well: both waits should end with it." in told


def test_circle_of_two_is_told_with_the_error_it_ends_in() -> None:
    inside = HOLDER.model_copy(update={"waits_for": "library cache lock"})
    told = beside(wait(1, sid=640), holder=inside, stuck=(waiting(640),))
    assert "Session 640, their blocker, waits for the row cache itself, and session 312" in told
    assert "ORA-00060 (row-cache-library-deadlock)" in told


@pytest.mark.parametrize(("holder", "behind"), [(None, 640), ("library cache lock", 641)])
def test_chain_is_no_circle(holder: str | None, behind: int) -> None:
    inside = HOLDER.model_copy(update={"waits_for": holder})
    assert "circle" not in beside(wait(1, sid=behind), holder=inside, stuck=(waiting(640),))


@pytest.mark.parametrize(
    ("kind", "words"),
    [(79, "logons after failed passwords"), (4, "(INDEX)"), (200, "(type 200)"), (0, "(SQL AREA)"), (None, "lock for")],
)
def test_type_of_the_object_is_told_and_that_of_an_account_by_name(kind: int | None, words: str) -> None:
    assert words in beside(wait(type=kind, final_sid=77))


def test_blocker_in_the_library_cache_that_nobody_names_is_not_made_up() -> None:
    assert "behind a session that Oracle does not name" in beside(wait())
