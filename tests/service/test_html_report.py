"""The page to be mailed: all of a Diagnosis, nothing fetched, no script, and nothing from a file becomes markup."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from collectors.errors import InputError
from collectors.model import Changes, Delta
from rules.catalogue import catalogue
from rules.engine import diagnose
from service.html_report import as_html
from service.inputs import Diagnosed, Outcome, diagnose_all

REPORTS = Path(__file__).parents[1] / "recordings" / "reports"
HOSTILE = "<script>alert('x')</script><img src=http://x.example/>&\"'</style>"
LOADS = {
    "src",
    "srcset",
    "href",
    "data",
    "action",
    "formaction",
    "poster",
    "background",
    "ping",
    "manifest",
    "xlink:href",
}


class Tags(HTMLParser):
    """Every tag with its attributes, and the text of each style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style" and data.strip():
            self.styles.append(data)


@pytest.fixture(scope="module")
def week() -> Outcome:
    return diagnose_all([str(REPORTS / f"day-{day}.txt") for day in range(1, 6)])


def self_contained(text: str) -> None:
    page = Tags(text)
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe", "object", "embed", "base", "form")]
    for tag, attributes in page.tags:
        assert not LOADS & set(attributes), tag
        assert "style" not in attributes and not any(name.startswith("on") for name in attributes), tag
    assert not any("url(" in one or "@import" in one for one in page.styles)
    policy = next(one["content"] for tag, one in page.tags if tag == "meta" and "http-equiv" in one)
    assert policy is not None and "default-src 'none'" in policy and "unsafe" not in policy
    (style,) = page.styles[:1]
    inner = re.search(r"<style>(.*?)</style>", text, re.S)
    assert inner is not None and style
    assert base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode() in policy


def test_one_report_is_told_whole(incident: Path) -> None:
    outcome = diagnose_all([str(incident)])
    text = as_html(outcome)
    self_contained(text)
    told = outcome.told[0].diagnosis
    finding = told.findings[0]
    for word in (
        *(one.step for one in told.steps), *(one.signal for one in finding.evidence), "kqrpre: find obj", "14,838",
        "select count(*) from dba_rollback_segs", "ORA-30013", "Large but partial", "Ruled out", "Could not be judged",
        *(one.missing for one in told.undetermined), "Dictionary cache gets", "sleeps by the location that held it",
    ):  # fmt: skip
        assert word in text, word
    for one in (*told.ruled_out, *told.undetermined):
        if getattr(one, "signal", "") not in ("release", "mechanism"):
            assert catalogue()[one.cause].title.split("'")[0] in text, one.cause
    assert not re.search(r">\s*(None|nan|Undefined)\s*<", text)


def test_several_reports_have_a_table_and_a_chart_with_the_first_bad_interval(week: Outcome) -> None:
    text = as_html(week)
    self_contained(text)
    assert text.count('<rect class="bar bad"') == 2, "in the chart of the share, and in that of the sleeps"
    assert "the first bad interval" in text and "5 periods" in text
    assert len(re.findall(r"<tr><td>[^<]*day-\d\.txt</td>", text)) == 5
    for note in week.told[0].diagnosis.notes:
        assert note.split("'")[0][:40] in text


def test_what_could_not_be_read_is_said_on_the_page(week: Outcome) -> None:
    outcome = Outcome(week.told, [InputError("a.html is damaged")], ["b.log is not ours"], 6)
    text = as_html(outcome)
    assert "<li>a.html is damaged</li><li>b.log is not ours</li>" in text


def test_nothing_from_a_file_becomes_markup(week: Outcome) -> None:
    hostile = [_hostile(one) for one in week.told]
    text = as_html(Outcome(hostile, [InputError(HOSTILE)], [HOSTILE], 7))
    self_contained(text)
    assert HOSTILE not in text and "<img" not in text and "<script" not in text
    assert text.count("</style>") == 1
    assert "&lt;script&gt;alert" in text


def _hostile(one: Diagnosed) -> Diagnosed:
    assert isinstance(one.change, Delta)
    readings = {
        view: Changes(view, tuple(_renamed(row) for row in reading.rows), (HOSTILE,))
        if isinstance(reading, Changes) and view in ("v$rowcache", "v$latch_misses")
        else reading
        for view, reading in one.change.readings.items()
    }
    change = replace(one.change, database=HOSTILE, release=HOSTILE, readings=readings, notes=(HOSTILE,))
    return Diagnosed(f"{one.name}{HOSTILE}", change, diagnose(change))


def _renamed(row):  # type: ignore[no-untyped-def]
    return {name: f"{value}{HOSTILE}" if name in ("parameter", "location") else value for name, value in row.items()}


def test_the_same_inputs_give_the_same_bytes(week: Outcome) -> None:
    assert as_html(week) == as_html(week)
