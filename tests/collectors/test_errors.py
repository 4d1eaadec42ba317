"""Every error class of this package says by its base classes whether the session survives it."""

import inspect
import socket

import oracledb
import pytest

from collectors import errors
from collectors.errors import (
    CREDENTIAL,
    LOST,
    REFUSED,
    SETUP,
    STARTING,
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


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        (CREDENTIAL, CredentialError),
        (STARTING, StartingError),
        (SETUP, SetupError),
        (REFUSED, ViewRefused),
        (LOST, SessionError),
    ],
)
def test_error_codes_known_have_one_class_each(codes: set[str], kind: type[CollectError]) -> None:
    for code in codes:
        assert type(classified(driver(f"{code}: said by the server"))) is kind, code
    known = [CREDENTIAL, STARTING, SETUP, REFUSED, LOST]
    assert sum(map(len, known)) == len(set().union(*known)), "a code with two cures"


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


def test_what_is_wrong_with_a_dsn_is_told_in_words_with_the_way_out() -> None:
    for text, cause, kind, said in (
        (
            "DPY-6005: cannot connect.",
            "[Errno 111] Connection refused",
            SessionError,
            "nothing listens at host and port",
        ),
        ("DPY-2049: no addresses are defined", None, SetupError, "the descriptor in the dsn is not whole; copy it"),
    ):
        found = classified(driver(text, cause))
        assert type(found) is kind and said in str(found) and "DPY-" not in str(found), text


def test_unknown_host_is_a_session_error_told_in_words() -> None:
    found = classified(socket.gaierror(-2, "Name or service not known"))
    assert type(found) is SessionError
    assert str(found) == "the host name in the dsn cannot be resolved: Name or service not known"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("DPY-6005: cannot connect to database.", "DPY-6000: Listener refused connection. (Similar to ORA-12660)"),
        ("ORA-12650: No common encryption or data integrity algorithm", None),
        (
            "DPY-6005: cannot connect to database.",
            "DPY-3001: Native Network Encryption and Data Integrity is only supported in python-oracledb thick mode",
        ),
    ],
)
def test_server_that_demands_encryption_is_a_setup_error_with_the_way_out(text: str, cause: str | None) -> None:
    found = classified(driver(text, cause))
    assert type(found) is SetupError
    assert "demands native network encryption" in str(found) and "TCPS, or thick mode" in str(found)
    assert "\n" not in str(found)


def test_old_server_is_a_setup_error_that_names_thick_mode() -> None:
    found = classified(
        driver(
            "DPY-3010: connections to this database server version are not supported by python-oracledb in thin mode"
        )
    )
    assert type(found) is SetupError
    assert "Oracle 11.2 needs thick mode, in a process of its own; see docs/connect.md" in str(found)


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
