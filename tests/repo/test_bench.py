"""Every benchmark runs, in its tiny form, and its tables hold figures. No speed is asserted."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rich.console import Group
from rich.table import Table

from bench import __main__ as bench
from bench import _stores
from tests.service.stores import Postgres

WRONG = re.compile(r"\b(?:nan|inf|None|failed)\b(?!-)")  # causes are named failed-parses and the like


def tables(drawn: object) -> Iterator[Table]:
    """The tables that `figures()` returned."""
    for part in drawn.renderables if isinstance(drawn, Group) else [drawn]:
        assert isinstance(part, Table)
        yield part


@pytest.fixture
def _shared_postgresql(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark uses the server of the tests instead of its own."""

    @contextmanager
    def server() -> Iterator[Postgres]:
        yield request.getfixturevalue("postgres")

    monkeypatch.setattr(_stores, "server", server)


@pytest.mark.slow
@pytest.mark.usefixtures("_shared_postgresql")
@pytest.mark.parametrize("name", bench.names())
def test_tiny_form_runs_and_its_tables_hold_figures(name: str) -> None:
    module = importlib.import_module(f"bench.{name}")
    drawn = list(tables(module.figures(module.TINY.split())))
    assert drawn
    for table in drawn:
        rows = [[str(cell) for cell in row] for row in zip(*(column.cells for column in table.columns), strict=True)]
        assert rows and all(row[0] for row in rows), table.title
        figures = [row[1:] if " → " in row[0] else row for row in rows]  # a changed line of code has words of its own
        assert [row for row in figures if any(map(WRONG.search, row))] == []
        assert any(re.search(r"\d", cell) for row in rows for cell in row), table.title


@pytest.mark.parametrize(("way", "first", "later"), [("grouped", "8", "3"), ("single", "20", "12")])
def test_poll_sends_as_many_statements_as_the_service(way: str, first: str, later: str) -> None:
    table = importlib.import_module("bench.poll").figures(["--polls", "2", "--statements", way])
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    assert [row[1:] for row in rows[:3]] == [(first, later, first, later)] * 3


def test_benchmarks_say_their_options_and_refuse_what_they_do_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        *(([name, "--help"], f"python -m bench {name}") for name in bench.names()),
        (["nothing"], "no benchmark named nothing"),
        (["--polls=2"], "belong to one benchmark"),
    ):
        with pytest.raises(SystemExit):
            bench.main(words)
        assert said in "".join(capsys.readouterr())
