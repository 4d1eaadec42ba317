"""What `diagnose` is given: every input is a Diagnosis or one clear error, whatever its bytes are."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from collectors.capture import LIMIT_BYTES
from collectors.errors import InputError
from service import inputs

FIRST = {"taken_at": "2026-03-01T12:00:00Z", "views": {}}


def test_a_recording_becomes_a_diagnosis(incident: Path) -> None:
    told = inputs.diagnose_input(str(incident))
    assert told.findings[0].cause == "undo-segments"
    assert told.basis is not None
    assert told.basis.kind == "totals"


def test_snapshots_that_cannot_be_compared_are_undetermined_and_no_error(capture_file: Callable[..., Path]) -> None:
    told = inputs.diagnose_input(str(capture_file(snapshots=[FIRST, FIRST])))
    assert told.basis is None
    assert "not later" in told.headline


def test_standard_input(monkeypatch: pytest.MonkeyPatch, incident: Path) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(incident.read_bytes())))
    assert inputs.diagnose_input("-").findings[0].cause == "undo-segments"


def sparse(folder: Path) -> str:
    path = folder / "large.json"
    with path.open("wb") as file:
        file.truncate(200 * 2**20)
    return str(path)


def written(content: bytes) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / "input").write_bytes(content)
        return str(folder / "input")

    return write


GOOD: dict[str, object] = {"format": "latchscope-capture", "version": 1, "database": "x", "snapshots": [FIRST]}


def changed(**members: object) -> Callable[[Path], str]:
    return written(json.dumps({**GOOD, **members}).encode())


def with_rows(columns: list[object], *rows: object, view: str = "v$rowcache") -> Callable[[Path], str]:
    return changed(snapshots=[{"taken_at": None, "views": {view: {"columns": columns, "rows": rows}}}])


BAD = {
    "no such file": (lambda folder: str(folder / "none.json"), "does not exist"),
    "a folder": (str, "is a directory"),
    "what the system refuses": (lambda folder: str(folder / ("x" * 300)), "cannot be read: File name too long"),
    "200 MB": (sparse, "is 200 MiB; a capture is at most 64 MiB"),
    "an endless device": (lambda folder: "/dev/zero", "a capture is at most 64 MiB"),
    "empty": (written(b""), "is empty"),
    "blank": (written(b" \n\t"), "is empty"),
    "binary": (written(bytes(range(256))), "is not text: byte 128"),
    "UTF-16": (written(json.dumps(GOOD).encode("utf-16")), "is not text"),
    "no JSON": (written(b"SQL> select * from v$rowcache;"), "is not valid JSON at line 1 column 1"),
    "truncated": (written(json.dumps(GOOD).encode()[:60]), "it ends too early"),
    "too deep": (written(b"[" * 100_000), "nested too deeply"),
    "a number": (written(b"1"), "the document must be a JSON object"),
    "another format": (changed(format="awr"), '"format" must be "latchscope-capture"'),
    "no format": (written(b"{}"), '"format" must be "latchscope-capture"'),
    "a later version": (changed(version=2), "is a capture of version 2; this latchscope reads version 1"),
    "a version in quotes": (changed(version="1"), "is a capture of version '1'"),
    "no database": (changed(database=""), '"database" must be the name'),
    "no snapshot": (changed(snapshots=[]), "holds no snapshot"),
    "snapshots no list": (changed(snapshots=1), "snapshots must be a JSON list"),
    "a naive time": (changed(snapshots=[{**FIRST, "taken_at": "2026-03-01T12:00:00"}]), "it must be a UTC time"),
    "no views": (changed(snapshots=[{"taken_at": None}]), "views must be a JSON object"),
    "a view we do not read": (changed(snapshots=[{**FIRST, "views": {"v$sql": {}}}]), "the view 'v$sql'"),
    "a column we do not read": (with_rows(["hits"]), "columns has 'hits'"),
    "a column twice": (with_rows(["gets", "gets"]), "names a column twice"),
    "a row too short": (with_rows(["gets", "cache#"], [1]), "has 1 cells for 2 columns"),
    "text for a number": (with_rows(["gets"], ["many"]), 'gets is "many"; it must be a number or null'),
    "true for a number": (with_rows(["gets"], [True]), "gets is true"),
    "infinite": (written(json.dumps(GOOD).encode()[:-1] + b', "x": 1e999, "y": NaN}'), "NaN is not a number"),
    "a result in words": (changed(confirmations=[{"cause": "undo-segments", "value": "many"}]), "must be the number"),
    "a made-up reason": (
        changed(snapshots=[{**FIRST, "missing": {"v$rowcache": {"kind": "lost"}}}]),
        "it must be refused, not_asked, failed or unread",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD.values(), ids=BAD)
def test_a_bad_input_is_one_line_that_names_it(make: Callable[[Path], str], said: str, tmp_path: Path) -> None:
    name = make(tmp_path)
    with pytest.raises(InputError) as refused:
        inputs.diagnose_input(name)
    text = str(refused.value)
    assert said in text
    assert "\n" not in text
    assert name in text


def test_one_bad_input_does_not_hide_the_others(incident: Path, tmp_path: Path) -> None:
    told, errors = inputs.diagnose_all([str(tmp_path / "none"), str(incident), sparse(tmp_path)])
    assert list(told) == [str(incident)]
    assert len(errors) == 2


def test_never_more_is_read_than_a_capture_may_have() -> None:
    assert len(inputs.read("/dev/zero")) == LIMIT_BYTES + 1
