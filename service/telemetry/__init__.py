"""OpenTelemetry: our metrics, and episodes as log records, sent by OTLP over HTTP. Off unless it is asked for."""
