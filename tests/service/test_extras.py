"""The extras are optional: whoever installs none has the service and every command."""

import subprocess
import sys

from tests.paths import ROOT


def test_service_starts_without_any_extra() -> None:
    """Each package of an extra is kept from being imported. The app must load all the same."""
    extras = ("psycopg", "textual", "mcp", "apprise", "requests")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); import service.app, service.cli.main"
    done = subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
