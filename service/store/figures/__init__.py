"""Figures of many items in one row: packing, reading and writing."""
