"""Integers and byte strings as the call layer of Oracle Net writes them.

Three shapes cover nearly everything: `ub` (a length byte, then that many big-endian bytes; zero is one 0x00),
`prefixed` (a length byte, then the bytes; 0 means NULL) and `prefixed_twice` (a `ub` length, and only when it
is not zero the `prefixed` form).
"""

from collections.abc import Callable

_SHORT = 252  # the longest value whose length fits the length byte; 253 to 255 are signals
_PIECES_FOLLOW = 254
_NULL = 255
_PIECE = 32767


class ProtocolError(Exception):
    """The client said something that this listener does not understand. The text says what and where."""


def ub(value: int) -> bytes:
    """`value` (not negative) as a length byte and its big-endian bytes."""
    size = (value.bit_length() + 7) // 8
    return bytes((size,)) + value.to_bytes(size, "big")


def sb(value: int) -> bytes:
    """`value` as `ub` writes it; the length of a negative one has its highest bit set."""
    written = ub(abs(value))
    return bytes((written[0] | 0x80,)) + written[1:] if value < 0 else written


def prefixed(value: bytes) -> bytes:
    """`value` behind its length. Empty is NULL, as in the database. Long values go out in pieces."""
    if len(value) <= _SHORT:
        return bytes((len(value),)) + value
    pieces = (value[start : start + _PIECE] for start in range(0, len(value), _PIECE))
    return bytes((_PIECES_FOLLOW,)) + b"".join(ub(len(piece)) + piece for piece in pieces) + ub(0)


def prefixed_twice(value: bytes) -> bytes:
    """`value` behind a `ub` length and, unless it is empty, behind its own length once more."""
    return ub(len(value)) + (prefixed(value) if value else b"")


class Reader:
    """Reads one request from front to back, and fetches its further packets on demand.

    `more` returns the next packet's payload. It raises `ProtocolError` if the request is already complete, so a
    misunderstood request becomes an error and both sides do not wait in silence.
    """

    def __init__(self, first: bytes, more: Callable[[], bytes]) -> None:
        self._data = first
        self._at = 0
        self._more = more

    @property
    def left_over(self) -> int:
        """Bytes received but not yet read."""
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        while self.left_over < size:
            self._data = self._data[self._at :] + self._more()
            self._at = 0
        self._at += size
        return self._data[self._at - size : self._at]

    def u8(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def u16(self) -> int:
        """Two bytes, big-endian."""
        return int.from_bytes(self.take(2), "big")

    def ub(self) -> int:
        """An integer behind its length. The client never sends a negative one here."""
        size = self.u8()
        if size > 8:
            raise ProtocolError(f"integer of {size} bytes")
        return int.from_bytes(self.take(size), "big")

    def skip(self, layout: str) -> None:
        """Skips single bytes (`p`, most of them the protocol's pointers) and integers (`n`)."""
        for shape in layout:
            if shape == "p":
                self.take(1)
            else:
                self.ub()

    def prefixed(self) -> bytes | None:
        """A byte string behind its length, None for NULL."""
        size = self.u8()
        if size in (0, _NULL):
            return None
        return self._pieces() if size == _PIECES_FOLLOW else self.take(size)

    def prefixed_twice(self) -> bytes:
        """A byte string behind two lengths, empty when the first is zero."""
        return (self.prefixed() or b"") if self.ub() else b""

    def skip_zero(self) -> None:
        """Skips a zero byte, if the next byte is zero."""
        if self.take(1) != b"\0":
            self._at -= 1

    def until_nul(self) -> bytes:
        """The bytes before the next zero byte, which is consumed too."""
        return b"".join(iter(lambda: self.take(1), b"\0"))

    def _pieces(self) -> bytes:
        return b"".join(iter(lambda: self.take(self.ub()), b""))
