"""P3 of waits in the library cache, and what is said of the sessions in the look of a poll: tests/golden/library-cache.txt.

`pytest FILE --renew-golden` writes the file; read the difference before you keep it.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest
import sqlglot

from collectors.model import Row, Value
from rules.engine import diagnose
from rules.explain.library_cache import LIBRARY_CACHE_WAITS
from rules.library_cache import UNKNOWN, Target, namespace_name, target_of
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


def scenes() -> Iterator[tuple[str, Sequence[Row] | None]]:
    """Sessions that wait; None where nobody looked."""
    yield "nobody looked", None
    yield "nobody waits", ()
    yield "90 logons of one user and machine", waiting(90, username="APP1", machine="web07")
    yield "users that are not known", waiting(90, username=None, machine="web07")
    most = [*waiting(7, machine="web07", username="A"), *waiting(7, machine="web07"), *waiting(2, machine="web09")]
    yield "a name that covers most", most
    who = {"machine": "web07", "username": "APP1", "module": None, "final_blocking_session": 9, "blocking_session": 8}
    other = waiting(3, handle="00000000AAAAAAAA", machine="web08", p3=127 << 16 | 3)
    yield "what seven of ten have in common, and modes that differ", [*waiting(7, **who), *other]
    yield (
        "events, namespaces, containers and background processes",
        [
            *waiting(4, con_id=3),
            *waiting(3, con_id=4),
            *waiting(2, p3=2, con_id=3),
            *waiting(1, con_id=3, event="library cache pin"),
            *waiting(9, con_id=0, type="BACKGROUND"),
        ],
    )
    yield "hardly anything was captured", [{"sid": sid, "event": "library cache lock"} for sid in range(12)]
    yield "identifiers that differ", [*waiting(6, p3=0x2A7900010003), *waiting(6, p3=0x2A7A00010003)]
    for p3 in (2, 0x2A7900010003, 0xFFFFC00100010003, 0x1E004A0003, 1 << 16 | 3, 4 << 16 | 2, 200 << 16 | 2, None):
        yield f"P3 is {p3}", waiting(40, p3=p3)
    yield "two handles", [*waiting(30), *waiting(10, handle="00000000AAAAAAAA")]
    for handle in ("", "0x543FC49E8", "543FC49E8", "0000000543FC49E8') or 1=1 --", "G" * 16, None, HANDLE.lower()):
        yield f"the handle is {handle}", waiting(12, handle=handle)
    yield "behind a session of another instance", waiting(12, final_blocking_session=312, final_blocking_instance=2)
    yield "of many the longest waits", waiting(20, met=1200)
    for sessions, micro in ((9, 2_000), (10, 2_000), (1, 10_000_000)):
        yield f"{sessions} for {micro} µs", waiting(sessions, wait_time_micro=micro)


def lines(rows: Sequence[Row] | None) -> Iterator[str]:
    got = diagnose(delta_of(SICK)) if rows is None else diagnosed(*rows)
    if got.library_cache is None:
        yield "nothing is known"
        return
    yield f"met {got.library_cache.met}, listed {got.library_cache.listed}"
    for group in got.library_cache.groups:
        known = group.model_dump(exclude_none=True, exclude={"lookups"})
        said = {
            name: f"{one['name']} ({one['sessions']})" if isinstance(one, dict) else one for name, one in known.items()
        }
        yield f"group: {', '.join(f'{name} {value}' for name, value in said.items())}"
        for look in group.lookups:
            sqlglot.parse_one(look.query, read="oracle").assert_is(sqlglot.exp.Select)
            yield f"  {look.finds}: {look.query}; {look.touches}"
    yield from (f"{step}: {said}" for step, said in steps_of(got).items() if step == LIBRARY_CACHE_WAITS)


def test_what_is_said_of_each_scene(golden: Callable[[str, str], None]) -> None:
    text = [line for name, rows in scenes() for line in (f"== {name}", *lines(rows), "")]
    golden("library-cache.txt", "\n".join(text))


LAST_LOGONS = "last_logon_share_of_library_cache_lock_waiters"


def last_logons(*rows: Row) -> SignalValue:
    return SIGNALS[LAST_LOGONS].read(context_of({**SICK, "library_cache_sessions": rows}), Subject())


def test_few_waiters_count_as_those_of_the_row_cache_do() -> None:
    four, five = last_logons(*waiting(4)), last_logons(*waiting(5))
    assert isinstance(four, Known) and four.value == 1.0 and four.few
    assert isinstance(five, Known) and five.value == 1.0 and not five.few
    mixed = last_logons(*waiting(5), *waiting(3, p3=0x10003))
    assert isinstance(mixed, Unknown) and mixed.why.startswith("too few waiters: 8 seen waiting for library cache lock")
