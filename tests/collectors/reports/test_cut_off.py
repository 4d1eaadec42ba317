"""Whose report it is, and whether the file holds all of it."""

import pytest

from collectors.model import Delta
from collectors.reports.read import read
from rules.engine import diagnose
from tests.paths import REPORTS


def recorded(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "awr-11.2.0.4.0-undo-storm.html",
        "awr-11.2.0.4.0-undo-storm.txt",
        "statspack-11.2.0.3.0-undo-storm.txt",
        "awrdd-11.2.0.4.0-before-and-during.html",
        "awr-11.2.0.4.0-restart.txt",
    ],
)
def test_db_id_is_read(name: str) -> None:
    assert {one.dbid for one in read(recorded(name), name)} == {"3141592653"}


def test_cut_off_file_is_recognised_and_its_notes_tell_cut_from_missing() -> None:
    for name in ("awr-11.2.0.4.0-undo-storm.html", "awr-11.2.0.4.0-undo-storm.txt"):
        data = recorded(name)
        (whole,) = read(data, name)
        assert isinstance(whole, Delta) and not whole.cut_off
        (cut,) = read(data[: len(data) * 2 // 5], name)
        assert isinstance(cut, Delta) and cut.cut_off
        notes = " | ".join(cut.notes)
        assert "sections beyond the cut, or not printed: " in notes and "does not have" not in notes
        assert diagnose(cut).headline.startswith(("As far as the file goes: ", "Cannot tell: ")), diagnose(cut).headline


def test_cut_off_file_without_what_matters_never_says_nothing_to_do() -> None:
    data = recorded("awr-11.2.0.4.0-undo-storm.txt")
    (cut,) = read(data[: data.index(b"Top 10 Foreground")], "x")
    assert isinstance(cut, Delta)
    assert not diagnose(cut).headline.startswith("Nothing to do")
