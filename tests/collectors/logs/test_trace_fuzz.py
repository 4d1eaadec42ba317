"""Damaged trace files: each gives one line of complaint, or a Delta that can be diagnosed. The reader never crashes."""

import io
import random
from collections.abc import Iterator
from datetime import datetime

import pytest

from collectors.errors import InputError
from collectors.logs.sessions import MOST_SESSIONS
from collectors.logs.trace import MOST_EVENTS, read
from collectors.model import Delta
from rules.engine import diagnose
from tests.collectors.logs.dumps import LAYOUTS, hang, written
from tests.collectors.logs.published_traces import PUBLISHED

DAMAGED, SOAK = 320, 2_000
DIAGNOSED = 8
"""Every so many damaged files are diagnosed as well, which takes longer than reading them."""


def survives(data: bytes, *, diagnosed: bool = True) -> Delta | None:
    """What was read. None if one line explains why nothing was."""
    try:
        delta = read(io.BytesIO(data), "case.trc")
    except InputError as error:
        line = str(error)
        assert line.startswith("case.trc") and "\n" not in line and len(line) < 300
        return None
    for event in delta.events:
        assert event.text and "\n" not in event.text and len(event.text) < 700 and event.line >= 1
    if diagnosed:
        told = diagnose(delta)
        assert told.headline and "\n" not in told.headline
    return delta


def whole(chance: random.Random) -> bytes:
    """A trace file: a made-up hang, or one of the published."""
    if chance.random() < 0.3:
        return chance.choice(PUBLISHED).text.encode()
    first = written(hang(chance), chance.choice(LAYOUTS))
    return first + written(hang(chance), chance.choice(LAYOUTS)) if chance.random() < 0.3 else first


def damaged(chance: random.Random) -> bytes:
    """A trace file with one kind of damage."""
    data = whole(chance)
    lines = data.split(b"\n")
    place = chance.randrange(len(data))
    kind = chance.choice(("flip", "cut", "head", "shuffle", "twice", "noise", "long", "numbers", "join", "utf16"))
    if kind == "flip":
        changed = bytearray(data)
        for _ in range(chance.randint(1, 200)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if kind == "shuffle":
        return b"\n".join(chance.choices(lines, k=len(lines)))
    if kind == "numbers":
        digit = bytes(chance.choice(b"0123456789"))
        return data.replace(b"1", digit * chance.choice((1, 19, 40, 5_000)))
    if kind == "join":
        return data.replace(b"\n", b" ", chance.randint(1, len(lines)))
    return {
        "cut": data[:place],
        "head": data[place:],
        "twice": data[:place] + data[: place // 2] + data[place:],
        "noise": data[:place] + chance.randbytes(chance.randint(1, 3_000)) + data[place:],
        "long": data[:place] + chance.choice((b"<", b"[", b"'", b"{", b" ")) * 90_000 + data[place:],
        "utf16": data.decode().encode("utf-16"),
    }[kind]


def many(times: int) -> Iterator[bytes]:
    for number in range(times):
        yield damaged(random.Random(f"damaged trace {number}"))


def test_reader_survives_damaged_traces() -> None:
    read_whole = [survives(data, diagnosed=place % DIAGNOSED == 0) for place, data in enumerate(many(DAMAGED))]
    assert len(read_whole) == DAMAGED and sum(delta is not None for delta in read_whole) > DAMAGED // 2


@pytest.mark.soak
def test_reader_survives_damaged_traces_over_many_rounds() -> None:
    assert sum(survives(data) is not None for data in many(SOAK)) > SOAK // 2


STRANGE = {
    "nothing": b"",
    "blanks": b" \n" * 1_000,
    "null bytes": b"Trace file /a.trc\n" + b"\0" * 1_000,
    "one long line": b"<" * 3_000_000,
    "open chains": b"HANG ANALYSIS:\n" + b"Chain 1 : <cnode/sid/sess_srno/ospid/wait_event> :\n" * 30_000,
    "open braces": b"Oracle session identified by:\n{\n" * 30_000,
    "a chain of one": b"Chain 1 : <cnode/sid/sess_srno/ospid/wait_event> :\n<0/1/1/1/x>\n -- <0/1/1/1/x>\n" * 5_000,
    "errors": b"".join(f"ORA-00600: internal error code, arguments: [kqr{n}]\n".encode() for n in range(9_000)),
    "half a mark": b"\xff\xfeT\0r",
}


@pytest.mark.parametrize("what", STRANGE)
def test_reader_survives_strange_input(what: str) -> None:
    survives(STRANGE[what])


def test_a_binary_file_and_an_empty_one_are_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"^case is empty; copy the trace file again$"):
        read(io.BytesIO(b""), "case")
    with pytest.raises(
        InputError, match=r"^case is no trace file but binary data; give the file with the ending \.trc, unpacked$"
    ):
        read(io.BytesIO(b"PK\0\0\n"), "case")


def test_a_hole_in_a_file_costs_no_more_than_its_line() -> None:
    data = b"\n".join(
        [*[b"*** 2020-01-01 10:00:00.000"] * 30, b"\0\0\0ORA-04021: timeout occurred while waiting to lock object A.B"]
    )
    (event,) = read(io.BytesIO(data), "case").events
    assert event.text == "ORA-04021: a time-out while locking A.B"


def test_what_is_kept_of_a_large_dump_has_a_bound_that_is_named() -> None:
    state = b"*** 2020-01-01 10:00:00.000\nSYSTEM STATE (level=10)\n" + b"".join(
        b"PROCESS %d:\n(session) sid: %d ser: 1 trans: 0x0\n"
        b" 0: waiting for 'row cache lock'\n cache id=0x3, mode=0x0, request=0x3\n" % (n, n)
        for n in range(1, MOST_SESSIONS + 101)
    )
    delta = read(io.BytesIO(state), "case")
    assert len(delta.rows("waiting_sessions")) == MOST_SESSIONS
    assert "100 sessions and locks are left out: a dump is read up to a bound" in delta.notes
    assert delta.cut_off and any("ends inside a system state" in note for note in delta.notes)


def test_events_have_a_bound_that_is_named() -> None:
    delta = read(io.BytesIO(STRANGE["errors"]), "case")
    assert len(delta.events) == MOST_EVENTS and delta.notes == (f"{9_000 - MOST_EVENTS:,} events more are left out",)


def test_only_the_time_that_is_asked_for_is_read() -> None:
    data = b"".join(
        b"*** 2020-01-01 %02d:00:00.000\nORA-04021: timeout occurred while waiting to lock object A.B%d\n"
        % (hour, hour)
        for hour in range(5, 12)
    )
    undated = b'ORA-04031: unable to allocate 32 bytes of shared memory ("shared pool","select 1","a","b")\n'
    since, until = datetime(2020, 1, 1, 7), datetime(2020, 1, 1, 9)  # noqa: DTZ001 - as a trace of 11g prints it
    said = [event.text for event in read(io.BytesIO(undated + data), "case", since, until).events]
    assert said == [
        "ORA-04031: no piece of 32 bytes in the shared pool",
        *(f"ORA-04021: a time-out while locking A.B{hour}" for hour in (7, 8, 9)),
    ]
