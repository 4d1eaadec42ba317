"""Builds the telemetry. Nothing without a collector."""

from collections.abc import Sequence
from threading import Event

from prometheus_client import CollectorRegistry, Counter

from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra, require
from service.notify.sending import ReceiverThread
from service.periodic import PeriodicJob
from service.state.board import Board
from service.store.repository import Repository
from service.telemetry.export import EpisodeRecords, MetricsExport


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
    from service.telemetry.otlp import quiet

    quiet()
    metrics = MetricsExport(settings, board, registry, exports)
    job = PeriodicJob("telemetry metrics", settings.telemetry.interval, metrics.do, Event())
    return [job, EpisodeRecords(settings, store, exports)]
