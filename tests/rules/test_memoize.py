"""Cached answers: per object and arguments, even if the answer is None."""

from rules.base import remembered


class Counting:
    """Counts how often it computes something."""

    def __init__(self, least: int) -> None:
        self.least, self.worked = least, 0

    @remembered
    def over(self, number: int) -> int | None:
        """The number where it is large enough."""
        self.worked += 1
        return number if number >= self.least else None


def test_answer_is_worked_out_once_per_object_and_arguments() -> None:
    low, high = Counting(1), Counting(5)
    assert [low.over(3), low.over(3), low.over(0), low.over(0)] == [3, 3, None, None]
    assert (low.worked, high.worked) == (2, 0)
    assert (high.over(3), high.worked) == (None, 1)
    assert Counting.over.__doc__ == "The number where it is large enough."
