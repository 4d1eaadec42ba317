"""Sign-ins that last until they are ended, and a limit on wrong tokens.

Both are in memory only: a restart ends every session and forgets every guess.
"""

import hashlib
import ipaddress
import logging
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

Key = TypeVar("Key")
Kept = TypeVar("Kept")

log = logging.getLogger("latchscope.web")

SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 100
"""Of one token. One more ends its oldest, so nobody's sign-ins take memory or end those of another token."""


class Sessions:
    """Who is signed in. The cookie is a random number; we keep its SHA-256."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}
        """SHA-256 of a cookie → SHA-256 of the token, and when it ends. The oldest comes first."""
        self._lock = Lock()

    def begin(self, token: str) -> str:
        """A new cookie for the owner of a token, which is given by its SHA-256."""
        now, cookie = time.monotonic(), secrets.token_urlsafe(32)
        with self._lock:
            self._open = {key: kept for key, kept in self._open.items() if kept[1] > now}
            mine = [key for key, (owner, _) in self._open.items() if owner == token]
            for key in mine[: max(0, len(mine) + 1 - MOST_SESSIONS)]:
                del self._open[key]
            self._open[_sha256(cookie)] = (token, now + SESSION_SECONDS)
        return cookie

    def owner(self, cookie: str) -> str | None:
        """The SHA-256 of the token that a cookie stands for. None if it was never given out, or has ended."""
        token, until = self._open.get(_sha256(cookie), (None, 0.0))
        return token if until > time.monotonic() else None

    def end(self, cookie: str) -> None:
        """From now on the cookie is nobody's."""
        with self._lock:
            self._open.pop(_sha256(cookie), None)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


MOST_GUESSES = 10
"""Different wrong tokens that an address may send at once."""
GUESS_SECONDS = 6.0
"""Then one more per so many seconds."""
TOGETHER = 10
"""All addresses together may send so many times as much: a program on this machine may say that it asks for any of them."""
MOST_ADDRESSES = 1024
MOST_KNOWN = 4096
SAY_AGAIN_SECONDS = 60.0


@dataclass(slots=True)
class _Guesser:
    times: int = 1
    """How many times what one address may send."""
    spent: float = 0.0
    at: float = 0.0
    wrong: "OrderedDict[str, None]" = field(default_factory=OrderedDict)
    """SHA-256 of its last wrong tokens. To send one again is no new guess: a scraper with an old token does it for ever."""

    def wait(self, token: str) -> float:
        """Seconds until the token may be tried."""
        over = 0.0 if token in self.wrong else self._left() - self.times * MOST_GUESSES + 1
        return max(0.0, over) * GUESS_SECONDS / self.times

    def guess(self, token: str) -> bool:
        """Count a wrong token. Whether it was new."""
        if new := token not in self.wrong:
            self.spent, self.at = self._left() + 1, time.monotonic()
            _newest(self.wrong, token, None, self.times * MOST_GUESSES)
        return new

    def _left(self) -> float:
        return max(0.0, self.spent - (time.monotonic() - self.at) * self.times / GUESS_SECONDS)


class GuessLimit:
    """Limits wrong tokens by address and of all addresses together, and counts each wrong token once.

    An address that is over its limit can be one of a proxy, with other people behind it. A token that was right from
    there before is always taken, so the limit locks nobody out who was in. Only a token that is new there has to wait; where the
    limit of all is reached, one that is new anywhere.
    """

    def __init__(self) -> None:
        self._guessers: OrderedDict[str, _Guesser] = OrderedDict()
        self._together = _Guesser(TOGETHER)
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Address and SHA-256 of the tokens that were right. Nobody without a right token can push one out."""
        self._said_at = float("-inf")
        self._lock = Lock()

    def wait(self, peer: str, token: str) -> float:
        """Seconds until the token, given by its SHA-256, may be tried from there. 0 if it may be now."""
        address = _network(peer)
        with self._lock:
            if (address, token) in self._known:
                return 0.0
            found, together = self._guessers.get(address), self._together.wait(token)
            if together and any(token == right for _, right in self._known):
                together = 0.0
            return max(found.wait(token) if found else 0.0, together)

    def right(self, peer: str, token: str) -> None:
        """The token was right."""
        with self._lock:
            _newest(self._known, (_network(peer), token), None, MOST_KNOWN)

    def wrong(self, peer: str, token: str) -> None:
        """The token was wrong."""
        address, now = _network(peer), time.monotonic()
        with self._lock:
            found = self._guessers.get(address) or _Guesser()
            _newest(self._guessers, address, found, MOST_ADDRESSES)
            self._together.guess(token)
            if not found.guess(token):
                return
            say = found.spent > MOST_GUESSES - 1 and now - self._said_at > SAY_AGAIN_SECONDS
            if say:
                self._said_at = now
        if say:
            log.warning(
                "%d wrong tokens came from %s: it may try another one each %g s; tokens that were right from there go on",
                MOST_GUESSES,
                address,
                GUESS_SECONDS,
            )


def _newest(kept: OrderedDict[Key, Kept], key: Key, value: Kept, most: int) -> None:
    """Put it last. The first goes if there are too many."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def _network(peer: str) -> str:
    """What one guesser has: an address of IPv4, or the 64 bits of IPv6 that a network gives to one host."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer[:64]
    mapped = getattr(address, "ipv4_mapped", None) or address
    return str(mapped if mapped.version == 4 else ipaddress.ip_network((mapped, 64), strict=False))
