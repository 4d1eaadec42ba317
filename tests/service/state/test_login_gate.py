"""The gate of a database's logins: whatever polls and actions do, a wrong password is tried once until somebody resumes."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.errors import CredentialError, SessionError, SetupError
from rules.cause import catalogue
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.state.login_gate import LoginGate, LoginStopped
from service.state.replicas import SoleLeases
from service.watch.actions import ActionRunning, OperatorActions
from service.watch.connect import Connector
from service.watch.worker import Worker
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.stage import Kept
from tests.service.standin import QUICK, idle

STEPS = ("poll", "confirm", "holders", "samples", "killed", "resume")


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener({"erp": idle()}) as listener:
        yield listener


class Watch:
    """A worker and the actions on one database of the stand-in, whose user has just got another password."""

    def __init__(self, listener: Listener, folder: Path, *, session: bool) -> None:
        """`session`: whether the worker logged in before that."""
        self.service: Service = listener.services["erp"]
        self.service.accounts[USER] = Account(PASSWORD)
        file = folder / "password"
        file.write_text(PASSWORD + "\n", encoding="utf-8")
        database = DatabaseSettings(name="erp", dsn=listener.dsn("erp"), user=USER, password_file=file)
        self.watched = MonitoredDatabase(database, 15.0)
        connector = Connector(QUICK)
        self.worker = Worker(self.watched, connector, Kept([]))
        self.actions = OperatorActions(connector, SoleLeases("a"), lambda name: self.worker, None)
        if session:
            within(HANGS, self.worker.step)
            assert self.watched.up
        self.service.accounts.change(USER, "rotated")
        self.before, self.resumed = self.service.counters.failed_logins, 0

    @property
    def refused(self) -> int:
        return self.service.counters.failed_logins - self.before

    def do(self, step: str) -> None:
        with suppress(SessionError, ActionRunning):
            if step == "poll":
                within(HANGS, self.worker.step)
            elif step == "confirm":
                within(HANGS, lambda: self.actions.confirm(self.watched, catalogue()["undo-segments"]))
            elif step == "holders":
                within(HANGS, lambda: self.actions.profile(self.watched, 0.1, 1))
            elif step == "samples":
                self.actions.sample(self.watched)
            elif step == "killed":
                self.service.faults.kill_sessions()
            else:
                self.resumed += self.actions.resume_login(self.watched)

    def end(self) -> None:
        within(HANGS, self.worker._drop)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=15), st.booleans())
def test_standin_refuses_one_login_until_somebody_resumes(listener: Listener, steps: list[str], session: bool) -> None:
    with TemporaryDirectory() as folder:
        watch = Watch(listener, Path(folder), session=session)
        for step in steps:
            watch.do(step)
            assert watch.refused <= 1 + watch.resumed, (steps, step)
        watch.end()


@pytest.mark.parametrize("polled", [True, False])
def test_standin_refuses_one_login_of_twelve_actions_and_a_poll(
    listener: Listener, tmp_path: Path, polled: bool
) -> None:
    """In whichever order: an action that meets the refusal stops the worker too."""
    watch = Watch(listener, tmp_path, session=False)
    for step in ["poll"] * polled + ["confirm", "holders"] * 6 + ["poll"] * 3:
        watch.do(step)
    assert watch.refused == 1
    failure = watch.watched.failure
    assert failure is not None and (failure.kind, failure.code) == ("credential", "ORA-01017")
    watch.service.accounts.change(USER, PASSWORD)
    watch.do("poll")
    assert watch.refused == 1 and not watch.watched.up, "the account is right again, and nobody said so"
    watch.do("resume")
    watch.do("poll")
    assert watch.watched.up
    watch.do("holders")
    watch.end()


def test_standin_session_is_not_replaced_after_a_refused_login(listener: Listener, tmp_path: Path) -> None:
    """A session that does not answer is replaced within a poll, which is a login too."""
    watch = Watch(listener, tmp_path, session=True)
    watch.do("holders")
    assert watch.refused == 1
    connection = watch.worker._connection
    with pytest.raises(LoginStopped, match="was refused at"):
        connection._replace()  # type: ignore[union-attr]
    assert watch.refused == 1
    watch.end()


def refused() -> str:
    raise CredentialError("ORA-01017: refused")


def test_logins_at_one_moment_try_a_wrong_password_once() -> None:
    gate, tried, begin = LoginGate(), list[int](), threading.Barrier(8)

    def log_in() -> str:
        tried.append(1)
        return refused()

    def one(_: int) -> type[Exception] | None:
        begin.wait(HANGS)
        try:
            gate.open(lambda: "wrong", log_in)
        except CredentialError as error:
            return type(error)
        return None

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(one, range(8)))
    assert len(tried) == 1
    assert outcomes.count(CredentialError) == 1 and outcomes.count(LoginStopped) == 7


def test_another_password_opens_the_gate_and_an_unreadable_one_does_not() -> None:
    def unreadable() -> str:
        raise SetupError("password_file is being replaced")

    gate = LoginGate()
    with pytest.raises(SetupError):
        gate.open(unreadable, lambda: "session")
    assert not gate.resume() and gate.stopped is None
    with pytest.raises(CredentialError):
        gate.open(lambda: "old", refused)
    with pytest.raises(LoginStopped):
        gate.open(unreadable, lambda: "session")
    with pytest.raises(LoginStopped):
        gate.open(lambda: "old", lambda: "session")
    assert gate.open(lambda: "new", lambda: "session") == "session" and gate.stopped is None
    assert gate.open(lambda: "old", lambda: "session") == "session"


def test_other_failures_stop_nothing() -> None:
    def lost() -> str:
        raise SessionError("ORA-12541: no listener")

    gate = LoginGate()
    for _ in range(2):
        with pytest.raises(SessionError, match="ORA-12541"):
            gate.open(lambda: "right", lost)
    assert gate.stopped is None and gate.replace("right", lambda: "session") == "session"
