"""Small pictures: lengths match values, an unknown value is a gap, text stays text."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest

from service.web.charts.sparklines import (
    BAR_NAMES,
    BAR_WIDTH,
    FLOOR,
    SPARK_WIDTH,
    SparkMarks,
    arrow,
    bar,
    bars,
    bullet,
    scale,
    spark,
    spark_top,
)

HOSTILE = '<b>&"'


def rects(markup: str, kind: str) -> Sequence[ET.Element]:
    """The rectangles of a class, of the first drawing."""
    drawing = ET.fromstring(re.search(r"<svg.*?</svg>", markup, re.S)[0])  # type: ignore[index]
    return [one for one in drawing.iter("rect") if kind in (one.get("class") or "").split()]


def test_spark_has_a_gap_where_not_known_is_grey_if_fine_and_shares_its_top() -> None:
    markup = spark([None, 40.0, 0.0, None], HOSTILE, SparkMarks("critical", since=0.5))
    gaps = [(one.get("x"), one.get("width")) for one in rects(markup, "gap")]
    assert gaps == [("0.0", f"{SPARK_WIDTH / 4:.1f}"), (f"{SPARK_WIDTH * 3 / 4:.1f}", f"{SPARK_WIDTH / 4:.1f}")]
    assert [one.get("x") for one in rects(markup, "band")] == [f"{SPARK_WIDTH / 2:.1f}"]
    line = ET.fromstring(markup).find(".//path[@class='line thin']")
    assert line is not None and line.get("d") == f"M56.2 4.0L93.8 {FLOOR}.0"
    markup = spark([0.0, 0.0], "fine", SparkMarks("fine"))
    assert 'class="line thin calm"' in markup
    assert not re.search('class="(area|dot|band)', markup)
    assert spark_top([[31.9, None], [0.0]]) == 40.0
    assert spark_top([[84.5]]) == 100.0


@pytest.mark.parametrize(("share", "width"), [(0.319, "31.90"), (2.0, "100.00"), (-1.0, "0.00")])
def test_bar_is_as_long_as_its_share_of_the_whole(share: float, width: str) -> None:
    assert rects(bar(share, "critical"), "fill")[0].get("width") == width


def test_bars_give_the_colour_of_the_state_to_the_hot_one_alone() -> None:
    markup = bars([("dc_rollback_segments_x", 0.8, "80 %", True), (HOSTILE, 0.4, "40 %", False)], "critical")
    assert [one.get("width") for one in rects(markup, "critical")] == [f"{BAR_WIDTH - BAR_NAMES:.1f}"]
    assert [one.get("width") for one in rects(markup, "s5")] == [f"{(BAR_WIDTH - BAR_NAMES) / 2:.1f}"]
    assert "<b>" not in markup and "dc_rollback_segmen…" in markup


def test_bullet_has_zero_and_its_bound_where_they_lie_beside_the_value() -> None:
    drawing = ET.fromstring(bullet(100.0, 50.0, (0.0, 20.0), HOSTILE, "critical", ("50", ""), width=218))
    bound, value = drawing.find("line"), drawing.find("rect[@class='fill critical']")
    assert bound is not None and value is not None
    assert (float(bound.get("x1", 0)), float(value.get("width", 0))) == (100.0, 200.0)
    heights = {one.get("class"): float(one.get("height", 0)) for one in drawing.iter("rect")}
    assert heights["usual"] < heights["fill critical"] / 2, "a range is no bar"
    assert drawing.find("path").get("d", "").startswith("M200.0 ")  # type: ignore[union-attr]
    drawing = ET.fromstring(bullet(0.0, 0.01, None, "none", "fine", ("0.01", "")))
    assert [one.text for one in drawing.iter("text")] == ["0", "0.01"]


def test_scale_points_at_the_band_the_result_lies_in() -> None:
    bands = [(0.0, "ordinary"), (500.0, "seen healthy"), (10_000.0, "strong evidence")]
    drawing = ET.fromstring(scale(250.0, bands))
    assert [one.get("class") for one in drawing.iter("rect")] == ["usual", "track", "fill critical"]
    pointer = drawing.find("path")
    assert pointer is not None and pointer.get("d", "").startswith(f"M{340 / 6:.1f} ")
    assert ET.fromstring(scale(None, bands)).find("path") is None


def test_arrow_points_from_before_to_after_on_a_log_scale() -> None:
    drawing = ET.fromstring(arrow(1000.0, 10.0, 1.0, 10_000.0, HOSTILE))
    ring, head = drawing.find("circle"), drawing.find("path")
    assert ring is not None and head is not None
    assert float(ring.get("cx", 0)) == pytest.approx(8 + 0.75 * 244, abs=0.1)
    assert head.get("d", "").startswith(f"M{8 + 0.25 * 244:.1f} 11l9 ")
    assert ET.fromstring(arrow(5.0, 0.0, 1.0, 10.0, "gone")).find("path").get("d", "").startswith("M8.0 11")  # type: ignore[union-attr]
