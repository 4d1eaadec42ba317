"""The first screen: every state of words.yaml says what not to do, and one slot too few is found."""

import pytest
import yaml

from rules.explain.story import HOME, FirstScreen, screen
from rules.formatting import slots

ALL = yaml.safe_load(HOME.read_text(encoding="utf-8"))
STATES = {name: said for name, said in ALL.items() if name not in ("labels", "sentences")}


@pytest.mark.parametrize("name", STATES)
def test_every_state_is_filled_and_says_what_not_to_do_as_a_prohibition(name: str) -> None:
    said = STATES[name]
    told = screen(name, **dict.fromkeys(slots(*said.values()), "x"))
    assert {part: getattr(told, part) for part in said} and "{" not in str(told)
    assert told.do_not.startswith("Do not ") or not told.title
    assert told.title or told == FirstScreen(do=told.do), "a sentence that is put into another screen"
