"""The page of a study and its curves: complete, every point in its place, no request, and no text becomes markup."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from service.render.study import StudyBars, StudyCurve, StudyLines, StudyPage, StudyTable
from service.web.pages.study import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, curves, study_html
from tests.service.web.pages.test_export import self_contained

HOSTILE = "<script>alert('x')</script><img src=http://x.example/>&\"'</style>"
PAGE = StudyPage(
    HOSTILE,
    HOSTILE,
    (HOSTILE,),
    (
        StudyTable(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "7"),)),
        StudyLines(HOSTILE, HOSTILE, (StudyCurve(HOSTILE, ((1, 1), (2, 2))),)),
        StudyBars(HOSTILE, HOSTILE, ((HOSTILE, 1.0),)),
    ),
    (HOSTILE,),
)


def test_page_fetches_nothing_and_runs_nothing_whatever_a_table_holds() -> None:
    text = study_html(PAGE, HOSTILE)
    self_contained(text)
    assert "<script" not in text and "<img" not in text
    (style,) = re.findall("<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in text


def test_page_holds_answer_findings_charts_tables_and_limits() -> None:
    page = StudyPage("Title", "Answer.", ("Finding.",), (*PAGE.parts,), ("Limit.",))
    text = study_html(page, "t.csv", datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    parts = ("<title>latchscope: Title, t.csv</title>", "Answer.", "Finding.", "Limit.", "made 2026-03-01 12:30 UTC")
    assert [part for part in parts if part not in text] == []
    assert [text.count(f'<svg class="{kind}"') for kind in ("chart", "amounts")] == [1, 1]
    assert text.count("<table") == 1 and '<td class="n">7</td>' in text


# Curves as SVG


CHART = StudyLines(
    "Misses", "processes", (StudyCurve("one", ((1, 0), (2, 50), (3, 100))), StudyCurve("two", ((1, 100),)))
)


def test_points_lie_between_axes_that_name_as_many_values_as_have_room() -> None:
    found = re.findall(r'<polyline class="([^"]+)" points="([^"]+)"', curves(CHART))
    assert [kind for kind, _ in found] == ["line s1", "line s2"]
    first = [tuple(map(float, place.split(","))) for place in found[0][1].split()]
    assert first[0] == (LEFT, HEIGHT - BOTTOM) and first[-1] == (WIDTH - RIGHT, TOP)
    assert first[1] == ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2)
    assert len(re.findall("<circle", curves(CHART))) == 4
    dense = StudyLines("t", "n", (StudyCurve("c", tuple((float(x), 1.0) for x in range(1, 501))),))
    ticks = re.findall(r'text-anchor="middle">(\d+)<', curves(dense))
    assert 5 < len(ticks) < 80 and ticks[0] == "1"
    assert re.findall(r'text-anchor="middle">(\d+)<', curves(CHART)) == ["1", "2", "3"]
    assert (
        curves(StudyLines("Sleeps", "n", (), log_y=True)) == '<p class="quiet">Sleeps: nothing above zero to draw.</p>'
    )


def test_chart_is_well_formed_and_names_are_escaped() -> None:
    markup = curves(StudyLines(HOSTILE, HOSTILE, (StudyCurve(HOSTILE, ((1, 1), (10, 2))),), log_x=True))
    assert "<script" not in markup
    figure = ET.fromstring(markup)
    assert [item.text or "".join(item.itertext()) for item in figure.iter("li")] == [HOSTILE]
