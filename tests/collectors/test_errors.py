"""Every error class of this package says by its base classes whether the session survives it."""

import inspect
import socket
from collections.abc import Sequence

import oracledb
import pytest

from collectors import errors
from collectors.errors import (
    Cancelled,
    CollectError,
    CredentialError,
    SessionError,
    SetupError,
    StartingError,
    StatementError,
    ViewRefused,
    brief,
    classified,
)


def driver(text: str, cause: str | None = None) -> Exception:
    """An error as the driver raises it."""
    error = oracledb.DatabaseError(text)
    error.__cause__ = oracledb.OperationalError(cause) if cause else None
    return error


def test_error_codes_known_have_one_class_each() -> None:
    known = {
        **dict.fromkeys(errors.CREDENTIAL, CredentialError),
        **dict.fromkeys(errors.STARTING, StartingError),
        **dict.fromkeys(errors.SETUP, SetupError),
        **dict.fromkeys(errors.REFUSED, ViewRefused),
        **dict.fromkeys(errors.LOST, SessionError),
    }
    assert {code: type(classified(driver(f"{code}: said by the server"))) for code in known} == known
    lists = (errors.CREDENTIAL, errors.STARTING, errors.SETUP, errors.REFUSED, errors.LOST)
    assert sum(map(len, lists)) == len(known), "a code with two cures"


@pytest.mark.parametrize(
    ("text", "cause", "kind"),
    [
        ("ORA-01017: invalid username/password; logon denied", None, CredentialError),
        ("ORA-28000: the account is locked", None, CredentialError),
        ("DPY-6005: cannot connect to database.", 'DPY-6001: Service "x". (Similar to ORA-12514)', StartingError),
        ("DPY-6005: cannot connect to database.", "DPY-6000: refused. (Similar to ORA-12528)", StartingError),
        ("DPY-4011: the database closed the connection", "ORA-01089: immediate shutdown", StartingError),
        ("DPY-4011: the database closed the connection", "ORA-00028: your session has been killed", SessionError),
        ("DPY-4011: the database or network closed the connection", None, SessionError),
        ("DPY-6005: cannot connect to database.", "DPY-2018: wallet file ewallet.pem was not found", SetupError),
        ("DPY-1001: not connected to database", None, SessionError),
        ("DPY-5000: internal error: unknown protocol message type 250", None, SessionError),
        ("DPY-4024: call timeout of 5000 ms exceeded", None, Cancelled),
        ('ORA-00904: "X": invalid identifier', None, StatementError),
        ("ORA-01013: user requested cancel of current operation", None, StatementError),
        ("an error without a code", None, SessionError),
    ],
)
def test_driver_error_is_classified_and_keeps_its_text_in_one_line(
    text: str, cause: str | None, kind: type[CollectError]
) -> None:
    found = classified(driver(text, cause))
    assert type(found) is kind
    assert text.rstrip(".") in str(found) and "\n" not in str(found)


ENCRYPTED = ("demands native network encryption", "TCPS, or thick mode")
UNREACHED = "DPY-6005: cannot connect."


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (driver(UNREACHED, "[Errno 111] Connection refused"), SessionError, ["nothing listens at host and port"]),
        (driver("DPY-2049: no addresses are defined"), SetupError, ["the descriptor in the dsn is not whole; copy it"]),
        (
            socket.gaierror(-2, "Name or service not known"),
            SessionError,
            ["the host name in the dsn cannot be resolved: Name or service not known"],
        ),
        (driver(UNREACHED, "DPY-6000: Listener refused. (Similar to ORA-12660)"), SetupError, ENCRYPTED),
        (driver("ORA-12650: No common encryption or data integrity algorithm"), SetupError, ENCRYPTED),
        (
            driver(UNREACHED, "DPY-3001: Native Network Encryption is only supported in thick mode"),
            SetupError,
            ENCRYPTED,
        ),
        (
            driver("DPY-3010: connections to this database server version are not supported in thin mode"),
            SetupError,
            ["Oracle 11.2 needs thick mode, in a process of its own; see docs/connect.md"],
        ),
    ],
)
def test_what_is_wrong_is_told_in_words_with_the_way_out(
    error: Exception, kind: type[CollectError], words: Sequence[str]
) -> None:
    found = classified(error)
    assert type(found) is kind and "\n" not in str(found)
    assert all(one in str(found) for one in words), found


def test_brief_is_one_line_without_links_and_ids() -> None:
    noisy = "ORA-00942: table or view does not exist\n  at line 1 (CONNECTION_ID=abc==)\nHelp: https://docs.oracle.com/error-help/db/ora-00942/"
    assert brief(Exception(noisy)) == "ORA-00942: table or view does not exist at line 1"
    assert brief(Exception("x. See https://example.org/a for help")) == "x."
    assert brief(ValueError()) == "ValueError"


def test_error_classes_are_divided_by_their_cures() -> None:
    drawn = {one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, CollectError)}
    assert all(one.__doc__ for one in drawn)
    for one in drawn - {CollectError, errors.InputError}:
        assert issubclass(one, SessionError) != issubclass(one, StatementError), f"{one} has no cure"
