"""Uploaded reports: the diagnosis of the command line over REST, limits before anything is kept, and roles."""

import asyncio
import gzip
import hashlib
import json
import logging
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from rules.model import Diagnosis
from service.app import create_app
from service.config.settings import AuthSettings, DatabaseSettings, ReportSettings, Settings
from service.intake.archives import label
from service.intake.incident import Story
from service.intake.inputs import diagnose_data
from service.intake.uploads import MOST_FILES
from service.intake.worker import WORKER
from service.store import reports as stored_reports
from service.store.reports import Reports, StoredReportSummary
from service.store.repository import Repository
from service.web.schemas import Problem, ReportOut, ReportShortOut
from tests.paths import INCIDENT_FOLDER, REPORTS
from tests.service.intake.test_archives import encrypted, tar, zipped
from tests.service.stage import Client, Stage
from tests.service.web.test_access import OPERATE, READ, basic, bearer, digest

AWR = (REPORTS / "awr-11.2.0.4.0-undo-storm.html").read_bytes()
PATH = "/api/v1/reports"
HOSTILE = "<script>alert('x')</script>.html"


@pytest.fixture
def app(tmp_path: Path) -> Client:
    return client(tmp_path)


def client(folder: Path, **changes: Any) -> Client:
    databases = [DatabaseSettings(name="orders", dsn="demo:busy-but-fine")]
    changes.setdefault("auth", AuthSettings(audit_file=folder / "audit.jsonl"))
    return Client(create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=databases, **changes)))


def upload(app: Client, *files: tuple[str, bytes], path: str = PATH, **more: Any) -> httpx.Response:
    parts = [("file", (name, data, "image/png")) for name, data in files]
    return app.get(path, "POST", files=parts, **more)


def audited(folder: Path) -> list[dict[str, str]]:
    file = folder / "audit.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def test_upload_is_diagnosed_as_by_the_command_line_and_once(app: Client, tmp_path: Path) -> None:
    answer = upload(app, ("awr.html", AWR))
    assert answer.status_code == 201
    (one,) = [ReportOut.model_validate(each) for each in answer.json()]
    assert (one.id, one.size, one.known) == (hashlib.sha256(AWR).hexdigest(), len(AWR), False)
    assert [each.diagnosis for each in one.diagnoses] == [
        each.diagnosis for each in diagnose_data(AWR, "awr.html").diagnosed
    ]
    assert one.databases == ("ORDERS",) and one.severity == "critical"
    again = app.get(f"{PATH}/{one.id}").json()
    assert Diagnosis.model_validate(again["diagnoses"][0]["diagnosis"]) == one.diagnoses[0].diagnosis
    assert {**again, "known": False} == answer.json()[0]
    line = audited(tmp_path)[0]
    assert line.pop("at") and list(line.values()) == ["this machine", "upload report", "ORDERS", f"kept as {one.id}"]
    answer = upload(app, ("b.html", AWR))
    second = answer.json()[0]
    assert answer.status_code == 200 and second["known"]
    assert (second["id"], second["name"], second["uploaded_at"]) == (one.id, "awr.html", again["uploaded_at"])
    assert len(app.get(PATH).json()) == 1


