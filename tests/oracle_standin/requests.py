"""The layout of the client's calls: execute and its binds, and the piggybacks in front of a call."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from .databases import SessionRecord
from .values import DECODERS
from .wire import ProtocolError, Reader

FUNCTION = 3
_PIGGYBACK, _ROW = 17, 7
_ARRAY_BIND = 0x40
_NATIONAL = 2
# A name behind a colon, outside of literals, quoted names and comments.
_BIND = re.compile(r"""'[^']*'|--[^\n]*|/\*.*?\*/|:\s*"([^"]+)"|"[^"]*"|:\s*(\w[\w$#]*)""", re.DOTALL)


@dataclass(frozen=True)
class BindType:
    """How one bind is sent: type number, declared bytes, character set form."""

    number: int
    size: int
    form: int


@dataclass(frozen=True)
class Execute:
    """A full execute. `sql` is empty if the cursor is known; `asked` is the number of rows wanted with the answer."""

    options: int
    cursor: int
    sql: str
    asked: int
    is_query: bool
    binds: tuple[BindType, ...]

    DEFINE = 0x10
    EXECUTE = 0x20
    COMMIT = 0x100


def bind_names(sql: str) -> list[str]:
    """The binds of a statement in the order of their values. A name used twice is sent twice."""
    return [quoted or plain for quoted, plain in _BIND.findall(sql) if quoted or plain]


def read_execute(request: Reader, field_version: int) -> Execute:
    """The body of an execute up to its bind values."""
    options, cursor = request.ub(), request.ub()
    has_sql = request.u8() != 0
    request.skip("npnppn")  # the statement's length (sent with the text once more), vector, buffer
    asked = request.ub()
    request.skip("np")
    bind_count = request.ub()
    request.skip("ppppppnn" + "pppnpnn" + "pnp")  # defines and registration, names and levels, row counts
    request.skip(("pnpnp" if field_version >= 8 else "") + ("pn" if field_version >= 9 else ""))
    sql = (request.prefixed() or b"").decode() if has_sql else ""
    vector = [request.ub() for _ in range(13)]
    if vector[7] == 0 and vector[1] > 1:
        raise ProtocolError("a statement for several rows of binds at once")
    binds = tuple(_bind_type(request, field_version) for _ in range(bind_count))
    return Execute(options, cursor, sql, asked, vector[7] != 0, binds)


def _bind_type(request: Reader, field_version: int) -> BindType:
    number, flags = request.u8(), request.u8()
    if flags & _ARRAY_BIND or number not in DECODERS:
        raise ProtocolError(f"a bind of type {number} with flags {flags:#x}")
    request.skip("pp")  # precision and scale, always zero
    size = request.ub()
    request.skip("nn")
    request.prefixed_twice()
    request.skip("nn")
    form = request.u8()
    request.skip("nn" if field_version >= 8 else "n")
    return BindType(number, size, form)


def read_binds(request: Reader, types: tuple[BindType, ...], longest: int) -> list[object]:
    """One row of bind values in the order of the statement. Those longer than `longest` bytes come last."""
    if not types:
        return []
    if request.u8() != _ROW:
        raise ProtocolError("no bind values where they should be")
    values: list[object] = [None] * len(types)
    for at in sorted(range(len(types)), key=lambda at: types[at].size > longest):
        values[at] = _bind_value(request, types[at])
    return values


def _bind_value(request: Reader, bind: BindType) -> object:
    data = request.prefixed()
    if data is None:
        return None
    return data.decode("utf-16-be") if bind.form == _NATIONAL else DECODERS[bind.number](data)


class Piggybacks:
    """Reads the piggybacks in front of a call and applies them to the session."""

    def __init__(self, record: SessionRecord, close_cursor: Callable[[int], None], has_tokens: bool) -> None:
        self._record = record
        self._close_cursor = close_cursor
        self._has_tokens = has_tokens
        self._kinds = {105: self._close_cursors, 135: self._marks, 152: self._schema}

    def function(self, request: Reader) -> int:
        """The function code of the call behind the piggybacks."""
        while (message := request.u8()) == _PIGGYBACK:
            code = self._code(request)
            if code not in self._kinds:
                raise ProtocolError(f"piggyback {code}")
            self._kinds[code](request)
        if message != FUNCTION:
            raise ProtocolError(f"message {message} instead of a call")
        return self._code(request)

    def _code(self, request: Reader) -> int:
        code = request.u8()
        request.skip("p")  # sequence number
        if self._has_tokens:
            request.ub()
        return code

    def _close_cursors(self, request: Reader) -> None:
        request.skip("p")
        for _ in range(request.ub()):
            self._close_cursor(request.ub())

    def _schema(self, request: Reader) -> None:
        request.skip("p")
        request.prefixed_twice()

    def _marks(self, request: Reader) -> None:
        """Client identifier, module, action, client info, operation: first the flags of what changes, then the new texts."""
        request.skip("ppn")
        changes = [self._change(request, name) for name in ("client_identifier", "module", "action")]
        request.skip("pnpn")
        changes.append(self._change(request, "client_info"))
        request.skip("pnpn")
        changes.append(self._change(request, "operation"))
        for name, length in changes:
            if name and length:
                setattr(self._record, name, (request.prefixed() or b"").decode())
            elif name:
                request.skip_zero()  # sent for the empty text, not for None
                setattr(self._record, name, "")

    def _change(self, request: Reader, name: str) -> tuple[str, int]:
        """The mark that changes, or no name, and the length of its new text."""
        changes, length = request.u8(), request.ub()
        return (name if changes else ""), length
