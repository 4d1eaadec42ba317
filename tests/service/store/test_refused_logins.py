"""Refused logins in the store: what is kept, what is shared, what a stolen store tells, and what a silent one does."""

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, event, text

from collectors.errors import CredentialError
from service.config.load import fingerprint
from service.config.settings import DatabaseSettings
from service.state.login_gate import LoginGate, LoginStopped, Refusal, RefusalsUnknown, gates_of
from service.store.engine import upgrade
from service.store.refused_logins import StoredRefusals
from service.store.replicas import SharedLeases
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.stores import Place

SENT = fingerprint("LATCHSCOPE", "tiger-lilies")
ACCOUNTS = ("a" * 64, "b" * 64)
REFUSED = Refusal(SENT, "erp1", "ORA-01017: invalid username/password", 1767225600.5)


def test_refusal_is_found_by_any_account_and_forgotten_for_all_by_what_a_database_met(store: Repository) -> None:
    first, other = StoredRefusals(store.engine), StoredRefusals(store.engine)
    assert first.of(ACCOUNTS, SENT) is None and not first.forget(ACCOUNTS, [SENT], "erp1")
    first.keep(ACCOUNTS, REFUSED)
    assert other.of(ACCOUNTS[:1], SENT) == other.of(ACCOUNTS[1:], SENT) == REFUSED
    assert other.of(ACCOUNTS, fingerprint("LATCHSCOPE", "another")) is None
    assert other.of(("c" * 64,), SENT) is None
    assert other.forget(ACCOUNTS, [SENT], "erp2")
    assert first.of(ACCOUNTS, SENT) is None
    others = Refusal(fingerprint("LATCHSCOPE", "of erp2"), "erp2", "ORA-01017", 1.0)
    first.keep(ACCOUNTS, REFUSED), first.keep(ACCOUNTS, others)
    assert first.forget(ACCOUNTS, [], "erp1")
    assert first.of(ACCOUNTS, SENT) is None and first.of(ACCOUNTS, others.credential) == others


def test_store_holds_neither_the_password_nor_a_hash_that_another_store_shares(
    store: Repository, tmp_path: Path
) -> None:
    StoredRefusals(store.engine).keep(ACCOUNTS, REFUSED)
    with store.engine.connect() as connection:
        (mark,) = set(connection.scalars(text("select credential from refused_logins")))
    bare = {
        hashlib.new(kind, word).hexdigest()
        for kind in ("md5", "sha1", "sha256")
        for word in (b"tiger-lilies", SENT.encode())
    }
    assert mark not in {*bare, SENT, "tiger-lilies"} and len(mark) == 64
    other = create_engine(f"sqlite:///{tmp_path}/other.db")
    upgrade(other)
    StoredRefusals(other).keep(ACCOUNTS, REFUSED)
    with other.connect() as connection:
        assert mark not in set(connection.scalars(text("select credential from refused_logins")))
    other.dispose()


@pytest.fixture
def hanging(store: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoredRefusals]:
    """A store that answers nothing until the test is over."""
    monkeypatch.setattr("service.store.refused_logins.PATIENCE", 0.05)
    goes_on = threading.Event()

    def hang(connection: object) -> None:
        goes_on.wait(HANGS)

    event.listen(store.engine, "begin", hang)
    yield StoredRefusals(store.engine)
    goes_on.set()
    while hangs := [thread for thread in threading.enumerate() if thread.name == "refused logins"]:
        hangs[0].join(0.01)  # it goes on to other work, or ends
    event.remove(store.engine, "begin", hang)


def test_store_that_hangs_costs_one_thread_and_one_try(hanging: StoredRefusals) -> None:
    for _ in range(3):
        with pytest.raises(RefusalsUnknown):
            hanging.of(ACCOUNTS, SENT)
    assert sum(thread.name == "refused logins" for thread in threading.enumerate()) == 1
    gate, tried = gates_of([ERP[0]], hanging)["erp1"], list[int]()
    for _ in range(3):
        with pytest.raises(CredentialError):
            gate.open(lambda: SENT, lambda: wrong(tried))
    assert tried == [1] and gate.resume()
    with pytest.raises(CredentialError):
        gate.open(lambda: SENT, lambda: wrong(tried))
    assert tried == [1, 1]


def test_refusal_that_the_store_did_not_take_is_kept_when_it_answers(store: Repository, tmp_path: Path) -> None:
    away = True

    def down(connection: object) -> None:
        if away:
            raise OSError("no")

    event.listen(store.engine, "begin", down)
    gate, tried = gates_of([ERP[0]], StoredRefusals(store.engine))["erp1"], list[int]()
    with pytest.raises(CredentialError, match="ORA-01017"):
        gate.open(lambda: SENT, lambda: wrong(tried))
    away = False
    with pytest.raises(LoginStopped):
        gate.open(lambda: SENT, lambda: wrong(tried))
    again = gates_of([ERP[0]], StoredRefusals(store.engine))["erp1"]
    with pytest.raises(LoginStopped):
        again.open(lambda: SENT, lambda: wrong(tried))
    assert tried == [1]


ERP = [
    DatabaseSettings(name=f"erp{number}", dsn=f"node{number}.example.com/erp", cluster="erp", password_env="NO_MATTER")
    for number in (1, 2)
]


def wrong(tried: list[int]) -> None:
    tried.append(1)
    raise CredentialError("ORA-01017: invalid username/password")


def test_replicas_that_start_at_one_moment_try_a_wrong_password_once(shared: Place) -> None:
    """Two instances of one cluster, each polled by another replica."""
    engine: Engine = create_engine(shared.url)
    upgrade(engine)
    leases = [SharedLeases(shared.url, name, None, 30.0) for name in ("a", "b")]
    begin, tried = threading.Barrier(2), list[int]()
    gates = [
        gates_of(ERP, StoredRefusals(engine), held.logging_in)[database.name]
        for held, database in zip(leases, ERP, strict=True)
    ]

    def one(gate: LoginGate) -> str:
        begin.wait(HANGS)
        try:
            gate.open(lambda: SENT, lambda: wrong(tried))
        except CredentialError as error:
            return str(error)
        return "a session"

    try:
        with ThreadPoolExecutor(2) as pool:
            said = sorted(pool.map(one, gates))
        assert tried == [1]
        assert said[0].startswith("ORA-01017") and "was refused at" in said[1], said
        assert gates[0].resume(), "whichever met it"
        with pytest.raises(CredentialError, match=r"^ORA-01017"):
            gates[1].open(lambda: SENT, lambda: wrong(tried))
    finally:
        for each in leases:
            each.close()
        engine.dispose()
