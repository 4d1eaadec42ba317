"""Invisible characters become visible, and visible ones stay the same."""

import csv
import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.logs import OneLine
from service.escape import UNSEEN, plain_cell, visible, visible_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kqrpre: find obj", "kqrpre: find obj"),
        ("Überprüfung 数据库 ≥ 1 µs", "Überprüfung 数据库 ≥ 1 µs"),
        ("\x1b[2Jgone\x07", "[U+001B][2Jgone[U+0007]"),
        ("exe.\u202etxt", "exe.[U+202E]txt"),
        ("two\nlines\r", "two[U+000A]lines[U+000D]"),
        ("\x9b31m", "[U+009B]31m"),
        ("a\u00a0b\u2028c", "a b[U+2028]c"),
        ("a\ufe01\U000e0100\u3164b", "a[U+FE01][U+E0100][U+3164]b"),
        ("\udcff\U000e0041", "[U+DCFF][U+E0041]"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@given(st.text(st.characters()))
def test_visible_text_is_printable_and_encodes(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    shown.encode()
    kept = visible(text, keep="\n")
    assert kept.replace("\n", "").isprintable() and kept.count("\n") == text.count("\n")
    assert UNSEEN.search(shown) is None
    if text.isprintable() and UNSEEN.search(text) is None:
        assert shown == text


@given(st.text(st.characters()))
def test_visible_json_says_the_same(text: str) -> None:
    shown = visible_json(json.dumps({"name": text}, ensure_ascii=False, indent=2))
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {"name": text}


@given(st.text(st.characters(), max_size=9))
def test_cell_of_csv_is_no_formula(text: str) -> None:
    file = io.StringIO()
    csv.writer(file).writerow((plain_cell(text),))
    file.seek(0)
    ((cell,),) = list(csv.reader(file)) or [("",)]
    assert not cell.startswith(("=", "+", "-", "@")) and cell.isprintable()
    assert cell.removeprefix("'") == visible(text) or cell == visible(text)


def test_log_record_is_one_line_that_drives_no_terminal() -> None:
    def line(trace: object = None) -> str:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "%s failed", ("a\x1b[2J\n2026 ERROR forged",), trace)  # type: ignore[arg-type]
        return OneLine("%(levelname)s %(message)s").format(record)

    assert line() == "ERROR a[U+001B][2J[U+000A]2026 ERROR forged failed"
    error = ValueError("\x1b]0;title\x07")
    text = line((ValueError, error, None))
    assert text.endswith("\nValueError: [U+001B]]0;title[U+0007]")
