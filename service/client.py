"""Asks a running service over REST, for each command with --url. Every failure is one sentence."""

import http.client
import json
import os
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

TOKEN_VARIABLE = "LATCHSCOPE_TOKEN"
TIMEOUT_SECONDS = 10.0
MOST_BYTES = 64 * 2**20


class ServiceRefused(Exception):
    """The service did not answer as expected: one sentence with the way out. `status` is None without an answer."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def token_of(file: Path | None) -> str | None:
    """The token from a file, else from the environment, else none. Raises ServiceRefused if the file cannot be read."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE)
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ServiceRefused(
            f"the token file {file} cannot be read: {why}; name the file that holds your token"
        ) from None
    if not token:
        raise ServiceRefused(f"the token file {file} is empty; write the token itself into it, not its sha256")
    return token


class NoRedirect(HTTPRedirectHandler):
    """Never follows a redirect: a token for one address must not go to another."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        """No request follows."""
        return None


class ServiceClient:
    """A service at an address, asked with a token."""

    def __init__(self, url: str, token: str | None = None, timeout: float = TIMEOUT_SECONDS) -> None:
        """`timeout` in seconds applies to each step of an answer. Raises ServiceRefused if the address is invalid."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServiceRefused(f"{url} is not the address of a service; write http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """The JSON at a path below /api/v1. Raises ServiceRefused."""
        return self._asked(path + (f"?{urlencode(query, doseq=True)}" if query else ""))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that answers a body. Raises ServiceRefused."""
        return self._asked(path, json.dumps(body).encode())

    def _asked(self, path: str, body: bytes | None = None) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "latchscope", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            asked = Request(f"{self.url}/api/v1{path}", body, headers)
            with build_opener(NoRedirect).open(asked, timeout=self._timeout) as answer:
                return json.loads(answer.read(MOST_BYTES))
        except HTTPError as error:
            raise ServiceRefused(self._refusal(error), error.code) from None
        except (OSError, http.client.HTTPException) as error:
            raise ServiceRefused(
                f"{self.url} does not answer: {brief(error)}; is `latchscope serve` running?"
            ) from None
        except ValueError:
            raise ServiceRefused(f"{self.url} answers, but not as latchscope does; is the address right?") from None

    def _refusal(self, error: HTTPError) -> str:
        detail = ""
        try:
            detail = str(json.loads(error.read(100_000))["detail"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            pass
        finally:
            error.close()
        if 300 <= error.code < 400:
            return (
                f"{self.url} redirects to another address ({error.code}); use that one, because a token is not sent on"
            )
        if error.code == 401:
            return f"{self.url} needs a token: name a file with --token-file, or set {TOKEN_VARIABLE}"
        return detail or f"{self.url} answers {error.code}"


def brief(error: Exception) -> str:
    """The kind of a failure. The texts of some contain the address."""
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    if isinstance(cause, TimeoutError):
        return "it takes too long"
    message = cause.strerror if isinstance(cause, OSError) else None
    return message or type(cause).__name__
