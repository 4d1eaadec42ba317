"""The inputs of `diagnose`: each becomes a Diagnosis, one clear error, or a skip with a reason, whatever its bytes are."""

import gzip
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from collectors.capture import LIMIT_BYTES
from collectors.errors import InputError
from collectors.logs import alert
from collectors.model import Basis, Changes, Delta, NotComparable, Row
from service.intake import inputs
from service.intake.archives import LIMITS, MIB, Limits, TooLarge
from service.intake.inputs import (
    DEEPEST,
    HEAD_BYTES,
    MOST_BARS,
    InputResults,
    diagnose_all,
    figures,
    files_of,
    log_reader,
    window_of,
)
from service.render.text import as_markdown, as_text
from tests.collectors.logs.published_traces import TIMEOUT
from tests.collectors.sqlplus.sqlplus_standin import spooled
from tests.paths import REPORTS, ROOT
from tests.service.intake.test_archives import encrypted, tar, zipped

REPORT = REPORTS / "awr-11.2.0.4.0-undo-storm.html"
TEXT_REPORT = REPORTS / "awr-12.2.0.1.0-users-mutex.txt"
FIRST = {"taken_at": "2026-03-01T12:00:00Z", "views": {}}


def told(*names: object) -> InputResults:
    return inputs.diagnose_all([str(one) for one in names])


def causes(outcome: InputResults) -> list[str]:
    assert outcome.errors == []
    return [one.diagnosis.findings[0].cause for one in outcome.diagnosed]


def test_recording_becomes_a_diagnosis(incident: Path) -> None:
    outcome = told(incident)
    (one,) = outcome.diagnosed
    assert causes(outcome) == ["undo-segments"]
    assert one.name == str(incident)
    assert one.diagnosis.basis is not None and one.diagnosis.basis.kind == "totals"


def test_incomparable_snapshots_are_undetermined_and_not_an_error(capture_file: Callable[..., Path]) -> None:
    (one,) = told(capture_file(snapshots=[FIRST, FIRST])).diagnosed
    assert one.diagnosis.basis is None
    assert "not later" in one.diagnosis.headline


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: zipped(("x", data))], ids=["plain", "gz", "zip"])
def test_standard_input_is_recognised_by_its_content(
    monkeypatch: pytest.MonkeyPatch, incident: Path, pack: Callable[[bytes], bytes]
) -> None:
    for source in (incident, REPORT):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(pack(source.read_bytes()))))
        outcome = told("-")
        assert causes(outcome) == ["undo-segments"]
        assert outcome.diagnosed[0].name in ("standard input", "standard input!x")


@pytest.mark.parametrize("name", ["report.html", "report.json", "report", "x.gz", "x.zip", "x.pdf"])
def test_file_name_does_not_affect_how_a_file_is_read(name: str, tmp_path: Path, incident: Path) -> None:
    for data in (REPORT.read_bytes(), incident.read_bytes(), gzip.compress(REPORT.read_bytes())):
        (tmp_path / name).write_bytes(data)
        assert causes(told(tmp_path / name)) == ["undo-segments"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: zipped(("x", data))], ids=["plain", "gz", "zip"])
def test_script_output_is_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "latchscope.txt").write_bytes(pack(spooled().encode()))
    outcome = told(tmp_path / "latchscope.txt")
    assert causes(outcome) == ["undo-segments"]
    assert outcome.diagnosed[0].diagnosis.findings[0].child == 1


def test_compare_report_becomes_two_periods() -> None:
    first, second = told(REPORTS / "awrdd-11.2.0.4.0-before-and-during.html").diagnosed
    assert first.name.endswith(".html, period 1 of 2") and second.name.endswith(".html, period 2 of 2")


