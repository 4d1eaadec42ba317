"""Many cells in one view, from a Prometheus-compatible engine that has the metrics of all.

The queries come first, then every PromQL expression, then the view itself.
"""

import http.client
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any
from urllib.parse import urlencode, urlsplit

from collectors.errors import SetupError
from rules.cause import catalogue
from rules.model import Severity
from service.config.load import read_secret
from service.config.settings import FleetSettings
from service.metrics.families import FINDING, IMPACT, UP

# Queries to a Prometheus-compatible engine: an answer within the deadline, or one sentence why there is none.

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


# Every PromQL expression sent to the engine. Each returns few rows, however many databases there are.
#
# Few rows may need many reads: an expression over `latchscope_up` reads a series per database. So the engine may evaluate
# `RULES` in the background (dashboards/prometheus/cells.yml), and a view reads their results.

WORST = 50
"""Most databases in the list."""
FOUND = 'latchscope_finding{severity!="info"} == 1'


def _troubled(severity: str) -> str:
    """Some databases with a finding of this severity. Cost alone misses those without DB time."""
    return f'topk({WORST}, max without (cause, cache, severity) (latchscope_finding{{severity="{severity}"}} == 1))'


COUNT, ANSWERING, CAUSES, LISTED, COUNTED_AT = (
    "cell:latchscope_up:count",
    "cell:latchscope_up:sum",
    "cell_cause_severity:latchscope_finding:count",
    "fleet:latchscope_worst:topk",
    "fleet:latchscope_counted:time",
)
RULES: Mapping[tuple[str, str], str] = {
    (COUNT, ""): "count by (cell) (latchscope_up)",
    (ANSWERING, ""): "sum by (cell) (latchscope_up)",
    (CAUSES, ""): f"count by (cell, cause, severity) ({FOUND})",
    (LISTED, "cost"): f"topk({WORST}, latchscope_impact_ratio > 0)",
    (LISTED, "critical"): _troubled("critical"),
    (LISTED, "warning"): _troubled("warning"),
    (LISTED, "silent"): f"bottomk({WORST}, latchscope_up == 0)",
    (COUNTED_AT, ""): "vector(time())",
}
"""Series, and the reason a database is in the list → the expression. Without rules the expressions run as queries."""
RECORDED = f'{{__name__=~"{"|".join(sorted({name for name, _ in RULES}))}"}}'
"""The results of all rules in one query."""


def of(families: Iterable[str], databases: Iterable[str]) -> str:
    names = "|".join(re.escape(name) for name in sorted(set(databases))).replace("\\", "\\\\").replace('"', '\\"')
    return f'{{__name__=~"{"|".join(families)}",db=~"{names}"}}'


# All databases of all cells, the worst first: their number, their causes, and the last day of each listed one.

SPARK = timedelta(hours=24)
STEP_SECONDS = 1800
KEPT_SECONDS = 10.0
"""An answer is reused for this many seconds."""
WORDS = {severity.value: place for place, severity in enumerate(reversed(Severity))}
AT_ONCE = 3
"""Concurrent queries."""
CellKey = tuple[str, str]
"""Database, and the cell and target that expose it."""


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many databases show a cause at a severity."""

    cause: str
    title: str
    severity: str
    databases: int


@dataclass(frozen=True, slots=True)
class FleetDatabase:
    """One database of any cell. `impact` is the share of DB time lost; `spark` has it by the half hour, None where unknown."""

    name: str
    cell: str
    url: str | None
    up: bool
    severity: str
    causes: tuple[str, ...]
    impact: float | None
    spark: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class FleetOverview:
    """The engine's view of all cells at one moment."""

    asked_at: datetime
    counted_at: datetime | None
    """When its rules were evaluated. None without rules: then this view read every series."""
    engine: str
    databases: int
    answering: int
    causes: tuple[CauseCount, ...]
    worst: tuple[FleetDatabase, ...]


class CellsView:
    """Queries the engine at most every few seconds. `ask` raises EngineAway."""

    def __init__(self, settings: FleetSettings) -> None:
        self._engine = Engine(settings)
        self._timeout = settings.timeout
        self._lock = Lock()
        self._last: tuple[float, FleetOverview | EngineAway] | None = None

    def ask(self) -> FleetOverview:
        """The current view, at most a few seconds old. A failure is kept as long. Raises EngineAway."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > KEPT_SECONDS:
                try:
                    answer: FleetOverview | EngineAway = overview(self._engine, self._timeout)
                except EngineAway as error:
                    answer = error
                self._last = time.monotonic(), answer
            if isinstance(self._last[1], EngineAway):
                raise EngineAway(str(self._last[1]))
            return self._last[1]


@dataclass(frozen=True, slots=True)
class _Summary:
    """The state of all databases: samples of `promql.RULES` by series, and when the engine evaluated them."""

    samples: Mapping[str, Sequence[EngineSample]]
    counted_at: datetime | None

    def total(self, name: str) -> int:
        """The sum of a series over the cells."""
        return int(sum(sample.value for sample in self.samples.get(name, ())))


def overview(engine: Engine, timeout: float) -> FleetOverview:
    """Run all queries within this many seconds. Raises EngineAway."""
    deadline, now = time.monotonic() + timeout, datetime.now(UTC)
    summary = _recorded(engine, deadline) or _counted(engine, deadline)
    listed = {_key(sample): sample for sample in summary.samples.get(LISTED, ())}
    details: dict[str, list[EngineSample]] = defaultdict(list)
    if listed:
        for sample in engine.instant(of((FINDING.name, IMPACT.name, UP.name), (name for name, _ in listed)), deadline):
            details[sample.labels.get("__name__", "")].append(sample)
    found, impact, up = (_by_key(details[family]) for family in (FINDING.name, IMPACT.name, UP.name))
    databases = [
        (_database(key, sample, found.get(key, []), impact.get(key, []), up.get(key, [])), key[1])
        for key, sample in listed.items()
    ]
    worst = sorted(databases, key=lambda database: _rank(database[0]))[:WORST]
    sparks = _sparks(engine, [database.name for database, _ in worst], now, deadline)
    return FleetOverview(
        asked_at=now,
        counted_at=summary.counted_at,
        engine=engine.name,
        databases=summary.total(COUNT),
        answering=summary.total(ANSWERING),
        causes=tuple(_causes(summary.samples.get(CAUSES, ()))),
        worst=tuple(replace(database, spark=sparks.get((database.name, instance), ())) for database, instance in worst),
    )


def _recorded(engine: Engine, deadline: float) -> _Summary | None:
    """The results of the engine's rules. None if it has none."""
    samples: dict[str, list[EngineSample]] = defaultdict(list)
    for sample in engine.instant(RECORDED, deadline):
        samples[sample.labels.get("__name__", "")].append(sample)
    if not samples[COUNTED_AT]:
        return None
    counted = min(sample.value for sample in samples[COUNTED_AT])
    return _Summary(samples, datetime.fromtimestamp(counted, UTC))


