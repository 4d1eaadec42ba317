"""Miss location fingerprints of published samples, by their holder-side shares."""

import pytest

from collectors.model import ROW_CACHE_LATCH
from rules.shape import shape_of
from tests.rules.scenes import SICK, scene_of, with_rows

SAMPLES = {
    "chain": {"kqrpre: find obj": 20_612_167, "kqreqd: reget": 2_602_576, "kqreqd": 1_026_837, "kqrpup": 7},
    "normal": {"kqreqd: reget": 883, "kqrpre: find obj": 88, "kqreqd": 21},
    "volume": {"kqrpre: find obj": 10_300, "kqreqd: reget": 7_900, "kqreqd": 7_700},
    "subordinate": {"kqrso": 599, "kqreqd: reget": 568, "kqrpre: find obj": 253, "kqreqd": 51},
    "mixed": {"kqrpre: find obj": 503, "kqreqd: reget": 410, "kqreqd": 87},
}


@pytest.mark.parametrize("fingerprint", SAMPLES)
def test_fingerprint(fingerprint: str) -> None:
    rows = [
        {"parent_name": ROW_CACHE_LATCH, "location": place, "sleep_count": held}
        for place, held in SAMPLES[fingerprint].items()
    ]
    shape = shape_of(scene_of(with_rows("v$latch_misses", *rows)))
    assert shape is not None
    assert shape.fingerprint == fingerprint
    assert shape.total == sum(SAMPLES[fingerprint].values())
    assert list(shape.sleeps.values()) == sorted(shape.sleeps.values(), reverse=True)


def test_other_latches_do_not_count() -> None:
    shape = shape_of(scene_of())
    assert shape is not None
    assert (shape.total, shape.fingerprint) == (1_000, "chain")


def test_too_few_sleeps_have_no_shape() -> None:
    row = {"parent_name": ROW_CACHE_LATCH, "location": "kqrpre: find obj", "sleep_count": 99}
    shape = shape_of(scene_of(with_rows("v$latch_misses", row)))
    assert shape is not None
    assert (shape.fingerprint, shape.meaning) == (None, "too few sleeps for a shape, at least 100 are needed")


def test_no_sleeps_or_no_view_is_no_shape_at_all() -> None:
    assert shape_of(scene_of(with_rows("v$latch_misses"))) is None
    assert shape_of(scene_of(SICK, refused=["v$latch_misses"])) is None
