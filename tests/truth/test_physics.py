"""Laws that no real instance can break hold for generated ones: sums, order of counters, times that add up."""

from collections import Counter, defaultdict

import pytest

from collectors.delta import between
from collectors.model import Delta, Rows, number
from tests.truth.generate import Case, case
from tests.truth.outcome import ROW_CACHE_EVENTS, waited_during
from tests.truth.parts import During
from tests.truth.plan import seeds

pytestmark = pytest.mark.slow

LATCH = "row cache objects"
DRAWN = tuple(seeds())[5::139]
"""Some of every kind; odd and even."""


@pytest.fixture(scope="module", params=DRAWN)
def drawn(request: pytest.FixtureRequest) -> Case:
    """A case with nothing hidden."""
    return case(request.param, full_sight=True)


@pytest.fixture(scope="module")
def delta(drawn: Case) -> Delta:
    """What its interval counted."""
    found = between(drawn.begin, drawn.end)
    assert isinstance(found, Delta)
    return found


def of(row: object, name: str) -> float:
    """A number that must exist."""
    assert isinstance(row, dict)
    value = number(row[name])
    assert value is not None
    return value


def test_counters_never_fall_and_rows_never_vanish(delta: Delta) -> None:
    assert [str(oddity) for oddity in delta.oddities if oddity.what != "repeated"] == []
    assert {oddity.view for oddity in delta.oddities} <= {
        "v$sgastat",
        "v$undostat",
    }  # by container, if con_id is read


def test_child_is_asked_three_times_per_parent_and_once_per_subordinate(drawn: Case, delta: Delta) -> None:
    if drawn.outcome.instance.release.guard == "mutex":
        assert not delta.rows("v$latch_children")
        return
    expected: dict[int, float] = defaultdict(float)
    children = {cache.key: cache.child for cache in drawn.outcome.instance.release.caches}
    for row in delta.rows("v$rowcache"):
        per = 3 if row["type"] == "PARENT" else 1
        expected[children[str(row["parameter"]), row["subordinate#"]]] += per * of(row, "gets")  # type: ignore[index]
    for row in delta.rows("v$latch_children"):
        wanted = expected[int(of(row, "child#"))]
        if wanted > 3000:
            assert of(row, "gets") == pytest.approx(wanted, rel=0.02)


def test_children_sum_up_to_their_latch(drawn: Case) -> None:
    if drawn.outcome.instance.release.guard == "mutex":
        return
    for snapshot in (drawn.begin, drawn.end):
        children = snapshot.read("v$latch_children")
        assert isinstance(children, Rows)
        (whole,) = (row for row in snapshot.rows("v$latch") if row["name"] == LATCH)
        for name in ("gets", "misses", "sleeps", "spin_gets", "wait_time"):
            assert of(whole, name) == sum(of(row, name) for row in children.rows)


def test_latches_miss_before_they_sleep(delta: Delta) -> None:
    for row in (*delta.rows("v$latch"), *delta.rows("v$latch_children")):
        gets, misses, sleeps, spins = (of(row, name) for name in ("gets", "misses", "sleeps", "spin_gets"))
        assert spins <= misses <= gets
        assert sleeps >= misses - spins
        assert (sleeps == 0) == (of(row, "wait_time") == 0)


def test_sleeps_and_their_time_are_those_of_the_wait_event(drawn: Case, delta: Delta) -> None:
    events = {row["event"]: row for row in delta.rows("v$system_event")}
    event = drawn.outcome.instance.release.event()
    if event not in events:  # not once since the instance started
        assert sum(of(row, "sleeps") for row in delta.rows("v$latch_children")) == 0
        return
    if drawn.outcome.instance.release.guard == "latch":
        (whole,) = (row for row in delta.rows("v$latch") if row["name"] == LATCH)
        sleeps, wait = of(whole, "sleeps"), of(whole, "wait_time")
        assert of(events[event], "total_waits") == sleeps
    else:
        sleeps = sum(of(row, "sleeps") for row in delta.rows("v$mutex_sleep"))
        wait = sum(of(row, "wait_time") for row in delta.rows("v$mutex_sleep"))
        assert sleeps >= of(events[event], "total_waits")
    assert of(events[event], "time_waited_micro") == pytest.approx(wait, rel=0.05, abs=10)


