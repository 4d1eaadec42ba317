"""`python -m bench capacity`: a row that fails costs itself alone."""

from pathlib import Path

import pytest
from rich.console import Console

from bench import capacity
from bench._capacity_service import Run, Watch


def test_row_that_fails_is_named_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def opened(run: Run, tree: Path) -> Watch:
        if run.hung:
            raise RuntimeError("the service did not start: no port is free")
        return Watch(run.databases, seconds=10.0, polls=run.databases, polled=run.databases, processor=5.0)

    monkeypatch.setattr(capacity, "opened", opened)
    table = capacity._open_table(capacity.RUNS, capacity.HOME)
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
