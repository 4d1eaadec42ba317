"""The main path: poll, difference, diagnose, publish, for each database."""
