"""Access: tokens and roles, and without tokens only this machine."""

import base64
import hashlib
import json
import logging
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from service.app import create_app
from service.cli.main import cli
from service.config.settings import AuthSettings, BadSettings, DatabaseSettings, Settings
from service.web.access import read_tokens
from service.web.sessions import SESSION_SECONDS
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Client
from tests.service.standin import becomes
from tests.started import Started

READ, OPERATE = "a-token-to-read", "a-token-to-operate"
RESUME = "/api/v1/databases/demo/login/resume"
LOOPBACK = {"host": "127.0.0.1:8000"}
OPEN = {"/healthz", "/readyz", "/runbooks/LatchscopeMissing"}


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def basic(token: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()}


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    lines = ("# who may do what", "", f"grafana read {digest(READ)}", f"night-shift operate {digest(OPERATE)}")
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def client(folder: Path, tokens: Path | None = None) -> Client:
    auth = AuthSettings(tokens_file=tokens, audit_file=folder / "audit.jsonl")
    databases = [DatabaseSettings(name="demo", dsn="demo:busy-but-fine")]
    return Client(create_app(Settings(store=f"sqlite:///{folder}/store.db", auth=auth, databases=databases)))


def test_routes_all_need_a_token_except_the_process_probes(tmp_path: Path, tokens: Path) -> None:
    app = client(tmp_path, tokens)
    routes = app.get("/api/v1/openapi.json", headers=bearer(READ)).json()["paths"]
    pages = {"/": ["get"], "/db/{db}": ["get"], "/causes": ["get"], "/find": ["get"], "/runbooks": ["get"]}
    asked = 0
    for path, methods in {**routes, **pages}.items():
        for method in methods:
            if path in OPEN or method not in ("get", "post"):
                continue
            place = path.replace("{db}", "demo").replace("{id}", "undo-segments")
            status = app.get(place, method.upper()).status_code
            assert status == 401, f"{method} {path} answers {status} to a stranger"
            asked += 1
    assert asked > 8
    assert all(app.get(path).status_code == 200 for path in OPEN)


def test_only_who_may_read_finds_anything_and_neither_a_digest_nor_an_odd_cookie_may(
    tmp_path: Path, tokens: Path
) -> None:
    app = client(tmp_path, tokens)
    stranger = app.get("/find?q=demo", headers={"accept": "text/html"})
    assert (stranger.status_code, stranger.headers["location"]) == (303, "/sign-in?to=/find")
    assert "data-find" not in app.get("/sign-in").text, "who is not signed in is offered nothing to find"
    assert "/db/demo" in app.get("/find?q=demo", headers=bearer(READ)).text
    assert app.get("/metrics", headers=bearer(digest(READ))).status_code == 401
    cookie = f"latchscope_session={digest(READ)[:16]}.99999999999.\u00e9".encode("latin-1")
    assert app.get("/api/v1/databases", headers={b"cookie": cookie}).status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/databases", "/metrics", "/"])
def test_token_works_as_bearer_and_as_the_password_of_a_browser(tmp_path: Path, tokens: Path, path: str) -> None:
    app = client(tmp_path, tokens)
    for headers in (bearer(READ), bearer(OPERATE), basic(READ)):
        assert app.get(path, headers=headers).status_code == 200
    odd = base64.b64encode(b"\xff:\xff").decode()
    for wrong in (
        b"",
        b"Bearer",
        b"Bearer x",
        b"Digest x",
        b"Basic !!!",
        b"Basic \xff",
        b"Bearer \xff",
        f"Basic {odd}".encode(),
    ):
        answer = app.get(path, headers={b"authorization": wrong})
        assert answer.status_code == 401 and "Bearer" in answer.headers["www-authenticate"]
        assert READ not in answer.text


def test_every_answer_says_that_it_is_not_framed_nor_guessed_nor_kept_by_a_browser(
    tmp_path: Path, tokens: Path
) -> None:
    app = client(tmp_path, tokens)
    kept = {"/static/latchscope.css", "/docs/problems", "/docs/problems/refused", "/docs/", "/swagger/swagger-ui.css"}
    for path in (*kept, "/", "/api/v1/databases", "/metrics", "/healthz", "/sign-in", "/nothing", "/api"):
        answer = app.get(path, headers=bearer(READ))
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert (answer.headers.get("cache-control") == "no-store") is (path not in kept), path