def test_report_is_shared_taken_along_and_deleted_by_those_who_may(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann operate {digest(OPERATE)}\nbob read {digest(READ)}\n", encoding="utf-8")
    app = client(tmp_path, auth=AuthSettings(tokens_file=tokens, audit_file=tmp_path / "audit.jsonl"))
    may, only_read = {"headers": bearer(OPERATE)}, {"headers": bearer(READ)}
    first, second = (upload(app, (f"{n}.html", AWR + b" " * n), **may).json()[0]["id"] for n in range(2))
    page = app.get(f"/reports/{first}", **may).text
    assert f"http://127.0.0.1:8000/reports/{first}</pre>" in page and "Delete it for good" in page
    assert "Delete it for good" not in app.get(f"/reports/{first}", **only_read).text
    file = app.get(f"/reports/{first}/export.html", **only_read)
    assert file.headers["content-disposition"].startswith('attachment; filename="latchscope-ORDERS-')
    assert "Too many undo segments" in file.text and "<script" not in file.text
    for method, path in (("POST", f"/reports/{first}/delete"), ("DELETE", f"{PATH}/{first}")):
        assert app.get(path, method, **only_read).status_code == 403
        other = {**basic(OPERATE), "sec-fetch-site": "cross-site", "origin": "https://evil.example"}
        assert app.get(path, method, headers=other).status_code == 403, "another site may not use the reader's browser"
    assert len(app.get(PATH, **may).json()) == 2 and len(audited(tmp_path)) == 2
    answer = app.get(f"/reports/{first}/delete", "POST", **may)
    assert (answer.status_code, answer.headers["location"]) == (303, "/reports?deleted=1")
    assert app.get(f"{PATH}/{second}", "DELETE", **may).status_code == 204
    assert [one["outcome"] for one in audited(tmp_path)[2:]] == [
        f"deleted {n}.html, {i}" for n, i in enumerate((first, second))
    ]
    assert app.get(PATH, **may).json() == [] and "The report is deleted." in app.get("/reports?deleted=1", **may).text
    for path in (f"/reports/{first}", f"/reports/{first}/export.html", f"{PATH}/{first}"):
        assert app.get(path, **may).status_code == 404, path
    assert app.get(f"{PATH}/{first}", "DELETE", **may).status_code == 404
    assert app.get(f"/reports/{first}/delete", "POST", **may).status_code == 404


def test_reports_are_listed_newest_first_and_an_archive_with_each_member(app: Client, incident: Path) -> None:
    upload(app, ("a.html", AWR))
    upload(app, ("b.json", incident.read_bytes()))
    told = [ReportShortOut.model_validate(one) for one in app.get(PATH).json()]
    assert [one.name for one in told] == ["b.json", "a.html"]
    assert [one["name"] for one in app.get(f"{PATH}?limit=1").json()] == ["b.json"]
    assert app.get(f"{PATH}?limit=0").status_code == 422
    data = zipped(("one.html", AWR), ("two.json", incident.read_bytes()), ("notes.txt", b"hello"))
    (one,) = upload(app, ("all.zip", data)).json()
    assert [each["name"] for each in one["diagnoses"]] == ["all.zip!one.html", "all.zip!two.json"]
    assert one["databases"] == ["ORDERS", "undo-segments"]
    assert len(one["unread"]) == 1 and "notes.txt is not" in one["unread"][0]


SMALL = {"reports": ReportSettings(max_bytes=100_000)}
REFUSED: dict[str, tuple[list[tuple[str, bytes]], int, str]] = {
    "too large": ([("a", bytes(100_001))], 413, "reports.max_bytes"),
    "the whole request too large": ([(str(i), bytes(110_000)) for i in range(MOST_FILES)], 413, "the request is more"),
    "a bomb": ([("a.gz", gzip.compress(bytes(4 << 20)))], 413, "unpacks to more than 0.38 MiB"),
    "a zip bomb": ([("a.zip", zipped(("a", bytes(4 << 20)), level=6))], 413, "unpacks to 4 MiB"),
    "too many": ([(str(i), b"x") for i in range(MOST_FILES + 1)], 422, f"Maximum number of files is {MOST_FILES}"),
    "nothing of ours": ([("a.html", b"<html>hello</html>")], 415, "a.html is not an AWR or Statspack report"),
    "a picture": ([("a.png", b"\x89PNG\r\n\x1a\n")], 415, "a.png is a picture; send the text that it shows"),
    "empty": ([("a", b"")], 422, "a is empty"),
    "a tar": ([("a.tar", tar())], 415, "a.tar is an archive without an AWR or Statspack report"),
    "damaged": ([("a.json", b'{"format": "latchscope-capture"')], 422, "it ends too early"),
    "encrypted": ([("a.zip", encrypted())], 422, "a.zip!report.txt is encrypted"),
    "one good, one not": ([("a.json", b"{}"), ("b", b"x")], 422, '"format" must be'),
    "a name of two lines": ([("a\nb", b"x")], 415, "is not an AWR"),
}


@pytest.mark.parametrize(("files", "status", "said"), REFUSED.values(), ids=REFUSED)
def test_refused_upload_is_a_one_line_problem_and_nothing_is_kept(
    files: list[tuple[str, bytes]], status: int, said: str, tmp_path: Path
) -> None:
    app = client(tmp_path, **SMALL)
    answer = upload(app, *files)
    problem = Problem.model_validate(answer.json())
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert said in problem.detail and "\n" not in problem.detail
    if said not in ("the request is more", f"Maximum number of files is {MOST_FILES}"):
        assert problem.detail.endswith("; nothing was kept")
        assert any(problem.detail.startswith(label(name.replace("\n", "%0A"))) for name, _ in files)
    assert app.get(PATH).json() == []
    page = upload(app, *files, path="/reports", headers={"accept": "text/html"})
    assert page.status_code == status and page.headers["content-type"].startswith("text/html")
    assert "Refused:" in page.text or (said == "the request is more" and "The request is more" in page.text)


@pytest.mark.parametrize(
    ("request_", "status", "said"),
    [
        ({"json": {"file": "x"}}, 415, "send multipart/form-data"),
        ({"content": b"x"}, 415, "send multipart/form-data"),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 422, "Missing boundary"),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data; boundary=y"}}, 422, "Invalid multipart"),
        ({"files": [("other", ("a", b"x"))]}, 422, "no file came"),
        ({"files": [("file", ("", b""))]}, 422, "no file came"),
    ],
)
def test_upload_without_a_file_is_refused(app: Client, request_: dict[str, Any], status: int, said: str) -> None:
    answer = app.get(PATH, "POST", **request_)
    assert answer.status_code == status and said in answer.json()["detail"]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(f"grafana read {digest(READ)}\nnight-shift operate {digest(OPERATE)}\n", encoding="utf-8")
    return file


