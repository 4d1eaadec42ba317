"""What is derived from stored history: series, baselines, comparisons, marks."""
