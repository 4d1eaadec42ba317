"""Who waits in the library cache, in words."""

import pytest

from collectors.model import Row, Value
from rules.explain.library_cache import LIBRARY_CACHE_WAITS
from tests.rules.contexts import steps_of
from tests.rules.test_library_cache import diagnosed, waiting


def told(*rows: Row) -> str:
    return steps_of(diagnosed(*rows)).get(LIBRARY_CACHE_WAITS, "")


def test_logons_wait_for_one_account() -> None:
    assert told(*waiting(90, username="APP1", machine="web07")) == (
        "At the poll 90 sessions wait in the library cache: 90 logons of APP1 from web07 wait for one account (library cache "
        "lock, Last_Successful_Logon_Time, share mode), for up to 2 seconds. That is not the row cache."
    )


def test_logon_that_is_not_complete_has_no_user() -> None:
    assert "90 logons from web07 wait for one account" in told(*waiting(90, username=None, machine="web07"))


def test_name_that_covers_most_says_how_many_and_one_that_does_not_is_left_out() -> None:
    rows = [*waiting(7, machine="web07", username="A"), *waiting(7, machine="web07"), *waiting(2, machine="web09")]
    assert "16 logons from web07 (14 of them) wait for" in told(*rows)


@pytest.mark.parametrize(
    ("p3", "words"),
    [
        (2, "40 sessions wait for one cursor (library cache lock, SQL AREA, share mode)"),
        (0x2A7900010003, "wait for one table, view, sequence, synonym or PL/SQL unit with object number 10873 ("),
        (4 << 16 | 2, "wait for one index (library cache lock, INDEX"),
        (200 << 16 | 2, "wait for one handle (library cache lock, namespace 200, share mode)"),
        (None, "wait for one handle (library cache lock)"),
    ],
)
def test_thing_has_its_name_or_its_number(p3: Value, words: str) -> None:
    assert words in told(*waiting(40, p3=p3))


def test_several_things_and_the_one_that_most_want() -> None:
    rows = [*waiting(30), *waiting(10, handle="00000000AAAAAAAA")]
    assert "40 logons wait for 2 accounts, 30 of them for the same one" in told(*rows)
    assert "10 logons wait for accounts, how many is not known" in told(*waiting(10, handle=None))


def test_blocker_is_named() -> None:
    behind: dict[str, Value] = {"final_blocking_session": 312, "final_blocking_instance": 2}
    assert "for up to 2 seconds, behind session 312@2." in told(*waiting(12, **behind))


def test_look_with_more_sessions_than_rows_says_so() -> None:
    words = told(*waiting(20, met=1200))
    assert words.startswith(
        "At the poll 1,200 sessions wait in the library cache, and of the 20 longest waits: 20 logons"
    )


@pytest.mark.parametrize(("sessions", "micro", "steps"), [(9, 2_000, 0), (10, 2_000, 2), (1, 10_000_000, 2), (0, 0, 0)])
def test_few_short_waits_are_no_step(sessions: int, micro: int, steps: int) -> None:
    got = steps_of(diagnosed(*waiting(sessions, wait_time_micro=micro)))
    assert len([step for step in got if step.startswith("library cache")]) == steps


def test_queries_come_with_what_they_touch() -> None:
    words = steps_of(diagnosed(*waiting(12)))["library cache handle"]
    assert "The sessions that hold it: select s.sid" in words and "run it as SYS, and once" in words
