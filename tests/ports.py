"""Ports for programs that tests start."""

import random
import socket

LISTENED_ON = range(20_000, 32_000)
"""Below the ports that systems give to connections, so no connection can take a port before its program listens."""


def free_port() -> int:
    """A free port of 127.0.0.1. Tests that ask at the same time get different ones, almost surely."""
    while True:
        port = random.SystemRandom().choice(LISTENED_ON)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
