"""OpenTelemetry: our metrics, and episodes as log records, sent by OTLP over HTTP. Off by default."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from threading import Event
from typing import Any

import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from collectors.errors import SetupError
from service.background import PeriodicJob
from service.config.load import read_secret
from service.config.settings import BadSettings, Settings, TelemetrySettings
from service.extras import MissingExtra, require
from service.metrics import families
from service.metrics.exposition import exposition
from service.notify.delivery import DeliveryRefused, DeliverySchedule, ReceiverThread
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import EpisodeChange
from service.store.episodes import LoggedChange
from service.store.repository import Repository

# Sends telemetry: metrics every minute, episodes as they come. Each has its own thread, and no poll waits.

log = logging.getLogger("latchscope.telemetry")

RECORDS, METRICS = "otlp:logs", "otlp:metrics"
"""Names that no receiver of the configuration can have."""
AT_ONCE = 50
"""Databases per request. A large fleet becomes many small requests, with turns for polls between them."""
MOST_RECORDS = 200


class MetricsExport:
    """Sends the content of /metrics."""

    def __init__(self, settings: Settings, board: Board, own: CollectorRegistry, exports: Counter) -> None:
        self._settings = settings.telemetry
        self._board = board
        self._own = own
        self._exports = exports
        self._began = time.time()
        self._why: str | None = None
        for outcome in ("told", "failed"):
            exports.labels(METRICS, outcome)

    def do(self, now: datetime) -> None:
        """One export of everything. A failure is logged once and counted; the next export has newer figures anyway."""

        owned = list(self._board.own())
        parts: list[tuple[Sequence[MonitoredDatabase], CollectorRegistry | None]] = [([], self._own)]
        parts += [(owned[place : place + AT_ONCE], None) for place in range(0, len(owned), AT_ONCE)]
        try:
            for databases, registry in parts:
                page, _ = exposition(databases, registry)
                send_metrics(self._settings, page.decode(), time.time(), self._began)
        except DeliveryRefused as error:
            self._exports.labels(METRICS, "failed").inc()
            if str(error) != self._why:
                log.warning("telemetry: metrics are not exported, retrying: %s", error)
            self._why = str(error)
            return
        self._exports.labels(METRICS, "told").inc()
        if self._why is not None:
            log.info("telemetry: metrics are exported again")
        self._why = None


class EpisodeRecords(ReceiverThread):
    """Sends changes of episodes as log records, once each, from the same log of deliveries as webhooks."""

    def __init__(
        self, settings: Settings, store: Repository, exports: Counter, pace: DeliverySchedule | None = None
    ) -> None:
        super().__init__("telemetry", RECORDS, store.deliveries, exports, pace or DeliverySchedule())
        self._settings = settings
        store.episode_log.recipients.append(self.recipients)
        store.episode_log.on_news.append(self.wake)

    def recipients(self, change: EpisodeChange) -> list[str]:
        """Every change is sent."""
        return [RECORDS]

    def step(self) -> float:
        """Send what is due. Returns the seconds until there is something to do. Raises StoreUnavailable."""
        now = datetime.now(UTC)
        waiting = self.deliveries.open_of(RECORDS, MOST_RECORDS)
        if not waiting:
            return self.pace.look
        left = max((self.pace.due(delivery) - now).total_seconds() for delivery in waiting)
        if left > 0 or self.stopping:
            return min(self.pace.look, max(left, 0.0) or self.pace.look)
        batch = [mine for delivery in waiting if (mine := self.deliveries.claim(delivery, now)) is not None]
        if not batch:
            return self.pace.look
        try:
            send_changes(self._settings.telemetry, [delivery.change for delivery in batch], self._settings.public_url)
        except DeliveryRefused as error:
            for delivery in batch:
                self.was_refused(delivery, error, datetime.now(UTC), delivery.change.at)
            return self.pace.look
        for delivery in batch:
            self.was_told(delivery, datetime.now(UTC))
        return 0.0


# Builds the telemetry. Nothing without a collector.


def build_telemetry(
    settings: Settings, board: Board, store: Repository, registry: CollectorRegistry
) -> Sequence[PeriodicJob | ReceiverThread]:
    """The senders of metrics and episodes. `registry` counts exports. Raises BadSettings if the extra is missing."""
    exports = Counter(
        "latchscope_telemetry_exports_total",
        "Exports to the OpenTelemetry collector, by result: told, failed or gave_up.",
        ["target", "outcome"],
        registry=registry,
    )
    if settings.telemetry.otlp is None:
        return []
    try:
        require("opentelemetry.sdk", "otel", "exports to OpenTelemetry")
        require("opentelemetry.exporter.otlp.proto.http", "otel", "exports to OpenTelemetry")
    except MissingExtra as error:
        raise BadSettings(str(error)) from None

    quiet()
    metrics = MetricsExport(settings, board, registry, exports)
    job = PeriodicJob("telemetry metrics", settings.telemetry.interval, metrics.do, Event())
    return [job, EpisodeRecords(settings, store, exports)]


# The only module that speaks OTLP: metrics and log records in OpenTelemetry's own types, sent by its own exporters.

TIMEOUT_SECONDS = 10.0
"""Limit for one export with all its attempts. No poll waits for it."""
_SEVERITIES = {
    "info": SeverityNumber.INFO,
    "notice": SeverityNumber.INFO3,
    "warning": SeverityNumber.WARN,
    "critical": SeverityNumber.ERROR,
}
_UNITS = {"_seconds": "s", "_seconds_total": "s", "_bytes": "By", "_ratio": "1"}


def quiet() -> None:
    """The exporters log each failure with their address. The caller logs it once, without the address."""
    for name in ("opentelemetry", "urllib3"):
        logging.getLogger(name).propagate = False
        logging.getLogger(name).addHandler(logging.NullHandler())


def send_metrics(settings: TelemetrySettings, page: str, at: float, began: float) -> None:
    """A page of /metrics as OTLP metrics of time `at`. Raises DeliveryRefused.

    Both times are Unix seconds. `began` is when this process started to count; Oracle's totals start with the instance.
    """
    metrics = list(_metrics(page, int(at * 1e9), int(began * 1e9)))
    scope = ScopeMetrics(_scope(), metrics, "")
    data = MetricsData([ResourceMetrics(_resource(), [scope], "")])
    session = _Session()
    exporter = OTLPMetricExporter(
        f"{_base(settings)}/v1/metrics", headers=_headers(settings), timeout=TIMEOUT_SECONDS, session=session
    )
    try:
        taken = exporter.export(data, timeout_millis=TIMEOUT_SECONDS * 1000) is MetricExportResult.SUCCESS
        session.check()
        if not taken:
            raise DeliveryRefused("the collector did not accept the metrics")
    finally:
        exporter.shutdown()


def send_changes(settings: TelemetrySettings, changes: Sequence[LoggedChange], public_url: str | None) -> None:
    """Changes of episodes as log records. Raises DeliveryRefused."""
    records = [ReadableLogRecord(_record(change, public_url), _resource(), _scope()) for change in changes]
    session = _Session()
    exporter = OTLPLogExporter(
        f"{_base(settings)}/v1/logs", headers=_headers(settings), timeout=TIMEOUT_SECONDS, session=session
    )
    try:
        taken = exporter.export(records) is LogRecordExportResult.SUCCESS
        session.check()
        if not taken:
            raise DeliveryRefused("the collector did not accept the log records")
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


class _Session(requests.Session):
    """Notes redirects. They are not followed, since a token is for one address, and the exporters call them a success."""

    redirect: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.hooks["response"].append(self._note)

    def check(self) -> None:
        """Raises DeliveryRefused if the last answer was a redirect."""
        if self.redirect is not None:
            raise DeliveryRefused(
                f"the collector answers {self.redirect}, a redirect, which is not followed: set telemetry.otlp to where it is"
            )

    def _note(self, answer: requests.Response, **_: object) -> None:
        self.redirect = answer.status_code if 300 <= answer.status_code < 400 else None


def _metrics(page: str, at: int, began: int) -> Iterator[Metric]:
    """Families of the text format in order. Only counters and gauges are included."""
    found = list(text_string_to_metric_families(page))
    starts = {
        sample.labels["db"]: int(sample.value * 1e9)
        for family in found
        if family.name == families.INSTANCE_START.name
        for sample in family.samples
    }
    for family in found:
        if family.type not in ("counter", "gauge"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        points = [
            NumberDataPoint(
                dict(sample.labels), starts.get(sample.labels.get("db", ""), began), at, float(sample.value)
            )
            for sample in family.samples
            if sample.name == name
        ]
        unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
        if points and family.type == "counter":
            total = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
            yield Metric(name, family.documentation, unit, total)
        elif points:
            yield Metric(name, family.documentation, unit, Gauge(points))


def _record(change: LoggedChange, public_url: str | None) -> LogRecord:
    episode = change.episode
    severity = str(episode["peak_severity"])
    fields: dict[str, Any] = {
        "db": change.database,
        "latchscope.cause": episode["cause"],
        "latchscope.cache": episode.get("cache"),
        "latchscope.episode.begin": episode["begin"],
        "latchscope.episode.end": episode.get("end"),
        "latchscope.episode.severity": severity,
        "latchscope.share_of_db_time": episode.get("peak_share_of_db_time"),
        "latchscope.verdict": episode.get("verdict"),
        "url.full": f"{public_url.rstrip('/')}/db/{change.database}" if public_url else None,
    }
    over = change.what == "end"
    return LogRecord(
        timestamp=_nanoseconds(change.at),
        observed_timestamp=_nanoseconds(change.at),
        severity_text="RESOLVED" if over else severity.upper(),
        severity_number=SeverityNumber.INFO if over else _SEVERITIES.get(severity, SeverityNumber.INFO),
        body=str(episode["headline"]),
        attributes={name: value for name, value in fields.items() if value is not None},
        event_name=f"latchscope.episode.{change.what}",
    )


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000


def _resource() -> Resource:
    return Resource({"service.name": "latchscope", "service.version": version("latchscope")})


def _scope() -> InstrumentationScope:
    return InstrumentationScope("latchscope", version("latchscope"))


def _base(settings: TelemetrySettings) -> str:
    assert settings.otlp is not None
    return settings.otlp.rstrip("/")


def _headers(settings: TelemetrySettings) -> dict[str, str]:
    if settings.headers_file is None:
        return {}
    try:
        lines: Iterable[str] = read_secret(settings.headers_file, "telemetry.headers_file").splitlines()
    except SetupError as error:
        raise DeliveryRefused(str(error)) from None
    found = [line.partition(":") for line in lines if line.strip()]
    if not all(name.strip() and colon for name, colon, _ in found):
        raise DeliveryRefused(f"telemetry.headers_file {settings.headers_file} has a line that is not `name: value`")
    return {name.strip().lower(): value.strip() for name, _, value in found}
