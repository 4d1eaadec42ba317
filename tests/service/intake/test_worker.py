"""Files are read in a process of its own, which a file may hurt and the service not."""

import os
import time

import pytest

from collectors.errors import InputError
from service.intake.archives import MIB
from service.intake.worker import Worker


def test_process_is_kept_until_a_file_takes_too_much_and_then_replaced() -> None:
    worker = Worker(seconds=30.0, memory=64 * MIB)
    first = worker.run("a", os.getpid)
    assert first != os.getpid() and worker.run("a", os.getpid) == first
    for hurts, said in (
        ((bytearray, 10**9), "b takes more than 64 MiB of memory; nothing limits `latchscope diagnose`"),
        ((os._exit, 1), "b ends the process that reads it"),
    ):
        with pytest.raises(InputError, match=said):
            worker.run("b", *hurts)
        assert worker.run("a", len, "four") == 4
    with pytest.raises(RuntimeError, match="invalid literal"):
        worker.run("a", int, "x")
    worker.end()


def test_file_that_is_read_for_ever_is_ended_at_the_deadline() -> None:
    began, worker = time.monotonic(), Worker(seconds=0.1)
    with pytest.raises(InputError, match=r"a, b takes more than 0\.1 s"):
        worker.run("a, b", time.sleep, 1_000)
    assert time.monotonic() - began < 100
