"""The settings of latchscope's own telemetry: the form of its log, and OpenTelemetry."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from service.config.units import Seconds


class TelemetrySettings(BaseModel):
    """Off by default. latchscope sends nothing unless `otlp` names a collector."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    log_format: Literal["text", "json"] = "text"
    """`json` writes each line of the log as an object with `at`, `level`, `logger` and `message`, for log collectors."""
    otlp: str | None = Field(None, pattern=r"^https?://[!-?A-~]+$")
    """Address of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/metrics` and
    `/v1/logs` are added. See [integrations.md](integrations.md#opentelemetry)."""
    headers_file: Path | None = None
    """File with headers for that collector, one `name: value` per line, such as `Authorization: Bearer …`. Read at each
    attempt."""
    interval: Seconds = Field(60.0, ge=10, le=3600)
    """Time between two exports of metrics."""
