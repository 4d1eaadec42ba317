"""What signals are made of: each quantity in the rich instance, where it is unknown, and what becomes of two of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row
from collectors.views.event_name import EVENT_NAME
from collectors.views.system_event import SYSTEM_EVENT
from rules.cause import catalogue
from rules.context import Known, SignalValue, Unknown
from rules.signals import HOME, SIGNALS, BadSignal, load
from rules.signals.quantities import QUANTITIES, Operand, Quotient, Subject
from tests.rules.contexts import TOTALS, context_of
from tests.rules.rich import RICH

UNDO = Subject(("dc_rollback_segments",), surfaces=("latch",))
EVENT = "v$system_event"
KNOWN: Mapping[str, tuple[tuple[Any, ...], float]] = {
    "time": (("parse time elapsed",), 45.0),
    "db_time": ((), 100.0),
    "waited": ((("library cache: mutex X", "cursor: pin S wait on X"),), 5.0),
    "printed_waits": ((("enq: US - contention",),), 1.0),
    "row_cache_waits": ((), 2.5),
    "cause_waits": ((), 2.0),
    "surface_waits": (("row cache mutex",), 1.2),
    "row_cache_cost": ((), 2.5),
    "result_cache_cost": ((), 3.0),
    "seconds": ((), 30.0),
    "work": (("user commits",), 300),
    "caches": (("modifications",), 24),
    "all_caches": (("modifications",), 30),
    "latch": (("wait_time",), 2_000.0),
    "result_cache": (("sleeps",), 200),
    "mutex": (("wait_time",), 1_200.0),
}
"""Quantity → what is asked, and its value of the rich instance."""
INSTEAD = {EVENT: ("v$latch", "v$latch_children", "v$mutex_sleep"), "v$latch": ("v$latch_children",)}


def read(name: str, *asked: Any, views: Mapping[str, Sequence[Row]] = RICH, **more: Any) -> SignalValue:
    return QUANTITIES[name].read(context_of(views, **more), UNDO, *asked)


def why(reading: SignalValue) -> str:
    assert isinstance(reading, Unknown), reading
    return reading.why


def test_each_quantity_is_known_of_the_rich_instance_and_unknown_without_its_view() -> None:
    assert set(KNOWN) == set(QUANTITIES)
    for name, (asked, value) in KNOWN.items():
        reading = read(name, *asked)
        assert isinstance(reading, Known) and reading.value == pytest.approx(value), name
        if view := QUANTITIES[name].view:
            gone = read(name, *asked, refused=(view, *INSTEAD.get(view, ())))
            assert isinstance(gone, Unknown) and gone.missing == view and gone.absent, name
    assert "give no rate" in why(read("seconds", basis=TOTALS))


def test_quantity_that_nobody_asked_the_database_for_is_unknown_and_says_what_to_capture() -> None:
    assert (
        why(read("time", "Java execution elapsed time")) == "v$sys_time_model has no Java execution elapsed time here"
    )
    assert why(read("work", "user rollbacks")) == "v$sysstat has no user rollbacks here"
    assert why(read("caches", "scans")) == "v$rowcache has no scans here"
    assert read("mutex", "sleeps", views={**RICH, "v$mutex_sleep": []}).value == 0, "nobody ever slept"
    assert why(read("latch", "immediate_gets")) == "v$latch has no immediate_gets here"


def test_waits_for_the_row_cache_are_never_zero() -> None:
    calm = {**RICH, EVENT: [{"event": "latch: row cache objects", "time_waited_micro": 0}], "v$latch": []}
    calm |= {"v$latch_children": [], "v$mutex_sleep": [], "v$session": []}
    for name in ("row_cache_waits", "cause_waits"):
        assert why(read(name, views=calm)) == "no session waited for the row cache"


def test_waits_of_a_cause_are_at_most_those_of_the_latch_while_children_are_not_read() -> None:
    parse = Quotient(Operand(QUANTITIES["time"], ("parse time elapsed",)), Operand(QUANTITIES["cause_waits"], ()))
    context = context_of(RICH, refused=["v$latch_children"])
    assert isinstance(parse(context, Subject(UNDO.caches, surfaces=("latch",), needs=">= 20")), Known)
    assert "ORA-00942" in why(parse(context, Subject(UNDO.caches, surfaces=("latch",), needs=">= 30")))


def test_cost_of_the_row_cache_has_no_share_inside_a_pdb() -> None:
    inside = {**RICH, "sys_context": [{"con_id": 3, "con_name": "SALES"}]}
    for name in ("row_cache_cost", "result_cache_cost"):
        assert "inside a PDB" in why(read(name, views=inside, release="19.0.0.0.0"))
    assert isinstance(read("surface_waits", "row cache lock", views=inside, release="19.0.0.0.0"), Known)


MISSES = Quotient(Operand(QUANTITIES["latch"], ("misses",)), Operand(QUANTITIES["latch"], ("gets",)), least=10_000)
CHANGES = Quotient(*(Operand(QUANTITIES["caches"], (name,)) for name in ("modifications", "lookups")), empty=0)
PARSES = Quotient(
    *(Operand(QUANTITIES["work"], (f"parse count ({kind})",)) for kind in ("hard", "total")), says="{part} in {whole}"
)


def of(quotient: Quotient, view: str, **cells: float | None) -> SignalValue:
    """A quotient where the rows of a view that it reads are these."""
    names = {"v$latch": {"name": ROW_CACHE_LATCH}, "v$rowcache": {"parameter": "dc_rollback_segments"}}
    row: Row = {**names[view], **{name: value for name, value in cells.items() if value is not None}}
    return quotient(context_of({**RICH, view: [row]}), UNDO)


def test_quotient_has_part_and_whole_and_says_which_one_is_unknown() -> None:
    reading = of(MISSES, "v$latch", gets=10_000, misses=5)
    assert isinstance(reading, Known)
    assert (reading.value, reading.derivation, reading.part, reading.whole) == (0.0005, "5 of 10,000", 5, 10_000)
    assert why(of(MISSES, "v$latch", gets=10_000)) == "v$latch has no misses here"
    assert why(of(MISSES, "v$latch", misses=5)) == "v$latch has no gets here"
    assert PARSES(context_of(RICH), UNDO) == Known(0.3, "600 in 2,000")


def test_quotient_of_too_few_events_or_of_none_is_unknown_unless_it_says_what_none_means() -> None:
    few = "too few events: 9,999 latch gets, at least 10,000 are needed"
    assert why(of(MISSES, "v$latch", gets=9_999, misses=5)) == few
    idle = {**RICH, "v$sysstat": [{**row, "value": 0} for row in RICH["v$sysstat"]]}
    assert isinstance(PARSES(context_of(idle), UNDO), Unknown)
    assert of(CHANGES, "v$rowcache", gets=0, modifications=0) == Known(0.0, "no look-ups")
    assert isinstance(of(CHANGES, "v$rowcache", gets=0), Unknown), "what was not read is not zero"


def test_result_cache_latch_that_a_report_does_not_list_had_no_activity() -> None:
    name, latches = "result_cache_miss_ratio", [row for row in RICH["v$latch"] if row["name"] != RESULT_CACHE_LATCH]
    printed = context_of({**RICH, "v$latch": latches}, source="report")
    assert SIGNALS[name].read(printed, UNDO) == Known(
        0.0, f"the report lists every latch with activity, and no {RESULT_CACHE_LATCH}"
    )
    assert isinstance(SIGNALS[name].read(context_of({**RICH, "v$latch": latches}), UNDO), Unknown)


ASKED = {
    name
    for one in SIGNALS.values()
    if isinstance(one.read, Quotient) and one.read.part.quantity in (QUANTITIES["waited"], QUANTITIES["printed_waits"])
    for name in one.read.part.names
}


def test_every_release_reads_the_events_that_signals_ask_for() -> None:
    assert len(ASKED) > 15
    conditions = [
        one for cause in catalogue().values() for told in cause.when for one in getattr(told, "any_of", [told])
    ]
    of_causes = {one.parameter for one in conditions if one.signal in ("waited_for_event", "sessions_in_event")}
    assert None not in of_causes and len(of_causes) > 3
    for event in (*ASKED, *of_causes, "LCK0 row cache object free", "latch: cache buffers chains"):
        assert all(f"'{event}'" in statement for statement in SYSTEM_EVENT.statements.values()), event
    assert all("'LCK0 row cache object free'" in statement for statement in EVENT_NAME.statements.values())


@pytest.mark.parametrize(
    ("line", "wrong", "told"),
    [
        ("reads: [v$sgastat]", "reads: [v$sgastats]", "row_cache_memory reads v$sgastats, which no collector reads"),
        (
            "time: parse time elapsed",
            "time: parse time",
            "asks v$sys_time_model for parse time, which no statement reads",
        ),
        (
            "{mutex: sleeps}, about",
            "{mutexes: sleeps}, about",
            "row_cache_mutex_sleeps is of mutexes; the quantities are",
        ),
        (
            "of: latch.slow_neighbours",
            "of: latch.slow",
            "slow_neighbours is of latch.slow, and rules/signals/latch.py has",
        ),
        ("of: [row_cache_cost, db_time]", "of: [row_cache_cost, {db_time: 1 s}]", "asks db_time for ('1 s',)"),
        ("least: 10000", "at_least: 10000", "miss_ratio: at_least: Extra inputs are not permitted"),
        ("getmiss_ratio:", "miss_ratio:", "two signals are named miss_ratio"),
        ("  about: Look-ups in the cause's caches per commit.\n", "", "lookups_per_commit lacks `about`"),
    ],
)
def test_entry_that_cannot_be_read_is_refused_with_what_is_wrong(
    line: str, wrong: str, told: str, tmp_path: Path
) -> None:
    copy = tmp_path / "signals.yaml"
    text = HOME.read_text(encoding="utf-8")
    assert line in text
    copy.write_text(text.replace(line, wrong), encoding="utf-8")
    with pytest.raises(BadSignal) as refused:
        load(copy)
    assert str(refused.value).startswith("signals.yaml: ") and told in str(refused.value)
