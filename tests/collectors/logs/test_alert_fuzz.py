"""Any damage to an alert log leaves a Delta that can be diagnosed: never a crash, never much memory, nothing invented."""

import gzip
import io
import random
import tracemalloc
from collections.abc import Callable
from itertools import count

import pytest

from collectors.errors import InputError
from collectors.logs.alert import KEPT, looks_like_alert_log, read
from collectors.logs.phrases import MARKS
from rules.engine import diagnose
from rules.logs import NAMES
from rules.model import Severity
from service.intake.inputs import diagnose_data
from tests.collectors.logs.published import PUBLISHED

MOST_EVENTS = 2 * KEPT * len(NAMES)
MOST_BYTES = 64 * 2**20
"""More memory than reading a few MiB may ever take."""
WHOLE = "".join(case.log for case in PUBLISHED).encode()
MARK = tuple(MARKS)


def _flipped(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 200)):
        found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found)


def _cut(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data))
    return data[begin : begin + chance.randrange(1, len(data))]


def _shuffled(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _without_ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"", b"\r", b"\0", b" " * 2_000)))


def _marks(data: bytes, chance: random.Random) -> bytes:
    """Marks with anything behind them, as no Oracle ever wrote them."""
    junk = (bytes(chance.randrange(256) for _ in range(chance.randrange(60))) for _ in count())
    return b"\n".join(chance.choice(MARK) + tail for tail, _ in zip(junk, range(300), strict=False)) + data


def _numbers(data: bytes, chance: random.Random) -> bytes:
    digit = str(chance.randrange(10)).encode()
    return data.replace(digit, digit * chance.choice((2, 30)))


def _utf16(data: bytes, chance: random.Random) -> bytes:
    return data.decode("utf-8", "replace").encode("utf-16")[: -chance.randrange(1, 50)]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flipped, _cut, _shuffled, _without_ends, _marks, _numbers, _utf16,
)  # fmt: skip


def damaged(seed: int) -> bytes:
    chance = random.Random(seed)
    data = WHOLE
    for damage in chance.choices(DAMAGES, k=chance.randint(1, 3)):
        data = damage(data, chance) or b"\n"
    return data


@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 2300), marks=pytest.mark.soak)], ids=("300", "soak")
)
def test_damaged_logs_are_read_and_never_crash(seeds: range) -> None:
    events = 0
    for seed in seeds:
        data = damaged(seed)
        looks_like_alert_log(data)
        delta = read(io.BytesIO(data), "case")
        assert len(delta.events) <= MOST_EVENTS, seed
        lines = data.count(b"\n") + 1 if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else len(data)
        assert all(1 <= event.line <= lines and "\n" not in event.text for event in delta.events), seed
        events += len(delta.events)
        if seed % 10:
            continue  # a diagnosis takes longer than the reading
        told = diagnose(delta)
        assert told.severity in (Severity.INFO, Severity.NOTICE, Severity.WARNING) and not told.findings, seed
        assert "\n" not in told.headline, seed
    assert events > len(seeds), "the damage leaves nothing to read"


def test_damaged_uploads_give_a_diagnosis_or_one_line() -> None:
    for seed in range(8):
        data = damaged(seed)
        packed = gzip.compress(data)
        for sent in (data, packed, packed[: len(packed) // 2]):
            outcome = diagnose_data(sent, "case")
            assert len(outcome.diagnosed) + len(outcome.errors) == 1, seed
            assert all(isinstance(error, InputError) and "\n" not in str(error) for error in outcome.errors), seed


def test_memory_stays_bounded_whatever_repeats() -> None:
    line = b"Sun Mar 01 06:00:00 2026\n>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid=%d\nORA-%05d: x\n"
    log = b"".join(line % (number, number % 90) for number in range(6_000)) + b"x" * 3_000_000
    tracemalloc.start()
    try:
        delta = read(io.BytesIO(log), "case")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(delta.events) <= MOST_EVENTS
    assert peak < MOST_BYTES
