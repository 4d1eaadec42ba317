"""Each time the script passes its change, the store gets one mark."""

from datetime import timedelta

import pytest

from collectors.demo.scenarios import scenarios
from service.history.demo_marks import DemoMarks
from service.store.repository import Repository
from tests.service.marked import DB, MARKED, at

SCRIPT = scenarios()[DB]


def found(store: Repository) -> list[float]:
    marks = store.marks.between(DB, at(0), at(9999)).items
    return sorted((one.at - at(0)).total_seconds() for one in marks)


def test_demo_marks_mark_each_loop_once(store: Repository) -> None:
    marks = DemoMarks(store, dict(scenarios()), at(0))
    for moment, expected in ((139, []), (140, [MARKED]), (141, [MARKED]), (SCRIPT.length + 139, [MARKED])):
        marks.do(at(moment))
        assert found(store) == expected
    marks.do(at(2 * SCRIPT.length + 150))
    assert found(store) == [MARKED, MARKED + SCRIPT.length, MARKED + 2 * SCRIPT.length]


def test_demo_marks_catch_up_after_a_failed_round(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = DemoMarks(store, {DB: SCRIPT}, at(0))
    with monkeypatch.context() as broken:
        broken.setattr(store.marks, "add", lambda *mark: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            marks.do(at(200))
    marks.do(at(200) + timedelta(seconds=1))
    assert found(store) == [MARKED]


def test_demo_mark_is_at_the_turn_of_the_script() -> None:
    from collectors.demo.load import ScenarioState

    before, after = (ScenarioState(SCRIPT, second, at(0)).load for second in (MARKED - 1, MARKED + 16))
    assert before.children[1].sleeps > 100 * after.children[1].sleeps
    assert SCRIPT.length > MARKED
