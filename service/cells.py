"""All databases of all cells, the worst first: their number, their causes, and the last day of each listed one."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Lock

from rules.cause import catalogue
from rules.model import Severity
from service.cells import promql
from service.cells.engine import Engine, EngineAway, EngineSample
from service.config.settings import FleetSettings
from service.metrics.families import UP
from service.metrics.verdicts import FINDING, IMPACT

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
    listed = {_key(sample): sample for sample in summary.samples.get(promql.LISTED, ())}
    details: dict[str, list[EngineSample]] = defaultdict(list)
    if listed:
        for sample in engine.instant(
            promql.of((FINDING.name, IMPACT.name, UP.name), (name for name, _ in listed)), deadline
        ):
            details[sample.labels.get("__name__", "")].append(sample)
    found, impact, up = (_by_key(details[family]) for family in (FINDING.name, IMPACT.name, UP.name))
    databases = [
        (_database(key, sample, found.get(key, []), impact.get(key, []), up.get(key, [])), key[1])
        for key, sample in listed.items()
    ]
    worst = sorted(databases, key=lambda database: _rank(database[0]))[: promql.WORST]
    sparks = _sparks(engine, [database.name for database, _ in worst], now, deadline)
    return FleetOverview(
        asked_at=now,
        counted_at=summary.counted_at,
        engine=engine.name,
        databases=summary.total(promql.COUNT),
        answering=summary.total(promql.ANSWERING),
        causes=tuple(_causes(summary.samples.get(promql.CAUSES, ()))),
        worst=tuple(replace(database, spark=sparks.get((database.name, instance), ())) for database, instance in worst),
    )


def _recorded(engine: Engine, deadline: float) -> _Summary | None:
    """The results of the engine's rules. None if it has none."""
    samples: dict[str, list[EngineSample]] = defaultdict(list)
    for sample in engine.instant(promql.RECORDED, deadline):
        samples[sample.labels.get("__name__", "")].append(sample)
    if not samples[promql.COUNTED_AT]:
        return None
    counted = min(sample.value for sample in samples[promql.COUNTED_AT])
    return _Summary(samples, datetime.fromtimestamp(counted, UTC))


def _counted(engine: Engine, deadline: float) -> _Summary:
    """The same without rules: the engine reads every series, in as many queries as it takes."""
    asked = [(name, query) for (name, _), query in promql.RULES.items() if name != promql.COUNTED_AT]
    samples: dict[str, list[EngineSample]] = defaultdict(list)
    with ThreadPoolExecutor(AT_ONCE, "cells") as pool:
        answers = pool.map(lambda query: engine.instant(query, deadline), [query for _, query in asked])
        for (name, _), found in zip(asked, answers, strict=True):
            samples[name].extend(found)
    return _Summary(samples, None)


def _key(sample: EngineSample) -> CellKey:
    return sample.labels.get("db", ""), f"{sample.labels.get('cell', '')} {sample.labels.get('instance', '')}"


def _by_key(samples: Sequence[EngineSample]) -> Mapping[CellKey, list[EngineSample]]:
    found: dict[CellKey, list[EngineSample]] = defaultdict(list)
    for sample in samples:
        found[_key(sample)].append(sample)
    return found


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
    query = promql.of([IMPACT.name], names)
    times = [
        (end - SPARK).timestamp() + STEP_SECONDS * n for n in range(int(SPARK.total_seconds()) // STEP_SECONDS + 1)
    ]
    found: dict[CellKey, tuple[float | None, ...]] = {}
    for sample in engine.over(query, end - SPARK, end, STEP_SECONDS, deadline):
        by_time = dict(sample.points)
        found[_key(sample)] = tuple(by_time.get(at) for at in times)
    return found
