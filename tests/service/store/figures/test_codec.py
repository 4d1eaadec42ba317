"""Figures come out of their bytes exactly as they went in, whatever they are. Damage raises."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.store.figures.codec import DamagedFigures, Values, pack, unpack
from tests.each import each

ITEM = st.integers(0, 2**31 - 1)
ODD = [
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    2.0**31,
    -(2.0**31),
    2.0**53,
    2.0**53 + 2,
    2.0**63,
    2.0**64,
    1e308,
]
VALUE = st.one_of(st.sampled_from(ODD), st.integers(0, 2**63).map(float), st.floats())


def same(one: Values, other: Values) -> bool:
    """Equal, NaN to NaN and minus zero to minus zero."""
    alike = (one == other) & (np.signbit(one) == np.signbit(other))
    return one.shape == other.shape and bool(np.all(alike | (np.isnan(one) & np.isnan(other))))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(ITEM, VALUE, max_size=300))
@example({})
@example({7: 2.0**63})
@example(dict.fromkeys(range(0, 2**31 - 1, 2**30), math.nan))
@example({1: 1.0, 70_000: 0.5, 2**31 - 1: -3.0})
def test_poll_comes_back_as_it_was(figures: dict[int, float]) -> None:
    items = np.array(sorted(figures), np.int64)
    values = np.array([figures[item] for item in items.tolist()], float)
    read, told = unpack(pack(items, values))
    assert read.tolist() == items.tolist()
    assert same(told, values)


def test_seventy_thousand_items_come_back() -> None:
    chance = np.random.default_rng(16)
    items = np.cumsum(chance.integers(1, 100_000, 70_000))
    values = np.rint(10 ** chance.uniform(0, 18, 70_000))
    assert items[-1] > 2**31, "the differences have four bytes, not the numbers"
    read, told = unpack(pack(items, values))
    assert (read == items).all()
    assert same(told, values)


def test_counters_of_a_poll_take_few_bytes() -> None:
    chance = np.random.default_rng(1)
    values = np.rint(10 ** chance.uniform(0, 7, 123))
    assert len(pack(np.arange(1, 124), values)) / 123 < 4


@each("damage", ["cut", "version", "empty", "flipped"])
def test_damage_is_told(damage: str) -> None:
    body = pack(np.arange(1, 50), np.arange(49) * 3.7)
    middle = len(body) // 2
    flipped = body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :]
    bodies = {"cut": body[:-3], "version": b"\x07" + body[1:], "empty": b"", "flipped": flipped}
    with pytest.raises(DamagedFigures):
        unpack(bodies[damage])


def test_body_that_lacks_figures_is_told() -> None:
    whole = zlib.decompress(pack(np.arange(1, 50), np.arange(49) * 1.5)[1:])
    with pytest.raises(DamagedFigures, match="cut off"):
        unpack(b"\x01" + zlib.compress(whole[:-20]))
