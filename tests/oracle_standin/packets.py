"""One accepted socket as packets: framing, splitting at the session data unit, break and reset markers."""

import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from select import POLLIN, poll

from .wire import ProtocolError, Reader

HEADER = 8
DATA_HEADER = HEADER + 2
END_OF_FILE = 0x0040  # the client's goodbye
END_OF_RESPONSE = 0x2000
# The urgent byte of an out-of-band break. It stays in the stream, where no packet of this size begins with it.
_URGENT = 0x21
_LARGEST = 4 * 2**20
_AT_ONCE = 65536  # bytes per read from the socket


class Kind(IntEnum):
    """Packet types."""

    CONNECT = 1
    ACCEPT = 2
    REFUSE = 4
    DATA = 6
    MARKER = 12


class Marker(IntEnum):
    """What a marker packet says."""

    BREAK = 1
    RESET = 2
    INTERRUPT = 3


class ClosedError(Exception):
    """The connection has ended: the client left, the listener stopped, or a fault closed it."""


class BreakError(Exception):
    """The client asked to stop the running call."""


@dataclass(frozen=True)
class Packet:
    """A packet without its header."""

    kind: int
    body: bytes


class Link:
    """The listener's end of one connection. Not thread-safe, except for `close`."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self._received = bytearray()
        self._last_size = 0
        self.sdu = 8192  # bytes of a packet, header included
        self.long_lengths = False  # lengths take four bytes once the connection is accepted
        self.heeds_breaks = False  # before the login an urgent byte only tests whether one can pass

    # Receiving

    def next_packet(self) -> Packet:
        """The next packet that has a meaning now. Raises `BreakError` for a break, `ClosedError` at the end."""
        while True:
            packet = self._any_packet()
            if packet.kind != Kind.MARKER:
                return packet
            if self.heeds_breaks and packet.body[2:3] != bytes((Marker.RESET,)):
                raise BreakError

    def request(self) -> Reader:
        """The beginning of the client's next request."""
        return Reader(self._payload(), self._continuation)

    def skip_request(self) -> None:
        """Skips the further packets of a request that nobody reads."""
        while not self._is_complete():
            self._payload()

    def pause(self, seconds: float) -> None:
        """Waits. If the client breaks in, or has done so already, it raises `BreakError`.

        Callers also use it with zero seconds before an answer: a driver whose break crosses a long answer takes the
        beginning of the answer for the reaction to its break, and the rest for the answer to its next call.
        """
        waiting = poll()  # select() refuses a descriptor above 1,023
        waiting.register(self._socket, POLLIN)
        if self._received or waiting.poll(seconds * 1000):
            raise ProtocolError(f"{self.next_packet()} instead of patience")

    def hang(self) -> None:
        """Ignores everything until the connection ends, which raises `ClosedError`."""
        while True:
            self._fill()

    def resynchronise(self) -> None:
        """Breaks off the call on both sides: break marker, the client's reset, our reset. An error follows."""
        heeded, self.heeds_breaks = self.heeds_breaks, False
        self._send_marker(Marker.BREAK)
        while self._any_packet() != Packet(Kind.MARKER, bytes((1, 0, Marker.RESET))):
            pass
        self._send_marker(Marker.RESET)
        self.heeds_breaks = heeded

    def _payload(self) -> bytes:
        packet = self.next_packet()
        if packet.kind != Kind.DATA:
            raise ProtocolError(f"{packet} instead of data")
        if int.from_bytes(packet.body[:2], "big") & END_OF_FILE:
            raise ClosedError
        self._last_size = len(packet.body) + HEADER
        return packet.body[2:]

    def _is_complete(self) -> bool:
        # The client fills each packet but the last; an integer that did not fit leaves up to eight bytes.
        return self._last_size < self.sdu - 8

    def _continuation(self) -> bytes:
        if self._is_complete():
            raise ProtocolError("the request ends too early")
        return self._payload()

    def _any_packet(self) -> Packet:
        while True:
            self._need(1)
            if not (self.long_lengths and self._received[0] == _URGENT):
                return self._framed()
            del self._received[0]
            if self.heeds_breaks:
                raise BreakError

    def _framed(self) -> Packet:
        self._need(HEADER)
        size, kind = int.from_bytes(self._received[: 4 if self.long_lengths else 2], "big"), self._received[4]
        if kind not in list(Kind) or not HEADER <= size <= _LARGEST:
            raise ProtocolError(f"no packet begins with {bytes(self._received[:HEADER])!r}")
        self._need(size)
        packet = Packet(kind, bytes(self._received[HEADER:size]))
        del self._received[:size]
        return packet

    def _need(self, size: int) -> None:
        while len(self._received) < size:
            self._received += self._fill()

    def _fill(self) -> bytes:
        try:
            data = self._socket.recv(_AT_ONCE)
        except OSError as error:
            raise ClosedError from error
        if not data:
            raise ClosedError
        return data

    # Sending

    def send(self, kind: Kind, body: bytes) -> None:
        """One packet."""
        self.send_raw(self._header(len(body) + HEADER, kind) + body)

    def send_data(self, payload: bytes, flags: int = 0) -> None:
        """Sends an answer in as many packets as it needs; `flags` go on the last one."""
        room = self.sdu - DATA_HEADER
        last = max(len(payload) - 1, 0) // room * room
        self.send_raw(
            b"".join(
                self._data_packet(payload[start : start + room], flags if start == last else 0)
                for start in range(0, last + 1, room)
            )
        )

    def send_raw(self, data: bytes) -> None:
        """Sends bytes unchanged. Raises `ClosedError` if nobody reads them."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise ClosedError from error

    def close(self) -> None:
        """Ends the connection. Every thread that waits on it gets `ClosedError`. May be called twice."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other side closed it first

    def release(self) -> None:
        """Frees the socket; for the thread that owns the link."""
        self.close()
        self._socket.close()

    def _data_packet(self, piece: bytes, flags: int) -> bytes:
        return self._header(len(piece) + DATA_HEADER, Kind.DATA) + struct.pack(">H", flags) + piece

    def _send_marker(self, marker: Marker) -> None:
        self.send(Kind.MARKER, bytes((1, 0, marker)))

    def _header(self, size: int, kind: Kind) -> bytes:
        length = struct.pack(">I", size) if self.long_lengths else struct.pack(">HH", size, 0)
        return length + bytes((kind, 0, 0, 0))
