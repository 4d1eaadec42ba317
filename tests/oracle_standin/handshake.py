"""From the first packet to the negotiated dialect: CONNECT, ACCEPT or REFUSE, protocol, data types."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from .databases import Service
from .faults import Stage
from .packets import HEADER, ClosedError, Kind, Link
from .profiles import Profile
from .wire import ProtocolError, Reader, prefixed

_CAN_BE_INTERRUPTED = 0x0400  # by an urgent byte
_TEST_INTERRUPTION, _FAST_LOGIN, _ENDS_ANSWERS = 0x1, 0x10000000, 0x02000000
_NO_ENCRYPTION = 4
_ACCEPT = struct.Struct(">HH6xHH2s8xIIx")
_PROTOCOL, _DATA_TYPES, _FAST = 1, 2, 34
_UTF8, _UTF16 = 873, 2000
_FIELD_VERSION_AT = 7
_SIGNED_BYTE, _UNIVERSAL = 27, 1
_UTC = bytes((128, 0, 0, 0, 60, 60, 60, 128, 0, 0, 0))  # hours, minutes and seconds + 60
_TARGET = re.compile(rb"\((SERVICE_NAME|SID)\s*=\s*([^)\s]*)\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """The dialect of a connection after the login: the lower version that both sides know."""

    profile: Profile
    field_version: int
    sized_scales: bool = False
    """Whether a column's scale has a length, as go-ora asks; python-oracledb asks for one byte."""

    @property
    def has_tokens(self) -> bool:
        """Whether a call carries a token behind its sequence number."""
        return self.field_version >= 18


@dataclass(frozen=True)
class Greeting:
    """The negotiated dialect, the request that begins the login, and what its answer has to begin with."""

    dialect: Dialect
    login: Reader
    owed: bytes = b""


def choose_service(link: Link, services: Mapping[str, Service]) -> tuple[str, Service]:
    """Answers CONNECT. Raises `ClosedError` after a refusal."""
    packet = link.next_packet()
    if packet.kind != Kind.CONNECT or len(packet.body) < 50:
        raise ProtocolError(f"{packet} instead of a connect")
    name, is_sid = _target(_descriptor(link, packet.body))
    service = services.get(name)
    code = service.faults.now().refuse if service else (12505 if is_sid else 12514)
    if service is None or code is not None:
        refusal = f"(DESCRIPTION=(TMP=)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
        link.send(Kind.REFUSE, struct.pack(">BBH", 1, 1, len(refusal)) + refusal)
        raise ClosedError
    service.enter(link)
    service.counters.add("connections")
    if service.faults.now().hang is Stage.ACCEPT:
        link.hang()
    _accept(link, packet.body, service.profile)
    return name, service


def _descriptor(link: Link, connect: bytes) -> bytes:
    """The connect descriptor. If it is too long for the packet, it follows in a packet of data."""
    length, offset = struct.unpack_from(">HH", connect, 16)
    if len(connect) + 8 >= offset + length:
        return connect[offset - 8 :]
    return link.request().take(length)


def _target(descriptor: bytes) -> tuple[str, bool]:
    found = _TARGET.search(descriptor)
    if not found:
        raise ProtocolError(f"a descriptor without a service name: {descriptor!r}")
    return found[2].decode(), found[1].upper() == b"SID"


def _accept(link: Link, connect: bytes, profile: Profile) -> None:
    version, _, options, short_sdu = struct.unpack_from(">HHHH", connect)
    sdu = struct.unpack_from(">I", connect, 50)[0] if len(connect) >= 54 else short_sdu
    agreed = min(version, profile.net_version)
    can_be_interrupted = options & _CAN_BE_INTERRUPTED
    flags = _TEST_INTERRUPTION if can_be_interrupted else 0
    flags |= (_FAST_LOGIN if profile.fast_login else 0) | (_ENDS_ANSWERS if profile.ends_answers else 0)
    security = bytes((_NO_ENCRYPTION, _NO_ENCRYPTION))
    newer = struct.pack(">I", flags) if agreed >= 318 else b""
    end = HEADER + _ACCEPT.size + len(newer)  # go-ora looks here for data of length 0
    link.send(Kind.ACCEPT, _ACCEPT.pack(agreed, can_be_interrupted, 0, end, security, sdu, sdu) + newer)
    link.sdu, link.long_lengths = sdu, True


def negotiate(link: Link, service: Service) -> Greeting:
    """Answers protocol and data types, up to the first request of the login, which may arrive together with both."""
    profile = service.profile
    request = link.request()
    if request.u8() == _FAST:
        request.take(3)
        _read_protocol(request, request.u8())
        request.take(6)  # what the client knows of a new server: character sets, field version
        dialect, answer = _read_data_types(request, profile)
        return Greeting(dialect, request, _protocol(profile) + answer)
    _read_protocol(request, _PROTOCOL)
    _answer(link, service, _protocol(profile))
    dialect, answer = _read_data_types(link.request(), profile)
    _answer(link, service, answer)
    return Greeting(dialect, link.request())


def _answer(link: Link, service: Service, payload: bytes) -> None:
    service.counters.add("round_trips")
    link.send_data(payload)


def _read_protocol(request: Reader, message: int) -> None:
    if message != _PROTOCOL:
        raise ProtocolError(f"message {message} instead of a protocol")
    request.until_nul()  # versions
    request.until_nul()  # the driver's name


def _read_data_types(request: Reader, profile: Profile) -> tuple[Dialect, bytes]:
    """The dialect and the answer."""
    if (message := request.u8()) != _DATA_TYPES:
        raise ProtocolError(f"message {message} instead of data types")
    request.take(5)  # character sets and encoding
    capabilities = request.prefixed() or b""
    has_zone = (request.prefixed() or bytes(2))[1] & 1  # of go-ora
    request.take(13 if has_zone else 0)  # the zone, the national character set
    representations = dict[int, int]()
    while kind := request.u16():
        if request.u16():  # the type that it becomes
            representations[kind] = request.u16()
            request.take(2)
    sized_scales = representations.get(_SIGNED_BYTE) == _UNIVERSAL
    dialect = Dialect(profile, min(profile.field_version, capabilities[_FIELD_VERSION_AT]), sized_scales)
    return dialect, bytes((_DATA_TYPES,)) + (_UTC if has_zone else b"") + bytes(2)


def _protocol(profile: Profile) -> bytes:
    character_sets = struct.pack(">9xH", _UTF16)
    compile_time = bytearray(45)
    compile_time[_FIELD_VERSION_AT] = profile.field_version
    compile_time[27] = 1  # type numbers of two bytes
    # What python-oracledb takes for granted and go-ora does not: the key of a login from PBKDF2, status and sequence at the
    # end of a call, sizes of pieces as integers.
    compile_time[4], compile_time[15], compile_time[16], compile_time[37] = 0x20, 1, 1, 0x20
    run_time = bytearray(7)
    run_time[1] = 1  # a time zone with the data types; without it go-ora asks for it before the login
    run_time[6] = 4 if profile.long_strings else 0
    return b"".join(
        [
            bytes((_PROTOCOL, 6, 0)) + profile.banner + b"\0",
            struct.pack("<HBH", _UTF8, 1, 0),
            struct.pack(">H", len(character_sets)) + character_sets,
            prefixed(bytes(compile_time)) + prefixed(bytes(run_time)),
        ]
    )
