"""Sign-ins end at the server; wrong tokens are limited by address, and nobody who was in is locked out by it."""

import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from service.web import sessions
from service.web.sessions import (
    GUESS_SECONDS,
    MOST_ADDRESSES,
    MOST_GUESSES,
    MOST_SESSIONS,
    SESSION_SECONDS,
    TOGETHER,
    GuessLimit,
    Sessions,
)
from tests.service.stage import Client
from tests.service.web.test_access import OPERATE, READ, basic, bearer, client, digest

HERE, NEAR, FAR = "192.0.2.7", "192.0.2.8", "2001:db8:0:1::1"
ASKED = "/api/v1/databases"


class Clock:
    """A monotonic clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(sessions, "time", SimpleNamespace(monotonic=one.monotonic))
    return one


@pytest.fixture
def app(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    file = tmp_path / "tokens"
    lines = [f"{role} {role} {digest(token)}" for role, token in (("read", READ), ("operate", OPERATE))]
    file.write_text("\n".join(lines), encoding="utf-8")
    made = client(tmp_path, file)
    yield made
    made.app.state.close()


def guess(app: Client, peer: str, token: str, how: str = "bearer") -> int:
    """The status of one guess: by a header, or on the page."""
    if how == "page":
        return app.get("/sign-in", "POST", peer, content=f"token={token}&to=/").status_code
    return app.get(ASKED, peer=peer, headers=(bearer if how == "bearer" else basic)(token)).status_code


def test_session_ends_by_time_by_sign_out_and_by_a_hundred_younger_of_its_token(clock: Clock) -> None:
    kept = Sessions()
    first, other = kept.begin("mine"), kept.begin("another")
    assert kept.owner(first) == "mine" and kept.owner(other) == "another" and kept.owner("") is None
    younger = [kept.begin("mine") for _ in range(MOST_SESSIONS)]
    assert kept.owner(first) is None and all(kept.owner(one) == "mine" for one in younger)
    assert kept.owner(other) == "another", "it does not pay for the sign-ins of others"
    kept.end(younger[0])
    kept.end("never given out")
    assert kept.owner(younger[0]) is None and kept.owner(younger[1]) == "mine"
    clock.now += SESSION_SECONDS
    assert kept.owner(younger[1]) is None and kept.owner(other) is None


@pytest.mark.parametrize("how", ["bearer", "basic", "page"])
def test_guesses_of_an_address_are_limited_however_they_come(app: Client, clock: Clock, how: str) -> None:
    tried = [guess(app, HERE, f"guess-{n}", how) for n in range(MOST_GUESSES + 5)]
    assert tried == [401] * MOST_GUESSES + [429] * 5
    told = app.get(ASKED, peer=HERE, headers=bearer("one more"))
    assert (told.status_code, told.headers["retry-after"]) == (429, str(int(GUESS_SECONDS)))
    assert told.json()["type"] == "/docs/problems/too-many-guesses"
    assert guess(app, HERE, OPERATE, how) == 429, "a right guess looks like a wrong one"
    assert guess(app, NEAR, "guess-0", how) == 401 and guess(app, FAR, "guess-0", how) == 401
    clock.now += GUESS_SECONDS
    assert [guess(app, HERE, f"later-{n}", how) for n in range(2)] == [401, 429]


def test_limit_locks_nobody_out_who_was_in_from_there(app: Client) -> None:
    """Behind one proxy all have one address."""
    assert guess(app, HERE, READ) == 200
    signed = app.get("/sign-in", "POST", HERE, content=f"token={OPERATE}&to=/")
    cookie = {"cookie": signed.headers["set-cookie"].partition(";")[0]}
    assert {guess(app, HERE, f"guess-{n}") for n in range(50)} == {401, 429}
    assert guess(app, HERE, READ) == 200 and guess(app, HERE, OPERATE) == 200 and guess(app, NEAR, READ) == 200
    assert app.get(ASKED, peer=HERE, headers=cookie).status_code == 200
    assert app.get(ASKED, peer=HERE).status_code == 401, "no token is no guess"


def test_guesses_of_all_addresses_together_are_limited_and_lock_nobody_out(app: Client, clock: Clock) -> None:
    """A program on this machine that says for each guess that it asks for another address."""
    assert guess(app, HERE, READ) == 200
    tried = [guess(app, f"10.0.{n}.1", f"guess-{n}") for n in range(TOGETHER * MOST_GUESSES + 20)]
    assert tried == [401] * (TOGETHER * MOST_GUESSES) + [429] * 20
    assert guess(app, HERE, READ) == 200 and guess(app, NEAR, READ) == 200 and guess(app, NEAR, OPERATE) == 429
    clock.now += GUESS_SECONDS / TOGETHER
    assert [guess(app, NEAR, token) for token in ("later", OPERATE)] == [401, 429]
    clock.now += GUESS_SECONDS
    assert guess(app, NEAR, OPERATE) == 200


def test_wrong_token_counts_once_and_dead_cookies_do_not_count(app: Client) -> None:
    """A scraper keeps sending a token that was revoked, and browsers their cookies from before a restart."""
    assert {guess(app, HERE, "revoked") for _ in range(5 * MOST_GUESSES)} == {401}
    old = {"cookie": "latchscope_session=from-before"}
    assert {app.get(ASKED, peer=HERE, headers=old).status_code for _ in range(MOST_GUESSES)} == {401}
    assert guess(app, HERE, READ) == 200, "its neighbours come in"


def test_guesses_write_one_line_and_nothing_into_the_audit(
    app: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for n in range(5 * MOST_GUESSES):
            guess(app, f"192.0.2.{n % 3}", f"guess-{n}", "page")
    assert [each.levelname for each in caplog.records if each.name.startswith("latchscope")] == ["WARNING"]
    assert "192.0.2.0" in caplog.text and "guess-" not in caplog.text
    assert not (tmp_path / "audit.jsonl").exists()


def test_addresses_of_one_host_are_one_and_many_take_bounded_memory(clock: Clock) -> None:
    limit = GuessLimit()
    for n in range(MOST_GUESSES):
        limit.wrong(f"2001:db8:0:1::{n:x}", f"wrong-{n}")
    assert limit.wait(FAR, "next") == GUESS_SECONDS and not limit.wait("2001:db8:0:2::1", "next")
    for n in range(2 * MOST_ADDRESSES):
        limit.wrong(f"10.0.{n >> 8}.{n & 255}", "wrong")
    assert len(limit._guessers) == MOST_ADDRESSES
    for n in range(MOST_GUESSES):
        limit.wrong("::ffff:192.0.2.7", f"wrong-{n}")
    assert limit.wait(HERE, "next") == GUESS_SECONDS and limit.wait("not an address", "next") == 0.0
