"""The gate of a database's logins: whatever polls and actions do, a wrong password is tried once until somebody resumes."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete

from collectors.errors import CredentialError, SessionError, SetupError
from rules.cause import catalogue
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.state.login_gate import LoginGate, LoginStopped, gates_of
from service.state.replicas import Leases
from service.store.engine import make_engine, upgrade
from service.store.refused_logins import StoredRefusals
from service.store.tables import REFUSED_LOGINS
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
        self.actions = OperatorActions(connector, Leases("a"), lambda name: self.worker, None)
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
    with pytest.raises(CredentialError):
        gate.open(lambda: "newer", refused)
    with pytest.raises(LoginStopped):
        gate.replace("old", lambda: "session")
    assert gate.resume() and gate.replace("old", lambda: "session") == "session"


def test_other_failures_stop_nothing() -> None:
    def lost() -> str:
        raise SessionError("ORA-12541: no listener")

    gate = LoginGate()
    for _ in range(2):
        with pytest.raises(SessionError, match="ORA-12541"):
            gate.open(lambda: "right", lost)
    assert gate.stopped is None and gate.replace("right", lambda: "session") == "session"


# Any sequence of polls, actions, restarts and changes, on two replicas with one store, and two instances of one cluster.

PAIR = tuple(
    DatabaseSettings(name=name, dsn=f"{name}.example.com/erp", cluster="erp", password_env="NO_MATTER")
    for name in ("erp1", "erp2")
)
EVENTS = st.tuples(
    st.sampled_from(("login",) * 4 + ("action", "replace", "restart", "killed", "rotated", "file", "race", "resume")),
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from(("first", "second", "third")),
)
"""What happens, on which replica, with which database, and the password of a change."""


class Site:
    """The password that counts, the one in the file of each database, and the replicas."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.right, self.files = "first", {"erp1": "first", "erp2": "first"}
        self.gates = [self._started(), self._started()]
        self.sessions: dict[tuple[int, str], str] = {}
        self.refused = self.changes = self.resumed = 0
        self.race: str | None = None

    def _started(self) -> Mapping[str, LoginGate]:
        return gates_of(PAIR, StoredRefusals(self._engine))

    def log_in(self, name: str) -> str:
        if self.race is not None:
            self._change(name, self.race)
        sent = self.files[name]
        if sent != self.right:
            self.refused += 1
            error = CredentialError("ORA-01017: refused")
            error.credential = sent
            raise error
        return sent

    def _change(self, name: str, password: str) -> None:
        self.changes += self.files[name] != password
        self.files[name], self.race = password, None

    def do(self, what: str, replica: int, name: str, password: str) -> None:
        gate, place = self.gates[replica][name], (replica, name)
        if what in ("login", "action", "race"):
            if what == "race":
                self.race = password
            if what != "login" or place not in self.sessions:
                self.sessions[place] = gate.open(lambda: self.files[name], partial(self.log_in, name))
        elif what == "replace" and place in self.sessions:
            gate.replace(self.sessions[place], partial(self.replaced, place))
        elif what == "restart":
            self.gates[replica] = self._started()
            self.sessions = {each: sent for each, sent in self.sessions.items() if each[0] != replica}
        elif what == "killed":
            self.sessions.clear()
        elif what == "rotated":
            self.changes += self.right != password
            self.right = password
        elif what == "file":
            self._change(name, password)
        elif what == "resume":
            self.resumed += gate.resume()

    def replaced(self, place: tuple[int, str]) -> str:
        if self.sessions[place] != self.right:
            self.refused += 1
            raise CredentialError("ORA-01017: refused")
        return self.right


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = make_engine(f"sqlite:///{tmp_path_factory.mktemp('logins')}/store.db")
    upgrade(engine)
    yield engine
    engine.dispose()


@settings(max_examples=100, deadline=None, derandomize=True)
@example(
    [("login", 1, 1, "first"), ("race", 0, 1, "third"), ("replace", 1, 1, "first"), ("login", 0, 1, "first")]
)  # a session with the old password says nothing about the new one
@given(st.lists(EVENTS, min_size=3, max_size=25))
def test_no_sequence_gives_more_than_one_refused_login_per_change(
    shared: Engine, events: list[tuple[str, int, int, str]]
) -> None:
    with shared.begin() as connection:
        connection.execute(delete(REFUSED_LOGINS))
    site = Site(shared)
    for what, replica, which, password in events:
        with suppress(CredentialError):
            site.do(what, replica, PAIR[which].name, password)
        assert site.refused <= site.changes + site.resumed, (what, replica, which, password)
    site.right, site.race = "fourth", None
    site.files = dict.fromkeys(site.files, "fourth")
    for gates in site.gates:
        for name in site.files:
            assert gates[name].open(lambda: "fourth", partial(site.log_in, name)) == "fourth", "a new password opens it"


