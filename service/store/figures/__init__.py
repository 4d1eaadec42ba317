"""Figures of many items in one row: how they are packed, read and written."""
