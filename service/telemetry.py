"""OpenTelemetry: our metrics, and episodes as log records, sent by OTLP over HTTP. Off by default."""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Event

from prometheus_client import CollectorRegistry, Counter

from service.background import PeriodicJob
from service.config.settings import BadSettings, Settings
from service.extras import MissingExtra, require
from service.metrics.exposition import exposition
from service.notify.delivery import DeliveryRefused, DeliverySchedule, ReceiverThread
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import EpisodeChange
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

        from service import otlp  # here, because the extra may be missing where there is no collector

        owned = list(self._board.own())
        parts: list[tuple[Sequence[MonitoredDatabase], CollectorRegistry | None]] = [([], self._own)]
        parts += [(owned[place : place + AT_ONCE], None) for place in range(0, len(owned), AT_ONCE)]
        try:
            for databases, registry in parts:
                page, _ = exposition(databases, registry)
                otlp.send_metrics(self._settings, page.decode(), time.time(), self._began)
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
        from service import otlp

        try:
            otlp.send_changes(
                self._settings.telemetry, [delivery.change for delivery in batch], self._settings.public_url
            )
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

    from service import otlp

    otlp.quiet()
    metrics = MetricsExport(settings, board, registry, exports)
    job = PeriodicJob("telemetry metrics", settings.telemetry.interval, metrics.do, Event())
    return [job, EpisodeRecords(settings, store, exports)]
