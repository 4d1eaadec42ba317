"""What a page costs: processor time and bytes of the fleet and of a database, with a thousand databases on the board."""

import gzip
import tempfile
import time
from pathlib import Path

import pytest
from rich.table import Table

from collectors.scenarios import scenarios
from service.config.settings import DatabaseSettings
from tests.service.stage import Client, Stage

DATABASES = 1000
TIMES = 10
POLLS = range(40, 3640, 15)
"""An hour of polls for the databases whose page is asked for."""
PAGES = ("/", "/?state=critical", "/db/undo-storm", "/db/busy-but-fine", "/db/undo-storm/history", "/causes")


def figures() -> Table:
    """Each page asked for some times, after it was asked for once."""
    table = Table("page", "processor ms", "KB", "KB compressed", title=f"Pages with {DATABASES:,} databases")
    with tempfile.TemporaryDirectory() as folder:
        patch = pytest.MonkeyPatch()
        stage = Stage(patch, Path(folder))
        names = list(scenarios())
        more = [f"{names[number % len(names)]}-{number}" for number in range(DATABASES - len(names))]
        settings = [DatabaseSettings(name=name, dsn=f"demo:{name}", interval=15.0) for name in names]
        settings += [DatabaseSettings(name=name, dsn=f"demo:{name.rpartition('-')[0]}", interval=15.0) for name in more]
        stage.watch(*settings)
        for name in ("undo-storm", "busy-but-fine"):
            for at in POLLS:
                stage.poll(name, at)
        stage.poll_all(POLLS[-2], POLLS[-1])
        app = stage.app()
        for path in PAGES:
            table.add_row(path, *_cost(app, path))
        stage.close()
        patch.undo()
    return table


def _cost(app: Client, path: str) -> tuple[str, str, str]:
    body = app.get(path).content
    began = time.process_time()
    for _ in range(TIMES):
        app.get(path)
    spent = (time.process_time() - began) / TIMES
    return f"{1000 * spent:.1f}", f"{len(body) / 1024:.0f}", f"{len(gzip.compress(body, 4)) / 1024:.1f}"
