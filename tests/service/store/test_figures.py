"""Figures of buckets come out of their bytes exactly as they went in, and one series can be read without the others."""

import base64
import math
import random
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.store.figures import (
    DamagedFigures,
    Items,
    Values,
    pack,
    pack_buckets,
    unpack,
    unpack_bodies,
    unpack_buckets,
)

OLDER = (
    "AXicY2ZgYGBmyWRgEGRgYASyeYCYQf7//w8cjPv//29gZUACjEzMLKxs7BycXNwMtAaMCEC5YRfsORjt/7igWsBEvH4HBKDcMSSBLxsuPHjx5ccf"
    "JhY2eygAOgIAve8WeQ=="
)
"""Three items over twelve buckets, in the bytes of the one-piece layout."""


def same(one: Values, other: Values) -> bool:
    """Equal bit for bit, any NaN to any other."""
    alike = (one == other) & (np.signbit(one) == np.signbit(other))
    return one.shape == other.shape and bool(np.all(alike | (np.isnan(one) & np.isnan(other))))


def figures(items: int, width: int = 24) -> tuple[Items, Values, Values]:
    chance = np.random.default_rng(items)
    totals = np.rint(10 ** chance.uniform(0, 7, (items, width)))
    return np.arange(1, items + 1), totals, totals / 15.003


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=40),
    st.sampled_from([12, 24]),
    st.randoms(use_true_random=False),
)
def test_buckets_come_back_as_they_were(items: list[int], width: int, chance: random.Random) -> None:
    numbers = np.array(sorted(items), np.int64)
    kinds = [[math.nan, 7.0], [math.nan, 2.0**40, 3.0], [-0.0, 2.0**63, math.inf, 0.1], [math.nan, 0.3, 10.0**6]]
    cells = [[chance.choice(kinds[item % 4]) for _ in range(width)] for item in items]
    totals = np.array(cells, float).reshape(len(items), width)
    mosts = totals / chance.choice([1.0, 15.003])
    body = pack_buckets(numbers, totals, mosts)
    read, *told = unpack_buckets(body)
    assert read.tolist() == numbers.tolist()
    assert same(told[0], totals)
    assert same(told[1], mosts)
    taken = np.array([chance.random() < 0.3 for _ in items], bool)
    some = unpack_bodies([body, body], lambda every: taken)
    assert sorted(some.items.tolist()) == sorted([*numbers[taken].tolist()] * 2)
    for place, item, total, most in zip(some.body, some.items, some.totals, some.mosts, strict=True):
        assert place in (0, 1)
        assert same(total, totals[numbers == item][0])
        assert same(most, mosts[numbers == item][0])


def test_one_series_is_read_without_the_pieces_of_others() -> None:
    items, totals, mosts = figures(40)
    body = pack_buckets(items, totals, mosts)
    damaged = flipped(body, len(body) - 9)
    one = unpack_bodies([damaged] * 3, lambda every: every == 2)
    assert (one.body.tolist(), one.items.tolist()) == ([0, 1, 2], [2, 2, 2])
    assert same(one.totals, np.repeat(totals[1:2], 3, axis=0))
    assert same(one.mosts, np.repeat(mosts[1:2], 3, axis=0))
    with pytest.raises(DamagedFigures):
        unpack_bodies([damaged], lambda every: every == 40)
    items, totals, mosts = figures(20_000, 12)
    body = pack_buckets(items, totals, mosts)
    assert len(body) / totals.size < 12
    one = unpack_bodies([body], lambda every: every == 19_999)
    assert same(one.totals[0], totals[-2])


def test_older_layout_is_read_beside_the_newer() -> None:
    older = base64.b64decode(OLDER)
    items, totals, mosts = unpack_buckets(older)
    assert items.tolist() == [3, 7, 70_000]
    told = [[math.nan] * 11 + [5.0], [0.25] + [2.0**40] * 11, list(range(12))]
    assert same(totals, np.array(told, float))
    assert same(mosts, np.array(told, float) / 4)
    newer = pack_buckets(*figures(9, 12))
    both = unpack_bodies([older, newer, older], lambda every: every == 7)
    assert sorted(zip(both.body.tolist(), both.items.tolist(), strict=True)) == [(0, 7), (1, 7), (2, 7)]


BUCKETS, POLL = pack_buckets(*figures(40)), pack(np.arange(1, 50), np.arange(49) * 3.7)


def flipped(body: bytes, place: int) -> bytes:
    return body[:place] + bytes([body[place] ^ 0xFF]) + body[place + 1 :]


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (unpack_buckets, BUCKETS[:-30]),
        (unpack_buckets, b"\x07" + BUCKETS[1:]),
        (unpack_buckets, b""),
        (unpack_buckets, flipped(BUCKETS, len(BUCKETS) - 9)),
        (unpack_buckets, BUCKETS[:9]),
        (unpack_buckets, base64.b64decode(OLDER)[:-3]),
        (unpack, POLL[:-3]),
        (unpack, b"\x07" + POLL[1:]),
        (unpack, b""),
        (unpack, flipped(POLL, len(POLL) // 2)),
        (unpack, b"\x01" + zlib.compress(zlib.decompress(POLL[1:])[:-20])),
    ],
    ids=[
        *("cut", "version", "empty", "flipped", "head", "older"),
        *(f"poll {damage}" for damage in ("cut", "version", "empty", "flipped", "lacking")),
    ],
)
def test_damage_is_told(read: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(DamagedFigures):
        read(body)


ITEM = st.integers(0, 2**31 - 1)
ODD = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 2.0**31, -(2.0**31), 2.0**53, 2.0**53 + 2, 2.0**63, 2.0**64)
VALUE = st.one_of(st.sampled_from((*ODD, 1e308)), st.integers(0, 2**63).map(float), st.floats())


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


def test_seventy_thousand_items_come_back_and_counters_take_few_bytes() -> None:
    chance = np.random.default_rng(16)
    items = np.cumsum(chance.integers(1, 100_000, 70_000))
    values = np.rint(10 ** chance.uniform(0, 18, 70_000))
    assert items[-1] > 2**31, "the differences have four bytes, not the numbers"
    read, told = unpack(pack(items, values))
    assert (read == items).all()
    assert same(told, values)
    chance = np.random.default_rng(1)
    values = np.rint(10 ** chance.uniform(0, 7, 123))
    assert len(pack(np.arange(1, 124), values)) / 123 < 4
