"""P3 of waits in the library cache, the groups that a diagnosis makes of the sessions in the look of a poll, and its words."""

import pytest
import sqlglot

from collectors.model import Row, Value
from rules.engine import diagnose
from rules.explain.library_cache import LIBRARY_CACHE_WAITS
from rules.library_cache import UNKNOWN, Target, namespace_name, target_of
from rules.library_cache_model import LibraryCacheGroup, LibraryCacheWaiters
from rules.model import Diagnosis, Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from tests.rules.contexts import SICK, context_of, delta_of, steps_of

HANDLE = "0000000543FC49E8"
LOGON = 8_323_074
"""The last logon of an account, in share mode."""


def waiting(count: int, p3: Value = LOGON, handle: str | None = HANDLE, **more: Value) -> list[Row]:
    row: Row = {"event": "library cache lock", "type": "USER", "p1raw": handle, "p3": p3, "wait_time_micro": 2_500_000}
    return [{"sid": place, **row, "met": count, **more} for place in range(count)]


def diagnosed(*rows: Row, release: str = "19.0.0.0.0") -> Diagnosis:
    return diagnose(delta_of({**SICK, "library_cache_sessions": rows}, release=release))


def waiters(*rows: Row) -> LibraryCacheWaiters:
    found = diagnosed(*rows).library_cache
    assert found is not None
    return found


def only(*rows: Row) -> LibraryCacheGroup:
    (group,) = waiters(*rows).groups
    return group


@pytest.mark.parametrize(
    ("p3", "target"),
    [
        (8_323_074, Target(127, "share", None)),
        (0x2A7900010003, Target(1, "exclusive", 0x2A79)),
        (0x1E004A0003, Target(74, "exclusive", 30)),
        (79 << 16 | 3, Target(79, "exclusive", None)),
        (3, Target(0, "exclusive", None)),
        (0, Target(0, None, None)),
        (301, Target(1, "exclusive", None)),
        (200, Target(0, "share", None)),
        (901, UNKNOWN),
        (1 << 16 | 9, Target(1, None, None)),
        (None, UNKNOWN),
        (-1, UNKNOWN),
        ("lock", UNKNOWN),
    ],
)
def test_p3_is_an_identifier_a_namespace_and_a_mode(p3: Value, target: Target) -> None:
    """anbob.com/archives/6411.html has the first, nenadnoveljic.com the second, a system state dump the third."""
    assert target_of(p3) == target


@pytest.mark.parametrize(
    ("number", "release", "name"),
    [
        (127, "19.3.0.0.0", "Last_Successful_Logon_Time"),
        (127, "12.1.0.2.0", "Last_Successful_Logon_Time"),
        (127, "11.2.0.4.0", None),
        (127, None, None),
        (79, "11.2.0.4.0", "ACCOUNT_STATUS"),
        (0, None, "SQL AREA"),
        (146, "19.3.0.0.0", None),
        (None, "19.3.0.0.0", None),
    ],
)
def test_namespace_has_its_public_name(number: int | None, release: str | None, name: str | None) -> None:
    assert namespace_name(number, release) == name


def test_nobody_who_waits_is_not_nobody_who_looked() -> None:
    assert diagnose(delta_of(SICK)).library_cache is None
    assert waiters() == LibraryCacheWaiters(met=0, listed=0)


def test_group_has_what_its_sessions_have_in_common() -> None:
    who = {"machine": "web07", "username": "APP1", "module": None, "final_blocking_session": 9, "blocking_session": 8}
    group = only(*waiting(7, **who), *waiting(3, handle="00000000AAAAAAAA", machine="web08", p3=127 << 16 | 3))
    assert (group.event, group.namespace, group.namespace_name) == (
        "library cache lock",
        127,
        "Last_Successful_Logon_Time",
    )
    assert (group.sessions, group.handles, group.handle, group.handle_sessions) == (10, 2, HANDLE, 7)
    assert group.mode is None, "they differ"
    assert group.machine is not None and (group.machine.name, group.machine.sessions) == ("web07", 7)
    assert group.username is not None and group.username.sessions == 7
    assert group.module is None and group.program is None
    assert group.blocker is not None and group.blocker.name == "9"
    assert group.longest_seconds == 2.5


def test_events_namespaces_and_containers_are_groups_of_their_own_and_background_processes_are_in_none() -> None:
    found = waiters(
        *waiting(4, con_id=3),
        *waiting(3, con_id=4),
        *waiting(2, p3=2, con_id=3),
        *waiting(1, con_id=3, event="library cache pin"),
        *waiting(9, con_id=0, type="BACKGROUND"),
    )
    told = [(group.event[14:], group.namespace, group.container, group.sessions) for group in found.groups]
    assert told == [("lock", 127, "3", 4), ("lock", 127, "4", 3), ("lock", 0, "3", 2), ("pin", 127, "3", 1)]
    assert found.listed == 19


