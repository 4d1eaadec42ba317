"""The page of a study: complete, with its charts, no request, and no text of a table becomes markup."""

import base64
import hashlib
import re
from datetime import UTC, datetime

from service.render.study import StudyBars, StudyCurve, StudyLines, StudyPage, StudyTable
from service.web.pages.study import study_html
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


def test_policy_of_the_page_allows_its_own_style_and_nothing_else() -> None:
    text = study_html(PAGE, "t.csv")
    (style,) = re.findall("<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in text


def test_page_holds_answer_findings_charts_tables_and_limits() -> None:
    page = StudyPage("Title", "Answer.", ("Finding.",), (*PAGE.parts,), ("Limit.",))
    text = study_html(page, "t.csv", datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    for words in (
        "<title>latchscope: Title, t.csv</title>",
        "Answer.",
        "Finding.",
        "Limit.",
        "made 2026-03-01 12:30 UTC",
    ):
        assert words in text, words
    assert (
        text.count('<svg class="chart"') + text.count('<svg class="amounts"') == 2
        and len(re.findall("<table", text)) == 1
    )
    assert '<td class="n">7</td>' in text
