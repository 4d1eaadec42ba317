"""Held-out rows: the study predicts a latch that follows the model. The machine's part comes from the reference alone."""

from collections.abc import Mapping

import pytest

from rules.contention.queueing import latch_state
from rules.studies.held_out import HeldOut
from rules.studies.scaling import scaling_study
from tests.paths import TABLES

SPEED = {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.8, 6: 0.7, 8: 0.5}
"""A machine that slows down just where the fitted rows end."""


def check(header: str, processes: Mapping[int, float], hold: float = 2e-6) -> HeldOut | None:
    think, lines = 20e-6, ["processes,throughput,gets,misses,sleeps,seconds,reference", ""]
    lines[0] = header
    for n, speed in processes.items():
        state = latch_state(n, hold / think)
        gets = float(state.held[0]) / hold * 10 * speed
        lines.append(f"{n},{gets / 10},{gets},{gets * float(state.miss_ratio[0])},0,10,{1000 * n * speed}")
    (group,) = scaling_study("\n".join(lines), "t.csv").groups
    return group.held_out


FULL = "processes,throughput,gets,misses,sleeps,seconds,reference"


def test_rows_of_a_latch_that_follows_the_model_are_predicted_at_the_speed_of_the_reference() -> None:
    found = check(FULL, SPEED)
    assert found is not None
    assert found.fitted == (2, 3, 4) and [row.processes for row in found.rows] == [5, 6, 8]
    assert found.most_error < 0.02 and found.inside == 3
    assert abs(found.median_miss_error) < 0.05


@pytest.mark.parametrize("without", ["seconds", "reference"])
def test_nothing_is_predicted_without_the_time_or_the_machine(without: str) -> None:
    assert check(FULL.replace(without, "unnamed"), SPEED) is None


def test_nothing_is_predicted_from_fewer_than_three_rows() -> None:
    assert check(FULL, {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}) is None


def test_saturated_latch_gives_bounds_only_and_no_check() -> None:
    assert check(FULL, SPEED, hold=2e-3) is None


def test_published_throughput_is_predicted_from_two_to_six_processes() -> None:
    text = (TABLES / "result-cache-scaling.csv").read_text(encoding="utf-8")
    for group in scaling_study(text, "rc.csv").groups[:2]:
        assert group.held_out is not None and group.held_out.fitted == (2, 3, 4, 5, 6)
        assert group.held_out.median_error <= 0.015 and group.held_out.most_error <= 0.03, group.name
        assert group.held_out.inside == 6
