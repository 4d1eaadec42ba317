"""The backend of the listener: it answers statements by their exact text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

MESSAGES = {
    28: "your session has been killed",
    942: "table or view does not exist",
    1008: "not all variables bound",
    1013: "user requested cancel of current operation",
    1017: "invalid username/password; logon denied",
    1031: "insufficient privileges",
    1033: "ORACLE initialization or shutdown in progress",
    1089: "immediate shutdown or close in progress - no operations are permitted",
    1403: "no data found",
    3001: "unimplemented feature",
    3113: "end-of-file on communication channel",
    28000: "the account is locked",
    28001: "the password has expired",
}


class OracleType(Enum):
    """The column types the listener can send; the value is the type's name in the data dictionary."""

    NUMBER = "NUMBER"
    VARCHAR2 = "VARCHAR2"
    RAW = "RAW"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_TZ = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class ResultColumn:
    """One column of a result. `size` is in bytes and matters for VARCHAR2 and RAW only."""

    name: str
    type: OracleType = OracleType.NUMBER
    size: int = 4000


@dataclass(frozen=True)
class Answer:
    """The result of one statement.

    A query has columns. Anything else has none and reports `affected` rows. `delay` is the time in seconds before the first
    row; a break from the client ends it early with ORA-01013.
    """

    columns: Sequence[ResultColumn] = ()
    rows: Sequence[Sequence[object]] = ()
    affected: int = 0
    delay: float = 0.0


class OracleError(Exception):
    """An ORA- error for the client; the message defaults to the database's own words for the code."""

    def __init__(self, code: int, message: str = "") -> None:
        self.code = code
        self.text = f"ORA-{code:05d}: {message or MESSAGES.get(code, 'error simulated by the stand-in')}"
        super().__init__(self.text)


class UnknownStatementError(OracleError):
    """No script has this statement: the client gets ORA-03001, and the listener records a problem."""

    def __init__(self, sql: str) -> None:
        super().__init__(3001, f"the stand-in has no answer to: {sql}")


class Backend(Protocol):
    """Answers for all its services, from any connection's thread, so it must be thread-safe."""

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """The answer to the exact text `sql` with its binds by name (spelled as in the text).

        Raises `OracleError` for what the database would refuse, `UnknownStatementError` for an unknown statement.
        """


Script = Answer | OracleError | Callable[[Mapping[str, object]], Answer]


class DictBackend:
    """Exact statement text → `Answer`, an `OracleError` to raise, or a function of the binds."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self.scripts = dict(scripts)

    def answer(self, _service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """See `Backend.answer`; all services give the same answer here."""
        if sql not in self.scripts:
            raise UnknownStatementError(sql)
        script = self.scripts[sql]
        if isinstance(script, OracleError):
            raise OracleError(script.code, script.text.partition(": ")[2])
        return script if isinstance(script, Answer) else script(binds)
