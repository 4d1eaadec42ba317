"""The types of this package: they read what is there, and never take a missing value for zero."""

from datetime import UTC, datetime

import pytest

from collectors.basis import Basis
from collectors.model import (
    Changes,
    Collector,
    Column,
    ColumnKind,
    Delta,
    Missing,
    Oddity,
    Row,
    Rows,
    Snapshot,
    number,
    text,
    unread,
)
from tests.each import each

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
    assert (snapshot.release, snapshot.startup_time, snapshot.uptime_seconds) == (
        "11.2.0.4.0",
        "2026-02-20 04:11:00",
        42.0,
    )
    blind = Snapshot("erp1", NOW, {})
    assert (blind.instance, blind.release, blind.startup_time, blind.uptime_seconds) == ({}, None, None, None)


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
    delta = Delta(
        "erp1", None, Basis("totals", None, None, None), {"v$latch_children": Changes("v$latch_children", rows)}
    )
    assert delta.by_number("v$latch_children", "child#", "gets") == {8: 3.0, 1: 2.5}
    assert delta.by_number("v$latch_children", "child#", "sleeps") == {1: 4.0}
    assert delta.by_number("v$latch", "child#", "gets") == {}


def test_delta_gives_one_cell_or_none() -> None:
    delta = Delta("erp1", None, Basis("totals", None, None, None), {"v$rowcache": CHANGES})
    assert delta.cell("v$rowcache", "type", "PARENT", "gets") == 3
    assert delta.cell("v$rowcache", "type", "PARENT", "usage") is None
    assert delta.cell("v$rowcache", "type", "OTHER", "gets") is None
    assert delta.cell("v$latch", "name", "row cache objects", "gets") is None
    assert delta.read("v$latch") == unread("v$latch")


def test_number_and_text_convert_a_cell_or_give_none() -> None:
    assert (number(3), number(2.5), number("3"), number(None), number(NOW)) == (3.0, 2.5, None, None, None)
    assert (text("a"), text(3), text(None)) == ("a", "3", None)


@each(
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
