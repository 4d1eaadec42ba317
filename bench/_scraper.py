"""Scrapes of `bench metrics`, from a process that imports little else."""

import http.client
import time
from collections.abc import Callable


def timed(times: int, work: Callable[[], object]) -> list[float]:
    """Seconds of each run."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken


def ask(port: int, times: int) -> list[float]:
    """Seconds from request to last byte, for scrapes one after another on one connection. Runs in another process."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def once() -> None:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.status == 200, f"/metrics answers {answer.status}"
        buffer = bytearray(1 << 20)
        while answer.readinto(buffer):
            pass

    timed(3, once)
    return timed(times, once)
