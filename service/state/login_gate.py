"""Whether a login may be tried: after a refused one no other, until the password changes or an operator resumes.

A profile locks an account after a few wrong passwords, wherever they come from. So everything that logs in goes through
the gate of its database, and databases with one account share what is known of it: with each other, with the other
replicas, and with the next run.
"""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Protocol, TypeVar

from collectors.deadline import without_turn
from collectors.errors import CredentialError, SessionError, SetupError
from service.config.load import account
from service.config.settings import DatabaseSettings
from service.state.time_window import iso

Session = TypeVar("Session")

LONGEST_WAIT = 20.0
"""Seconds to wait for a login of another replica. None takes longer, unless its `oracle.connect_timeout` is longer."""


class LoginStopped(CredentialError):
    """No login was tried, because the last one was refused."""

    def __init__(self, why: str, at: float, *, first: bool = True) -> None:
        """`why`: the database's words; `at`: time.time() of the refusal, or of the first failed poll if not `first`-hand."""
        moment = iso(datetime.fromtimestamp(at, UTC).replace(microsecond=0))
        when = f"was refused at {moment}" if first else f"is refused, and no poll succeeded since {moment}"
        super().__init__(
            f"the login {when} ({why}); no other is tried, because that could lock the account: correct the password, or "
            "try the same once more with POST …/login/resume"
        )
        self.why = why


@dataclass(frozen=True, slots=True)
class Refusal:
    """A login that a database refused, with the fingerprint of the password."""

    credential: str
    database: str
    why: str
    at: float
    """time.time()"""

    def stopped(self, database: str) -> LoginStopped:
        """The error for a caller of this database, which may be another one of the same account."""
        elsewhere = "" if database == self.database else f", on {self.database}, which has the same account"
        return LoginStopped(f"{self.why}{elsewhere}", self.at)


class RefusalsUnknown(Exception):
    """The store does not answer. Then the process goes by what it has met itself."""


class Refusals(Protocol):
    """Refused logins that outlive the process and that replicas share.

    Each call is bounded in time, and raises RefusalsUnknown.
    """

    def of(self, accounts: Sequence[str], credential: str) -> Refusal | None:
        """The refusal of this password for one of the accounts."""
        ...

    def keep(self, accounts: Sequence[str], refusal: Refusal) -> None:
        """Keep a refusal for each of the accounts."""
        ...

    def forget(self, accounts: Sequence[str], credentials: Iterable[str], database: str | None = None) -> bool:
        """Forget these passwords, and whatever this database met. False if there was nothing."""
        ...


