"""Ports for programs that tests start."""

import random
import socket

LISTENED_ON = range(20_000, 32_000)
"""Below the ports that systems hand out to connections: none of those can take a port before its program listens on it."""


def free_port() -> int:
    """A port of 127.0.0.1 nobody listens on; of any number of tests that ask at once, each gets another one most surely."""
    while True:
        port = random.SystemRandom().choice(LISTENED_ON)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