DESCRIPTOR = "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=erp)))"


@pytest.mark.parametrize(
    ("dsns", "users", "cluster", "same"),
    [
        (("db:1521/erp", "DB/ERP"), ("latchscope", "LATCHSCOPE"), None, True),
        (("tcp://db:1521/erp?expire_time=2", DESCRIPTOR), ("A", "A"), None, True),
        (("db:1521/pdb1", "db:1521/pdb2"), ("C##SCOPE", "c##scope"), None, True),
        (("db:1521/pdb1", "db:1521/pdb2"), ("SCOPE", "SCOPE"), None, False),
        (("db:1521/erp", "db:1522/erp"), ("SCOPE", "SCOPE"), None, False),
        (("db:1521/erp", "db:1521/erp"), ("SCOPE", '"scope"'), None, False),
        (("db:1521/erp", "db:1521/erp"), ("scope", '"SCOPE"'), None, True),
        (("db:1521/erp", "db:1521/erp"), ("scope[app]", "SCOPE"), None, True),
        (("node1/erp", "node2/erp"), ("SCOPE", "SCOPE"), "erp", True),
        (("node1/erp", "node2/erp"), ("SCOPE", "OTHER"), "erp", False),
        (("erp_a", "erp_b"), ("SCOPE", "SCOPE"), None, False),
    ],
)
def test_databases_share_an_account_by_user_and_address_or_cluster(
    dsns: tuple[str, str], users: tuple[str, str], cluster: str | None, same: bool
) -> None:
    first, second = (
        DatabaseSettings(name=f"d{number}", dsn=dsn, user=user, cluster=cluster, password_env="NO_MATTER")
        for number, (dsn, user) in enumerate(zip(dsns, users, strict=True))
    )
    gates = gates_of([first, second])
    with pytest.raises(CredentialError):
        gates["d0"].open(lambda: "wrong", refused)
    if same:
        with pytest.raises(LoginStopped, match="ORA-01017: refused, on d0, which has the same account"):
            gates["d1"].open(lambda: "wrong", refused)
        assert gates["d1"].resume() and gates["d0"].stopped is None
    else:
        assert gates["d1"].open(lambda: "wrong", lambda: "session") == "session" and not gates["d1"].resume()


def test_databases_share_an_account_through_a_third() -> None:
    def named(name: str, dsn: str, cluster: str | None) -> DatabaseSettings:
        return DatabaseSettings(name=name, dsn=dsn, cluster=cluster, password_env="NO_MATTER")

    gates = gates_of([named("a", "db1/x", None), named("b", "db2/x", "rac"), named("c", "db1/x", "rac")])
    with pytest.raises(CredentialError):
        gates["a"].open(lambda: "wrong", refused)
    with pytest.raises(LoginStopped):
        gates["b"].open(lambda: "wrong", refused)


def test_gates_of_a_configuration_read_anew_know_what_those_of_before_know() -> None:
    def named(name: str, dsn: str, cluster: str | None = None) -> DatabaseSettings:
        return DatabaseSettings(name=name, dsn=dsn, cluster=cluster, password_env="NO_MATTER")

    before = gates_of([named("a", "db1/x"), named("b", "db2/x"), named("moves", "db3/x")])
    for name in before:
        with pytest.raises(CredentialError):
            before[name].open(lambda name=name: f"wrong of {name}", refused)  # type: ignore[misc]
    both = [named("a", "db1/x", "rac"), named("b", "db2/x", "rac")]
    after = gates_of([*both, named("comes", "db2/x"), named("moves", "db4/x")], known=before)
    assert after["a"] is before["a"] and after["b"].account is after["a"].account is after["comes"].account
    for name, password in (("a", "a"), ("a", "b"), ("comes", "a"), ("comes", "b")):
        with pytest.raises(LoginStopped):
            after[name].open(lambda password=password: f"wrong of {password}", refused)  # type: ignore[misc]
    assert after["moves"].open(lambda: "wrong of moves", lambda: "session") == "session", "another database"
