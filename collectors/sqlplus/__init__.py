"""The SQL*Plus script and the reading of what it spools."""
