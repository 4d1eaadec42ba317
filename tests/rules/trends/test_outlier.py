"""Whether a rate leaves the ordinary range of others: a hundredfold does, four times three close values does not."""

from rules.trends.outlier import stands_out
from tests.each import each


@each(
    ("rate", "others", "out"),
    [
        (100.0, (1.0, 1.1, 0.9), True),
        (4.0, (1.0, 1.1, 0.9), False),
        (4.0, (1.0, 1.1, 0.9) * 8, True),
        (2.9, (1.0,) * 200, False),
        (30.0, (1.0, 9.0, 0.2, 14.0), False),
        (0.1, (1.0, 1.1, 0.9), False),
    ],
)
def test_rate_stands_out_by_what_the_others_vary(rate: float, others: tuple[float, ...], out: bool) -> None:
    assert stands_out(rate, others, 3600.0) is out


def test_next_to_no_events_are_all_alike() -> None:
    assert not stands_out(9.0 / 3600, (0.0, 0.0, 0.0, 0.0), 3600.0), "nine sleeps in an hour after none"
    assert stands_out(900.0 / 3600, (0.0, 0.0, 0.0, 0.0), 3600.0)
