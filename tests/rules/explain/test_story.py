"""The first screen: every state of words.yaml says what not to do, and one slot too few is found."""

import ast
from collections.abc import Iterator

import pytest
import yaml

from rules.explain.story import HOME, FirstScreen, screen
from rules.formatting import slots
from tests.repo.ceilings import trees

ALL = yaml.safe_load(HOME.read_text(encoding="utf-8"))
STATES = {name: said for name, said in ALL.items() if name not in ("labels", "sentences")}


@pytest.mark.parametrize("name", STATES)
def test_every_state_is_filled_and_says_what_not_to_do_as_a_prohibition(name: str) -> None:
    said = STATES[name]
    told = screen(name, **dict.fromkeys(slots(*said.values()), "x"))
    assert {part: getattr(told, part) for part in said} and "{" not in str(told)
    assert told.do_not.startswith("Do not ") or not told.title
    assert told.title or told == FirstScreen(do=told.do), "a sentence that is put into another screen"


def calls() -> Iterator[tuple[str, set[str]]]:
    """Each sentence that the product asks for by name, with the slots that it fills."""
    for path, tree in trees():
        if "explain/story" not in str(path) and "explain.story import" not in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tell" and node.args:
                named = [
                    each.value
                    for each in ast.walk(node.args[0])
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                ]
                yield from ((name, {each.arg for each in node.keywords if each.arg}) for name in named)


def test_every_sentence_is_asked_for_with_its_slots_and_by_no_other_name() -> None:
    sentences, asked = ALL["sentences"], [*calls()]
    assert [(name, filled) for name, filled in asked if not filled >= slots(sentences[name])] == []
    by_name = {"high needs a name", "high needs a sign", "high needs the query"}
    assert {*sentences} == {name for name, _ in asked} | by_name | {"found", "likely", "spoken against"}
