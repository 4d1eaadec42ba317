"""What counts as a report: a file with its title in the right place, and not one that merely quotes a title."""

from pathlib import Path

from collectors.reports.detect import is_html, looks_like_report
from tests import paths
from tests.each import each
from tests.recordings.reports import make

REPORTS = {
    "text": "\nSTATSPACK report for\n",
    "indented": "          ADDM Report for Task 'A'\n",
    "after a mail's head": "From: a\nSubject: slow\n\nWORKLOAD REPOSITORY report for\n",
    "after a prompt": "Using the report name x.html\n\n<html><head><title>AWR Report for DB: A</title>",
    "a page": "<html><body><h1>\r\nWORKLOAD REPOSITORY\r\nreport for\r\n",
    "old line ends": "\rSTATSPACK report for\r",
}
OTHERS = {
    "in quotes": 'HEAD = ["", "WORKLOAD REPOSITORY report for", ""]\n',
    "a page in quotes": "parts = ['<html><head><title>AWR Report for DB: ']\n",
    "in a sentence": "How to read a Statspack report for beginners\n",
    "a page that speaks of one": "<html><body><p>Then the AWR report for DB: ORDERS was made.</p>",
}


@each("what", REPORTS)
def test_looks_like_report_accepts_a_title_opening_a_line_or_an_element(what: str) -> None:
    assert looks_like_report(REPORTS[what].encode())


@each("what", OTHERS)
def test_looks_like_report_rejects_a_quoted_title(what: str) -> None:
    assert not looks_like_report(OTHERS[what].encode())


def test_looks_like_report_rejects_report_makers_and_accepts_their_output() -> None:
    written = [path for path in paths.REPORTS.iterdir() if path.suffix in (".html", ".txt")]
    makers = list(Path(make.__file__).parent.glob("*.py"))
    assert written and makers
    assert [path.name for path in written if not looks_like_report(path.read_bytes())] == []
    assert [path.name for path in makers if looks_like_report(path.read_bytes())] == []


def test_is_html_wants_a_tag_at_the_start_of_a_line() -> None:
    assert is_html("junk\n  <TABLE border=1>")
    assert not is_html("STATSPACK report for\nselect '<table>' from dual")
