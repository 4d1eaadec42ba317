"""AWR and Statspack reports, HTML and text, read into the Delta that two polls would make; see docs/reports.md."""
