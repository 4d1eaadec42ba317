"""How fast `latchscope diagnose` reads a large alert log, and how much memory it takes: a log is made by a generator first."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from rich.table import Table

from bench._options import parser
from tests.paths import ROOT

TINY = "--megabytes 2"
GOAL_SECONDS, GOAL_MIB = 60, 200
"""Processor seconds and MiB for 1,000 MB."""
PEAK = """
import resource, sys
from service.intake.inputs import diagnose_all
from service.render.text import as_text
outcome = diagnose_all(sys.argv[1:])
text = as_text(outcome.diagnosed)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, len(outcome.diagnosed[0].diagnosis.events), len(text))
"""
ROUTINE = (
    "Thread 1 advanced to log sequence {a} (LGWR switch)\n  Current log# 3 seq# {a} mem# 0: /u01/oradata/erp/redo03.log\n",
    "Archived Log entry {a} added for T-1.S-{b} ID 0x5b1a dest 1:\n",
    "PDB1(3):TABLE SYS.WRP$_REPORTS: ADDED INTERVAL PARTITION SYS_P{a} ({b}) VALUES LESS THAN (1)\n",
    "Fatal NI connect error 12170.\n\n  VERSION INFORMATION:\n\tTNS for Linux: Version 19.0.0.0.0 - Production\n"
    "  Tracing not turned on.\n  Tns error struct:\n    ns main err code: 12535\nTNS-12535: TNS:operation timed out\n"
    "    ns secondary err code: 12560\n    nt OS err code: 0\n  Client address: (ADDRESS=(PROTOCOL=tcp)(PORT={a}))\n",
)
"""What fills an alert log: switches of the redo log, archived logs, partitions of AWR, broken connections."""
SOMETIMES = (
    "PDB1(3):Resize operation completed for file# {c}, old size {a}000K, new size {b}000K\n",
    "WARNING: too many parse errors, count={a} SQL hash=0x{b}\nPARSE ERROR: ospid={c}, error=942 for statement:\n"
    "select a from b\nAdditional information: hd=0x16d14b178 phd=0x16d14c8d0\n",
    "Errors in file /u01/diag/rdbms/erp/erp1/trace/erp1_ora_{a}.trc:\nORA-00060: Deadlock detected. {b}\n",
    ">>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid={c}\n"
    "System State dumped to trace file /u01/diag/rdbms/erp/erp1/trace/erp1_ora_{a}.trc\n",
)
ONE_IN = 20
"""So many entries have one that becomes an event."""


def entries(size: int, seed: int = 1) -> Iterator[bytes]:
    """An alert log of at least so many bytes, entry by entry."""
    chance = random.Random(seed)
    at, made = datetime(2019, 1, 1), 0  # noqa: DTZ001 - a log has the clock of its host
    while made < size:
        at += timedelta(seconds=chance.randrange(20))
        text = chance.choice(SOMETIMES if chance.randrange(ONE_IN) == 0 else ROUTINE)
        numbers = {"a": chance.randrange(99_999), "b": chance.randrange(99_999), "c": chance.randrange(999)}
        entry = f"{at:%Y-%m-%dT%H:%M:%S}.123456+01:00\n{text.format(**numbers)}".encode()
        made += len(entry)
        yield entry


def figures(options: Sequence[str] = ()) -> Table:
    """One table: size, lines, processor seconds, MB per second and peak memory of one reading with its diagnosis."""
    asked = parser("logs", __doc__)
    asked.add_argument("--megabytes", type=int, default=1000, help="size of the log")
    given = asked.parse_args(options)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "alert_erp1.log"
        with log.open("wb") as file:
            file.writelines(entries(given.megabytes * 10**6))
        run = subprocess.run(
            [sys.executable, "-c", PEAK, str(log)],
            capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        size = log.stat().st_size
    seconds, mebibytes, events, _ = map(float, run.stdout.split())
    table = Table(title="reading an alert log", title_justify="left")
    for heading in ("what", "figure", "goal for 1,000 MB"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_row("MB", f"{size / 1e6:,.0f}", "")
    table.add_row("processor seconds, diagnosis included", f"{seconds:,.1f}", f"{GOAL_SECONDS}")
    table.add_row("MB per processor second", f"{size / 1e6 / seconds:,.1f}", "")
    table.add_row("peak memory, MiB", f"{mebibytes:,.0f}", f"{GOAL_MIB}")
    table.add_row("events shown", f"{events:,.0f}", "")
    return table
