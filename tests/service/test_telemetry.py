"""Telemetry end to end: a stub of a collector decodes our metrics and episodes from the wire."""

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client import CollectorRegistry, Counter

from service.config.settings import BadSettings, DatabaseSettings, Settings, TelemetrySettings
from service.notify.delivery import DeliveryRefused, DeliverySchedule
from service.otlp import send_changes
from service.state.board import Board
from service.store.repository import Repository
from service.telemetry import EpisodeRecords, MetricsExport, build_telemetry
from tests.paths import ROOT
from tests.service.stage import Stage
from tests.service.store.test_episodes import BEGAN, change, write

SECRET = "zx9mark-of-the-key"


@dataclass
class Collector:
    """The decoded requests. It answers the codes of `answers` in turn, then 200."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)

    def points(self) -> dict[str, list[Any]]:
        """Metrics by name, of every request."""
        found: dict[str, list[Any]] = {}
        for request in self.metrics:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        found.setdefault(metric.name, []).append(metric)
        return found

    def records(self) -> list[Any]:
        """Log records, of every request."""
        return [
            record
            for request in self.logs
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]


@contextmanager
def collector(*answers: int) -> Iterator[Collector]:
    one = Collector(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            answer = one.answers.pop(0) if one.answers else 200
            one.headers.append({name.lower(): value for name, value in self.headers.items()})
            if answer == 200 and self.path == "/v1/metrics":
                one.metrics.append(ExportMetricsServiceRequest.FromString(body))
            elif answer == 200 and self.path == "/v1/logs":
                one.logs.append(ExportLogsServiceRequest.FromString(body))
            self.send_response(answer)
            if 300 <= answer < 400:
                self.send_header("Location", f"{one.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        one.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield one
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


def counter(own: CollectorRegistry) -> Counter:
    return Counter("latchscope_telemetry_exports_total", "Exports.", ["target", "outcome"], registry=own)


def counted(own: CollectorRegistry, target: str, outcome: str) -> float | None:
    labels = {"target": target, "outcome": outcome}
    return own.get_sample_value("latchscope_telemetry_exports_total", labels)


def test_metrics_arrive_with_labels_units_and_the_start_of_the_instance(still: Stage, tmp_path: Path) -> None:
    still.poll("undo-storm", 40)
    still.poll("undo-storm", 42)
    (tmp_path / "headers").write_text(f"Authorization: Bearer {SECRET}\n", encoding="utf-8")
    own = CollectorRegistry()
    with collector() as to:
        settings = Settings(telemetry=TelemetrySettings(otlp=f"{to.url}/", headers_file=tmp_path / "headers"))
        MetricsExport(settings, still.board, own, counter(own)).do(datetime.now(UTC))
    found = to.points()
    (gets,) = found["latchscope_rowcache_gets_total"]
    assert gets.sum.is_monotonic and gets.sum.aggregation_temporality == 2, "cumulative"
    (mine,) = [
        point
        for point in gets.sum.data_points
        if (attributes(point)["db"], attributes(point)["cache"], attributes(point)["type"])
        == ("undo-storm", "dc_rollback_segments", "PARENT")
    ]
    page = still.board.get("undo-storm").current.blocks["latchscope_rowcache_gets_total"].decode()  # type: ignore[union-attr]
    (line,) = [each for each in page.splitlines() if 'cache="dc_rollback_segments"' in each and 'type="PARENT"' in each]
    assert mine.as_double == float(line.rpartition(" ")[2])
    assert 0 < mine.start_time_unix_nano < mine.time_unix_nano
    (waited,) = found["latchscope_wait_event_seconds_total"]
    assert waited.unit == "s" and waited.description
    (impact,) = found["latchscope_impact_ratio"]
    assert impact.WhichOneof("data") == "gauge" and 0.0 < impact.gauge.data_points[0].as_double < 1.0
    resource = attributes(to.metrics[0].resource_metrics[0].resource)
    assert resource["service.name"] == "latchscope"
    assert {each["authorization"] for each in to.headers} == {f"Bearer {SECRET}"}
    assert counted(own, "otlp:metrics", "told") == 1


def test_collector_that_fails_is_said_once_and_counted(
    still: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("service.otlp.TIMEOUT_SECONDS", 1.0)
    own = CollectorRegistry()
    with collector(400, 400) as to:
        export = MetricsExport(Settings(telemetry=TelemetrySettings(otlp=to.url)), still.board, own, counter(own))
        for _ in range(3):
            export.do(datetime.now(UTC))
    export.do(datetime.now(UTC))  # nobody listens any more
    said = [each.getMessage() for each in caplog.records if each.name == "latchscope.telemetry"]
    assert said == [
        "telemetry: metrics are not exported, retrying: the collector did not accept the metrics",
        "telemetry: metrics are exported again",
        "telemetry: metrics are not exported, retrying: the collector did not accept the metrics",
    ]
    assert (counted(own, "otlp:metrics", "told"), counted(own, "otlp:metrics", "failed")) == (1, 3)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_no_delivery_and_is_said(
    still: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    own = CollectorRegistry()
    with collector(status) as to:
        settings = Settings(telemetry=TelemetrySettings(otlp=to.url))
        export = MetricsExport(settings, still.board, own, counter(own))
        export.do(datetime.now(UTC))
        assert len(to.headers) == 1, "it is not followed"
        assert (counted(own, "otlp:metrics", "told"), counted(own, "otlp:metrics", "failed")) == (0, 1)
        to.answers.append(status)
        with pytest.raises(DeliveryRefused, match=f"answers {status}, a redirect, which is not followed"):
            send_changes(settings.telemetry, [], None)
    assert f"answers {status}, a redirect, which is not followed: set telemetry.otlp to where it is" in caplog.text


def test_episodes_arrive_once_each_as_log_records(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    own, store = CollectorRegistry(), Repository(f"sqlite:///{tmp_path}/store.db")
    with collector(400) as to:
        settings = Settings(telemetry=TelemetrySettings(otlp=to.url), public_url="https://latchscope.example.com")
        pace = DeliverySchedule(first=0.0, longest=0.0, look=0.02)
        sender = EpisodeRecords(settings, store, counter(own), pace)
        write(store, change(), change("worse", severity="critical"))
        sender.step()
        assert to.records() == [] and "telemetry otlp:logs: not delivered, retrying" in caplog.text
        sender.step()
        write(store, change("end", severity="critical"))
        sender.step()
        assert sender.step() > 0
        began, worse, ended = to.records()
        assert [each.event_name for each in (began, worse, ended)] == [
            f"latchscope.episode.{what}" for what in ("begin", "worse", "end")
        ]
        assert [each.severity_text for each in (began, worse, ended)] == ["WARNING", "CRITICAL", "RESOLVED"]
        assert began.severity_number < worse.severity_number > ended.severity_number
        told = attributes(began)
        assert (told["db"], told["latchscope.cause"]) == ("erp1", "undo-segments")
        assert told["url.full"] == "https://latchscope.example.com/db/erp1"
        assert datetime.fromisoformat(told["latchscope.episode.begin"]) == BEGAN
    outcomes = [each.outcome for each in store.deliveries.of("erp1", "undo-segments", BEGAN)]
    assert outcomes == ["told"] * 3 and counted(own, "otlp:logs", "told") == 3
    store.close()


def test_headers_file_that_cannot_be_used_is_said(
    still: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own, file = CollectorRegistry(), tmp_path / "headers"
    settings = Settings(telemetry=TelemetrySettings(otlp="http://127.0.0.1:1", headers_file=file))
    export = MetricsExport(settings, Board([]), own, counter(own))
    export.do(datetime.now(UTC))
    file.write_text(SECRET, encoding="utf-8")
    export.do(datetime.now(UTC))
    assert "headers cannot be read: No such file" in caplog.text
    assert "has a line that is not `name: value`" in caplog.text and SECRET not in caplog.text


def test_nothing_is_built_without_a_collector_and_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    databases = [DatabaseSettings(name="erp1", dsn="demo:undo-storm")]
    assert build_telemetry(Settings(databases=databases), Board([]), store, CollectorRegistry()) == []
    assert store.episode_log.recipients == []
    asked = Settings(telemetry=TelemetrySettings(otlp="http://127.0.0.1:4318"))
    assert len(build_telemetry(asked, Board([]), store, CollectorRegistry())) == 2

    def none(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("service.extras.find_spec", none)
    with pytest.raises(BadSettings, match=r"exports to OpenTelemetry need the package .* the extra `otel`"):
        build_telemetry(asked, Board([]), store, CollectorRegistry())
    store.close()


def test_service_starts_without_any_extra() -> None:
    """Each package of an extra is kept from being imported. The app must load all the same."""
    extras = ("psycopg", "mcp", "apprise", "opentelemetry.sdk", "opentelemetry.exporter", "requests")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); import service.app, service.cli.main"
    done = subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
