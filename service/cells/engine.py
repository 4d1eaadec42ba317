"""Queries to a Prometheus-compatible engine: an answer within the deadline, or one sentence why there is none."""

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from collectors.errors import SetupError
from service.config.secrets import read_secret
from service.config.settings import FleetSettings

LARGEST = 16 * 2**20
"""Most bytes of an answer. Ours have some thousand rows."""
PIECE = 64 * 1024


class EngineAway(Exception):
    """The engine gave no usable answer. The message says why, without the token and without secrets in the address."""


@dataclass(frozen=True, slots=True)
class EngineSample:
    """A series with its points: seconds since 1970 and value. One point for an instant query."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The newest value."""
        return self.points[-1][1]


class Engine:
    """One engine; every query until `deadline`, by the monotonic clock. Each method raises EngineAway."""

    def __init__(self, settings: FleetSettings) -> None:
        self._url = (settings.prometheus or "").rstrip("/")
        self._token_file = settings.token_file

    @property
    def name(self) -> str:
        """Scheme, host and port of its address: the part that may be shown."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def instant(self, query: str, deadline: float) -> list[EngineSample]:
        """The current value of each series."""
        result = self._ask("query", {"query": query}, deadline)
        return [EngineSample(sample["metric"], (_point(sample["value"]),)) for sample in result]

    def over(self, query: str, begin: datetime, end: datetime, step: int, deadline: float) -> list[EngineSample]:
        """Each series over a range, with a point every `step` seconds."""
        asked = {"query": query, "start": str(begin.timestamp()), "end": str(end.timestamp()), "step": str(step)}
        result = self._ask("query_range", asked, deadline)
        return [
            EngineSample(sample["metric"], tuple(map(_point, sample["values"])))
            for sample in result
            if sample["values"]
        ]

    def _ask(self, path: str, asked: dict[str, str], deadline: float) -> list[dict[str, Any]]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise EngineAway(f"{self.name} did not answer in time")
        try:
            status, body = self._post(path, urlencode(asked | {"timeout": f"{int(1000 * left) + 1}ms"}), deadline)
            if status != 200:
                raise EngineAway(_of_status(self.name, status))
            document = json.loads(body)
            if document["status"] != "success":
                raise EngineAway(f"{self.name} refuses the query: {document.get('error', 'it does not say why')}")
            found: list[dict[str, Any]] = document["data"]["result"]
            return found
        except SetupError as error:
            raise EngineAway(str(error)) from None
        except TimeoutError:
            raise EngineAway(f"{self.name} did not answer in time") from None
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise EngineAway(f"{self.name} cannot be reached: {why}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise EngineAway(f"{self.name} does not answer as Prometheus does; check fleet.prometheus") from None

    def _post(self, path: str, form: str, deadline: float) -> tuple[int, bytes]:
        """Status and body. A redirect is an answer: a token for one address must not go to another."""
        parts = urlsplit(self._url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self._token_file is not None:
            headers["Authorization"] = f"Bearer {read_secret(self._token_file, 'fleet.token_file')}"
        connection = kind(parts.hostname or "", parts.port, timeout=max(deadline - time.monotonic(), 0.001))
        try:
            connection.request("POST", f"{parts.path}/api/v1/{path}", form, headers)
            answer = connection.getresponse()
            return answer.status, self._read(answer, deadline) if answer.status == 200 else b""
        finally:
            connection.close()

    def _read(self, answer: http.client.HTTPResponse, deadline: float) -> bytes:
        """The whole body. An engine that sends too slowly is given up."""
        body = bytearray()
        while piece := answer.read1(PIECE):
            body += piece
            if time.monotonic() > deadline:
                raise TimeoutError
            if len(body) > LARGEST:
                raise EngineAway(f"{self.name} answers with more than {LARGEST >> 20} MiB")
        return bytes(body)


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _of_status(name: str, status: int) -> str:
    if status in (401, 403):
        return f"{name} refuses the token (HTTP {status}); check fleet.token_file"
    if 300 <= status < 400:
        return f"{name} redirects (HTTP {status}); set fleet.prometheus to where it leads"
    if status == 404:
        return f"{name} has no /api/v1/query below this address (HTTP 404); check fleet.prometheus"
    return f"{name} answers HTTP {status}"
