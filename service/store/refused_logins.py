"""Refused logins in the store, so that a restart or another replica does not repeat them.

A password is in it as an HMAC under a key of this store, in many rounds. The key is in the store too, so a stolen store
lets somebody try guesses, each for the price of all rounds, and tells nothing about a password in another store.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import SQLAlchemyError

from collectors.deadline import NoThread, SessionCalls
from collectors.errors import SessionError
from service.state.login_gate import Refusal, RefusalsUnknown
from service.store.rows import insert_new, upsert
from service.store.tables import REFUSED_LOGINS, SECRETS

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that a login waits for the store."""
ROUNDS = 100_000
"""Some 30 ms of one core. They are spent only if a login of the account was refused before."""
LOGINS = "logins"
"""The name of the key."""


class StoredRefusals:
    """The tables `refused_logins` and `secrets`; see `service.state.login_gate.Refusals`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asking = Lock()
        self._key: bytes | None = None

    def of(self, accounts: Sequence[str], credential: str) -> Refusal | None:
        """The refusal of this password for one of the accounts. Raises RefusalsUnknown."""

        def ask(connection: Connection) -> Refusal | None:
            rows = connection.execute(select(REFUSED_LOGINS).where(REFUSED_LOGINS.c.account.in_(accounts))).all()
            mark = self._mark(connection, credential) if rows else ""
            row = next((row for row in rows if row.credential == mark), None)
            return None if row is None else Refusal(credential, row.database, row.why, row.at)

        return self._bounded(ask)

    def keep(self, accounts: Sequence[str], refusal: Refusal) -> None:
        """Keep a refusal for each of the accounts. Raises RefusalsUnknown."""

        def write(connection: Connection) -> None:
            mark = self._mark(connection, refusal.credential)
            told = {"credential": mark, "database": refusal.database, "why": refusal.why, "at": refusal.at}
            upsert(connection, REFUSED_LOGINS, [{"account": account, **told} for account in accounts])

        self._bounded(write)

    def forget(self, accounts: Sequence[str], credentials: Iterable[str], database: str | None = None) -> bool:
        """Forget these passwords, and whatever this database met. False if there was nothing. Raises RefusalsUnknown."""

        def write(connection: Connection) -> bool:
            of = REFUSED_LOGINS.c
            if connection.scalar(select(of.account).where(of.account.in_(accounts)).limit(1)) is None:
                return False  # as nearly always, and then nothing is written
            marks = [self._mark(connection, credential) for credential in credentials]
            over = (of.account.in_(accounts), (of.database == database) | of.credential.in_(marks))
            return connection.execute(delete(REFUSED_LOGINS).where(*over)).rowcount > 0

        return self._bounded(write)

    def _mark(self, connection: Connection, credential: str) -> str:
        if self._key is None:
            insert_new(connection, SECRETS, [{"name": LOGINS, "secret": secrets.token_bytes(32)}])
            self._key = connection.scalars(select(SECRETS.c.secret).where(SECRETS.c.name == LOGINS)).one()
        return mark_of(self._key, credential)

    def _bounded(self, ask: Callable[[Connection], T]) -> T:
        """One question at a time. While one hangs, the others are not asked at all."""
        if not self._asking.acquire(timeout=PATIENCE):
            raise RefusalsUnknown("the store does not answer")

        def work() -> T:
            try:
                with self._engine.begin() as connection:
                    return ask(connection)
            finally:
                self._asking.release()

        try:
            return SessionCalls("refused logins").run(work, PATIENCE, "the store")
        except NoThread as error:  # `work` never ran
            self._asking.release()
            raise RefusalsUnknown(str(error)) from None
        except (SQLAlchemyError, OSError, SessionError) as error:
            raise RefusalsUnknown(str(error)) from None


@lru_cache(maxsize=256)
def mark_of(key: bytes, credential: str) -> str:
    """How the store names the fingerprint of a password: PBKDF2 with HMAC-SHA-256, as hex."""
    return hashlib.pbkdf2_hmac("sha256", credential.encode(), key, ROUNDS).hex()
