"""Scripted and recorded databases behind the Connection protocol."""
