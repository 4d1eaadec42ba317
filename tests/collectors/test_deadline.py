"""Deadlines around calls that have none, and what happens to calls that return too late."""

import socket
import threading
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from collectors.deadline import SessionCalls, TooLate, left_behind, taking_turns
from tests.oracle_standin.deadline import HANGS


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts and then says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        yield server.getsockname()[1]


def gone(name: str) -> bool:
    until = monotonic() + HANGS
    while left_behind(name) and monotonic() < until:
        sleep(0.005)
    return not left_behind(name)


def test_call_thread_returns_results_and_exceptions() -> None:
    calls = SessionCalls("good")
    assert calls.run(lambda: 42, HANGS, "a sum") == 42
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: 1 // 0, HANGS, "a division")
    assert calls.run(threading.get_ident, HANGS, "x") == calls.run(threading.get_ident, HANGS, "x")
    calls.give_up()
    assert gone("good")


def test_late_call_is_left_behind_and_counted_until_it_ends() -> None:
    calls, release = SessionCalls("late"), threading.Event()
    with pytest.raises(TooLate, match=r"no answer to the login within 0\.1 s"):
        calls.run(release.wait, 0.1, "the login")
    assert left_behind("late") == 1 and left_behind("another") == 0
    with pytest.raises(TooLate, match="given up"):
        calls.run(lambda: 1, HANGS, "the next")
    release.set()
    assert gone("late")


def test_call_that_hangs_on_its_socket_is_ended(silent: int) -> None:
    calls, ended = SessionCalls("hung"), threading.Event()

    def listen() -> bytes:
        with socket.create_connection(("127.0.0.1", silent)) as connected:
            try:
                return connected.recv(1)
            finally:
                ended.set()

    with pytest.raises(TooLate):
        calls.run(listen, 0.1, "a word")
    assert ended.wait(HANGS) and gone("hung")


def test_sockets_of_other_threads_are_left_alone(silent: int) -> None:
    calls, release = SessionCalls("mine"), threading.Event()
    with socket.create_connection(("127.0.0.1", silent)) as elsewhere:
        with pytest.raises(TooLate):
            calls.run(release.wait, 0.05, "anything")
        elsewhere.sendall(b"still open")
    release.set()
    assert gone("mine")


@pytest.fixture
def connected(silent: int) -> Iterator[tuple[SessionCalls, socket.socket]]:
    """The calls of a session, and the socket that the first of them connected."""
    calls = SessionCalls("known")
    with calls.run(lambda: socket.create_connection(("127.0.0.1", silent)), HANGS, "the login") as opened:
        yield calls, opened


def test_call_on_a_known_socket_runs_on_the_thread_of_its_caller(
    connected: tuple[SessionCalls, socket.socket],
) -> None:
    calls, opened = connected
    assert calls.run(threading.get_ident, HANGS, "x") == threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: 1 // 0, HANGS, "a division")
    socket.close(opened.detach())  # TLS detaches it as well
    assert calls.run(threading.get_ident, HANGS, "x") != threading.get_ident()


def test_call_that_hangs_on_a_known_socket_is_ended_and_leaves_nothing_behind(
    connected: tuple[SessionCalls, socket.socket],
) -> None:
    calls, opened = connected
    with pytest.raises(TooLate, match=r"no answer to a word within 0\.1 s"):
        calls.run(lambda: opened.recv(1), 0.1, "a word")
    assert left_behind("known") == 0
    with pytest.raises(TooLate, match="given up"):
        calls.run(lambda: 1, HANGS, "the next")


class Told:
    """A turn that notes what happens to it."""

    def __init__(self) -> None:
        self.what: list[str] = []
        self.quiet = threading.Event()

    def leave(self) -> None:
        self.what.append("leave")

    def silent(self) -> None:
        self.what.append("silent")
        self.quiet.set()

    def resume(self) -> None:
        self.what.append("resume")


def test_turn_hears_once_that_a_call_on_a_known_socket_is_silent(
    connected: tuple[SessionCalls, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.deadline.SILENCE_SECONDS", 0.0)
    turn = Told()
    with taking_turns(turn):
        assert connected[0].run(lambda: turn.quiet.wait(HANGS), HANGS, "a statement")
    assert turn.what == ["leave", "silent", "resume"]
