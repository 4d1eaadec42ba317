"""Bounds: comparisons as causes write them, as operator and number."""

from rules.bounds import Bound, bound_of, meets
from tests.each import each


@each(
    ("needs", "value", "holds"),
    [
        (">= 0.5", 0.5, True),
        (">= 0.5", 0.49, False),
        (">= -1", 0, True),
        ("<= 1e-3", 0.001, True),
        ("<= 1e-3", 0.002, False),
        ("<= -2", -2.0, True),
        ("<= 1e3", 1_001.0, False),
    ],
)
def test_meets_includes_the_bound(needs: str, value: float, holds: bool) -> None:
    assert meets(value, needs) is holds


def test_bound_is_operator_and_number_and_none_of_what_is_no_comparison() -> None:
    assert bound_of(">= 0.3") == Bound(operator=">=", value=0.3)
    assert bound_of("<= 1e-3") == Bound(operator="<=", value=0.001)
    assert bound_of("12.2 to the newest") is None
    assert bound_of("not >= 0.3") is None
