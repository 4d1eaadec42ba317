"""Many cells in one view: what a Prometheus-compatible engine says of all of them."""
