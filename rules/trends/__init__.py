"""Series of reports: trends over time."""
