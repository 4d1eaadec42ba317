"""Benchmarks: one module per question, found by scanning; `python -m bench [NAME…]` runs them."""
