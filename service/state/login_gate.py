"""Whether a login may be tried: after a refused one no other, until the password changes or an operator resumes.

Each database has one gate in this process, and every login goes through it. A profile locks an account after
a few wrong passwords, wherever they come from.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import TypeVar

from collectors.errors import CredentialError, SetupError
from service.state.window import iso

Session = TypeVar("Session")


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
class _Refusal:
    credential: str
    why: str
    at: float

    def stopped(self) -> LoginStopped:
        return LoginStopped(self.why, self.at)


class LoginGate:
    """The logins of one database, one at a time: of two with the same wrong password only the first is tried."""

    def __init__(self) -> None:
        self._one_at_a_time = Lock()
        self._refusal: _Refusal | None = None

    def open(self, credential: Callable[[], str], log_in: Callable[[], Session]) -> Session:
        """A new session.

        `credential` returns a fingerprint of the current password. One that cannot be read does not count as new. Raises
        LoginStopped, and what the two raise.
        """
        with self._one_at_a_time:
            refusal = self._refusal
            try:
                current = credential()
            except SetupError:
                if refusal is not None:
                    raise refusal.stopped() from None
                raise
            if refusal is not None and refusal.credential == current:
                raise refusal.stopped()
            return self._tried(current, log_in)

    def replace(self, credential: str, log_in: Callable[[], Session]) -> Session:
        """A session instead of one that was opened with this credential. Raises LoginStopped, and what `log_in` raises."""
        with self._one_at_a_time:
            if (refusal := self._refusal) is not None:
                raise refusal.stopped()
            return self._tried(credential, log_in)

    @property
    def stopped(self) -> LoginStopped | None:
        """The error for a caller who needs a session while the last login is a refused one."""
        refusal = self._refusal
        return refusal.stopped() if refusal else None

    def resume(self) -> bool:
        """Let the same password be tried once more. False if nothing was stopped. It waits for no login that hangs."""
        stopped, self._refusal = self._refusal is not None, None
        return stopped

    def _tried(self, credential: str, log_in: Callable[[], Session]) -> Session:
        try:
            session = log_in()
        except CredentialError as error:
            self._refusal = _Refusal(credential, str(error), time.time())
            raise
        self._refusal = None
        return session