class SharedAccount:
    """What is known of one account, for all databases of this process that log in with it."""

    def __init__(
        self,
        names: Iterable[str] = (),
        refusals: Refusals | None = None,
        claim: Callable[[str], AbstractContextManager[bool]] = lambda account: nullcontext(True),
    ) -> None:
        """`names`: see `accounts_of`; `refusals`: None if only this process knows them; `claim`: whether no other replica
        logs in with the account until the block ends.
        """
        self.names = set(names)
        self._store = refusals
        self._claim = claim
        self._one_at_a_time = Lock()
        self._refused: dict[str, Refusal] = {}
        self._unkept: set[str] = set()
        """Passwords whose refusal the store has not taken yet."""
        self._resumed: list[tuple[set[str], str]] = []
        """What somebody resumed while the store did not answer."""

    def join(self, other: "SharedAccount") -> None:
        """Know what another account knows, which turned out to be the same."""
        self.names |= other.names
        self._refused |= other._refused
        self._unkept |= other._unkept
        self._resumed += other._resumed

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One login at a time in the whole fleet: of two with the same wrong password only the first is tried."""
        with without_turn():
            self._one_at_a_time.acquire()
        try:
            with self._claimed():
                yield
        finally:
            self._one_at_a_time.release()

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        if not self.names:
            yield
            return
        until = time.monotonic() + LONGEST_WAIT
        while True:
            with self._claim(min(self.names)) as mine:
                if mine:
                    yield
                    return
            if time.monotonic() > until:
                raise SessionError("another replica logs in with the same user, and does not come to an end")
            with without_turn():
                time.sleep(0.1)

    def refusal(self, credential: str) -> Refusal | None:
        """The refusal of this password, unless somebody resumed, here or on another replica."""
        known = self._refused.get(credential)
        if self._store is None:
            return known
        try:
            with without_turn():
                found = self._asked(self._store, credential, known)
        except RefusalsUnknown:
            return known
        if found is None:
            self._refused.pop(credential, None)
        else:
            self._refused[credential] = found
        return found

    def _asked(self, store: Refusals, credential: str, known: Refusal | None) -> Refusal | None:
        while self._resumed:
            store.forget(sorted(self.names), *self._resumed[0])
            self._resumed.pop(0)
        if known is not None and credential in self._unkept:
            store.keep(sorted(self.names), known)
            self._unkept.discard(credential)
        return store.of(sorted(self.names), credential)

    def met(self, credential: str | None) -> Refusal | None:
        """The refusal of this password as far as this process knows. It asks nobody."""
        return None if credential is None else self._refused.get(credential)

    def of_database(self, database: str) -> Refusal | None:
        """A refusal that this database met."""
        return next((one for one in list(self._refused.values()) if one.database == database), None)

    def refused(self, refusal: Refusal) -> None:
        """Note a refused login."""
        self._refused[refusal.credential] = refusal
        if self._store is None:
            return
        try:
            with without_turn():
                self._store.keep(sorted(self.names), refusal)
        except RefusalsUnknown:
            self._unkept.add(refusal.credential)

    def accepted(self, over: Iterable[str]) -> None:
        """Note a good login of a database that had these passwords before. Those of others stay refused."""
        self._drop(over)
        if self._store is not None:
            try:
                with without_turn():
                    self._store.forget(sorted(self.names), over)
            except RefusalsUnknown:
                return  # at worst a password that was refused before is not tried again by itself

    def _drop(self, credentials: Iterable[str], database: str | None = None) -> bool:
        over = [each for each, one in list(self._refused.items()) if database == one.database or each in credentials]
        for each in over:
            self._refused.pop(each, None)
            self._unkept.discard(each)
        return bool(over)

    def resume(self, credentials: set[str], database: str) -> bool:
        """Forget these passwords, and whatever this database met. False if there was nothing. It waits for no login that hangs.

        Other passwords of the account stay refused: one resume brings one login.
        """
        stopped = self._drop(credentials, database)
        if self._store is None:
            return stopped
        try:
            return self._store.forget(sorted(self.names), credentials, database) or stopped
        except RefusalsUnknown:
            self._resumed.append((credentials, database))
            return stopped


class LoginGate:
    """The logins of one database. Databases of one account have gates with one SharedAccount."""

    def __init__(self, database: str = "", account: SharedAccount | None = None) -> None:
        self._database = database
        self.account = account or SharedAccount()
        self._credential: str | None = None
        """The password that was wanted last."""
        self._refused: set[str] = set()
        """Passwords that were refused here since the last good login."""
        self.tried = Counter[str]()
        """How often each outcome was met: ok, refused or failed."""

    def open(self, credential: Callable[[], str], log_in: Callable[[], Session]) -> Session:
        """A new session.

        `credential` returns a fingerprint of the current password. One that cannot be read does not count as new. Raises
        LoginStopped, and what the two raise.
        """
        with self.account.turn():
            try:
                current = credential()
            except SetupError:
                if (stopped := self.stopped) is not None:
                    raise stopped from None
                raise
            self._credential = current
            if (refusal := self.account.refusal(current)) is not None:
                self._refused.add(current)
                raise refusal.stopped(self._database)
            session = self._tried(current, log_in)
            # One that it had before may come back. One that only another database still has is still wrong.
            self.account.accepted(self._refused | {current})
            self._refused.clear()
            return session

    def replace(self, credential: str, log_in: Callable[[], Session]) -> Session:
        """A session instead of one that was opened with this credential. Raises LoginStopped, and what `log_in` raises."""
        with self.account.turn():
            refusal = self.account.refusal(credential) or self.account.of_database(self._database)
            if refusal is not None:
                raise refusal.stopped(self._database)
            return self._tried(credential, log_in)

    @property
    def stopped(self) -> LoginStopped | None:
        """The error for a caller who needs a session while the last login is a refused one."""
        refusal = self.account.met(self._credential)
        return refusal.stopped(self._database) if refusal else None

    def resume(self) -> bool:
        """Let the same password be tried once more. False if nothing was stopped. It waits for no login that hangs."""
        return self.account.resume({self._credential} if self._credential else set(), self._database)

    def _tried(self, credential: str, log_in: Callable[[], Session]) -> Session:
        outcome = "failed"
        try:
            session = log_in()
            outcome = "ok"
            return session
        except CredentialError as error:
            outcome = "refused"
            # The password may have been replaced since `credential` was read. The one that was sent is the refused one.
            self._credential = error.credential or credential
            self._refused.add(self._credential)
            self.account.refused(Refusal(self._credential, self._database, str(error), time.time()))
            raise
        finally:
            self.tried[outcome] += 1


def gates_of(
    databases: Iterable[DatabaseSettings],
    refusals: Refusals | None = None,
    claim: Callable[[str], AbstractContextManager[bool]] = lambda account: nullcontext(True),
    known: Mapping[str, LoginGate] = {},
) -> Mapping[str, LoginGate]:
    """The gate of each database by name. Databases that share an account, if only through a third one, share what is known.

    `known`: the gates of before. What they know is kept, so that no login is tried again because a configuration was read.
    """
    shared = list({id(gate.account): gate.account for gate in known.values()}.values())
    gates: dict[str, LoginGate] = {}
    for database in databases:
        names = accounts_of(database)
        mine = [one for one in shared if not one.names.isdisjoint(names)] if names else []
        # A login may be under way, so one of those that are known goes on, and takes in what the others know.
        first = mine[0] if mine else SharedAccount((), refusals if names else None, claim)
        first.names.update(names)
        for other in mine[1:]:
            first.join(other)
            for gate in (*known.values(), *gates.values()):
                gate.account = first if gate.account is other else gate.account
        shared = [first, *(one for one in shared if one not in mine)]
        before = known.get(database.name)
        gates[database.name] = before if before and before.account is first else LoginGate(database.name, first)
    return gates


_EASY = re.compile(r"(?:tcps?:)?(?://)?(?P<host>\[[^\]]*\]|[^/:,?()]+)(?::(?P<port>\d+))?(?P<service>/[^:/?]*)?.*")
_IN_DESCRIPTOR = re.compile(r"\((host|port|service_name|sid)=([^()]*)\)")


def accounts_of(database: DatabaseSettings) -> tuple[str, ...]:
    """The account of a database's user: by address, and by cluster if it is of one. A mark, from which no name can be read.

    A common user (C##…) has one account on all containers of an address. None for a scripted database.
    """
    if database.scripted is not None:
        return ()
    user = account(database.user)
    address = _address(database, common=user.startswith("C##"))
    told = [f"{user}\0at {address}", *([f"{user}\0in {database.cluster}"] if database.cluster else [])]
    return tuple(hashlib.sha256(one.encode()).hexdigest() for one in told)


def _address(database: DatabaseSettings, *, common: bool) -> str:
    """The host, port and service of a dsn, in whichever form. An alias stands for itself."""
    dsn = "".join(database.dsn.split()).lower()
    if dsn.startswith("("):
        found = dict(reversed(_IN_DESCRIPTOR.findall(dsn)))
        service = found.get("service_name") or found.get("sid", "")
        host, port, service = found.get("host", dsn), found.get("port"), f"/{service}"
    elif ("/" in dsn or ":" in dsn) and (easy := _EASY.fullmatch(dsn)):
        host, port, service = easy["host"], easy["port"], easy["service"] or "/"
    else:
        return f"{database.config_dir} {dsn}"
    return f"{host}:{port or 1521}{'' if common else service}"
