"""The two rounds of a login with a 12c verifier: a challenge, and a real check of the password."""

import hashlib
import secrets
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from .accounts import ROUNDS, Verifier
from .backend import OracleError
from .databases import Service, SessionRecord
from .handshake import Dialect, Greeting
from .packets import Link
from .replies import send_error, send_reply
from .requests import FUNCTION
from .results import login_parameters, outcome, status
from .wire import ProtocolError, Reader

_ROUND_ONE, _ROUND_TWO = 118, 115
_VERIFIER_12C = 0x4815
_KEY_ROUNDS = 3
_HALF = 32  # bytes each side gives to the session key
_SALT = 16  # random bytes before the encrypted text


@dataclass(frozen=True)
class Challenge:
    """The server's half of the session key and what the client needs to answer it."""

    verifier: Verifier
    half: bytes
    salt: bytes

    @classmethod
    def to(cls, verifier: Verifier) -> "Challenge":
        """A fresh challenge."""
        return cls(verifier, secrets.token_bytes(_HALF), secrets.token_bytes(16))

    def message(self, field_version: int) -> bytes:
        """The answer to round one. A status does not end it for go-ora."""
        parameters = {
            "AUTH_SESSKEY": _encrypt(self.verifier.hash, self.half),
            "AUTH_VFR_DATA": self.verifier.salt.hex().upper(),
            "AUTH_PBKDF2_CSK_SALT": self.salt.hex().upper(),
            "AUTH_PBKDF2_VGEN_COUNT": str(ROUNDS),
            "AUTH_PBKDF2_SDER_COUNT": str(_KEY_ROUNDS),
        }
        return login_parameters(parameters, {"AUTH_VFR_DATA": _VERIFIER_12C}) + outcome(field_version)

    def session_key(self, client_half: str) -> bytes:
        """The key that both sides derive only if the client knows the password."""
        theirs = _decrypt(self.verifier.hash, client_half)[:_HALF]
        return hashlib.pbkdf2_hmac("sha512", (theirs + self.half).hex().upper().encode(), self.salt, _KEY_ROUNDS, _HALF)


def log_in(link: Link, service: Service, greeting: Greeting) -> SessionRecord | None:
    """Both rounds. None if the login failed; the client then has the reason."""
    dialect = greeting.dialect
    service.counters.add("logins")
    user, client = _read_round(greeting.login, _ROUND_ONE, has_token=False)
    challenge = Challenge.to(service.accounts.verifier(user))
    send_reply(link, service, dialect, greeting.owed + challenge.message(dialect.field_version))
    user, proof = _read_round(link.request(), _ROUND_TWO, has_token=dialect.has_tokens)
    if text := proof.get("AUTH_ALTER_SESSION", "").rstrip("\0"):
        service.texts.add(text)
    try:
        _refuse_by_fault(service)  # not in round one, where driver 3.4 overlooks the error of a fast login
        record, session_key = _authenticate(service, challenge, user, client | proof)
    except OracleError as error:
        service.counters.add("failed_logins")
        send_error(link, service, dialect, error)
        return None
    send_reply(link, service, dialect, login_parameters(_welcome(dialect, record, session_key), {}) + status())
    return record


def _refuse_by_fault(service: Service) -> None:
    code = service.faults.now().login_error
    if code is not None:
        raise OracleError(code)


def _authenticate(
    service: Service, challenge: Challenge, user: str, sent: dict[str, str]
) -> tuple[SessionRecord, bytes]:
    if "AUTH_SESSKEY" not in sent or "AUTH_PASSWORD" not in sent:
        raise ProtocolError(f"a login without a password, only {sorted(sent)}")
    session_key = challenge.session_key(sent["AUTH_SESSKEY"])
    service.accounts.check(user, _password(session_key, sent["AUTH_PASSWORD"]))
    record = SessionRecord(
        session_id=next(service.session_ids),
        user=user.upper(),
        program=sent.get("AUTH_PROGRAM_NM", ""),
        machine=sent.get("AUTH_MACHINE", ""),
        driver=sent.get("SESSION_CLIENT_DRIVER_NAME", ""),
        generation=service.faults.generation,
    )
    service.sessions.append(record)
    return record, session_key


def _welcome(dialect: Dialect, record: SessionRecord, session_key: bytes) -> dict[str, str]:
    return {
        "AUTH_VERSION_NO": str(dialect.profile.packed_release),
        "AUTH_SESSION_ID": str(record.session_id),
        "AUTH_SERIAL_NUM": "1",
        "AUTH_MAX_OPEN_CURSORS": "300",  # without it the client keeps no statements
        "AUTH_MAX_IDEN_LENGTH": str(dialect.profile.longest_name),
        "AUTH_SVR_RESPONSE": _encrypt(session_key, secrets.token_bytes(_SALT) + b"SERVER_TO_CLIENT"),
    }


def _read_round(request: Reader, function: int, *, has_token: bool) -> tuple[str, dict[str, str]]:
    """The user's name and the pairs of one round."""
    begins = (request.u8(), request.u8())
    if begins != (FUNCTION, function):
        raise ProtocolError(f"message {begins} instead of login round {function}")
    request.skip("pn" if has_token else "p")
    has_user = request.u8()
    length = request.ub()
    request.skip("np")  # the mode
    count = request.ub()
    request.skip("pp")
    user = request.take(length) if has_user else b""
    if user[:1] == bytes((length,)):  # once more, from python-oracledb, not from go-ora
        user = user[1:] + request.take(1)
    return user.decode(), dict(_read_pair(request) for _ in range(count))


def _read_pair(request: Reader) -> tuple[str, str]:
    name, value = request.prefixed_twice(), request.prefixed_twice()
    request.skip("n")
    return name.decode(), value.decode()


def _password(session_key: bytes, encrypted: str) -> str | None:
    """The password in clear. None if it was encrypted with another key, which means that it was wrong."""
    plain = _decrypt(session_key, encrypted)
    padding = plain[-1]
    if not 1 <= padding <= 16 or plain[-padding:] != bytes((padding,)) * padding:
        return None
    return plain[_SALT:-padding].decode(errors="replace")


def _encrypt(key: bytes, blocks: bytes) -> str:
    encryptor = Cipher(AES(key), CBC(bytes(16))).encryptor()
    return (encryptor.update(blocks) + encryptor.finalize()).hex().upper()


def _decrypt(key: bytes, encrypted: str) -> bytes:
    try:
        decryptor = Cipher(AES(key), CBC(bytes(16))).decryptor()
        return decryptor.update(bytes.fromhex(encrypted)) + decryptor.finalize()
    except ValueError as error:
        raise ProtocolError(f"no encrypted blocks: {encrypted!r}") from error
