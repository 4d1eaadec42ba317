"""Capture files: a written file reads back the same, and each mistake gives one clear line."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.capture import Capture, CapturedConfirmation, delta_of, dump, load
from collectors.delta import between
from collectors.errors import InputError
from collectors.model import Basis, ConfirmationResult, Delta, Missing, NotComparable, Rows, Snapshot
from tests.collectors.scripted import poll_at
from tests.paths import DATA, INCIDENT

DOCUMENT: dict[str, Any] = json.loads(INCIDENT.read_text(encoding="utf-8"))


def complaint(text: str | bytes) -> str:
    """The one line for a wrong file."""
    with pytest.raises(InputError) as caught:
        load(text, "case.json")
    line = str(caught.value)
    assert line.startswith("case.json")
    assert "\n" not in line
    assert len(line) < 1_000
    return line


def changed(*path: str | int, to: object) -> str:
    """The recorded incident with one member replaced."""
    document = copy.deepcopy(DOCUMENT)
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return json.dumps(document)


def test_recorded_incident_is_read_and_survives_writing(incident: Capture) -> None:
    assert load(dump(incident), "again.json") == incident
    assert incident.database == "undo-segments"
    assert "2010" in incident.source
    assert load(b"\xef\xbb\xbf" + INCIDENT.read_bytes(), "again.json") == incident, "a mark of the byte order"
    assert incident.confirmations == (
        CapturedConfirmation("undo-segments", "select count(*) from dba_rollback_segs", 14_838),
    )
    (snapshot,) = incident.snapshots
    assert snapshot.taken_at is None
    assert snapshot.rows("v$latch_children")[0] == {"latch#": 270, "child#": 1, "sleeps": 24_241_645}


def test_recorded_incident_agrees_with_the_published_figures(incident: Capture) -> None:
    seed = json.loads((DATA / "row-cache-incident-2010.json").read_text(encoding="utf-8"))
    (snapshot,) = incident.snapshots
    children = [{"child#": row["child#"], "sleeps": row["sleeps"]} for row in snapshot.rows("v$latch_children")]
    assert children == seed["latch_children"]
    assert {row["latch#"] for row in snapshot.rows("v$latch_children")} == {seed["latch#"]}
    assert [(row["location"], row["sleep_count"]) for row in snapshot.rows("v$latch_misses")] == [
        (row["where"], row["sleep_count"]) for row in seed["latch_misses"]
    ]
    gets = sorted((str(row["parameter"]), row["gets"]) for row in snapshot.rows("v$rowcache"))
    assert gets == sorted((row["parameter"], row["gets"]) for row in seed["rowcache_gets"])
    names = {(row["cache#"], row["type"], row["subordinate#"]): row["parameter"] for row in snapshot.rows("v$rowcache")}
    mapped = [
        (row["child#"], row["cache#"], names[row["cache#"], row["type"], row["subordinate#"]], row["type"])
        for row in snapshot.rows("x$kqrst")
    ]
    assert mapped == [(row["child"], row["cache"], row["parameter"], row["type"]) for row in seed["kqrst_rowcache_map"]]
    (confirmed,) = incident.confirmations
    assert (confirmed.query, confirmed.value) == (seed["confirmed"]["query"], seed["confirmed"]["value"])


def test_recorded_incident_marks_what_was_assumed(incident: Capture) -> None:
    reading = incident.snapshots[0].read("v$rowcache")
    assert isinstance(reading, Rows)
    assert [note.split()[0] for note in reading.notes] == ["dc_users", "dc_histogram_data"]


def readings_of(one: Snapshot) -> dict[str, object]:
    """Everything but the clock's own column, which a capture keeps as the time of the snapshot."""
    instance = {name: value for name, value in one.instance.items() if name != "taken_at"}
    return {view: reading for view, reading in one.readings.items() if view != "v$instance"} | {"v$instance": instance}


def test_capture_is_read_back_as_it_was_written() -> None:
    snapshots = (poll_at("undo-storm", 60, refused=("x$kqrst",)), poll_at("undo-storm", 90))
    written = Capture("undo-storm", snapshots, (CapturedConfirmation("undo-segments", "select 1", 14_838),), "a test")
    again = load(dump(written), "again.json")
    assert (again.database, again.source, again.confirmations) == ("undo-storm", "a test", written.confirmations)
    assert [one.taken_at for one in again.snapshots] == [one.taken_at for one in snapshots]
    for one, other in zip(again.snapshots, snapshots, strict=True):
        kept = {name: value for name, value in one.instance.items() if value is not None}
        assert {**readings_of(one), "v$instance": kept} == readings_of(other)


def test_capture_keeps_the_time_of_a_reading_carried_over() -> None:
    first = poll_at("undo-storm", 10)
    capture = Capture("undo-storm", (first, poll_at("undo-storm", 25, previous=first)))
    read_at = [one.readings["v$parameter"].read_at for one in load(dump(capture), "x.json").snapshots]  # type: ignore[union-attr]
    assert read_at == [None, first.taken_at]


