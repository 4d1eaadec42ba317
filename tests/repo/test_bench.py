"""Every benchmark runs, in its tiny form, and its tables have their columns, their rows, and figures. No speed is asserted."""

import importlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from rich.console import Group
from rich.table import Table

from bench import __main__ as bench
from bench import _stores, fleet
from bench._capacity_loop import STEPS
from bench._truth_tables import HALVES
from service.watch import pipeline
from tests.service.stores import Postgres
from tests.truth.by_sight import HEADS
from tests.truth.sights import KINDS

FIGURE = re.compile(r"\d|^–$")
WRONG = re.compile(r"\b(?:nan|inf|None|failed)\b(?!-)")  # causes are named failed-parses and the like


@dataclass(frozen=True)
class Shape:
    """A table: its column heads, its number of rows, and the columns that hold figures in every row."""

    heads: str
    rows: int | None
    """None: what is found decides."""
    figures: tuple[int, ...]


PANELS = len(fleet.board()) if all(map(shutil.which, fleet.PROGRAMS)) else 1
"""Rows: the panels of the board, or that the programs are not installed."""
OPEN = "open loop|polls/s of|gap p50, p99 s|cores|cpu ms a poll|SQL|/metrics s|queue s|RSS MB|threads|files"
SHAPES: Mapping[str, tuple[Shape, ...]] = {
    "capacity": (
        Shape("closed loop|cpu ms per poll, by step", 1, (1,)),
        Shape(OPEN, 1, tuple(range(1, 11))),
        Shape("cpu ms a poll, by step|whole service, 1", None, (1,)),
    ),
    "fleet": (
        Shape("panel|queries|p50 s|p95 s|most s|processor s|series", PANELS, (1, 2, 3, 4, 5, 6)),
        Shape("what|figure", None, (1,)),
    ),
    "history": (Shape("figure|sqlite|postgresql|goal", 9, (1, 2)),),
    "leases": (Shape("figure|measured|goal", 5, (1,)),),
    "logs": (Shape("what|figure|goal for 1,000 MB", 5, (1,)),),
    "metrics": (
        Shape(
            "databases|series|MB|p50|p99|HTTP p50|HTTP p99|stock p50|ratio|render/db", 1, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        ),
    ),
    "model": (Shape("test|figure|measured|bound|cases|", 2, (2, 3, 4)),),
    "mutants": (Shape("mutant|drawn from|tests|verdict|by|s", 4, (5,)),),
    "pages": (Shape("page|processor ms|KB|KB compressed", 6, (1, 2, 3)),),
    "poll": (Shape("what|healthy, first|healthy, later|storm, first|storm, later", 17, (2, 4)),),
    "record": (Shape("figure|measured", 11, (1,)),),
    "reports": (Shape("what|HTML|text", 10, (1, 2)),),
    "truth": (
        *(Shape("part|n|right|kin|honest|silent|wrong|false", 6, tuple(range(1, 8))) for _ in HALVES),
        Shape("hidden|n|right|kin|honest|silent|wrong|false", 1, tuple(range(1, 8))),
        Shape(f"what|{'|'.join(HALVES)}", None, (1,)),
        Shape(f"what|{'|'.join(HALVES)}", 12, (1, 2)),
        *(Shape("label|n|strictly right|95 % interval|right or kin", None, (1, 2, 3, 4)) for _ in HALVES),
        Shape("cause|n|right|kin|honest|silent|wrong|why", 1, tuple(range(1, 7))),
        Shape("cause|n|right, even|right, back|cache|why not (even seeds)|untrue (even seeds)", 3, (1, 2, 3, 4)),
        Shape("instances|n|p50|p99|max|largest", 1, (1, 2, 3, 4)),
        Shape("|".join(HEADS), len(KINDS), tuple(range(1, 11))),
        Shape("case|its role, its cache|its figures support|said|cost|same", 35, (0,)),
        Shape(
            "case|release|right are|verdict|said|cost|variants held|right|honest|wrong|missed", 22, tuple(range(6, 11))
        ),
        Shape("incident|form|right are|verdict|said|cost", 20, ()),
    ),
}


def tables(drawn: object) -> Iterator[Table]:
    """The tables that `figures()` returned."""
    for part in drawn.renderables if isinstance(drawn, Group) else [drawn]:
        assert isinstance(part, Table)
        yield part


def wrong(table: Table, shape: Shape) -> Iterator[str]:
    """What is wrong about a table, one line each."""
    if (heads := "|".join(str(column.header) for column in table.columns)) != shape.heads:
        yield f"heads are {heads}"
    if shape.rows is not None and table.row_count != shape.rows:
        yield f"{table.row_count} rows, not {shape.rows}"
    for place, column in enumerate(table.columns):
        for cell in map(str, column.cells):
            if WRONG.search(cell) or (place in shape.figures and not FIGURE.search(cell)):
                yield f"{column.header}: {cell!r} is not a figure"


@pytest.fixture
def _shared_postgresql(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark uses the server of the tests instead of its own."""

    @contextmanager
    def server() -> Iterator[Postgres]:
        yield request.getfixturevalue("postgres")

    monkeypatch.setattr(_stores, "server", server)


@pytest.mark.usefixtures("_shared_postgresql")
@pytest.mark.parametrize("name", bench.names())
def test_tiny_form_runs_and_its_tables_have_their_shape(name: str) -> None:
    module = importlib.import_module(f"bench.{name}")
    drawn = list(tables(module.figures(module.TINY.split())))
    assert len(drawn) == len(SHAPES[name])
    found = [line for table, shape in zip(drawn, SHAPES[name], strict=True) for line in wrong(table, shape)]
    assert found == []
    assert all(str(cell) for table in drawn for cell in table.columns[0].cells)


def test_table_of_another_shape_is_noticed() -> None:
    table = Table("what", "ms")
    table.add_row("one", "1.5")
    assert list(wrong(table, Shape("what|ms", 1, (1,)))) == []
    assert list(wrong(table, Shape("what|seconds", 2, (1,)))) == ["heads are what|ms", "1 rows, not 2"]
    table.add_row("two", "failed")
    table.add_row("three", "")
    assert list(wrong(table, Shape("what|ms", 3, (1,)))) == [
        "ms: 'failed' is not a figure",
        "ms: '' is not a figure",
    ]


def test_poll_sends_as_many_statements_as_the_service() -> None:
    poll = importlib.import_module("bench.poll")
    for way, first, later in (("grouped", "8", "3"), ("single", "20", "12")):
        table = poll.figures(["--polls", "2", "--statements", way])
        rows = list(zip(*(column.cells for column in table.columns), strict=True))
        assert [row[1:] for row in rows[:3]] == [(first, later, first, later)] * 3, way


def test_steps_of_the_closed_loop_are_functions_of_the_pipeline() -> None:
    assert [step for step in STEPS if not callable(getattr(pipeline, step, None))] == []


def test_every_benchmark_says_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    for name in bench.names():
        with pytest.raises(SystemExit):
            bench.main([name, "--help"])
        assert f"python -m bench {name}" in capsys.readouterr().out


def test_unknown_benchmark_and_option_without_a_benchmark_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in ((["nothing"], "no benchmark named nothing"), (["--polls=2"], "belong to one benchmark")):
        with pytest.raises(SystemExit):
            bench.main(words)
        assert said in capsys.readouterr().err
