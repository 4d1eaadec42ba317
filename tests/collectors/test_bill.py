"""The bill of the collectors: complete without being written down, and each statement of it described."""

import importlib
import pkgutil
import re

import pytest

from collectors import ondemand
from collectors.bill import accepted, spans, statements, texts
from collectors.ondemand.blockers import of_look
from collectors.registry import collectors, groups, under_older_name
from collectors.release import text_for
from collectors.statement import Statement
from tests.collectors.shipped_sql import VERSIONS


@pytest.mark.parametrize("version", [version for patched in VERSIONS.values() for version in patched])
def test_bill_has_every_text_that_a_poll_sends_to_a_release(version: str) -> None:
    sent = {text_for(one.statements, version) for one in collectors().values()} - {None}
    together = {text.sql for group in groups().values() if (text := group.text(version))}
    assert sent | together <= texts() and sent and together


def test_bill_has_the_texts_for_the_names_of_older_grants() -> None:
    older = [one for one in collectors().values() if one.formerly]
    assert older
    for one in older:
        assert {under_older_name(one, text_for(one.statements, None) or "")} <= texts()


def test_bill_has_every_marked_text_that_a_module_of_ondemand_holds() -> None:
    """A text beside those that the module declares would be refused the first time it is needed: in a hang."""
    marked = {
        value: f"{module.name}.{name}"
        for module in pkgutil.iter_modules(ondemand.__path__, f"{ondemand.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, str) and re.match(r"\s*select /\* latchscope ", value)
    }
    assert len(marked) >= 4
    assert [where for text, where in marked.items() if text not in texts()] == [], "declare it in STATEMENTS"


def test_statement_joins_the_bill_by_being_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Statement("look", "v$new", "select /* latchscope v$new */ a from v$new", "why", "when", "once")
    monkeypatch.setattr("collectors.ondemand.sampling.STATEMENTS", (new,), raising=False)
    statements.cache_clear()
    try:
        assert new in statements()
    finally:
        monkeypatch.undo()
        statements.cache_clear()
    assert new not in statements()


@pytest.mark.parametrize("one", statements())
def test_each_statement_is_described_and_hashed_apart(one: Statement) -> None:
    assert one.why and one.when and one.how_often and one.releases
    assert one.deadline_seconds == (3.0 if of_look(one.text) else 5.0)
    assert [other.name for other in statements() if other.hash == one.hash] == [one.name]


def test_text_of_the_driver_at_login_is_not_accepted_from_a_session() -> None:
    login = Statement("login", "the driver", "alter session set x = 1", "why", "when", "once")
    assert accepted([login, statements()[0]]) == {statements()[0].text}


def test_spans_say_which_releases_a_text_is_for() -> None:
    assert spans(["11.2"]) == {"11.2": "11.2 and later"}
    assert spans(["18", "11.2"]) == {"11.2": "11.2 to below 18", "18": "18 and later"}
