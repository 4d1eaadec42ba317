"""`latchscope` unchanged, with notes of what a test cannot see from outside.

`python -m tests.service.noting serve --config …`. If the environment has NOTED, that file gets each poll that the store's
writer has taken. So a test that kills the process knows which polls it had promised to keep. If it has COUNTED, SIGUSR1
writes there the number of live objects of each type, and with PYTHONTRACEMALLOC=1 the memory by line.
"""

import gc
import json
import os
import signal
import tracemalloc
from collections import Counter
from pathlib import Path

from collectors.model import Snapshot
from rules.model import Diagnosis
from service.__main__ import main
from service.state.board import PollRecord
from service.store.writer import Writer

NOTED = "LATCHSCOPE_TEST_NOTED"
COUNTED = "LATCHSCOPE_TEST_COUNTED"


def note(file: str) -> None:
    """Let the writer note what it has taken, in one write that a kill cannot split."""
    noted = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    taking = Writer.keep

    def keep(self: Writer, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        taking(self, snapshot, diagnosis, poll_record)
        if snapshot.taken_at is not None:
            os.write(noted, f"{snapshot.database} {snapshot.taken_at.isoformat()}\n".encode())

    Writer.keep = keep  # type: ignore[method-assign]


def count(file: Path) -> None:
    """Count on SIGUSR1. The file appears whole or not at all."""

    def counted(*_: object) -> None:
        gc.collect()
        found = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
        for line in tracemalloc.take_snapshot().statistics("lineno")[:500] if tracemalloc.is_tracing() else ():
            found[f"kB of {line.traceback}"] = line.size // 1024
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(found), encoding="utf-8")
        draft.rename(file)

    signal.signal(signal.SIGUSR1, counted)


if __name__ == "__main__":
    if NOTED in os.environ:
        note(os.environ[NOTED])
    if COUNTED in os.environ:
        count(Path(os.environ[COUNTED]))
    main()
