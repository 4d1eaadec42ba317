"""The types of this package: they read what is there, and never take a missing value for zero."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.delta import since_startup
from collectors.model import (
    Basis,
    Changes,
    Collector,
    Column,
    ColumnKind,
    ConfirmationResult,
    Delta,
    Missing,
    Oddity,
    Row,
    Rows,
    Snapshot,
    cells,
    hours,
    lasting,
    number,
    other_time_zone,
    text,
    unread,
)
from collectors.registry import collectors
from tests.collectors.scripted import poll_at

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PROBE = Collector(
    view="v$probe",
    about="",
    columns=(
        Column("a", ColumnKind.KEY, "", ""),
        Column("n", ColumnKind.COUNTER, "count", ""),
        Column("b", ColumnKind.KEY, "", ""),
    ),
    statements={},
    without="",
    granted_on="",
)


def test_collector_knows_its_key_and_its_columns() -> None:
    assert PROBE.key == ("a", "b")
    assert PROBE.column("n").kind is ColumnKind.COUNTER
    with pytest.raises(KeyError, match=r"v\$probe declares no column z"):
        PROBE.column("z")


def test_snapshot_tells_missing_from_empty() -> None:
    refused = Missing("v$latch", "refused", "why", "grant")
    snapshot = Snapshot("erp1", NOW, {"v$rowcache": Rows("v$rowcache", ()), "v$latch": refused})
    assert snapshot.read("v$rowcache") == Rows("v$rowcache", ())
    assert snapshot.read("v$latch") is refused
    assert snapshot.read("v$osstat") == unread("v$osstat")
    assert snapshot.rows("v$latch") == snapshot.rows("v$osstat") == ()


def test_snapshot_knows_its_instance() -> None:
    row: Row = {"version": "11.2.0.4.0", "startup_time": "2026-02-20 04:11:00", "uptime_seconds": 42}
    snapshot = Snapshot("erp1", NOW, {"v$instance": Rows("v$instance", (row,))})
    known = snapshot.instance, snapshot.release, snapshot.startup_time, snapshot.uptime_seconds
    assert known == (row, "11.2.0.4.0", "2026-02-20 04:11:00", 42.0)
    blind = Snapshot("erp1", NOW, {})
    assert (blind.instance, blind.release, blind.startup_time, blind.uptime_seconds) == ({}, None, None, None)


TOTALS = Basis("totals", None, None, None)
CHANGES = Changes(
    "v$rowcache",
    (
        {"cache#": 7, "type": "SUBORDINATE", "subordinate#": 0, "gets": 1},
        {"cache#": 7, "type": "SUBORDINATE", "subordinate#": 1, "gets": 2},
        {"cache#": 3, "type": "PARENT", "subordinate#": None, "gets": 3},
    ),
)


def test_column_is_found_by_the_number_that_names_a_row() -> None:
    rows: tuple[Row, ...] = (
        {"child#": 8, "gets": 3},
        {"child#": 1, "gets": 2.5, "sleeps": 4},
        {"child#": None, "gets": 7},
        {"gets": 9},
        {"child#": 2, "gets": None},
    )
    delta = Delta("erp1", None, TOTALS, {"v$latch_children": Changes("v$latch_children", rows)})
    assert delta.by_number("v$latch_children", "child#", "gets") == {8: 3.0, 1: 2.5}
    assert delta.by_number("v$latch_children", "child#", "sleeps") == {1: 4.0}
    assert delta.by_number("v$latch", "child#", "gets") == {}


def test_delta_gives_one_cell_or_none() -> None:
    delta = Delta("erp1", None, TOTALS, {"v$rowcache": CHANGES})
    assert delta.cell("v$rowcache", "type", "PARENT", "gets") == 3
    assert delta.cell("v$rowcache", "type", "PARENT", "usage") is None
    assert delta.cell("v$rowcache", "type", "OTHER", "gets") is None
    assert delta.cell("v$latch", "name", "row cache objects", "gets") is None
    assert delta.read("v$latch") == unread("v$latch")


def test_cells_of_rows_name_the_one_that_a_row_does_not_have() -> None:
    rows = ({"name": "a", "gets": 1, "sleeps": None}, {"gets": 2, "name": "b"})
    assert cells(rows, ("gets", "name")) == [(1, "a"), (2, "b")]
    assert cells(rows, ("name", "sleeps"), "absent") == [("a", None), ("b", "absent")]
    assert cells(rows, ("sleeps",), "absent") == [(None,), ("absent",)]
    assert cells(rows, ()) == [(), ()]
    assert cells((), ("name",)) == []


def test_number_and_text_convert_a_cell_or_give_none() -> None:
    assert (number(3), number(2.5), number("3"), number(None), number(NOW)) == (3.0, 2.5, None, None, None)
    assert (text("a"), text(3), text(None)) == ("a", "3", None)


@pytest.mark.parametrize(
    ("oddity", "words"),
    [
        (Oddity("v$latch", ("x",), "gets", "fell", 9, 3), "v$latch gets of x fell (9 → 3); its change is not used"),
        (
            Oddity("v$latch", ("x",), "gets", "wrapped", 4_294_967_295, 3),
            "v$latch gets of x wrapped at 32 bits (4294967295 → 3); its change is not used",
        ),
        (
            Oddity("v$latch", ("x",), "gets", "negative", 3, -9),
            "v$latch gets of x is negative (-9); a corrupt counter is not used",
        ),
        (Oddity("v$latch", (270, 1), "", "vanished", None, None), "v$latch row 270 1 is gone; its change is unknown"),
        (
            Oddity("v$latch", ("x",), "", "repeated", None, None),
            "v$latch row x occurs more than once, which is unexpected; the view is not used",
        ),
    ],
)
def test_oddity_says_what_happened(oddity: Oddity, words: str) -> None:
    assert str(oddity) == words


ZONE = {"name": "time_at_dbtimezone", "value": "USER_SQL", "con_id": 0}


def with_setting(row: Mapping[str, Any]) -> Snapshot:
    snapshot = poll_at("users-mutex", 30.0)
    rows = (*snapshot.rows("v$parameter"), row)
    return replace(snapshot, readings={**snapshot.readings, "v$parameter": Rows("v$parameter", rows)})


@pytest.mark.parametrize(
    "row",
    [ZONE, {**ZONE, "value": "DATABASE"}, {**ZONE, "name": "sysdate_at_dbtimezone", "value": "TRUE"}],
)
def test_uptime_is_unknown_where_a_parameter_moves_the_clock_of_sql(row: Mapping[str, Any]) -> None:
    moved = with_setting(row)
    assert other_time_zone([row], []) == f"{row['name']} = {row['value']}"
    assert moved.uptime_seconds is None and since_startup(moved).basis.kind == "totals"
    assert moved.taken_at is not None, "intervals are measured in UTC"


@pytest.mark.parametrize(
    "row",
    [{**ZONE, "value": "OFF"}, {**ZONE, "value": None}, {**ZONE, "con_id": 7}, {**ZONE, "name": "undo_retention"}],
)
def test_uptime_stays_where_nothing_moves_it(row: Mapping[str, Any]) -> None:
    assert with_setting(row).uptime_seconds == poll_at("users-mutex", 30.0).uptime_seconds is not None
    # but one of its own container counts
    assert other_time_zone([{**ZONE, "con_id": 3}], [{"con_id": 3}]) == "time_at_dbtimezone = USER_SQL"


@pytest.mark.parametrize("view", collectors())
def test_no_statement_computes_with_sysdate(view: str) -> None:
    """FIXED_DATE can hold it still; and where a parameter moves the clock, `other_time_zone` says so."""
    assert not any("sysdate " in text or "sysdate)" in text for text in collectors()[view].statements.values())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (30.04, "30.0 s"),
        (599.94, "599.9 s"),
        (600.0, "600 s"),
        (3600.0, "3,600 s"),
        (7200.0, "7,200 s (2 h 0 min)"),
        (550_800.0, "550,800 s (153 h 0 min)"),
    ],
)
def test_lasting_gives_a_long_span_in_hours_too(seconds: float, words: str) -> None:
    assert lasting(seconds) == words
    assert (hours(3599.0), hours(61.0)) == ("1 h 0 min", "0 h 1 min"), "minutes are rounded before they become hours"


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (Basis("interval", NOW, NOW, 30.04), "an interval of 30.0 s"),
        (Basis("since_startup", NOW, NOW, 777_600.0), "totals since instance start, 777,600 s (216 h 0 min)"),
        (TOTALS, "totals since an unknown instance start"),
    ],
)
def test_basis_says_what_it_is(basis: Basis, words: str) -> None:
    assert str(basis) == words


def test_result_of_a_number_alone_names_nothing() -> None:
    result = ConfirmationResult(14838.0)
    assert (result.value, result.container, result.con_id) == (14838.0, None, None)
    assert (result.names, result.unnamed, result.refused) == ((), None, ())
