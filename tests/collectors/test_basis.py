"""A basis in words."""

from datetime import UTC, datetime

import pytest

from collectors.basis import Basis

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (Basis("interval", NOW, NOW, 30.04), "an interval of 30.0 s"),
        (Basis("since_startup", NOW, NOW, 777_600.0), "totals since instance start, 777,600 s (216 h 0 min)"),
        (Basis("totals", None, None, None), "totals since an unknown instance start"),
    ],
)
def test_basis_says_what_it_is(basis: Basis, words: str) -> None:
    assert str(basis) == words