def test_uploads_need_the_operate_role_and_reading_needs_a_token(tmp_path: Path, tokens: Path) -> None:
    app = client(tmp_path, auth=AuthSettings(tokens_file=tokens, audit_file=tmp_path / "audit.jsonl"))
    for path in (PATH, "/reports"):
        assert app.get(path).status_code == 401
        assert upload(app, ("a", AWR), path=path).status_code == 401
        assert upload(app, ("a", AWR), path=path, headers=bearer(READ)).status_code == 403
        foreign = basic(OPERATE) | {"origin": "https://elsewhere.example"}
        assert upload(app, ("a", AWR), path=path, headers=foreign).status_code == 403
    assert audited(tmp_path) == []
    assert "token with the role operate" in app.get("/reports", headers=basic(READ)).text
    assert "<form" in app.get("/reports", headers=basic(OPERATE)).text
    (one,) = upload(app, ("a", AWR), headers=bearer(OPERATE)).json()
    assert one["who"] == "night-shift" == audited(tmp_path)[0]["caller"]
    for path in (f"{PATH}/{one['id']}", f"/reports/{one['id']}"):
        assert app.get(path).status_code == 401
        assert app.get(path, headers=bearer(READ)).status_code == 200


def test_form_leads_to_the_report_and_says_if_it_was_uploaded_before(app: Client) -> None:
    answer = upload(app, (HOSTILE, AWR), path="/reports")
    assert answer.status_code == 303
    page = app.get(answer.headers["location"])
    for word in ("kqrpre: find obj", "Ruled out", "Cannot tell", "Dictionary cache gets", "<svg"):
        assert word in page.text, word
    assert "uploaded before" not in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    again = upload(app, ("b", AWR), path="/reports")
    assert "uploaded before" in app.get(again.headers["location"]).text
    for path in ("/reports", answer.headers["location"], "/db/orders"):
        text = app.get(path).text
        assert "<script>alert" not in text and "&lt;script&gt;alert" in text, path