def test_directory_is_read_one_level_deep_and_names_what_it_skipped(tmp_path: Path, incident: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.json").write_bytes(incident.read_bytes())
    (tmp_path / "a.html").write_bytes(REPORT.read_bytes())
    (tmp_path / "b.zip").write_bytes(zipped(("one.json", incident.read_bytes()), ("readme", b"hello")))
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(incident.read_bytes()))
    (tmp_path / ".hidden.json").write_bytes(incident.read_bytes())
    (tmp_path / "alert.log").write_text("ORA-00600", encoding="utf-8")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "empty").touch()
    (tmp_path / "docx.zip").write_bytes(zipped(("word/document.xml", b"<x/>")))
    os.mkfifo(tmp_path / "pipe")
    sparse(tmp_path)
    outcome = told(tmp_path)
    assert [Path(one.name).name for one in outcome.diagnosed] == ["a.html", "b.zip!one.json", "c.json.gz"]
    assert outcome.errors == []
    left = "\n".join(outcome.skipped)
    for name, why in {
        "alert.log": "is not an AWR",
        "package.json": "is not an AWR",
        "empty": "is empty",
        "b.zip!readme": "is not an AWR",
        "docx.zip": "is not an AWR",
        "deeper": "name it to have its files read",
        "pipe": "is neither a file nor a folder",
        "large.json": "is 300 MiB",
    }.items():
        assert f"{tmp_path}/{name} " in left and why in left, name
    assert ".hidden" not in left


def test_directory_with_a_broken_input_of_ours_reports_an_error(tmp_path: Path, incident: Path) -> None:
    (tmp_path / "a.json").write_bytes(incident.read_bytes()[:900])
    (tmp_path / "b.zip").write_bytes(encrypted())
    (tmp_path / "c.json").write_bytes(incident.read_bytes())
    outcome = told(tmp_path)
    assert len(outcome.diagnosed) == 1
    assert ["ends too early" in str(one) or "encrypted" in str(one) for one in outcome.errors] == [True, True]


def test_archive_with_an_encrypted_member_still_gives_the_others(tmp_path: Path, incident: Path) -> None:
    whole = zipped(("good.json", incident.read_bytes()), ("secret.txt", b"some"))
    data, name = bytearray(whole), b"secret.txt"
    data[whole.index(name) - 30 + 6] |= 1
    data[whole.rindex(name) - 46 + 8] |= 1
    (tmp_path / "x.zip").write_bytes(data)
    outcome = told(tmp_path / "x.zip")
    assert [one.name for one in outcome.diagnosed] == [f"{tmp_path}/x.zip!good.json"]
    assert "x.zip!secret.txt is encrypted" in str(outcome.errors[0])


def test_archive_within_an_archive_is_not_opened(tmp_path: Path, incident: Path) -> None:
    path = tmp_path / "wow!x.zip"
    for inner in (zipped(("x", incident.read_bytes())), gzip.compress(gzip.compress(incident.read_bytes()))):
        path.write_bytes(zipped(("inner", inner)))
        outcome = told(path)
        assert outcome.diagnosed == [] and len(outcome.errors) == 1
        assert outcome.skipped == [f"{path}!inner is an archive within an archive; unpack it first"]
    for packed in (
        gzip.compress(zipped(("x", incident.read_bytes()))),
        tar("gz", incident.read_bytes()),
        tar("", incident.read_bytes()),
    ):
        path.write_bytes(packed)
        (one,) = told(path).diagnosed
        assert one.name.startswith(f"{path}!")


def test_gzip_inside_a_zip_is_read_within_the_same_limits(tmp_path: Path, incident: Path) -> None:
    path = tmp_path / "x.zip"
    packed = gzip.compress(incident.read_bytes())
    path.write_bytes(zipped(("inner.gz", packed), ("bad.gz", packed[:-9])))
    outcome = told(path)
    assert [one.name for one in outcome.diagnosed] == [f"{path}!inner.gz"]
    assert "bad.gz is damaged" in str(outcome.errors[0])
    some = gzip.compress(b"x" * 600_000)
    many = zipped(*((f"{i}.gz", some) for i in range(4)))
    small = Limits(per_input=MIB, total=MIB, members=10, ratio=2000, unasked=64 * 1024)
    (error,) = inputs.diagnose_data(many, "x.zip", small).errors
    assert str(error) == "x.zip unpacks to more than 1 MiB; pack fewer reports into one archive"


