"""The view over all cells:

what one question about 100,000 databases costs us, and how long a real engine takes. VictoriaMetrics imports its series,
Prometheus scrapes 10,000 databases. Each runs with the shipped rules (cells.yml) and without them. A missing engine is left
out.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import Request, urlopen

from rich.table import Table

from bench._options import parser
from service.cells import Engine, overview
from service.config.settings import FleetSettings
from tests.service.engines import RULES, WithoutRules, engine, vmalert

TINY = "--victoria-metrics 1000 --prometheus 1000 --rounds 1"
NEEDED = {"victoria-metrics": ("victoria-metrics", "vmalert"), "prometheus": ("prometheus",)}
"""Programs of an engine that runs rules."""
CAUSES = ("undo-segments", "hard-parse-storm", "sequence-nocache")


def figures(options: Sequence[str] = ()) -> Table:
    """Processor and clock of one overview, each a median, on each engine that is installed."""
    asked = parser("cells", __doc__)
    asked.add_argument("--victoria-metrics", type=int, default=100_000, help="databases, in twenty cells")
    asked.add_argument("--prometheus", type=int, default=10_000, help="databases, in cells of a thousand")
    asked.add_argument("--rounds", type=int, default=10, help="times each overview is made")
    given = asked.parse_args(options)
    sizes = {"victoria-metrics": given.victoria_metrics, "prometheus": given.prometheus}
    columns = ("engine", "databases", "rules", "processor ms", "clock ms: median · longest", "listed")
    table = Table(*columns, title="All cells in one view")
    for program, databases in sizes.items():
        if not all(map(shutil.which, NEEDED[program])):
            table.add_row(program, f"{databases:,}", "not installed", "", "", "")
            continue
        with tempfile.TemporaryDirectory(prefix="latchscope-bench-") as name:
            folder = Path(name)
            cells = {"seed": 'latchscope_up{db="seed"} 1\n'}
            if program == "prometheus":
                cells = {f"cell{n}": "".join(lines(n * 1000, 1000)) for n in range(databases // 1000)}
            with engine(program, folder, cells, ruled=program == "prometheus") as url:
                if program == "prometheus":
                    rows = [("yes", Engine), ("no", WithoutRules)]
                    for said, kind in rows:
                        table.add_row(program, f"{databases:,}", said, *_asked(kind, url, databases, given.rounds))
                    continue
                _import(url, databases)
                table.add_row(program, f"{databases:,}", "no", *_asked(Engine, url, databases, given.rounds))
                with vmalert(url, RULES, folder):
                    _counted(url, databases)
                    table.add_row(program, f"{databases:,}", "yes", *_asked(Engine, url, databases, given.rounds))
    return table


def _counted(url: str, databases: int) -> None:
    """Wait for a first round of the rules."""
    until = time.monotonic() + 120
    while overview(Engine(FleetSettings(prometheus=url)), 60.0).counted_at is None:
        assert time.monotonic() < until, f"no rule has counted {databases:,} databases"
        time.sleep(1)


def lines(first: int, count: int) -> Iterator[str]:
    """The summary series of some databases: one in ten has a finding, one in fifty is critical."""
    for number in range(first, first + count):
        name = f"db{number:06}"
        yield f'latchscope_up{{db="{name}"}} {int(number % 997 > 0)}\n'
        yield f'latchscope_impact_ratio{{db="{name}"}} {number * 7919 % 1000 / (2000 if number % 50 else 1000)}\n'
        if number % 10 == 0:
            severity = "critical" if number % 50 == 0 else "warning"
            cause = CAUSES[number // 10 % len(CAUSES)]
            yield f'latchscope_finding{{db="{name}",cause="{cause}",cache="",severity="{severity}"}} 1\n'


def _import(url: str, databases: int) -> None:
    """Two points of each series, an hour and a moment ago, from twenty cells."""
    for ago in (3600, 30):
        at = int(1000 * (time.time() - ago))
        for cell in range(20):
            count = databases // 20
            body = "".join(f"{line.rstrip()} {at}\n" for line in lines(cell * count, count)).encode()
            labels = f"extra_label=cell=cell{cell}&extra_label=instance=cell{cell}:8000"
            urlopen(Request(f"{url}/api/v1/import/prometheus?{labels}", body), timeout=60).close()
    urlopen(f"{url}/internal/force_flush", timeout=60).close()


def _asked(kind: type[Engine], url: str, databases: int, rounds: int) -> tuple[str, str, str]:
    source = kind(FleetSettings(prometheus=url))
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        began = time.process_time(), time.perf_counter()
        found = overview(source, 60.0)
        taken.append((1000 * (time.process_time() - began[0]), 1000 * (time.perf_counter() - began[1])))
    assert found.databases >= 0.99 * databases and len(found.worst) == 50, f"{found.databases} of {databases} are there"
    processor, clock = (sorted(each)[rounds // 2] for each in zip(*taken, strict=True))
    return f"{processor:.0f}", f"{clock:.0f} · {max(each[1] for each in taken):.0f}", str(len(found.worst))