def test_actions_need_the_operate_role_and_are_audited(
    tmp_path: Path, tokens: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = client(tmp_path, tokens)
    refused = app.get(RESUME, "POST", headers=bearer(READ))
    assert refused.status_code == 403 and "operate" in refused.json()["detail"]
    assert not (tmp_path / "audit.jsonl").exists()
    with caplog.at_level(logging.INFO, "latchscope.audit"):
        assert app.get(RESUME, "POST", headers=bearer(OPERATE)).status_code == 200
    assert '"caller": "night-shift"' in (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
    assert OPERATE not in caplog.text


def test_actions_without_tokens_are_for_this_machine_and_no_other_site(tmp_path: Path) -> None:
    app = client(tmp_path)
    assert app.get(RESUME, "POST", headers=LOOPBACK).status_code == 200
    assert app.get(RESUME, "POST", headers=LOOPBACK | {"origin": "http://127.0.0.1:8000"}).status_code == 200
    for headers in (
        {"host": "latchscope.example"},
        LOOPBACK | {"origin": "https://elsewhere.example"},
        LOOPBACK | {"origin": "null"},
        LOOPBACK | {"origin": "http://localhost:8000"},
        LOOPBACK | {"origin": "http://127.0.0.1:3000"},
        LOOPBACK | {"origin": "https://127.0.0.1:8000"},
        LOOPBACK | {"sec-fetch-site": "same-site"},
    ):
        assert app.get(RESUME, "POST", headers=headers).status_code == 403, headers


HOSTS = ("127.0.0.1:8000", "localhost", "LOCALHOST:9", "[::1]:8000", "127.1.2.3")
FOREIGN = ("latchscope.example", "testserver", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "x@127.0.0.1")


@pytest.mark.parametrize("path", ["/", "/api/v1/databases", "/metrics", "/api/v1/causes", "/db/demo"])
def test_reads_without_tokens_are_for_this_machine_by_name(tmp_path: Path, path: str) -> None:
    app = client(tmp_path)
    assert [app.get(path, headers={"host": host}).status_code for host in HOSTS] == [200] * len(HOSTS)
    assert [app.get(path, headers={"host": host}).status_code for host in FOREIGN] == [403] * len(FOREIGN)
    told = app.get("/metrics", headers={"host": "evil.example"}).json()["detail"]
    assert told == "without tokens only this machine is served, under 127.0.0.1 or localhost, not evil.example"


def test_reads_of_an_open_address_are_for_every_name(tmp_path: Path) -> None:
    app = Client(create_app(Settings(store=f"sqlite:///{tmp_path}/store.db", listen="0.0.0.0:8000")))
    assert app.get("/metrics", headers={"host": "latchscope.example"}).status_code == 200
    app.app.state.close()


@pytest.mark.parametrize("peer", ["192.0.2.2", "::ffff:192.0.2.2", "fe80::1", "", "localhost"])
@pytest.mark.parametrize("listen", ["0.0.0.0:8000", "127.0.0.1:8000"])
def test_who_is_local_is_decided_by_the_connection_and_not_by_what_a_request_says(
    tmp_path: Path, listen: str, peer: str
) -> None:
    databases = [DatabaseSettings(name="demo", dsn="demo:busy-but-fine")]
    auth = AuthSettings(audit_file=tmp_path / "audit.jsonl")
    chosen = Settings(store=f"sqlite:///{tmp_path}/store.db", listen=listen, auth=auth, databases=databases)
    app = Client(create_app(chosen))
    lies = LOOPBACK | {"x-forwarded-for": "127.0.0.1", "forwarded": "for=127.0.0.1", "x-real-ip": "127.0.0.1"}
    refused = app.get(RESUME, "POST", peer, headers=lies)
    assert refused.status_code == 403 and "auth.tokens_file" in refused.json()["detail"]
    assert not (tmp_path / "audit.jsonl").exists()
    for here in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        assert app.get(RESUME, "POST", here, headers=LOOPBACK).status_code == 200
        assert app.get(RESUME, "POST", here, headers={"host": "evil.example"}).status_code == 403
    assert app.get("/metrics", peer=peer, headers=LOOPBACK).status_code == (200 if chosen.host == "0.0.0.0" else 403)
    app.app.state.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "https://behind.a.proxy"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8000"}, 403),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_page_of_another_site_cannot_use_the_remembered_password(
    tmp_path: Path, tokens: Path, headers: dict[str, str], status: int
) -> None:
    app = client(tmp_path, tokens)
    assert app.get(RESUME, "POST", headers=basic(OPERATE) | headers).status_code == status
    assert app.get(RESUME, "POST", headers=bearer(OPERATE) | headers).status_code == 200, (
        "no browser sends a bearer token"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("grafana read 123", "line 1"),
        (f"grafana admin {digest(READ)}", "line 1"),
        (f"# fine\ngrafana {digest(READ)}", "line 2"),
        ("# nobody\n", "no token"),
        (f"ops2 operate {digest('')}", "line 1: this is the sha256 of no token at all"),
        (None, "cannot be read: No such file"),
        ("#" * 65537, "cannot be read: it is not a file of at most 64 KiB"),
    ],
)
def test_tokens_file_error_names_the_line_without_its_content(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(BadSettings, match=said) as caught:
        read_tokens(file)
    assert digest(READ) not in str(caught.value)


def public(folder: Path) -> str:
    """A configuration that listens on every address, without tokens."""
    file = folder / "latchscope.yaml"
    databases = [{"name": "a", "dsn": "demo:undo-storm"}]
    whole = {"listen": "0.0.0.0:0", "store": f"sqlite:///{folder}/s.db", "databases": databases}
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return str(file)


def test_serve_refuses_a_public_address_without_tokens(tmp_path: Path) -> None:
    refusal = CliRunner().invoke(cli, ["serve", "--config", public(tmp_path)])
    assert refusal.exit_code == 2
    assert refusal.stderr.count("\n") == 1 and "auth.tokens_file" in refusal.stderr and "--insecure" in refusal.stderr


@pytest.mark.slow
def test_insecure_serves_a_public_address_warns_and_ends_at_once(tmp_path: Path) -> None:
    errors = tmp_path / "stderr.txt"
    process = Started("-m", "service", "serve", "--config", public(tmp_path), "--insecure", errors=errors)
    try:
        becomes(lambda: "without access control" in errors.read_text(), "it warns")
        process.terminate()  # perhaps before the web server handles signals
        assert process.wait(HANGS) == 0
    finally:
        process.kill()


def test_browser_signs_in_with_its_token_and_out_again(tmp_path: Path, tokens: Path) -> None:
    guarded = client(tmp_path, tokens)
    asked = guarded.get("/db/demo", headers={"accept": "text/html"})
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?to=/db/demo")
    assert guarded.get("/sign-in").status_code == 200
    wrong = guarded.get("/sign-in", "POST", content="token=nobody&to=/")
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    done = guarded.get("/sign-in", "POST", content=f"token={OPERATE}&to=//elsewhere.example")
    assert (done.status_code, done.headers["location"]) == (303, "/")
    kept = done.headers["set-cookie"]
    assert "Secure" not in kept
    by_proxy = guarded.get("/sign-in", "POST", content=f"token={OPERATE}", headers={"x-forwarded-proto": "https"})
    assert "; Secure" in by_proxy.headers["set-cookie"]
    assert all(word in kept for word in ("HttpOnly", "SameSite=strict", "latchscope_session=")) and OPERATE not in kept
    cookie = {"cookie": kept.partition(";")[0]}
    assert "Sign out" in guarded.get("/causes", headers=cookie).text
    elsewhere, cross = {"origin": "https://elsewhere.example"}, {"sec-fetch-site": "cross-site"}
    for headers, status in (({}, 200), (elsewhere, 403), (cross, 403)):
        assert guarded.get(RESUME, "POST", headers=cookie | headers).status_code == status, headers
    for path in ("/sign-in", "/sign-out"):
        foreign = cookie | {"sec-fetch-site": "cross-site"}
        by_others = guarded.get(path, "POST", headers=foreign, content=f"token={OPERATE}")
        assert by_others.status_code == 403 and "set-cookie" not in by_others.headers, path
    out = guarded.get("/sign-out", "POST", headers=cookie)
    assert 'latchscope_session=""' in out.headers["set-cookie"]
    assert guarded.get("/api/v1/databases", headers=cookie).status_code == 401, "the server ended it too"
    assert guarded.get("/sign-out", "POST", headers=cookie).status_code == 303
    lines = (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    done = [(line["caller"], line["action"]) for line in map(json.loads, lines)]
    assert done == [*2 * [("night-shift", "sign in")], ("night-shift", "resume login"), ("night-shift", "sign out")]


def test_cookie_that_was_changed_or_has_ended_is_none(
    tmp_path: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = client(tmp_path, tokens)
    kept = guarded.get("/sign-in", "POST", content=f"token={READ}").headers["set-cookie"].partition(";")[0]
    name, _, value = kept.partition("=")
    for changed in (value[:-1], f"{value}x", "", digest(READ), digest(value)):
        assert guarded.get("/api/v1/databases", headers={"cookie": f"{name}={changed}"}).status_code == 401, changed
    assert guarded.get("/api/v1/databases", headers={"cookie": kept}).status_code == 200
    assert guarded.get(RESUME, "POST", headers={"cookie": kept}).status_code == 403, "reading is all it was for"
    later = time.monotonic() + SESSION_SECONDS + 1
    monkeypatch.setattr("service.web.sessions.time", SimpleNamespace(monotonic=lambda: later))
    assert guarded.get("/api/v1/databases", headers={"cookie": kept}).status_code == 401
