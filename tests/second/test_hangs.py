"""Commands against sessions, judged by worlds that know the truth: see `tests.second.hangs`."""

import pytest

from tests.second.hangs import Counted, watch_worlds
from tests.second.stories import LENGTH, STORIES

WORLDS = 5000


def watched(seeds: range, until: float = LENGTH) -> Counted:
    """What was counted, if every command named a session that held, was not killed and waited for nobody."""
    counted = watch_worlds(seeds, until=until)
    assert not counted["wrong"], "\n".join(counted["story"])
    assert not counted["cannot be run"]
    assert counted["moments"]["obeyed"] > 0
    return counted


def test_commands_of_a_few_worlds() -> None:
    watched(range(5, 11), until=110.0)


@pytest.mark.slow
def test_commands_of_a_drawn_twentieth() -> None:
    counted = watched(range(1, WORLDS + 1, 20))
    assert counted["worlds"].keys() == STORIES.keys()
    assert counted.share >= 0.8, "\n".join(counted["missed"])
