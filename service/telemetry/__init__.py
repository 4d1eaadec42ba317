"""OpenTelemetry: our metrics, and episodes as log records, sent by OTLP over HTTP. Off by default."""
