"""A service over HTTP: asked with a token, and its errors in one sentence."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.client import ServiceClient, ServiceRefused, token_of
from tests.service.receiver import Answer, http_server

ANSWERS: Mapping[str, tuple[int, object]] = {
    "/api/v1/databases": (200, [{"name": "erp 1"}]),
    "/api/v1/causes/undo-segments": (200, {"id": "undo-segments"}),
    "/api/v1/databases/erp%201": (200, {"name": "erp 1"}),
    "/api/v1/databases/erp%201/diagnosis": (200, {"headline": "fine"}),
    "/api/v1/databases/erp%201/latches": (200, {"children": []}),
    "/api/v1/databases/erp%201/caches": (200, {"caches": []}),
    "/api/v1/moved": (302, "/api/v1/databases"),
    "/api/v1/databases/nobody": (404, {"detail": "no database named nobody; watched are: erp 1"}),
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("LATCHSCOPE_TOKEN", raising=False)


@contextmanager
def service(answers: Mapping[str, tuple[int, object]] = ANSWERS) -> Iterator[str]:
    """The address of a service that knows the token `mine`. A page that it does not know is no JSON."""

    def answered(path: str, headers: dict[str, str], _: bytes) -> Answer:
        known = headers.get("authorization") == "Bearer mine"
        status, body = answers.get(path, (200, None)) if known else (401, {"detail": "no"})
        text = json.dumps(body).encode() if body is not None else b"<html>"
        return status, {"Location": str(body)} if status == 302 else {}, text

    with http_server(answered) as url:
        yield url


def test_service_is_asked_with_a_token_and_its_refusals_are_sentences() -> None:
    with service() as url:
        client = ServiceClient(f"{url}/", "mine")
        assert client.url == url and client.get("/databases") == [{"name": "erp 1"}]
        with pytest.raises(ServiceRefused, match="no database named nobody; watched are: erp 1") as refused:
            client.get("/databases/nobody")
        assert refused.value.status == 404
        with pytest.raises(
            ServiceRefused, match="needs a token: name a file with --token-file, or set LATCHSCOPE_TOKEN"
        ):
            ServiceClient(url).get("/databases")
        with pytest.raises(ServiceRefused, match="answers, but not as latchscope does"):
            ServiceClient(url, "mine").get("/other")
        with pytest.raises(
            ServiceRefused, match="redirects to another address \\(302\\); use that one, because a token is not sent on"
        ):
            ServiceClient(url, "mine").get("/moved")
    with pytest.raises(ServiceRefused, match=r"does not answer: Connection refused; is `latchscope serve` running\?"):
        client.get("/databases")
    with pytest.raises(ServiceRefused, match=r"is not the address of a service; write http://127\.0\.0\.1:8000"):
        ServiceClient("localhost:8000")


def test_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_of(None) is None
    monkeypatch.setenv("LATCHSCOPE_TOKEN", "of the environment")
    assert token_of(None) == "of the environment"
    file = tmp_path / "token"
    with pytest.raises(ServiceRefused, match="cannot be read: No such file"):
        token_of(file)
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(ServiceRefused, match="is empty"):
        token_of(file)
    file.write_text("mine\n", encoding="utf-8")
    assert token_of(file) == "mine"
