"""The form of `store`. An address that no store could be opened by is named before anybody connects."""

import re

WRITE = "write sqlite:///FILE or postgresql://user@host/database"
_SCHEMES = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")
_AFTER_PASSWORD = re.compile(r"(?:[^@]*@)?(?:\[[^/?]+\]|[^/:?]*)(?::(?P<port>[^/?]*))?")
_PASSWORD = re.compile(r"[^:/]*:[^@]+@|.*[?&]password=[^&]", re.DOTALL)


def plain_store(url: str) -> str:
    """The address as it is. Raises ValueError where none of our stores has it; a password in it is not repeated."""
    scheme, found, rest = url.partition("://")
    if not found:
        raise ValueError(f"is not the address of a store; {WRITE}")
    if scheme == "postgres":
        raise ValueError("begins with postgres://, which no driver answers to; write postgresql://user@host/database")
    if scheme not in _SCHEMES:
        raise ValueError(f"{scheme!r} is not a kind of store; {WRITE}")
    port = (_AFTER_PASSWORD.match(rest) or {"port": None})["port"]
    if scheme.startswith("postgresql") and port and not port.isdecimal():
        raise ValueError("has a port that is not a number; write special characters of a password as %XX")
    return url


def holds_password(url: str) -> bool:
    """Whether the address has a password, in front of the host or among its options."""
    scheme, _, rest = url.partition("://")
    return scheme.startswith("postgresql") and _PASSWORD.match(rest) is not None