def test_cells_absent_from_some_rows_stay_absent() -> None:
    whole = {"name": "row cache objects", "gets": 1, "sleeps": None}
    rows = Rows("v$latch", (whole, {"name": "messages"}), ("assumed",))
    again = load(dump(Capture("erp1", (Snapshot("erp1", None, {"v$latch": rows}),))), "again.json")
    assert again.snapshots[0].read("v$latch") == rows


def test_delta_of_one_snapshot_is_totals_with_its_confirmations(incident: Capture) -> None:
    delta = delta_of(incident)
    assert isinstance(delta, Delta)
    assert delta.basis == Basis("totals", None, None, None)
    assert delta.confirmations == {"undo-segments": ConfirmationResult(14_838)}


def test_delta_of_several_snapshots_is_the_change_from_first_to_last() -> None:
    first, middle, last = (poll_at("undo-storm", at) for at in (60, 75, 90))
    delta = delta_of(Capture("undo-storm", (first, middle, last)))
    expected = between(first, last)
    assert isinstance(delta, Delta) and isinstance(expected, Delta)
    assert (delta.basis, delta.readings) == (expected.basis, expected.readings)
    assert isinstance(delta_of(Capture("undo-storm", (last, first))), NotComparable)


def test_missing_views_are_read() -> None:
    missing = {"kind": "refused", "why": "ORA-00942", "way_out": "grant"}
    one = load(changed("snapshots", 0, "missing", to={"v$latch": missing}), "case.json").snapshots[0]
    assert one.read("v$latch") == Missing("v$latch", "refused", "ORA-00942", "grant")


@pytest.mark.parametrize("taken_at", ["2010-06-15T08:00:00Z", "2010-06-15T10:00:00+02:00"])
def test_taken_at_is_read_as_utc(taken_at: str) -> None:
    one = load(changed("snapshots", 0, "taken_at", to=taken_at), "case.json").snapshots[0]
    assert one.taken_at == datetime(2010, 6, 15, 8, tzinfo=UTC)