def test_form_with_several_files_leads_to_the_list_and_reports_link_to_their_database(
    app: Client, incident: Path
) -> None:
    answer = upload(app, ("a", AWR), ("b", incident.read_bytes()), path="/reports")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/incident?id=")
    (one,) = upload(app, ("a.html", AWR)).json()
    (other,) = upload(app, ("b.json", incident.read_bytes())).json()
    assert '<a href="/db/orders">watched now</a>' in app.get(f"/reports/{one['id']}").text
    assert "watched now" not in app.get(f"/reports/{other['id']}").text
    page = app.get("/db/orders").text
    assert f'<a href="/reports/{one["id"]}">a</a>' in page and other["id"] not in page


def test_unknown_report_is_404_with_its_name_escaped(app: Client) -> None:
    answer = app.get(f"{PATH}/nothing")
    assert answer.status_code == 404 and "no report nothing" in answer.json()["detail"]
    page = app.get("/reports/%3Cb%3E")
    assert page.status_code == 404 and "&lt;b&gt;" in page.text and "<b>" not in page.text
    assert app.get("/api/v1/incident", params={"id": "nobody"}).status_code == 404
    assert app.get("/incident", params={"id": "nobody"}).status_code == 404
    assert app.get("/api/v1/incident").status_code == 422


def test_original_is_never_served_as_a_page_and_diagnosed_again_after_an_older_version(
    app: Client, tmp_path: Path
) -> None:
    planted = AWR.replace(b"</body>", b"<img src=x onerror=planted()></body>")
    (one,) = upload(app, ("a.html", planted)).json()
    for path in (f"/reports/{one['id']}", f"{PATH}/{one['id']}", "/reports", PATH):
        assert "onerror" not in app.get(path).text
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("update reports set told = ?", ('{"form": "of old"}',))
    connection.close()
    assert app.get(f"{PATH}/{one['id']}").json()["diagnoses"] == one["diagnoses"]


@pytest.mark.slow
def test_files_that_take_too_long_are_refused_and_the_next_are_read(
    app: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept,) = upload(app, ("a.html", AWR)).json()
    with monkeypatch.context() as patch:
        patch.setattr(WORKER, "_seconds", 0.0)
        late = (
            "b.html takes more than 0 s; nothing limits `latchscope diagnose`, which reads the same; nothing was kept"
        )
        answer = upload(app, ("b.html", AWR + b" "))
        assert (answer.status_code, answer.json()["detail"]) == (422, late)
        again = app.get(f"/reports/{kept['id']}/export.html")
        assert again.status_code == 503 and "takes more than 0 s" in again.text
        assert app.get("/api/v1/incident", params={"id": kept["id"]}).status_code == 503
    assert upload(app, ("b.html", AWR + b" ")).status_code == 201


def test_store_that_is_gone_is_503_but_the_database_page_stays(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.poll_all(40, 42)
    app = stage.app()
    with sqlite3.connect(stage.folder / "store.db") as connection:
        connection.execute("drop table reports")
    connection.close()
    with caplog.at_level(logging.CRITICAL, "latchscope.web"):
        for answer in (app.get(PATH), app.get(f"{PATH}/x"), upload(app, ("a", AWR)), app.get("/reports")):
            assert answer.status_code == 503 and "the store does not answer" in answer.text
    page = app.get("/db/undo-storm")
    assert page.status_code == 200 and "Uploaded reports cannot be listed" in page.text


def test_reports_past_their_age_or_number_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_reports, "MOST", 2)
    store = Repository(f"sqlite:///{tmp_path}/s.db")
    reports, now = Reports(store.engine), datetime(2026, 3, 1, tzinfo=UTC)

    def keep(id: str, at: datetime) -> None:
        assert reports.keep(StoredReportSummary(id, at, id, 1, "x", ("A%", "b_"), "info", "h"), "{}", b"body")

    keep("old", now - stored_reports.KEEP - timedelta(days=3))
    keep("a", now - timedelta(days=2))
    assert [one.id for one in reports.newest(9)] == ["a", "old"], "the clock of one upload deletes nothing"
    store.prune(now)
    assert [one.id for one in reports.newest(9)] == ["a"]
    keep("b", now - timedelta(days=1))
    keep("c", now)
    assert [one.id for one in reports.newest(9)] == ["c", "b"]
    assert [one.id for one in reports.newest(9, "a%")] == ["c", "b"], "a name in any case"
    assert reports.newest(9, "%") == reports.newest(9, "bx") == [], "and no pattern"
    assert reports.original("c") == b"body" and reports.original("a") is None
    store.close()


