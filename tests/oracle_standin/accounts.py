"""Database users: passwords, verifiers, locks. All of these can change while clients are connected."""

import hashlib
import secrets
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock

from .backend import OracleError

ROUNDS = 4096  # PBKDF2 rounds from the password to its verifier


@dataclass(frozen=True)
class Verifier:
    """What a 12c database stores instead of the password."""

    salt: bytes
    hash: bytes

    @classmethod
    def of(cls, password: str) -> "Verifier":
        """A verifier with a fresh salt."""
        salt = secrets.token_bytes(16)
        stretched = hashlib.pbkdf2_hmac("sha512", password.encode(), salt + b"AUTH_PBKDF2_SPEEDY_KEY", ROUNDS, 64)
        return cls(salt, hashlib.sha512(stretched + salt).digest()[:32])


# Deriving one takes milliseconds, and a test suite logs in a thousand times with the same few passwords.
_verifier = lru_cache(maxsize=256)(Verifier.of)


@dataclass(frozen=True)
class Account:
    """One user. `lock_after` wrong passwords in a row lock the account; None never locks it."""

    password: str = field(repr=False)
    locked: bool = False
    expired: bool = False
    lock_after: int | None = None
    wrong_in_a_row: int = 0


class Accounts:
    """The users of one service, by name, ignoring case."""

    def __init__(self, accounts: dict[str, Account]) -> None:
        self._lock = Lock()
        self._accounts = {name.upper(): account for name, account in accounts.items()}

    def __getitem__(self, name: str) -> Account:
        with self._lock:
            return self._accounts[name.upper()]

    def __setitem__(self, name: str, account: Account) -> None:
        with self._lock:
            self._accounts[name.upper()] = account

    def change(self, name: str, password: str) -> None:
        """A new password, as after a rotation."""
        self[name] = replace(self[name], password=password)

    def lock(self, name: str) -> None:
        """Logins fail with ORA-28000."""
        self[name] = replace(self[name], locked=True)

    def unlock(self, name: str) -> None:
        """Undoes `lock` and forgets wrong passwords."""
        self[name] = replace(self[name], locked=False, wrong_in_a_row=0)

    def expire(self, name: str) -> None:
        """Logins with the right password fail with ORA-28001."""
        self[name] = replace(self[name], expired=True)

    def verifier(self, name: str) -> Verifier:
        """The user's verifier. An unknown user gets one that no password fits, so both look alike."""
        with self._lock:
            account = self._accounts.get(name.upper())
        return _verifier(account.password) if account else Verifier.of(secrets.token_hex())

    def check(self, name: str, password: str | None) -> None:
        """Lets the user in or raises ORA-01017, ORA-28000 or ORA-28001. None is a password that cannot be decrypted."""
        with self._lock:
            account = self._accounts.get(name.upper())
            if account is None:
                raise OracleError(1017)
            if account.locked:
                raise OracleError(28000)
            if password != account.password:
                self._accounts[name.upper()] = _after_wrong_password(account)
                raise OracleError(1017)
            self._accounts[name.upper()] = replace(account, wrong_in_a_row=0)
            if account.expired:
                raise OracleError(28001)


def _after_wrong_password(account: Account) -> Account:
    wrong = account.wrong_in_a_row + 1
    return replace(account, wrong_in_a_row=wrong, locked=account.lock_after is not None and wrong >= account.lock_after)
