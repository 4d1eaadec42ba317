"""What can go wrong between latchscope and a database: a small tree of errors, ordered by their cure.

`classified` turns an error of the driver into one of them, by Oracle's own codes.
"""

import re
from socket import gaierror


class CollectError(Exception):
    """Anything that prevented a read of a database. The text says what, where and the way out."""


class StatementError(CollectError):
    """One statement failed. The session is good, and the other views can be read."""


class ViewRefused(StatementError):
    """The user may not read the view (ORA-00942, ORA-01031, ORA-02030). A grant cures it."""


class UnlistedStatement(StatementError):
    """The text is not on the list of SQL, so it was not sent. Only latchscope itself can send texts: this is a defect of it."""


class TooLarge(StatementError):
    """A statement gave more than it should ever give. What was read of it is thrown away, and the rest is not fetched."""


class NotApplicable(StatementError):
    """The thing asked for does not exist on this instance. Nothing is wrong, and nothing cures it."""


class SessionError(CollectError):
    """The session is lost or could not be opened, so this poll is over. Without a subclass: the network, cured by a retry."""


class SessionKept(SessionError):
    """This poll is over, but its session is good or may recover. A retry on the same session cures it."""


class CredentialError(SessionError):
    """The database refused the login. A second try could lock the account. Only a new password or an operator cures it."""

    credential: str | None = None
    """A fingerprint of the password that was sent, if the caller who sent it added one."""


class StartingError(SessionError):
    """The instance is starting or stopping, or the listener does not know it yet. It passes in seconds."""


class SetupError(SessionError):
    """The configuration does not fit this database (descriptor, driver mode, wallet). A change of the configuration cures it."""


class InputError(CollectError):
    """A file that is not what it claims to be. One line: what, where, way out."""


# Turns a driver's error into the class with its cure, by Oracle's own codes.

REFUSED = {"ORA-00942", "ORA-01031", "ORA-02030", "ORA-01702"}
CREDENTIAL = {
    "ORA-01005", "ORA-01017", "ORA-01045", "ORA-01988", "ORA-28000", "ORA-28001", "ORA-28007", "ORA-28030",
    "ORA-28046", "DPY-4001", "ORA-28365",
}  # fmt: skip
STARTING = {
    "ORA-01033", "ORA-01034", "ORA-01035", "ORA-01089", "ORA-01090", "ORA-01092", "ORA-01109", "ORA-12505",
    "ORA-12514", "ORA-12516", "ORA-12518", "ORA-12519", "ORA-12520", "ORA-12521", "ORA-12526", "ORA-12527",
    "ORA-12528", "ORA-27101", "DPY-6001", "DPY-6003",
}  # fmt: skip
SETUP = {
    "DPY-3001", "DPY-3010", "DPY-3015", "DPY-4000", "DPY-4003", "DPY-4017", "DPY-4018", "DPY-4019", "DPY-4020",
    "DPY-4021", "DPY-4022", "DPY-4026", "DPY-4027", "DPY-4028", "DPY-6002", "DPI-1047", "ORA-12154", "ORA-28040",
    "ORA-28759", "ORA-12650", "ORA-12660",
}  # fmt: skip
ENCRYPTED = re.compile(r"ORA-126[56]0\b|native network encryption", re.IGNORECASE)
"""How a server that requires encryption or checksums of Oracle Net refuses a client that has none."""
LOST = {
    "ORA-00028", "ORA-01012", "ORA-02396", "ORA-03113", "ORA-03114", "ORA-03135", "ORA-12541", "ORA-12543",
    "ORA-12170",
}  # fmt: skip
_WRITE = "write host:port/service as dsn"
_PLAIN = (
    (r"DPY-4027", f"the dsn is an alias, and no folder with a tnsnames.ora is set; {_WRITE}, or set config_dir"),
    (r"DPY-4026", f"the folder of config_dir has no tnsnames.ora that can be read; {_WRITE}, or set another folder"),
    (r"DPY-4000[^\"]{0,200}\"([^\"]{0,200})\" in (\S+)", rf"\2 has no alias \1; {_WRITE}, or an alias that it has"),
    (r"DPY-(?:4017|4018|4022|2049)", f"the descriptor in the dsn is not whole; copy it from tnsnames.ora, or {_WRITE}"),
    (
        r"\A(?=.*DPY-6005).*Connection refused",
        "nothing listens at host and port of the dsn (connection refused); put the dsn right, or start the listener",
    ),
)
"""What the driver says about a dsn, in its own codes → what to do about it."""
_CODE = re.compile(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b")
_NOISE = re.compile(r"Help: \S+|See https?://\S+ for help| \(CONNECTION_ID=[^()]*\)")


LONGEST_TEXT = 4_000
"""Characters of a name, a message or an error that anything reads: as many as a column of Oracle holds."""


def cut(words: str, most: int = LONGEST_TEXT) -> str:
    """A text, or as much of it as leaves room to say how much is left out."""
    kept = most - 32
    return words if len(words) <= most else f"{words[:kept]}… ({len(words) - kept:,} more characters)"


class Cancelled(StatementError):
    """A statement took too long and was cancelled."""


def classified(error: Exception) -> SessionError | StatementError:
    """A driver's error as the class with its cure. The text keeps Oracle's own codes."""
    if isinstance(error, gaierror):
        return SessionError(f"the host name in the dsn cannot be resolved: {error.strerror}")
    chained = " ".join(cut(str(link)) for link in _chain(error))
    codes = set(_CODE.findall(chained))
    message = _in_plain_words(chained) or brief(error)
    if codes & CREDENTIAL:
        return CredentialError(message)
    if codes & STARTING:
        return StartingError(message)
    if "DPY-3010" in codes:
        return SetupError(f"{message}: Oracle 11.2 needs thick mode, in a process of its own; see docs/connect.md")
    if ENCRYPTED.search(chained):
        return SetupError(
            f"{message}: the server demands native network encryption, which thin mode does not have; use TCPS, or thick mode "
            "with a sqlnet.ora that agrees; see docs/oracle.md"
        )
    if codes & SETUP or any(code.startswith("DPY-2") for code in codes):
        return SetupError(message)
    if codes & REFUSED:
        return ViewRefused(message)
    if "DPY-4024" in codes:
        return Cancelled(f"{message}; the statement was cancelled")
    lost = any(code.startswith(("DPY-1", "DPY-4011", "DPY-5", "DPY-6")) for code in codes) or not codes
    return SessionError(message) if lost or codes & LOST else StatementError(message)


def brief(error: Exception) -> str:
    """An error as one line, without the driver's help links and connection ids."""
    return " ".join(_NOISE.sub("", cut(str(error))).split()) or type(error).__name__


def _in_plain_words(message: str) -> str | None:
    """What is wrong with a dsn, if the driver means that."""
    for pattern, words in _PLAIN:
        if found := re.search(pattern, message, re.DOTALL):
            return found.expand(words)
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_chain(error.__cause__)]
