"""How an answer goes out in the dialect of a connection: its end, its errors, its faults."""

from .backend import OracleError
from .databases import Service
from .faults import Spoil, Stage
from .handshake import Dialect
from .packets import END_OF_RESPONSE, ClosedError, Link
from .results import END_OF_ANSWER, outcome

_NONSENSE = bytes(range(250, 150, -3))
_NO_PACKET = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


def send_reply(link: Link, service: Service, dialect: Dialect, body: bytes) -> None:
    """A whole answer, with an end mark where the dialect has one. The count comes first: the client must never be ahead."""
    service.counters.add("round_trips")
    if dialect.profile.ends_answers:
        link.send_data(body + END_OF_ANSWER, END_OF_RESPONSE)
    else:
        link.send_data(body)


def send_error(link: Link, service: Service, dialect: Dialect, error: OracleError) -> None:
    """An ORA- error instead of an answer, with a break marker where the dialect needs one."""
    if dialect.profile.marks_errors:
        link.resynchronise()
    send_reply(link, service, dialect, outcome(dialect.field_version, error.code, error.text))


def misbehave(link: Link, service: Service, dialect: Dialect, body: bytes, *, has_rows: bool) -> bool:
    """Delays, spoils or withholds an answer as the service's faults say. True if nothing more goes out."""
    plan = service.faults.now()
    link.pause(plan.delay)
    if has_rows and plan.hang is Stage.FETCH:
        link.send_data(body[: len(body) // 2])
        link.hang()
    if plan.spoil is Spoil.GARBAGE:
        link.send_data(_NONSENSE, END_OF_RESPONSE if dialect.profile.ends_answers else 0)
        return True
    if plan.spoil is Spoil.NOISE:
        link.send_raw(_NO_PACKET)
    elif plan.spoil is Spoil.HALF:
        link.send_data(body[: len(body) // 2])
    if plan.spoil is not None:
        raise ClosedError
    return False
