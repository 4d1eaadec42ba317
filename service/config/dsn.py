"""The form of a dsn. A mistake is reported before any connect, in clearer words than the driver's."""

import re

WRITE = "write host:port/service, an alias of tnsnames.ora, or a descriptor (DESCRIPTION=…)"
_SID = re.compile(r"([\w.-]+):(\d+):(\w+)")
_PORT = re.compile(r":(\d+)")
_ALIAS = re.compile(r"[A-Za-z][\w.$#-]*")


def plain_dsn(dsn: str) -> str:
    """The dsn unchanged. Raises ValueError if no driver could use it. A password in it is not repeated."""
    text = dsn.strip()
    if not text:
        raise ValueError(f"is empty; {WRITE}")
    if text.startswith("("):
        if text.count("(") != text.count(")"):
            raise ValueError("is a descriptor whose parentheses do not match; copy it whole from tnsnames.ora")
        return dsn
    if text.lower().startswith("jdbc:"):
        raise ValueError("is an address for JDBC; leave out everything up to the @ and write host:port/service")
    if "@" in text:
        raise ValueError(
            "has a user or a password in it; set `user` and `password_file`, and write host:port/service here"
        )
    if re.search(r"\s", text):
        raise ValueError(f"holds a space; {WRITE}")
    if found := _SID.fullmatch(text):
        raise ValueError(
            f"{text!r} names a SID, as host:port:sid; write host:port/service, or a descriptor with (SID={found[3]})"
        )
    if re.fullmatch(r"[\w.-]+:\d+", text):
        raise ValueError(f"{text!r} names no service; write {text}/service")
    for port in _PORT.findall(text.partition("/")[0] if "://" not in text else ""):
        if not 0 < int(port) < 65536:
            raise ValueError(f"{text!r} has the port {port}; ports go up to 65535")
    return dsn


def is_alias(dsn: str) -> bool:
    """Whether it is a name that needs a tnsnames.ora."""
    return _ALIAS.fullmatch(dsn.strip()) is not None
