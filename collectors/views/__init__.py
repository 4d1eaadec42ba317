"""One module per dynamic view; adding a file here adds a collector."""
