"""`python -m bench capacity`: a row that fails costs only itself, and a machine that changes its speed changes no ratio."""

from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from bench import _capacity_profile, capacity
from bench._capacity_closed import TURNS, Window
from bench._capacity_profile import GARBAGE, REST, Profile
from bench._capacity_service import HOME, Run, Watch


def test_row_that_fails_is_named_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def opened(run: Run, tree: Path) -> Watch:
        if run.hung:
            raise RuntimeError("the service did not start: no port is free")
        return Watch(run.databases, seconds=10.0, polls=run.databases, polled=run.databases, processor=5.0)

    monkeypatch.setattr(capacity, "opened", opened)
    table, _ = capacity._open_tables(capacity.RUNS, HOME)
    with (console := Console(width=200)).capture() as captured:
        console.print(table)
    lines = captured.get().splitlines()
    told = capsys.readouterr().err
    for run in capacity.RUNS:
        (row,) = [
            line
            for line in lines
            if line.strip().startswith(f"{run.what}, {run.databases} ") and "RuntimeError" not in line
        ]
        assert ("failed" in row) == bool(run.hung), row
        assert f"{run.what}, {run.databases} …\n" in told, "as it comes"
    assert "half of them hung, 300 failed: RuntimeError: the service did not start: no port is free" in captured.get()
    assert any("twice overloaded ÷ best" in line and "2.00" in line for line in lines)


def test_ratio_of_the_closed_loop_compares_windows_of_the_same_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(counts: Sequence[int], troubled: float, seconds: float) -> dict[int, list[Window]]:
        speeds = [1.0, 0.4, 0.4, 1.4, 1.0]  # of the machine; in the second turn it slows down after the first window
        later = [1.0, 0.1, 0.4, 1.4, 1.0]
        assert len(speeds) == TURNS
        return {
            1: [_window(200 * speed) for speed in speeds],
            100: [_window(180 * speed) for speed in later],
        }

    monkeypatch.setattr(capacity, "closed", closed)
    with (console := Console(width=200)).capture() as captured:
        console.print(capacity._closed_table([1, 100], 5.0))
    rows = [line.split() for line in captured.get().splitlines() if line.strip().startswith("storm, ")]
    assert [row[4] for row in rows] == ["1.00", "0.90"]


def test_profile_counts_a_step_without_the_steps_within_it() -> None:
    profile = Profile()

    def busy(rounds: int) -> None:
        sum(range(rounds))

    inner = profile.around("inner", lambda: busy(4_000_000))
    outer = profile.around("outer", lambda: (inner(), busy(400)))
    outer()
    profile.collects("start", {})
    profile.collects("stop", {})
    told = profile.told()
    assert told["inner"] > 100 * told["outer"] > 0.0
    assert told[GARBAGE] > 0.0 and set(told) == {"inner", "outer", GARBAGE, REST}


def test_profile_counts_a_step_that_fails_and_one_in_progress() -> None:
    profile = Profile()

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        profile.around("failing", fail)()
    profile.enter("going on")
    sum(range(20_000_000))
    assert profile.told()["going on"] > profile.told()["failing"] > 0.0


def test_steps_of_the_profile_are_functions_of_the_service() -> None:
    places = [place.partition(":") for place in _capacity_profile.STEPS]
    lacking = [
        path for module, _, path in places if not callable(reduce(getattr, path.split("."), import_module(module)))
    ]
    assert lacking == []


def _window(polls: float) -> Window:
    """A window of one second of processor."""
    return {"polls": int(polls), "processor": 1.0, "seconds": 1.0, "threads": 4, "steps": {}}
