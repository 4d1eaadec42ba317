"""Conversations with a database whose bytes are damaged in every way: `python -m tests.collectors.fuzzing PROFILE SEED…`. It
prints a line before each conversation and one with its outcome after it. So the parent process knows which conversation
crashed the driver. The last line says what leaked.
"""

import faulthandler
import os
import random
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from collectors.deadline import SPARE_THREADS, left_behind
from collectors.errors import SessionError, StatementError
from collectors.oracle import ConnectTarget, Deadlines, OracleConnection, prepare
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer, DictBackend, OracleType, ResultColumn
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import PROFILES
from tests.oracle_standin.server import Listener
from tests.service.standin import becomes

USER, PASSWORD = "latchscope", "a Passw0rd"
SQL = "select n, word from standin"
IMPATIENT = Deadlines(connect=1.0, statement=0.3, ping=0.2, close=0.2)
AT_ONCE = 4
FROM_SERVER, FROM_CLIENT = 3900, 4200
"""Approximate bytes of a whole conversation."""
KNOWN = (SessionError, StatementError)


class Damage:
    """The damage to one direction of one conversation: from some byte on, bytes change, repeat, stop or end."""

    KINDS = ("flip", "flip", "flip", "noise", "zeros", "ones", "drop", "insert", "twice", "end", "stall")

    def __init__(self, chance: random.Random, length: int) -> None:
        self.kind = chance.choice(self.KINDS)
        self.place = chance.randrange(length)
        self.size = chance.choice((1, 1, 2, 4, 16))
        self._chance = chance
        self._seen = 0
        self.over = False

    def of(self, data: bytes) -> bytes:
        """The bytes to pass on; `over` when none follow."""
        begin, self._seen = self.place - self._seen, self._seen + len(data)
        if self.over or not 0 <= begin < len(data):
            return b"" if self.over else data
        before, hit, after = data[:begin], data[begin : begin + self.size], data[begin + self.size :]
        if self.kind in ("end", "stall"):
            self.over = True
            return before
        return before + self._changed(hit) + after

    def _changed(self, hit: bytes) -> bytes:
        if self.kind == "flip":
            return bytes(byte ^ (1 << self._chance.randrange(8)) for byte in hit)
        noise = self._chance.randbytes(len(hit))
        return {
            "noise": noise,
            "zeros": bytes(len(hit)),
            "ones": b"\xff" * len(hit),
            "drop": b"",
            "insert": noise + hit,
        }.get(self.kind, hit + hit)


@contextmanager
def proxy(port: int, to_client: Damage, to_server: Damage | None) -> Iterator[str]:
    """The address of a listener whose bytes pass through the damage. The block closes every socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ends: list[socket.socket] = []

        def pump(source: socket.socket, sink: socket.socket, damage: Damage | None) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    sink.sendall(damage.of(data) if damage else data)
                    if damage and damage.over:
                        if damage.kind == "stall":
                            return
                        break
                sink.shutdown(socket.SHUT_RDWR)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    upstream = socket.create_connection(("127.0.0.1", port))
                    ends.extend((client, upstream))
                    for pair in ((client, upstream, to_server), (upstream, client, to_client)):
                        threads.append(threading.Thread(target=pump, args=pair, name="pump", daemon=True))
                        threads[-1].start()

        threads = [threading.Thread(target=accept, name="pump", daemon=True)]
        threads[0].start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}/orcl"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            threads[0].join(HANGS)
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(HANGS)
            for end in ends:
                end.close()


def conversation(number: int, service: Service, port: int) -> str:
    """One login, one statement and the goodbye. Returns the class of the outcome."""
    chance = random.Random(number)
    to_server = Damage(chance, FROM_CLIENT) if chance.random() < 0.2 else None
    with proxy(port, Damage(chance, FROM_SERVER), to_server) as dsn:

        def talk() -> str:
            target, accepted = ConnectTarget(dsn, USER, PASSWORD), frozenset({SQL})
            connection = OracleConnection(f"fuzz {number % AT_ONCE}", target, IMPATIENT, accepted)
            try:
                return f"answered {len(connection.query(SQL, {}).rows) // 100 * 100} rows or more"
            finally:
                connection.close()

        try:
            return within(HANGS, talk)
        except KNOWN as error:
            return type(error).__name__
        except Exception as error:  # noqa: BLE001  which one is the question
            return f"UNKNOWN {type(error).__name__}: {error} (conversation {number})"


def open_sockets() -> int:
    """Sockets that this process has open."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            count += os.readlink(entry).startswith("socket:")
    return count


def session_threads() -> int:
    return sum(each.name == "spare" or each.name.startswith("session ") for each in threading.enumerate())


def main(profile: str, seeds: list[int]) -> None:
    """All conversations, a few at once."""
    prepare("thin")
    columns = [ResultColumn("N"), ResultColumn("Word", OracleType.VARCHAR2)]
    rows = [(number, f"row {number} with ünicode") for number in range(120)]
    before = open_sockets()
    service = Service(DictBackend({SQL: Answer(columns, rows)}), {USER: Account(PASSWORD)}, PROFILES[profile])

    def told(number: int) -> None:
        os.write(1, f"begin {number}\n".encode())
        outcome = conversation(number, service, listener.port)
        os.write(1, f"end {number} {outcome}\n".encode())

    with Listener({"orcl": service}) as listener, ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(told, seeds))
    becomes(lambda: not any(left_behind(f"session fuzz {number}") for number in range(AT_ONCE)), "no call hangs")
    becomes(lambda: open_sockets() <= before, "no socket is left")
    assert session_threads() <= SPARE_THREADS + AT_ONCE
    os.write(1, b"nothing is left\n")


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], [int(each) for each in sys.argv[2:]])
