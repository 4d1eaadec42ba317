"""Commands against sessions, judged by worlds that know the truth: see `tests.second.hangs`."""

import pytest

from tests.second.hangs import Counted, watch_worlds
from tests.second.stories import STORIES

WORLDS = 5000
TINY = (105, 116, 133)
"""Worlds of `make test`: a holder that works, one whose process dies, and a queue that moves beside a hang."""


def assert_clean(counted: Counted) -> None:
    """Every command named a session that held, was not killed and waited for nobody, when it was seen and when it was obeyed."""
    assert not counted.wrong, "\n".join(counted.stories)
    assert not counted.problems
    assert counted.obeyed > 0


def test_commands_of_a_few_worlds() -> None:
    assert_clean(watch_worlds(TINY))


@pytest.mark.slow
def test_commands_of_a_drawn_twentieth() -> None:
    counted = watch_worlds(range(1, WORLDS + 1, 20))
    assert_clean(counted)
    assert counted.worlds.keys() == STORIES.keys()
    assert counted.share >= 0.8, "\n".join(counted.missed)
