"""Miss location fingerprints of published samples, by the sides that held and waited, and of mutex locations."""

from collections.abc import Mapping

import pytest

from collectors.model import ROW_CACHE_LATCH, Row
from rules.miss_locations import LocationShape, mutex_shape_of, shape_of
from tests.rules.contexts import SICK, context_of, with_rows

HELD: dict[str, Mapping[str, float]] = {
    "chain": {"kqrpre: find obj": 20_612_167, "kqreqd: reget": 2_602_576, "kqreqd": 1_026_837, "kqrpup": 7},
    "normal": {"kqreqd: reget": 883, "kqrpre: find obj": 88, "kqreqd": 21},
    "volume": {"kqrpre: find obj": 10_300, "kqreqd: reget": 7_900, "kqreqd": 7_700},
    "subordinate": {"kqrso": 599, "kqreqd: reget": 568, "kqrpre: find obj": 253, "kqreqd": 51},
    "modification": {"kqrpfl: not dirty": 165, "kqrpre: find obj": 84},
    "cluster": {"kqrigt": 600, "kqrigt2": 100, "kqrpre: find obj": 250, "kqreqd: reget": 150},
    "overload": {"kqrpre: find obj": 12_507, "kqreqd: reget": 10_294, "kqrso": 1_210, "kqreqd": 841},
    "mixed": {"kqrpre: find obj": 503, "kqreqd: reget": 310, "kqreqd": 187},
}
WAITED: dict[str, Mapping[str, float]] = {
    "normal": {"kqrpre: find obj": 966, "kqreqd": 23, "kqreqd: reget": 10},
    "volume": {"kqrpre: find obj": 8_900, "kqreqd: reget": 8_500, "kqreqd": 8_500},
    "subordinate": {"kqrso": 571, "kqrpre: find obj": 700, "kqreqd": 200},
    "overload": {"kqrpre: find obj": 23_756, "kqreqd": 1_356, "kqrso": 523, "kqreqd: reget": 20},
}


def latch_shape(held: Mapping[str, float], waited: Mapping[str, float]) -> LocationShape | None:
    rows: list[Row] = [
        {
            "parent_name": ROW_CACHE_LATCH,
            "location": place,
            "sleep_count": held.get(place, 0),
            **({"wtr_slp_count": waited.get(place, 0)} if waited else {}),
        }
        for place in {**held, **waited}
    ]
    return shape_of(context_of(with_rows("v$latch_misses", *rows)))


def mutex_shape(slept: Mapping[str, float]) -> LocationShape | None:
    rows = [{"mutex_type": "Row Cache", "location": place, "sleeps": times} for place, times in slept.items()]
    return mutex_shape_of(context_of(with_rows("v$mutex_sleep", *rows), release="19.0.0.0.0"))


@pytest.mark.parametrize("fingerprint", HELD)
def test_fingerprint_of_a_published_sample(fingerprint: str) -> None:
    shape = latch_shape(HELD[fingerprint], WAITED.get(fingerprint, {}))
    assert shape is not None
    assert shape.fingerprint == fingerprint
    assert shape.meaning
    assert shape.total == sum(HELD[fingerprint].values())
    assert list(shape.sleeps.values()) == sorted(shape.sleeps.values(), reverse=True)


@pytest.mark.parametrize(
    ("held", "waited"),
    [("volume", "normal"), ("subordinate", "normal"), ("overload", "volume")],
)
def test_fingerprint_is_not_single_when_waiters_and_holders_disagree(held: str, waited: str) -> None:
    shape = latch_shape(HELD[held], WAITED[waited])
    assert shape is not None
    assert shape.fingerprint in ("mixed", "normal")


def test_fingerprint_without_waiters_follows_holders_except_overload() -> None:
    told = {name: latch_shape(HELD[name], {}) for name in ("volume", "subordinate", "overload")}
    assert {name: shape and shape.fingerprint for name, shape in told.items()} == {
        "volume": "volume",
        "subordinate": "subordinate",
        "overload": "mixed",
    }


MUTEX: dict[str, Mapping[str, float]] = {
    "normal": {"[19] kqrpre": 9_312, "[10] kqreqd": 277, "[06] kqrGetClusterLock": 261, "[32] kqrsfd": 137},
    "subordinate": {"[19] kqrpre": 5_000, "[32] kqrsfd": 2_400, "[34] kqrssc": 900},
    "modification": {"[19] kqrpre": 900, "[25] kqrpup": 60, "[31] kqrcmt": 40},
    "cluster": {"[06] kqrGetClusterLock": 710, "[10] kqreqd": 230, "[32] kqrsfd": 60},
    "mixed": {"[17] kqrCreateUsingSecondaryKey": 400, "[19] kqrpre": 600},
}


@pytest.mark.parametrize("fingerprint", MUTEX)
def test_fingerprint_of_mutex_locations(fingerprint: str) -> None:
    shape = mutex_shape(MUTEX[fingerprint])
    assert shape is not None
    assert (shape.fingerprint, shape.total) == (fingerprint, sum(MUTEX[fingerprint].values()))


def test_mutex_shape_ignores_the_number_of_a_location() -> None:
    twelve_two = mutex_shape({"[13] kqreqd": 90, "[19] kqrpre": 70, "[32] kqrsfd": 80})
    nineteen = mutex_shape({"[10] kqreqd": 90, "[19] kqrpre": 70, "[32] kqrsfd": 80})
    assert twelve_two == nineteen
    assert twelve_two is not None
    assert list(twelve_two.sleeps) == ["kqreqd", "kqrsfd", "kqrpre"]


def test_shape_ignores_other_latches() -> None:
    shape = shape_of(context_of())
    assert shape is not None
    assert (shape.total, shape.fingerprint) == (1_000, "chain")


def test_shape_has_no_fingerprint_with_too_few_sleeps() -> None:
    few = "too few sleeps for a shape, at least 100 are needed"
    for shape in (latch_shape({"kqrpre: find obj": 99}, {}), mutex_shape({"[32] kqrsfd": 99})):
        assert shape is not None
        assert (shape.fingerprint, shape.meaning) == (None, few)
    enough = latch_shape({"kqrpre: find obj": 100}, {})
    assert enough is not None
    assert enough.fingerprint == "chain"


def test_shape_is_none_without_sleeps_or_view() -> None:
    assert shape_of(context_of(with_rows("v$latch_misses"))) is None
    assert shape_of(context_of(SICK, refused=["v$latch_misses"])) is None
    assert mutex_shape({"[19] kqrpre": 0}) is None
    assert mutex_shape_of(context_of(SICK, refused=["v$mutex_sleep"])) is None