def test_sleeps_are_charged_once_to_a_holder_and_once_to_a_waiter(drawn: Case, delta: Delta) -> None:
    if drawn.outcome.instance.release.guard == "mutex":
        return
    (whole,) = (row for row in delta.rows("v$latch") if row["name"] == LATCH)
    places = [row for row in delta.rows("v$latch_misses") if row["parent_name"] == LATCH]
    for column in ("sleep_count", "wtr_slp_count"):
        assert sum(of(row, column) for row in places) == of(whole, "sleeps")


def test_db_time_holds_every_foreground_wait_and_the_processors_their_work(drawn: Case, delta: Delta) -> None:
    times = {str(row["stat_name"]): of(row, "value") for row in delta.rows("v$sys_time_model")}
    waited = sum(of(row, "time_waited_micro_fg") for row in delta.rows("v$system_event"))
    assert times["DB time"] >= times["DB CPU"] + waited
    assert all(value <= times["DB time"] for value in times.values())
    it = drawn.outcome.instance
    assert times["DB CPU"] <= it.cpus * it.seconds * 1e6
    host = {str(row["stat_name"]): row for row in delta.rows("v$osstat")}
    elapsed = of(host["BUSY_TIME"], "total") + of(host["IDLE_TIME"], "total")
    assert elapsed == pytest.approx(it.cpus * it.seconds * 100, rel=0.001, abs=3)
    assert times["DB CPU"] <= of(host["BUSY_TIME"], "total") * 10_000 * 1.01 + 20_000


ELAPSED: dict[str, tuple[During, ...]] = {
    "parse time elapsed": ("soft parse", "hard parse", "failed parse"),
    "hard parse elapsed time": ("hard parse",),
    "failed parse elapsed time": ("failed parse",),
    "connection management call elapsed time": ("logon",),
    "sequence load elapsed time": ("sequence",),
}


def test_elapsed_times_hold_the_waits_that_happened_during_them(drawn: Case, delta: Delta) -> None:
    times = {str(row["stat_name"]): of(row, "value") for row in delta.rows("v$sys_time_model")}
    waited = waited_during(drawn.outcome.counted)
    for name, during in ELAPSED.items():
        assert times[name] >= sum(waited[what] for what in during)
    assert times["parse time elapsed"] >= times["hard parse elapsed time"]


def test_a_wait_lies_in_what_its_event_belongs_to() -> None:
    """Whoever waits for a row, a block or undo executes, and whoever waits for the library cache parses or logs on."""
    executing = ("enq: TX", "enq: US", "latch: cache buffers chains")
    parsing = ("library cache", "latch: shared pool", "cursor: pin S wait on X")
    for seed in DRAWN:
        for each in case(seed).outcome.counted:
            if each.stream.event.startswith(executing):
                assert each.stream.during == "execution"
            if each.stream.event.startswith(parsing):
                assert each.stream.during in ("soft parse", "hard parse", "logon")


def test_hang_has_no_wait_that_ended(drawn: Case, delta: Delta) -> None:
    hangs = drawn.outcome.instance.hangs
    events = Counter({str(row["event"]): of(row, "total_waits") for row in delta.rows("v$system_event")})
    for hang in hangs:
        assert hang.event in ROW_CACHE_EVENTS and events[hang.event] == 0
        waiters = [row for row in delta.rows("waiting_sessions") if row["event"] == hang.event]
        assert len(waiters) == min(hang.sessions, 200)
        assert max(of(row, "wait_time_micro") for row in waiters) == pytest.approx(hang.since * 1e6)


def test_looks_meet_as_many_waiters_as_the_waits_say(drawn: Case, delta: Delta) -> None:
    looks = delta.rows("v$session")
    number_of_looks = len({row["sample"] for row in looks})
    it = drawn.outcome.instance
    seen = ("latch: row cache objects", "row cache mutex", "row cache lock", "latch free")
    counted = sum(c.micros for c in drawn.outcome.counted if c.stream.event in seen) / 1e6 / it.seconds
    if not looks or it.hangs or counted * number_of_looks < 100 or counted > 100:
        return
    met = sum(1 for row in looks if row["sid"] is not None)
    assert met / number_of_looks == pytest.approx(counted, rel=0.4)
