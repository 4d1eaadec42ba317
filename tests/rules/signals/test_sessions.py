"""Signals of what resembles row cache trouble: waits in the library cache, beside a DDL, and for a processor."""

import pytest

from collectors.model import Row
from collectors.views.event_name import EVENT_NAME
from collectors.views.system_event import SYSTEM_EVENT
from rules.context import Known, SignalValue, Unknown
from rules.signals import SIGNALS, Subject
from rules.signals.instance import PARSING_WAITS
from tests.rules.contexts import SICK, TOTALS, context_of
from tests.rules.rich import RICH

NEIGHBOURS = (
    "library cache: bucket mutex X",
    "library cache: mutex S",
    "library cache pin",
    "cursor: pin S",
    "enq: TX - allocate ITL entry",
    "resmgr:cpu quantum",
    "LCK0 row cache object free",
)


def read(name: str, *events: Row, host: tuple[Row, ...] = ()) -> SignalValue:
    views = {**SICK, "v$system_event": [*SICK["v$system_event"], *events], "v$osstat": [*SICK["v$osstat"], *host]}
    return SIGNALS[name].read(context_of(views), Subject())


@pytest.mark.parametrize("event", NEIGHBOURS)
def test_system_event_reads_the_neighbour(event: str) -> None:
    assert all(f"'{event}'" in statement for statement in SYSTEM_EVENT.statements.values())


def test_event_name_tells_whether_the_release_has_the_wait_of_lck0() -> None:
    assert all("'LCK0 row cache object free'" in statement for statement in EVENT_NAME.statements.values())


@pytest.mark.parametrize("event", NEIGHBOURS[:4])
def test_parsing_waits_count_the_neighbour(event: str) -> None:
    assert event in PARSING_WAITS
    reading = read(
        "parsing_waits_to_row_cache_waits", {"event": event, "total_waits": 9, "time_waited_micro": 2_500_000}
    )
    assert isinstance(reading, Known) and reading.value == pytest.approx(3.0)


@pytest.mark.parametrize("event", PARSING_WAITS)
def test_parsing_waits_are_all_read(event: str) -> None:
    assert all(f"'{event}'" in statement for statement in SYSTEM_EVENT.statements.values())


def test_average_library_cache_lock_wait_of_a_few_waits_is_unknown() -> None:
    reading = read(
        "average_library_cache_lock_wait",
        {"event": "library cache lock", "total_waits": 9, "time_waited_micro": 27_000_000},
    )
    assert isinstance(reading, Unknown) and "too few events: 9 waits for library cache lock" in reading.why


def load(busy: int, level: int = 24) -> SignalValue:
    host = {"NUM_CPUS": (16, None), "LOAD": (level, None), "BUSY_TIME": (None, busy), "IDLE_TIME": (None, 1_000 - busy)}
    rows = [{"stat_name": name, "level_now": now, "total": total} for name, (now, total) in host.items()]
    return SIGNALS["load_per_cpu"].read(context_of({**SICK, "v$osstat": rows}), Subject())


@pytest.mark.parametrize(("busy", "level", "value"), [(900, 24, 1.5), (800, 24, 1.0), (300, 24, 1.0), (300, 8, 0.5)])
def test_load_per_cpu_counts_no_sleepers_where_processors_are_idle(busy: int, level: int, value: float) -> None:
    reading = load(busy, level)
    assert isinstance(reading, Known) and reading.value == pytest.approx(value)


def test_load_per_cpu_says_what_the_rest_of_the_load_is() -> None:
    reading = load(300)
    assert isinstance(reading, Known)
    assert reading.derivation == (
        "load 24 on 16 processors, which were idle for 70.0 %: the rest waited for something else"
    )


@pytest.mark.parametrize("name", ["logons_per_processor", "hard_parsing_sessions_per_processor"])
def test_rate_per_processor_is_unknown_without_processors_or_seconds(name: str) -> None:
    without = [row for row in SICK["v$osstat"] if row["stat_name"] != "NUM_CPUS"]
    reading = SIGNALS[name].read(context_of({**RICH, "v$osstat": without}), Subject())
    assert isinstance(reading, Unknown) and reading.missing == "v$osstat"
    assert isinstance(SIGNALS[name].read(context_of(RICH, basis=TOTALS), Subject()), Unknown)
