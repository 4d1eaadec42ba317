"""The page to mail: all of a Diagnosis, no request, no script, and no text of a file becomes markup."""

import base64
import hashlib
import html
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import pytest

from collectors.errors import InputError
from collectors.model import Changes, Delta
from rules.cause import catalogue
from rules.engine import diagnose
from service.intake.inputs import DiagnosedInput, InputResults, diagnose_all
from service.web.pages.export import as_html
from tests.paths import REPORTS

HOSTILE = "<script>alert('x')</script><img src=http://x.example/>&\"'</style>"
LOADS = {
    "src",
    "srcset",
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
def week() -> InputResults:
    return diagnose_all([str(REPORTS / f"day-{day}.txt") for day in range(1, 6)])


def self_contained(text: str) -> None:
    page = Tags(text)
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe", "object", "embed", "base", "form")]
    for tag, attributes in page.tags:
        assert not LOADS & set(attributes), tag
        link = attributes.get("href")
        assert link is None or (tag == "a" and link.startswith("https://") and attributes["rel"] == "noreferrer")
        assert "style" not in attributes and not any(name.startswith("on") for name in attributes), tag
    assert not any("url(" in one or "@import" in one for one in page.styles)
    policy = next(one["content"] for tag, one in page.tags if tag == "meta" and "http-equiv" in one)
    assert policy is not None and "default-src 'none'" in policy and "unsafe" not in policy
    (style,) = page.styles[:1]
    inner = re.search(r"<style>(.*?)</style>", text, re.S)
    assert inner is not None and style
    assert base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode() in policy


def test_html_of_one_report_is_complete(incident: Path) -> None:
    outcome = diagnose_all([str(incident)])
    text = as_html(outcome)
    self_contained(text)
    told = outcome.diagnosed[0].diagnosis
    finding = told.findings[0]
    for word in (
        *(one.step for one in told.steps[:4]), *(one.signal for one in finding.evidence), "kqrpre: find obj", "14,838",
        "select count(*) from dba_rollback_segs", "ORA-30013", "Large but partial", "Ruled out", "Cannot tell",
        "Dictionary cache gets", "sleeps by the location that held it",
    ):  # fmt: skip
        assert word in text, word
    judged = [one.cause for one in told.ruled_out if one.signal not in ("release", "mechanism")]
    for cause in (*judged, *(one.cause for one in told.undetermined)):
        assert catalogue()[cause].name.split("'")[0] in text, cause
    assert not re.search(r">\s*(None|nan|Undefined)\s*<", text)


def test_html_of_several_reports_has_a_table_by_time(week: InputResults) -> None:
    text = as_html(week)
    self_contained(text)
    days = re.findall(r'<tr class="(\w+)"><td data-l="\w+">(day-\d)\.txt</td>', text)
    assert [day for _, day in days] == [f"day-{number}" for number in range(1, 6)] and "5 periods" in text
    assert [state for state, _ in days] == ["fine", "fine", "critical", "critical", "critical"]
    for note in week.diagnosed[0].diagnosis.notes:
        assert note.split("'")[0][:40] in text


def test_html_lists_what_could_not_be_read(week: InputResults) -> None:
    outcome = InputResults(week.diagnosed, [InputError("a.html is damaged")], ["b.log is not ours"], 6)
    text = as_html(outcome)
    assert "<li>a.html is damaged</li><li>b.log is not ours</li>" in text


def test_html_escapes_everything_from_a_file(week: InputResults) -> None:
    hostile = [_hostile(one) for one in week.diagnosed]
    text = as_html(InputResults(hostile, [InputError(HOSTILE)], [HOSTILE], 7))
    self_contained(text)
    assert HOSTILE not in text and "<img" not in text and "<script" not in text
    assert text.count("</style>") == 1
    assert "&lt;script&gt;alert" in text


def _hostile(one: DiagnosedInput) -> DiagnosedInput:
    assert isinstance(one.change, Delta)
    readings = {
        view: Changes(view, tuple(_renamed(row) for row in reading.rows), (HOSTILE,))
        if isinstance(reading, Changes) and view in ("v$rowcache", "v$latch_misses")
        else reading
        for view, reading in one.change.readings.items()
    }
    change = replace(one.change, database=HOSTILE, release=HOSTILE, readings=readings, notes=(HOSTILE,))
    return DiagnosedInput(f"{one.name}{HOSTILE}", change, diagnose(change))


def _renamed(row):  # type: ignore[no-untyped-def]
    return {name: f"{value}{HOSTILE}" if name in ("parameter", "location") else value for name, value in row.items()}


def test_html_is_the_same_bytes_for_the_same_inputs(week: InputResults) -> None:
    made = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    assert as_html(week, made) == as_html(week, made)


def test_html_head_says_of_what_when_and_by_which_version(week: InputResults) -> None:
    text = as_html(week, datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    assert "<title>latchscope: ORDERS, 2025-03-13 08:00 to 13:00</title>" in text
    assert f"made 2026-03-01 12:30 UTC by latchscope {version('latchscope')}" in text
    for words in ("<dt>Host</dt><dd>db-node-a</dd>", "<dt>DB Id</dt><dd>3141592653</dd>", "<dt>Instance</dt>"):
        assert words in text
    assert str(REPORTS) not in text, "base names are enough for the recipient of the page"


def test_html_keeps_names_that_are_alike_whole() -> None:
    one = diagnose_all([str(REPORTS / "day-1.txt")]).diagnosed[0]
    text = as_html(InputResults([replace(one, name="a/day.txt"), replace(one, name="b/day.txt")], [], [], 2))
    assert "a/day.txt" in text and "b/day.txt" in text


def test_html_puts_the_worst_first_and_tells_a_cause_once(week: InputResults, incident: Path) -> None:
    text = as_html(InputResults([*diagnose_all([str(incident)]).diagnosed, *week.diagnosed], [], [], 6))
    assert text.index("<h1>ORDERS") < text.index("<h1>undo-segments")
    assert re.findall(r'<details class="fold"><summary>ORDERS, (day-\d)', text) == ["day-4", "day-5", "day-1", "day-2"]
    assert "<summary>ORDERS" not in as_html(InputResults(week.diagnosed[:1], [], [], 1)), "a single one is open"


def test_html_says_nothing_twice_and_has_no_backticks(week: InputResults) -> None:
    text = as_html(InputResults(week.diagnosed[2:3], [], [], 1))
    assert "`" not in text and "<code>latchscope script</code>" in text
    finding = week.diagnosed[2].diagnosis.findings[0]
    assert finding.confirm is not None
    assert text.count(finding.confirm.sql) == 1 and text.count("ORA-30013") == 1
    assert text.count("<b>confirming query</b>") == 0
    url = next(one.url for one in finding.references if one.url)
    assert f'<a href="{url}" rel="noreferrer">' in text


def test_html_figures_name_report_sections_and_match_the_text(week: InputResults, incident: Path) -> None:
    text = as_html(InputResults(week.diagnosed[2:3], [], [], 1))
    assert "(Latch Activity, Latch Sleep Breakdown)" in text and "(Dictionary Cache Stats)" in text
    assert not re.search(r"\(v\$\w+\)", text)
    assert "(v$rowcache)" in as_html(diagnose_all([str(incident)])), "a capture has views"
    assert "at least 30" in text and "76.0 %" in text and "e-05" not in text and "</span> ratio" not in text


def test_html_says_how_close_a_verdict_is_where_it_shows_how_we_know(incident: Path) -> None:
    text = html.unescape(as_html(diagnose_all([str(incident)])))
    closest = "sleeps with a holder at this place 85 %, needs at least 70 %"
    assert f"<dt>Closest to its bound</dt><dd>{closest}.</dd>" in text


def test_html_marks_the_ruled_out_causes_that_are_close_to_their_bound(week: InputResults) -> None:
    results = InputResults(week.diagnosed[:1], [], [], 1)
    close = [one for one in results.diagnosed[0].diagnosis.ruled_out if one.nearest_bound]
    assert as_html(results).count('<span class="sub quiet">Close to its bound.</span>') == len(close) > 0


def test_html_says_shared_notes_and_what_could_not_be_judged_once(week: InputResults) -> None:
    gap = diagnose_all([str(REPORTS / "awr-11.2.0.4.0-restart.txt")]).diagnosed
    text = as_html(InputResults([*week.diagnosed, *gap], [], [], 6))
    assert text.count("judged from a printed report") == 1
    assert text.count("Cannot tell: everything</summary><p>the instance restarted") == 1


def test_html_is_not_clipped_on_a_narrow_screen_or_on_paper(week: InputResults) -> None:
    text = as_html(week)
    assert "@media print" in text and "@media (max-width: 640px)" in text and "white-space: pre-wrap" in text


def test_html_shows_what_could_not_be_judged_as_such_and_never_green(week: InputResults) -> None:
    restart = diagnose_all([str(REPORTS / "awr-11.2.0.4.0-restart.txt")]).diagnosed
    alone, beside = (as_html(InputResults(found, [], [], 6)) for found in (restart, [*week.diagnosed, *restart]))
    rows = re.findall(r'<tr class="none">.*?restart.txt.*?</tr>', beside, re.DOTALL)
    assert len(rows) == 1, "was class info, state fine"
    (row,) = rows
    assert '<span class="state none">' in row and "</svg>Cannot tell</span>" in row
    assert '<span class="state none">' in alone and "</svg>Cannot tell</span>" in alone
    assert "state fine" not in alone and "second poll" not in alone, "a report has no polls"
