"""The only module that speaks OTLP: metrics and log records in OpenTelemetry's own types, sent by its own exporters.

It needs the extra `otel`, so only `service.telemetry` imports it, and only when there is a collector.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.metadata import version
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
from prometheus_client.parser import text_string_to_metric_families

from collectors.errors import SetupError
from service.config.load import read_secret
from service.config.settings import TelemetrySettings
from service.metrics import families
from service.notify.delivery import DeliveryRefused
from service.store.episodes import LoggedChange

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
