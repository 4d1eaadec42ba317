"""A disposable database for the loads of tests/live/load: it keeps what is made and dropped, and plays what a load does.

The effects are scripts of ours. So a run here proves that statements are sent, undone and diagnosed, and nothing about
Oracle.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from time import monotonic

from collectors.demo.load import ScriptedBlocker, ScriptedHang, ScriptedLoad
from collectors.demo.scenarios import loads, scenarios
from tests.live.load.statements import (
    HOLDS,
    LEFTOVERS,
    LOGON,
    MAKES,
    PLACE,
    PREFIX,
    SESSIONS,
    STATEMENTS,
    UPTIME,
    objects,
)

from .accounts import Account
from .backend import Answer, OracleError, OracleType, ResultColumn
from .databases import Service, SessionRecord
from .profiles import ORACLE_19C
from .scripted import PASSWORD, USER, ScriptedBackend

WRITER = "WRITER"
DROP = re.compile(r'drop (profile|user|table|sequence|trigger) (?:"\w+"\.)?(\w+)')
IDENTIFIED = re.compile(r'identified by "(\w+)"')
TAKEN = {"USER": 1920, "PROFILE": 2379}
GONE = {"TABLE": 942, "SEQUENCE": 2289, "TRIGGER": 4080, "USER": 1918, "PROFILE": 2380}
LISTED = [re.compile(re.escape(text).replace(r"\{number\}", r"\d+")) for text in STATEMENTS]
FOREVER = 1e9
ORDINARY_19 = loads()["ordinary-19"]

NUMBERS, HELD, HOLD = f"{PREFIX}NUMBERS", f"{PREFIX}HELD", f"{PREFIX}HOLD"
EFFECTS: Mapping[str, ScriptedLoad] = {
    NUMBERS: replace(loads()["numbering"], children={}, holders={}, waiters={}, mutexes=ORDINARY_19.mutexes),
    HOLD: ORDINARY_19,
    LOGON: loads()["logon-storm"],
}
"""Object that is there → what its load does. The other loads do nothing, and DDL that is held open is a hang."""
HANG = ScriptedHang(
    begin=0.0,
    end=FOREVER,
    event="row cache lock",
    cache="dc_objects",
    sessions=6,
    arriving=2.0,
    holder=ScriptedBlocker(sid=312, serial=48211, username=WRITER, program="secret@host", machine="secrethost"),
    module="SECRETMODULE",
    program="secret@host",
    username=WRITER,
    in_library_cache=3,
    key=f"5D000000{len(HELD):02X}00{HELD.encode().hex().upper()}",
)


class DisposableBackend(ScriptedBackend):
    """`container` is where its user is, `uptime` its age in seconds, `others` the sessions of others."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.container = "FREEPDB1"
        self.uptime: float | None = 600.0
        self.parallel = "NO"
        self.others: dict[str, int] = {}
        self.sees_writer = True
        self.made: dict[str, str] = {}
        """Name → kind of what is there."""
        self.sent: set[str] = set()
        self.sees: Callable[[str], None] = lambda _: None
        """Called with each statement of a load, after its effect."""
        self.service: Service | None = None
        self._change = RLock()
        self._effect = ""
        super().__init__(replace(scenarios()["healthy-19c"], name="disposable", loop=((FOREVER, ORDINARY_19),)), clock)
        self._zero = self._since = clock()

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """See `Backend.answer`: the statements of the loads, and those of a poll."""
        with self._change:
            own = self._own(sql)
            if own is not None:
                self.sees(sql)
        return own if own is not None else super().answer(service, sql, binds)

    def _own(self, sql: str) -> Answer | None:
        """The answer to a statement of a load or a safety check. None if it is another."""
        if sql == PLACE:
            return _texts(("USERNAME", "CONTAINER"), [(WRITER, self.container)])
        if sql == LEFTOVERS:
            owners = {"USER": None, "PROFILE": None}
            listed = [(kind, owners.get(kind, WRITER), name) for name, kind in self.made.items()]
            return _texts(("KIND", "OWNER", "NAME"), listed)
        if sql == UPTIME:
            columns = (ResultColumn("SECONDS"), ResultColumn("PARALLEL", OracleType.VARCHAR2))
            return Answer(columns, [(self.uptime, self.parallel)])
        if sql == SESSIONS:
            seen = [(one.user, one.action) for one in self._live() if self.sees_writer or one.user != WRITER]
            return _texts(("USERNAME", "ACTION"), [*seen, *((user, None) for user in self.others)])
        if made := MAKES.match(sql):
            self._make(made[1].upper(), made[2], sql)
        elif dropped := DROP.match(sql):
            self._drop(dropped[1].upper(), dropped[2])
        elif any(listed.fullmatch(sql) for listed in LISTED):
            return self._worked(sql)
        else:
            return None
        self._play()
        return Answer()

    def _live(self) -> list[SessionRecord]:
        return [one for one in self.service.sessions if not one.ended] if self.service else []

    def _make(self, kind: str, name: str, sql: str) -> None:
        if name in self.made:
            raise OracleError(TAKEN.get(kind, 955))
        self._need(sql, name)
        self.made[name] = kind
        password = IDENTIFIED.search(sql)
        if password and self.service:
            self.service.accounts[name] = Account(password[1])

    def _drop(self, kind: str, name: str) -> None:
        if self.made.get(name) != kind:
            raise OracleError(GONE[kind])
        if kind == "USER" and any(one.user == name for one in self._live()):
            raise OracleError(1940, "cannot drop a user that is currently connected")
        if kind == "USER" and self.service:
            self.service.accounts.lock(name)
        del self.made[name]
        if name == HELD:
            self.made.pop(HOLD, None)

    def _need(self, sql: str, made: str = "") -> None:
        """Refuse a statement about something that is not there."""
        for name in set(re.findall(rf"{PREFIX}[A-Z]+", sql)) - self.made.keys() - {made}:
            raise OracleError(GONE[objects()[name]])

    def _worked(self, sql: str) -> Answer:
        """A statement of a load. Its delay leaves this machine time for the others."""
        self._need(sql)
        self.sent.add(sql)
        if sql.startswith("select"):
            return Answer([ResultColumn("N")], [(1,)], delay=0.05)
        return Answer(delay=20.0 if sql.startswith(HOLDS.partition("{")[0]) else 0.05)

    def _play(self) -> None:
        """Change the script from this moment on. What has been counted stays."""
        effect = next((name for name in EFFECTS if name in self.made), "")
        if effect == self._effect:
            return
        now, script = self._clock(), self._database.scenario
        phases = (*script.loop[:-1], (now - self._since, EFFECTS.get(self._effect, ORDINARY_19)))
        hangs = tuple(replace(hang, end=min(hang.end, now - self._zero)) for hang in script.hangs)
        if effect == HOLD:
            hangs += (replace(HANG, begin=now - self._zero),)
        self._database.scenario = replace(
            script, loop=(*phases, (FOREVER, EFFECTS.get(effect, ORDINARY_19))), hangs=hangs
        )
        self._effect, self._since = effect, now


def disposable(speed: float = 1.0) -> Service:
    """A service with our two users. Its own clock runs `speed` times as fast, so that seconds play minutes."""
    backend = DisposableBackend(lambda: monotonic() * speed)
    users = {USER: Account(PASSWORD), WRITER: Account(PASSWORD)}
    backend.service = Service(backend, users, ORACLE_19C)
    return backend.service


def services() -> dict[str, Service]:
    """One disposable database, twenty times as fast as a clock; for `python -m tests.oracle_standin`."""
    return {"free": disposable(20.0)}


def _texts(names: tuple[str, ...], rows: list[tuple[object, ...]]) -> Answer:
    return Answer([ResultColumn(name, OracleType.VARCHAR2) for name in names], rows)