def test_reports_are_listed_page_by_page_and_none_is_lost_where_two_came_at_once(app: Client, tmp_path: Path) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    at = datetime.now(UTC)
    for number, id in enumerate("edcba"):
        when = at - timedelta(days=number // 2)
        Reports(store.engine).keep(StoredReportSummary(id, when, id, 1, "x", ("A",), "info", "h"), "{}", b"body")
    store.close()
    assert follow(app, f"{PATH}?limit=2") == [["d", "e"], ["b", "c"], ["a"]]
    assert follow(app, PATH) == [["d", "e", "b", "c", "a"]], "all in one page, as before there were cursors"
    assert app.get(f"{PATH}?cursor=x").status_code == 422


def follow(app: Client, path: str) -> list[list[str]]:
    """The ids of each page, following the header from one to the next."""
    pages, link = [], path
    while link:
        answer = app.get(link)
        pages.append([one["id"] for one in answer.json()])
        link = answer.headers.get("link", "").partition(">")[0].removeprefix("<")
    return pages


def test_upload_that_its_sender_aborts_is_no_fault_of_ours(app: Client, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[dict[str, Any]] = []
    pieces = iter([{"type": "http.request", "body": b"--x\r\nContent-Disposition: form-data; ", "more_body": True}])

    async def receive() -> dict[str, Any]:
        return next(pieces, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = {"host": "127.0.0.1:8000", "content-type": "multipart/form-data; boundary=x"}
    scope = {
        "type": "http", "method": "POST", "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "scheme": "http",
        "http_version": "1.1", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    asyncio.run(app.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
    assert [each.message for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_report_that_could_not_be_judged_is_listed_as_such(app: Client) -> None:
    upload(app, ("restart.txt", (REPORTS / "awr-11.2.0.4.0-restart.txt").read_bytes()))
    (row,) = re.findall(r"<tr><td data-l=\"State\">.*?</tr>", app.get("/reports").text, re.DOTALL)
    assert "state none" in row and "</svg>Cannot tell</span>" in row, "was: Fine, in green"
    (listed,) = app.get(PATH).json()
    assert listed["severity"] == "info", "JSON has no other word for it"


def test_files_and_an_archive_of_one_time_are_read_together(app: Client) -> None:
    files = [(path.name, path.read_bytes()) for path in sorted(INCIDENT_FOLDER.iterdir())]
    page = upload(app, *files, path="/reports", follow_redirects=False)
    assert page.status_code == 303
    where = page.headers["location"]
    shown = app.get(where)
    assert shown.status_code == 200
    assert 'aria-labelledby="incident"' in shown.text
    assert "ORDERS1_ora_4242.trc:19" in shown.text
    assert "What to do: capture_ORDERS1_0931.json</a>" in shown.text
    told = Story.model_validate(app.get(f"/api/v1{where}").json())
    assert told.incident is not None
    assert set(told.incident.files) == {name for name, _ in files}
    assert told.incident.cause == "sequence-nocache"
    assert len(told.diagnoses) == len(files)
    (one,) = [ReportOut.model_validate(each) for each in upload(app, ("incident.zip", zipped(*files))).json()]
    assert one.incident is not None and one.incident.cause == "sequence-nocache"
    shown_one = app.get(f"/reports/{one.id}").text
    assert shown_one.index('aria-labelledby="incident"') < shown_one.index("Raw figures")
    assert 'aria-labelledby="incident"' in app.get(f"/reports/{one.id}/export.html").text
