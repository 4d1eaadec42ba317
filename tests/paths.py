"""Where the files are that tests read. All of them are inside the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

EXAMPLES = ROOT / "examples"
"""What a reader runs too: the commands of README.md and docs/ name the same files."""
REPORTS = EXAMPLES / "reports"
INCIDENT_FOLDER = EXAMPLES / "incident"
"""One incident in four files: alert log, trace, report and capture."""
TABLES = EXAMPLES / "tables"
INCIDENT = EXAMPLES / "incident-2010.json"
STORM = EXAMPLES / "undo-storm.json"
HANG = EXAMPLES / "hang.json"
"""38 sessions behind one that waits for a background process."""

DATA = ROOT / "tests" / "data"
"""What only tests read."""
PROBES = DATA / "probes"
