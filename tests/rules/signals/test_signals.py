"""Every signal: known of the rich instance. If its view is missing, the signal is Unknown, never zero."""

from inspect import isfunction
from typing import Any

import pytest

from collectors.model import ROW_CACHE_LOCK_EVENT, Row
from rules.context import Known, SignalValue, Unknown
from rules.engine import diagnose
from rules.signals import SIGNALS, Subject
from rules.signals.quantities import Operand
from tests.rules.contexts import SICK, context_of, delta_of
from tests.rules.rich import RICH

UNDO = Subject(("dc_rollback_segments",), "kqrpre: find obj")
BLOCKERS = ("blocking_session", "blocking_instance", "final_blocking_session", "final_blocking_instance")
STILL: list[Row] = [
    {"event": ROW_CACHE_LOCK_EVENT, "type": "USER", **dict.fromkeys(BLOCKERS), **row}
    for row in (
        {"sid": 1, "p1": 3, "wait_time_micro": 40_000_000, "final_blocking_session": 9},
        {"sid": 2, "p1": 3, "wait_time_micro": 20_000_000, "blocking_session": 8},
        {"sid": 3, "p1": 3, "wait_time_micro": 2_000, "blocking_session": 7},
        {"sid": 4, "p1": 0, "wait_time_micro": 90_000_000, "blocking_session": 7},
        {"sid": 5, "p1": 3, "wait_time_micro": 95_000_000, "type": "BACKGROUND"},
    )
]

OUTSIDE = {"fix_missing": "opatch"}
"""Signals of what no view shows, and what does. They are never known, so that a figure of ours refutes nothing by itself."""

SUBJECTS = {
    **{name: Subject(("dc_rollback_segments",), surfaces=("latch",)) for name in SIGNALS if "_time_to_" in name},
    "evenness_of_lookups": Subject(("dc_users", "dc_tablespaces")),
    "parameter_value": Subject(parameter="undo_retention"),
    **dict.fromkeys(("waited_for_event", "sessions_in_event"), Subject(parameter="resmgr:cpu quantum")),
    **dict.fromkeys(("hottest_getmiss_ratio", "share_of_waits_beyond_parsing"), Subject(surfaces=("latch",))),
    "share_of_mutex_sleeps": Subject(location="kqrpre"),
    "share_of_result_cache_holders": Subject(location="Result Cache: Serialization12"),
}
"""Signals whose value here points to something other than undo segments."""

STAND_INS = {"v$latch": ("v$latch_children",), "v$system_event": ("v$latch", "v$latch_children", "v$mutex_sleep")}
"""Views that another can replace, so both must be gone."""


def read(name: str, subject: Subject = UNDO, **context: Any) -> SignalValue:
    return SIGNALS[name].read(context_of(**context), subject)


COMPUTED = [
    name
    for name, one in SIGNALS.items()
    if isfunction(one.read) or (isinstance(one.read, Operand) and not one.read.quantity.view)
]


@pytest.mark.parametrize("name", sorted(set(SIGNALS) - set(COMPUTED)))
def test_signal_of_quantities_is_known_of_the_rich_instance(name: str) -> None:
    reading = read(name, SUBJECTS.get(name, UNDO), views=RICH)
    assert isinstance(reading, Known) and reading.value > 0, f"{name}: {reading}; write its rows in tests/rules/rich.py"
    assert reading.part is None or reading.value == pytest.approx(reading.part / (reading.whole or 0))


@pytest.mark.parametrize(("name", "shown_by"), OUTSIDE.items())
def test_signal_of_what_no_view_shows_is_never_known_and_says_what_shows_it(name: str, shown_by: str) -> None:
    reading = read(name, views=RICH)
    assert isinstance(reading, Unknown) and reading.missing == shown_by and shown_by in reading.way_out


@pytest.mark.parametrize(
    ("name", "view"),
    [(one.name, view) for one in SIGNALS.values() if one.name not in OUTSIDE for view in one.of.split(", ")],
)
def test_signal_is_unknown_without_its_view(name: str, view: str) -> None:
    reading = read(name, SUBJECTS.get(name, UNDO), views=RICH, refused=(view, *STAND_INS.get(view, ())))
    assert isinstance(reading, Unknown), reading
    assert reading.missing == view
    assert f"{view}: ORA-00942" in reading.why
    assert reading.way_out.startswith("grant select on sys.v_$")


def test_signal_describes_itself_and_is_unknown_for_a_source_that_never_held_its_view() -> None:
    for name, one in SIGNALS.items():
        assert one.name == name and one.about.endswith(".") and len(one.about) > 20, name
        for view in one.of.split(", "):
            assert view in RICH or name in OUTSIDE, f"{name}: tests/rules/rich.py has no rows of {view}; write them"
        assert one.unit, name
        reading = read(name, views={})
        assert isinstance(reading, Unknown) and reading.way_out, name


def test_signals_each_have_a_plain_name_of_their_own() -> None:
    names = [signal.called for signal in SIGNALS.values()]
    assert len(set(names)) == len(names)
    assert [name for name in names if "_" in name or not name or name[0].isupper()] == []


def test_evidence_counts_as_numbers_what_its_derivation_says_in_words() -> None:
    evidence = {one.signal: one for one in diagnose(delta_of(SICK)).findings[0].evidence}
    sleeps = evidence["share_of_sleeps"]
    assert (sleeps.numerator, sleeps.denominator, sleeps.derivation) == (990, 1_000, "990 of 1,000")
    assert sleeps.bound is not None and f"{sleeps.bound.operator} {sleeps.bound.value:g}" == sleeps.needs
    assert sleeps.name == "sleeps on the cache"
