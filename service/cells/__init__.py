"""Many cells in one view, from a Prometheus-compatible engine that has the metrics of all."""
