"""Statements of several views in one, which a poll sends in place of theirs; one file of SQL per group and release."""