def sparse(folder: Path) -> str:
    path = folder / "large.json"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)
    return str(path)


def test_of_a_file_beyond_the_limit_only_the_begin_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sparse(tmp_path)
    begin = io.BytesIO(bytes(HEAD_BYTES))
    monkeypatch.setattr(Path, "open", lambda *_: begin)
    assert "is 300 MiB; an input is at most 64 MiB" in str(told(name).errors[0])


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


NOT_OURS = (
    "is not an AWR or Statspack report, an alert log, a trace file, the output of `latchscope script`, or a capture"
)


def mail(kind: bytes, body: bytes) -> bytes:
    return b"MIME-Version: 1.0\nContent-Type: " + kind + b"\n\n" + body


BAD = {
    "no such file": (lambda folder: str(folder / "none.json"), "does not exist"),
    "a folder without files": (str, "is a directory without files"),
    "what the system refuses": (lambda folder: str(folder / ("x" * 300)), "cannot be read: File name too long"),
    "a name no file can have": (lambda folder: "a\0b", "cannot be read: embedded null"),
    "300 MB": (sparse, "is 300 MiB; an input is at most 64 MiB"),
    "an endless device": (lambda folder: "/dev/zero", "is more than 64 MiB"),
    "empty": (written(b""), "is empty"),
    "blank": (written(b" \n\t"), "is empty"),
    "binary": (written(bytes(range(256))), NOT_OURS),
    "no JSON": (written(b"SQL> select * from v$rowcache;"), NOT_OURS),
    "a tar archive in a gz": (written(gzip.compress(bytes(1024))), NOT_OURS),
    "a tar": (written(tar()), "is an archive without an AWR or Statspack report"),
    "a tgz": (written(tar("gz")), "is an archive without an AWR or Statspack report"),
    "a damaged tar": (written(tar()[:700]), "is a damaged tar archive"),
    "a bz2": (written(tar("bz2")), "is a bzip2 archive; unpack it, or give it as .gz, .zip or .tar"),
    "a mail": (
        written(b"From: a@example.com\nMIME-Version: 1.0\n\nhello\n"),
        "is a mail without an AWR or Statspack report",
    ),
    "a mail in a charset of names": (written(mail(b'text/html; charset="idna"', b"hello")), "is a mail without an AWR"),
    "a mail with half a surrogate": (written(mail(b"text/html; charset=utf-7", b"+2AA-")), "is a mail without an AWR"),
    "a mail of a name that is none": (
        written(mail(b"text/plain; name*=idna''%ff", b"hello")),
        "is a damaged mail (decoding with 'idna'",
    ),
    "a mail of a long kind": (written(mail(b'text/plain; a="' + b";" * 9000, b"")), "a line Content-Type of 9,015"),
    "mails in mails": (
        written(mail(b"multipart/mixed; boundary=b", b"--b\n" + mail(b"message/rfc822", b"") * 2000)),
        "is a damaged mail (maximum recursion depth",
    ),
    "mails as files of mails": (written(mail(b"application/octet-stream", b"") * 2000), "is a mail without an AWR"),
    "a mail of many parts": (
        written(mail(b"multipart/mixed; boundary=b", b"--b\n\nhello\n" * 1001)),
        "has more than 1,000 members",
    ),
    "a damaged gz": (written(gzip.compress(b"x" * 99)[:-9]), "is damaged"),
    "a damaged zip": (written(b"PK\x03\x04nonsense"), "is a damaged zip archive"),
    "an empty zip": (written(zipped()), "is an archive without"),
    "a zip of other things": (written(zipped(("a", b"hello"))), "is an archive without"),
    "a number": (written(b"1"), NOT_OURS),
    "broken JSON": (written(b"{nonsense"), NOT_OURS),
    "truncated": (written(json.dumps(GOOD).encode()[:60]), "it ends too early"),
    "too deep": (written(b"[" * 100_000), NOT_OURS),
    "a list": (written(b"[1]"), "the document must be a JSON object"),
    "another format": (changed(format="awr"), '"format" must be "latchscope-capture"'),
    "no format": (written(b"{}"), '"format" must be "latchscope-capture"'),
    "a later version": (changed(version=2), "is a capture of version 2; this latchscope reads version 1"),
    "a version in quotes": (changed(version="1"), "is a capture of version '1'"),
    "no database": (changed(database=""), '"database" must be the name'),
    "no snapshot": (changed(snapshots=[]), "has no snapshot"),
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
def test_bad_input_is_one_line_that_names_it(make: Callable[[Path], str], said: str, tmp_path: Path) -> None:
    name = make(tmp_path)
    outcome = told(name)
    assert outcome.diagnosed == []
    (error,) = outcome.errors
    assert isinstance(error, InputError)
    text = str(error)
    assert said in text
    assert "\n" not in text
    assert name.replace("\0", "?")[:200] in text


PROMPT = b"[oracle@db2 trace]$ tail -400 x\n"
OTHERS: Mapping[str, tuple[bytes, str]] = {
    "pdf": (b"%PDF-1.7\n1 0 obj\n", "is a PDF; a print-out loses its columns"),
    "xlsx": (
        zipped(("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>")),
        "is an Excel workbook; send the .html or .txt",
    ),
    "docx": (
        zipped(("[Content_Types].xml", b"<x/>"), ("word/document.xml", b"<x/>")),
        "is a Word or another office document;",
    ),
    "msg": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is a mail of Outlook, or an old file of Word or Excel;"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(99), "is a picture; send the text"),
    "SQL Monitor": (
        b"<html><title>SQL Monitor Report (7k2m)</title></html>",
        "is a SQL Monitor report, which covers one statement;",
    ),
    "Performance Hub": (
        b"<html><report><perf_hub_report/></report></html>",
        "is a page of Performance Hub; run awrrpt.sql",
    ),
    "Performance Insights": (b'{"AlignedStartTime": "x", "MetricList": []}', "is a metric of Performance Insights"),
    "tkprof": (
        b"\nTKPROF: Release 19.0.0.0.0 - Development on Mon\n",
        "is the output of tkprof; send the raw trace file",
    ),
    "listener": (
        b"24-NOV-2009 14:02:20 * (CONNECT_DATA=(SID=x)) * establish * x * 0\n",
        "is the log of a listener; send alert_",
    ),
    "query": (
        b"SQL> select 1\n\n       SID EVENT\n---------- ------------\n       412 row cache lock\n",
        "query on v$session",
    ),
    "part": (
        b"Top 5 Timed Events        Avg\n~~~~~~\nEvent  Waits\n------ -----\n",
        "is part of an AWR or Statspack report;",
    ),
    "shipped": (
        b'{"level": "info", "line": "started"}\n{"level": "info", "line": "ready"}\n',
        "is JSON lines, as programs that",
    ),
    "UTF-16": (
        "Latch Activity for some database".encode("utf-16-le"),
        "is text in UTF-16 without its mark; save it as UTF-8",
    ),
}


@pytest.mark.parametrize(("data", "said"), OTHERS.values(), ids=OTHERS)
def test_what_is_not_diagnosed_is_called_what_it_is(data: bytes, said: str) -> None:
    (error,) = inputs.diagnose_data(data, "case").errors
    assert f"case {said}" in str(error) or (said in str(error) and str(error).startswith("case is the output of a ")), (
        error
    )
    assert "; " in str(error) and "\n" not in str(error)


def test_an_archive_that_holds_a_workbook_beside_a_report_is_read(incident: Path) -> None:
    data = zipped(("one.json", incident.read_bytes()), ("sheet.xlsx", OTHERS["xlsx"][0]))
    assert [one.name for one in inputs.diagnose_data(data, "x.zip").diagnosed] == ["x.zip!one.json"]


def test_what_a_file_is_is_decided_by_what_it_holds_and_not_by_its_first_sign(incident: Path) -> None:
    """A prompt, a note or a mark of a forum before the text begins with `[` or `{`, as JSON does."""
    capture = incident.read_bytes()
    for before in (PROMPT, b"{code}\n", b"[Mon Sep 15] see below\n"):
        for data, source in ((ALERT, "alert log"), (TIMEOUT.encode(), "trace"), (TEXT_REPORT.read_bytes(), "report")):
            (one,) = inputs.diagnose_data(before + data, "case").diagnosed
            assert one.source == source
    for data in (capture, capture.decode().encode("utf-16")):
        assert inputs.diagnose_data(data, "case").diagnosed[0].source == "views"


def test_input_name_with_control_characters_is_shown_as_one_plain_line(tmp_path: Path, incident: Path) -> None:
    folder = tmp_path / "a\nb\x1b[31m"
    folder.mkdir()
    (folder / "c\rd.json").write_bytes(incident.read_bytes())
    (folder / os.fsdecode(b"\xff.txt")).write_bytes(b"x")
    outcome = told(folder, folder / "none\n")
    shown = [*(one.name for one in outcome.diagnosed), *outcome.skipped, *(str(one) for one in outcome.errors)]
    assert len(shown) == 3 and all(one.isprintable() for one in shown)


def test_bad_input_does_not_hide_the_others(incident: Path, tmp_path: Path) -> None:
    outcome = told(tmp_path / "none", incident, sparse(tmp_path))
    assert [one.name for one in outcome.diagnosed] == [str(incident)]
    assert len(outcome.errors) == 2


def test_directory_without_read_permission_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert "cannot be read: Permission denied" in str(told(tmp_path).errors[0])


def test_standard_input_is_read_only_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        asked = 0

        def read(self, size: int) -> bytes:
            self.asked += size
            return bytes(size)

    endless = Endless()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
    assert "standard input is more than 64 MiB" in str(told("-").errors[0])
    assert endless.asked == LIMIT_BYTES + 1


def test_each_file_is_named_before_it_is_read(tmp_path: Path, incident: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(incident.read_bytes())
    heard: list[str] = []
    inputs.diagnose_all([str(tmp_path), str(incident)], heard.append)
    assert heard == [str(tmp_path / "a"), str(tmp_path / "b"), str(incident)]


def test_directory_with_many_foreign_files_names_them_in_one_line(tmp_path: Path) -> None:
    makers = [path for path in (ROOT / "tests/recordings/reports").iterdir() if path.is_file()]
    for path in (*REPORTS.iterdir(), *makers):
        shutil.copy(path, tmp_path)
    outcome = told(tmp_path)
    assert outcome.errors == [], "programs that write reports are no reports"
    assert len(outcome.foreign) == len(makers)
    assert len(outcome.diagnosed) == len([*REPORTS.iterdir()]) + 1, "the report that compares two periods is two"
    (line,) = outcome.skipped
    assert line.startswith(f"{len(outcome.foreign)} files that latchscope does not read: README.md, as_html.py, ")
    assert line.count(", ") == len(outcome.foreign) - 1 and "…" not in line, "was: the first ten"


def delta(**views: list[Row]) -> Delta:
    names = {"rowcache": "v$rowcache", "misses": "v$latch_misses", "mutex": "v$mutex_sleep"}
    readings = {names[name]: Changes(names[name], tuple(rows)) for name, rows in views.items()}
    return Delta("x", None, Basis("totals", None, None, None), readings)


def test_bars_are_sums_by_name_the_highest_first_and_limited() -> None:
    named: dict[str, list[int | None]] = {"dc_users": [5, 4], "dc_objects": [7], "dc_files": [0], "dc_tables": [None]}
    (gets,) = figures(
        delta(rowcache=[{"parameter": name, "gets": each} for name, has in named.items() for each in has])
    )
    assert [(bar.label, bar.value) for bar in gets.bars] == [("dc_users", 9), ("dc_objects", 7)]
    assert (gets.title, gets.unit, gets.left_out) == ("Dictionary cache gets", "gets", 0)
    (many,) = figures(delta(rowcache=[{"parameter": str(i), "gets": i} for i in range(1, MOST_BARS + 4)]))
    assert len(many.bars) == MOST_BARS and many.left_out == 3
    rows: list[Row] = [
        {"parent_name": "row cache objects", "location": "kqreqd", "sleep_count": 3, "wtr_slp_count": 9},
        {"parent_name": "Result Cache: RC Latch", "location": "qesrc", "sleep_count": 8},
    ]
    (places,) = figures(delta(misses=rows))
    assert [(bar.label, bar.value) for bar in places.bars] == [("kqreqd", 3)], "only those of the row cache"


@pytest.mark.parametrize("change", [NotComparable("x", None, "", ""), delta(), delta(rowcache=[], misses=[], mutex=[])])
def test_figures_are_empty_without_data(change: Delta | NotComparable) -> None:
    assert figures(change) == ()


@pytest.mark.parametrize(
    ("name", "title"),
    [("awr-11.2.0.4.0-undo-storm.html", "Row cache latch"), ("awr-19.0.0.0.0-users-mutex.html", "Row cache mutexes")],
)
def test_report_has_charts_of_gets_and_the_locations_of_its_release(name: str, title: str) -> None:
    (one,) = diagnose_all([str(REPORTS / name)]).diagnosed
    caches, locations = figures(one.change)
    assert caches.title == "Dictionary cache gets" and locations.title.startswith(title)


def made(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")


def test_directory_of_directories_alone_gives_their_files_and_says_so(tmp_path: Path) -> None:
    made(tmp_path, "a/1", "a/deep/2", "b/c/3", "b/c/.hidden/4", f"{'d/' * (DEEPEST + 1)}5")
    outcome = InputResults()
    assert [Path(each).name for each in files_of(str(tmp_path), outcome)] == ["1", "3"]
    assert outcome.notes == [f"{tmp_path} holds directories alone: looked at 2 files in 2 directories below it"]
    assert [each.partition(" ")[0] for each in outcome.passed] == [
        str(tmp_path / "a/deep"),
        str(tmp_path / "/".join("d" * (DEEPEST + 1))),
    ]
    made(tmp_path, "own")
    outcome = InputResults()
    assert [Path(each).name for each in files_of(str(tmp_path), outcome)] == ["own"]
    assert (outcome.notes, len(outcome.passed)) == ([], 3)


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_FILES", 2)
    made(tmp_path, "a/1", "a/2", "b/3")
    outcome = InputResults()
    assert len(files_of(f"{tmp_path}/", outcome)) == 2
    assert outcome.passed == [f"only the first 2 files below {tmp_path}/ are read; name its directories one by one"]
    made(tmp_path, "a/4")
    outcome = InputResults()
    assert len(files_of(f"{tmp_path}/a/", outcome)) == 3 and outcome.notes == [], "a directory's own files are all read"


# Logs: recognised by content, read as a stream whatever their size, cut by time, bounded when packed

ENTRY = "2026-03-01T{:02}:00:00.000000+01:00\n>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={}\n"
ALERT = "".join(ENTRY.format(hour, hour) for hour in range(10, 14)).encode()


def hours(outcome: inputs.InputResults) -> list[int]:
    assert outcome.errors == []
    (one,) = outcome.diagnosed
    assert one.source == "alert log"
    return [event.at.hour for event in one.diagnosis.events if event.at]


@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        lambda data: zipped(("alert.log", data)),
        lambda data: zipped(("a.gz", gzip.compress(data))),
    ],
    ids=["plain", "gz", "zip", "gz in zip"],
)
def test_log_is_read_from_a_file_standard_input_and_memory(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pack(ALERT)
    (tmp_path / "some.trc").write_bytes(data)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    for outcome in (
        inputs.diagnose_all([str(tmp_path / "some.trc")]),
        inputs.diagnose_all([str(tmp_path)]),
        inputs.diagnose_all(["-"]),
        inputs.diagnose_data(data, "upload"),
    ):
        assert hours(outcome) == [10, 11, 12, 13]


def test_window_holds_for_every_way_in(tmp_path: Path) -> None:
    window = window_of("2026-03-01T10:30", "2026-03-01T12:00+01:00")
    (tmp_path / "a.log").write_bytes(ALERT)
    assert hours(inputs.diagnose_all([str(tmp_path / "a.log")], window=window)) == [11, 12]
    (tmp_path / "a.zip").write_bytes(zipped(("a", ALERT)))
    assert hours(inputs.diagnose_all([str(tmp_path / "a.zip")], window=window)) == [11, 12]


@pytest.mark.parametrize(
    ("since", "until", "why"),
    [
        ("yesterday", None, "--since 'yesterday' is not a time; write it as 2026-03-01T14:00"),
        (None, "14:00", "--until '14:00' is not a time"),
        ("2026-03-02", "2026-03-01", "is not before --until 2026-03-01"),
    ],
)
def test_window_that_is_none_says_how_to_write_one(since: str | None, until: str | None, why: str) -> None:
    with pytest.raises(ValueError, match="--") as refused:
        window_of(since, until)
    assert why in str(refused.value)


def test_large_log_is_read_in_pieces_and_beyond_the_limit_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "LIMITS", LIMITS.__class__(per_input=HEAD_BYTES))
    log = ALERT + b"2026-03-01T15:00:00.000000+01:00\nThread 1 advanced to log sequence 5\n" * 3000
    assert len(log) > 2 * HEAD_BYTES
    (tmp_path / "alert.log").write_bytes(log)
    (tmp_path / "alert.gz").write_bytes(gzip.compress(log))
    for name in ("alert.log", "alert.gz"):
        assert hours(inputs.diagnose_all([str(tmp_path / name)])) == [10, 11, 12, 13]


def test_packed_log_that_swells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_UNASKED", 2**20)
    bomb = gzip.compress(ALERT + bytes(20 * 2**20))
    with pytest.raises(TooLarge, match=r"bomb\.gz unpacks to more than 200 times its size"):
        inputs.read_log(bomb[:HEAD_BYTES], io.BytesIO(bomb[HEAD_BYTES:]), "bomb.gz")


def test_packed_log_that_is_cut_is_one_error() -> None:
    packed = gzip.compress(ALERT + bytes(str(list(range(30_000))), "ascii"))
    outcome = inputs.diagnose_data(packed[: len(packed) // 2], "half.gz")
    (error,) = outcome.errors
    assert isinstance(error, InputError) and "half.gz is damaged" in str(error)


def test_each_reader_knows_only_its_own_files(incident: Path) -> None:
    found = log_reader(ALERT)
    assert found is alert.read
    assert log_reader(incident.read_bytes()[:HEAD_BYTES]) is None


def test_every_form_shows_the_events() -> None:
    diagnosed = inputs.diagnose_data(ALERT, "alert.log").diagnosed
    text, whole, markdown = as_text(diagnosed), as_text(diagnosed, verbose=True), as_markdown(diagnosed)
    for form in (whole, markdown):
        assert "2026-03-01 10:00:00" in form and "process number 13 waited too long" in " ".join(form.split())
    assert "lines of 2026-03-01 10:00:00 to 2026-03-01 13:00:00" in " ".join(whole.split())
    assert "Warning: 2026-03-01 10:00:00: the first of 4 timeouts" in text