WHOLE = json.dumps(DOCUMENT)
NO_CAPTURES: dict[str, tuple[str | bytes, str]] = {
    "empty": (b"", "is empty; a capture is a JSON file"),
    "blank": ("  \n ", "is empty"),
    "truncated": (WHOLE[: len(WHOLE) // 2], "it ends too early, so copy it again"),
    "cut inside a word": (WHOLE[: WHOLE.index("snapshots") + 4], "it ends too early"),
    "binary": (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "is not text: byte 8 is not UTF-8"),
    "zeros": (b"\x00" * 64, "is not valid JSON at line 1 column 1"),
    "text": ("Snap Id: 100", "is not valid JSON at line 1 column 1"),
    "page": ("<html><body>AWR</body></html>", "a capture is a JSON file"),
    "trailing": (WHOLE + "}", "is not valid JSON"),
    "nested": ("[" * 200_000, "nested too deeply"),
    "NaN": (WHOLE.replace("24241645", "NaN"), "NaN is not a number a counter can have"),
    "Infinity": (WHOLE.replace("24241645", "-Infinity"), "-Infinity is not a number"),
    "a number beyond all counters": (WHOLE.replace("24241645", "9" * 5_000), "is not a capture"),
    "list": ("[]", "the document must be a JSON object"),
    "number": ("3", "the document must be a JSON object"),
    "another format": ('{"format": "something"}', '"format" must be "latchscope-capture"'),
    "no format": ("{}", "is JSON but not a capture"),
}


@pytest.mark.parametrize("what", NO_CAPTURES)
def test_not_a_capture_is_one_clear_line(what: str) -> None:
    text, line = NO_CAPTURES[what]
    assert line in complaint(text)


def test_too_large_file_of_200_mb_is_refused_unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> object:
        raise AssertionError("parsed")

    monkeypatch.setattr(json, "loads", parse)
    assert complaint(b" " * (200 * 2**20)) == "case.json is 200 MiB; a capture is at most 64 MiB"


VIEWS = ("snapshots", 0, "views")
CHILDREN = (*VIEWS, "v$latch_children")
CELL = (*CHILDREN, "rows", 0, 2)
WRONG: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "version 2": (("version",), 2, "is a capture of version 2; this latchscope reads version 1"),
    "no version": (("version",), None, "is a capture of version None"),
    "no database": (("database",), "", '"database" must be the name of the database'),
    "database is no text": (("database",), 7, '"database" must be the name of the database'),
    "no snapshot": (("snapshots",), [], "has no snapshot"),
    "snapshots is no list": (("snapshots",), {}, "snapshots must be a JSON list"),
    "snapshot is no object": (("snapshots", 0), 3, "snapshots[0] must be a JSON object"),
    "views is no object": (VIEWS, [], "snapshots[0].views must be a JSON object"),
    "unknown view": ((*VIEWS, "v$secret"), {}, "has the view 'v$secret', which latchscope does not read; it reads "),
    "columns is no list": ((*CHILDREN, "columns"), "gets", "columns must be a JSON list"),
    "unknown column": ((*CHILDREN, "columns", 2), "naps", "columns has 'naps'; v$latch_children has latch#, child#"),
    "column is no text": ((*CHILDREN, "columns", 2), ["sleeps"], "columns has ['sleeps']"),
    "column twice": ((*CHILDREN, "columns", 2), "child#", "names a column twice"),
    "rows is no list": ((*CHILDREN, "rows"), 3, "rows must be a JSON list"),
    "row is no list": ((*CHILDREN, "rows", 0), {}, "rows[0] must be a JSON list"),
    "row too short": ((*CHILDREN, "rows", 0), [270, 1], "rows[0] has 2 cells for 3 columns"),
    "row too long": ((*CHILDREN, "rows", 0), [270, 1, 2, 3], "rows[0] has 4 cells for 3 columns"),
    "text where a counter is": (CELL, "many", 'sleeps is "many"; it must be a number or null'),
    "true where a counter is": (CELL, True, "sleeps is true; it must be a number or null"),
    "list where a counter is": (CELL, [1], "sleeps is [1]; it must be a number or null"),
    "a number beyond all floats": (CELL, 10**400, "it must be a number or null"),
    "true where a key is": ((*CHILDREN, "rows", 0, 1), True, "child# is true; it must be a number or null"),
    "text where a number names the row": ((*CHILDREN, "rows", 0, 1), "abc", 'child# is "abc"; it must be a number'),
    "assumed is no list": ((*CHILDREN, "assumed"), "so", "assumed must be a JSON list"),
    "missing is no object": (("snapshots", 0, "missing"), [], "missing must be a JSON object"),
    "unknown kind": (
        ("snapshots", 0, "missing"),
        {"v$latch": {"kind": "gone"}},
        "kind is 'gone'; it must be refused, not_asked, failed or unread",
    ),
    "time without zone": (("snapshots", 0, "taken_at"), "2010-06-15T08:00:00", "it must be a UTC time such as"),
    "time is no text": (("snapshots", 0, "taken_at"), 1276588800, "it must be a UTC time such as"),
    "no such time": (("snapshots", 0, "taken_at"), "2010-02-31T08:00:00Z", "it must be a UTC time such as"),
    "time before all time": (("snapshots", 0, "taken_at"), "0001-01-01T00:00:00+23:00", "it must be a UTC time such"),
    "time without room for a difference": (
        ("snapshots", 0, "taken_at"),
        "9999-12-31T23:59:59Z",
        "it must be a UTC time",
    ),
    "half of a surrogate pair": (("source",), "\udcff", "it has half of a surrogate pair"),
    "confirmations is no list": (("confirmations",), {}, "confirmations must be a JSON list"),
    "confirmation is no object": (("confirmations", 0), 14838, "confirmations[0] must be a JSON object"),
    "confirmation without number": (("confirmations", 0, "value"), "14,838", "value must be the number the query gave"),
    "confirmation is true": (("confirmations", 0, "value"), True, "value must be the number the query gave"),
    "confirmation beyond all floats": (("confirmations", 0, "value"), 10**400, "value must be the number"),
    "confirmation without cause": (("confirmations", 0, "cause"), None, "cause must be the id of a cause"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_member_is_one_clear_line(what: str) -> None:
    path, to, line = WRONG[what]
    assert line in complaint(changed(*path, to=to))


def test_number_that_overflows_is_refused() -> None:
    assert "sleeps is Infinity; it must be a number or null" in complaint(WHOLE.replace("24241645", "1e999"))
    assert "value must be the number" in complaint(WHOLE.replace("14838", "1e999"))


def paths(inner: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in the first rows of a document."""
    if path:
        yield path
    pairs = inner.items() if isinstance(inner, dict) else enumerate(inner[:2]) if isinstance(inner, list) else ()
    for step, deeper in pairs:
        yield from paths(deeper, (*path, step))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(path=st.sampled_from(list(paths(DOCUMENT))), to=ANY_JSON)
def test_value_of_any_kind_anywhere_is_read_or_one_clear_line(path: tuple[str | int, ...], to: object) -> None:
    text = changed(*path, to=to)
    with suppress(InputError):
        assert delta_of(load(text, "case.json"))
        return
    complaint(text)


def test_mutexes_of_other_kinds_are_no_row_cache_mutexes() -> None:
    columns = ["mutex_type", "location", "sleeps", "wait_time"]
    rows = [["Cursor Pin", "kksLockDelete", 1_000, 6_600_000], ["Row Cache", "[19] kqrpre", 7, 9_000]]
    text = changed("snapshots", 0, "views", "v$mutex_sleep", to={"columns": columns, "rows": rows})
    (snapshot,) = load(text, "case.json").snapshots
    assert [row["sleeps"] for row in snapshot.rows("v$mutex_sleep")] == [7]
