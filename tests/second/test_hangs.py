"""Commands against sessions, judged by worlds that know the truth: see `tests.second.hangs`."""

from collections.abc import Sequence

import pytest

from tests.second.hangs import QUEUE, Counted, watch_worlds
from tests.second.stories import LENGTH, STORIES

WORLDS = 5000
MOST_OF_QUEUES = 0.005
"""The most of all commands that may name who holds the entry of a queue for a moment. The aim is none; 28 of 19,558 did."""


def watched(seeds: Sequence[int], until: float = LENGTH) -> Counted:
    """What was counted, if every command named a session that held, was not killed and waited for nobody."""
    counted = watch_worlds(seeds, until=until)
    assert all(fault.endswith(QUEUE) for fault in counted["wrong"]), "\n".join(counted["story"])
    assert counted["wrong"].total() <= MOST_OF_QUEUES * counted["moments"]["commands"], "\n".join(counted["story"])
    assert not counted["cannot be run"]
    assert counted["moments"]["obeyed"] > 0
    return counted


def test_commands_of_a_few_worlds() -> None:
    watched((6, 7, 9, 10), until=100.0)


@pytest.mark.slow
def test_commands_of_a_drawn_twentieth() -> None:
    counted = watched(range(1, WORLDS + 1, 20))
    assert counted["worlds"].keys() == STORIES.keys()
    assert counted.share >= 0.8, "\n".join(counted["missed"])