def test_what_was_not_captured_is_unknown_and_identifiers_that_differ_name_no_object() -> None:
    group = only(*[{"sid": 1, "event": "library cache lock"}], {"sid": 2, "event": "library cache lock"})
    assert group.sessions == 2
    facts = (group.namespace, group.mode, group.handles, group.handle, group.identifier, group.longest_seconds)
    assert facts == (None,) * 6 and group.lookups == ()
    assert only(*waiting(6, p3=0x2A7900010003), *waiting(6, p3=0x2A7A00010003)).identifier is None


@pytest.mark.parametrize("handle", ["", "0x543FC49E8", "543FC49E8", "0000000543FC49E8') or 1=1 --", "G" * 16, None])
def test_address_that_is_none_becomes_no_part_of_a_query(handle: str | None) -> None:
    group = only(*waiting(12, handle=handle))
    assert group.handle is None and group.handles is None and group.lookups == ()


def test_queries_for_the_handle_have_its_address_and_say_what_they_touch() -> None:
    name, holders = only(*waiting(12, handle=HANDLE.lower())).lookups
    for look in (name, holders):
        assert f"hextoraw('{HANDLE}')" in look.query and "rownum <=" in look.query and "once" in look.touches
        assert sqlglot.parse_one(look.query, read="oracle").assert_is(sqlglot.exp.Select)
    assert "as SYS" in name.touches and "v$libcache_locks" in holders.query


@pytest.mark.parametrize(
    ("p3", "number"), [(0x2A7900010003, 10873), (0xFFFFC00100010003, None), (0x1E004A0003, None), (1 << 16 | 3, None)]
)
def test_object_number_leads_to_the_object_by_a_key(p3: int, number: int | None) -> None:
    first = only(*waiting(12, p3=p3)).lookups[0]
    assert first.query.startswith("select owner, object_name") is (number is not None)
    assert number is None or f"object_id = {number} " in first.query


LAST_LOGONS = "last_logon_share_of_library_cache_lock_waiters"


def last_logons(*rows: Row) -> SignalValue:
    return SIGNALS[LAST_LOGONS].read(context_of({**SICK, "library_cache_sessions": rows}), Subject())


def test_few_waiters_count_as_those_of_the_row_cache_do() -> None:
    four, five = last_logons(*waiting(4)), last_logons(*waiting(5))
    assert isinstance(four, Known) and four.value == 1.0 and four.few
    assert isinstance(five, Known) and five.value == 1.0 and not five.few
    mixed = last_logons(*waiting(5), *waiting(3, p3=0x10003))
    assert isinstance(mixed, Unknown) and mixed.why.startswith("too few waiters: 8 seen waiting for library cache lock")


def told(*rows: Row) -> str:
    return steps_of(diagnosed(*rows)).get(LIBRARY_CACHE_WAITS, "")


def test_logons_wait_for_one_account_and_a_name_that_covers_most_says_how_many() -> None:
    assert told(*waiting(90, username="APP1", machine="web07")) == (
        "At the poll 90 sessions wait in the library cache: 90 logons of APP1 from web07 wait for one account (library cache "
        "lock, Last_Successful_Logon_Time, share mode), for up to 2 seconds. That is not the row cache."
    )
    assert "90 logons from web07 wait for one account" in told(*waiting(90, username=None, machine="web07"))
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


def test_several_things_their_blocker_and_the_rest_of_the_look_are_told_and_what_queries_touch() -> None:
    rows = [*waiting(30), *waiting(10, handle="00000000AAAAAAAA")]
    assert "40 logons wait for 2 accounts, 30 of them for the same one" in told(*rows)
    assert "10 logons wait for accounts, how many is not known" in told(*waiting(10, handle=None))
    behind: dict[str, Value] = {"final_blocking_session": 312, "final_blocking_instance": 2}
    assert "for up to 2 seconds, behind session 312@2." in told(*waiting(12, **behind))
    words = told(*waiting(20, met=1200))
    assert words.startswith(
        "At the poll 1,200 sessions wait in the library cache, and of the 20 longest waits: 20 logons"
    )
    words = steps_of(diagnosed(*waiting(12)))["library cache handle"]
    assert "The sessions that hold it: select s.sid" in words and "run it as SYS, and once" in words


@pytest.mark.parametrize(("sessions", "micro", "steps"), [(9, 2_000, 0), (10, 2_000, 2), (1, 10_000_000, 2), (0, 0, 0)])
def test_few_short_waits_are_no_step(sessions: int, micro: int, steps: int) -> None:
    got = steps_of(diagnosed(*waiting(sessions, wait_time_micro=micro)))
    assert len([step for step in got if step.startswith("library cache")]) == steps
