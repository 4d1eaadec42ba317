"""Reads AWR and Statspack reports, HTML and text, into the Delta that two polls would make; see docs/reports.md."""
