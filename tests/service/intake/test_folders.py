"""The files of a directory: its own, or those of the directories below it, bounded and said."""

from pathlib import Path

import pytest

from service.intake import folders
from service.intake.folders import DEEPEST, files_of


def made(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")


def test_directory_of_directories_alone_gives_their_files_and_says_so(tmp_path: Path) -> None:
    made(tmp_path, "a/1", "a/deep/2", "b/c/3", "b/c/.hidden/4", f"{'d/' * (DEEPEST + 1)}5")
    found = files_of(str(tmp_path))
    assert [Path(each).name for each in found.files] == ["1", "3"]
    assert found.note == f"{tmp_path} holds directories alone: looked at 2 files in 2 directories below it"
    assert [each.partition(" ")[0] for each in found.passed] == [
        str(tmp_path / "a/deep"),
        str(tmp_path / "/".join("d" * (DEEPEST + 1))),
    ]
    made(tmp_path, "own")
    found = files_of(str(tmp_path))
    assert ([Path(each).name for each in found.files], found.note, len(found.passed)) == (["own"], None, 3)


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST", 2)
    made(tmp_path, "a/1", "a/2", "b/3")
    found = files_of(f"{tmp_path}/")
    assert len(found.files) == 2 and found.passed == [
        f"only the first 2 files below {tmp_path}/ are read; name its directories one by one"
    ]
    made(tmp_path, "a/4")
    found = files_of(f"{tmp_path}/a/")
    assert (len(found.files), found.note) == (3, None), "a directory's own files are all read"
