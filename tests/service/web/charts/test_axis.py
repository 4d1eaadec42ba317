"""The axis below the charts: round moments with a label, known moments at known places, in a wide and a narrow drawing."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from service.state.window import Window
from service.web.charts.axis import NARROW, WIDE, Axis
from tests.each import each

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def axis(length: timedelta) -> Axis:
    return Axis(Window(BEGAN, BEGAN + length))


@each(
    ("length", "first", "count"),
    [
        (timedelta(seconds=50), "12:00:00", 5),
        (timedelta(hours=1), "12:00", 6),
        (timedelta(hours=24), "12:00", 8),
        (timedelta(days=7), "02 Mar", 7),
        (timedelta(days=90), "02 Mar", 7),
    ],
)
def test_ticks_are_round_moments(length: timedelta, first: str, count: int) -> None:
    ticks = axis(length).ticks()
    assert (ticks[0][1], len(ticks)) == (first, count)
    assert len({later[0] - earlier[0] for earlier, later in pairwise(ticks)}) == 1


def test_narrow_drawing_has_fewer_ticks_so_that_they_stay_legible() -> None:
    window = Window(BEGAN, BEGAN + timedelta(hours=1))
    assert len(Axis(window, NARROW).ticks()) < len(Axis(window, WIDE).ticks())


def test_moment_lies_at_its_share_of_the_window_and_outside_on_the_edge() -> None:
    shown = axis(timedelta(seconds=100))
    assert shown.x(BEGAN) == WIDE.left
    assert shown.x(BEGAN + timedelta(seconds=50)) == (WIDE.left + WIDE.edge) / 2
    assert shown.x(BEGAN + timedelta(days=1)) == WIDE.edge
    assert shown.x(BEGAN - timedelta(days=1)) == WIDE.left