def _counted(engine: Engine, deadline: float) -> _Summary:
    """The same without rules: the engine reads every series, in as many queries as it takes."""
    asked = [(name, query) for (name, _), query in RULES.items() if name != COUNTED_AT]
    samples: dict[str, list[EngineSample]] = defaultdict(list)
    with ThreadPoolExecutor(AT_ONCE, "cells") as pool:
        answers = pool.map(lambda query: engine.instant(query, deadline), [query for _, query in asked])
        for (name, _), found in zip(asked, answers, strict=True):
            samples[name].extend(found)
    return _Summary(samples, None)


def _key(sample: EngineSample) -> CellKey:
    return sample.labels.get("db", ""), f"{sample.labels.get('cell', '')} {sample.labels.get('instance', '')}"


def _by_key(samples: Sequence[EngineSample]) -> Mapping[CellKey, list[EngineSample]]:
    by_key: dict[CellKey, list[EngineSample]] = defaultdict(list)
    for sample in samples:
        by_key[_key(sample)].append(sample)
    return by_key


def _causes(samples: Sequence[EngineSample]) -> list[CauseCount]:
    totals: Counter[tuple[str, str]] = Counter()
    for sample in samples:
        totals[sample.labels.get("cause", ""), sample.labels.get("severity", "")] += int(sample.value)
    counts = [
        CauseCount(cause, known.name if (known := catalogue().get(cause)) else cause, severity, databases)
        for (cause, severity), databases in totals.items()
    ]
    return sorted(counts, key=lambda count: (WORDS.get(count.severity, len(WORDS)), -count.databases, count.cause))


def _database(
    key: CellKey,
    sample: EngineSample,
    found: Sequence[EngineSample],
    impact: Sequence[EngineSample],
    up: Sequence[EngineSample],
) -> FleetDatabase:
    active = [finding.labels for finding in found if finding.value == 1]
    severities = sorted(
        (labels.get("severity", "info") for labels in active), key=lambda word: WORDS.get(word, len(WORDS))
    )
    causes = dict.fromkeys(labels.get("cause", "") for labels in active if labels.get("severity") != "info")
    return FleetDatabase(
        name=key[0],
        cell=sample.labels.get("cell") or sample.labels.get("instance", ""),
        url=_url(sample.labels, key[0]),
        up=bool(up) and up[0].value == 1,
        severity=severities[0] if severities else "info",
        causes=tuple(causes),
        impact=impact[0].value if impact else None,
        spark=(),
    )


def _url(labels: Mapping[str, str], name: str) -> str | None:
    """The page of the database in its cell: under the label `url`, else under the scraped address."""
    base = labels.get("url") or (f"http://{labels['instance']}" if labels.get("instance") else None)
    if base is None or not base.startswith(("http://", "https://")):
        return None
    return f"{base.rstrip('/')}/db/{name}"


def _rank(database: FleetDatabase) -> tuple[int, float, str, str]:
    """Databases in trouble come before unreadable ones, and those before healthy ones."""
    place = WORDS.get(database.severity, len(WORDS)) if database.up else WORDS["info"]
    return place, -(database.impact or 0.0) if database.up else -2.0, database.name, database.cell


def _sparks(
    engine: Engine, names: Sequence[str], now: datetime, deadline: float
) -> Mapping[CellKey, tuple[float | None, ...]]:
    if not names:
        return {}
    end = datetime.fromtimestamp(now.timestamp() // STEP_SECONDS * STEP_SECONDS, UTC)
    query = of([IMPACT.name], names)
    times = [
        (end - SPARK).timestamp() + STEP_SECONDS * n for n in range(int(SPARK.total_seconds()) // STEP_SECONDS + 1)
    ]
    found: dict[CellKey, tuple[float | None, ...]] = {}
    for sample in engine.over(query, end - SPARK, end, STEP_SECONDS, deadline):
        by_time = dict(sample.points)
        found[_key(sample)] = tuple(by_time.get(at) for at in times)
    return found
