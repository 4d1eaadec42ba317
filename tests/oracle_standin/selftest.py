"""A disposable database for the selftest: it keeps what is made and dropped, and plays the effect of each load.

The effects are scripts of ours. So a run here proves that statements are sent, undone and diagnosed, and nothing about
Oracle.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from time import monotonic

from collectors.demo.load import Scenario, ScriptedBlocker, ScriptedHang, ScriptedLoad, ScriptedWaiters
from collectors.demo.scenarios import HEALTHY_19C, LOGON_STORM, NUMBERING, ORDINARY_19, PARSING
from service.selftest.statements import (
    HOLDS,
    LEFTOVERS,
    NEXT_NUMBERS,
    PLACE,
    SESSIONS,
    UPTIME,
    changes,
    objects,
)

from .accounts import Account
from .backend import Answer, OracleError, OracleType, ResultColumn
from .databases import Service, SessionRecord
from .profiles import ORACLE_19C
from .scripted import PASSWORD, USER, ScriptedBackend

WRITER = "WRITER"
CREATE = re.compile(r"create (profile|user|table|sequence|trigger) (\w+)")
DROP = re.compile(r'drop (profile|user|table|sequence|trigger) (?:"\w+"\.)?(\w+)')
IDENTIFIED = re.compile(r'identified by "(\w+)"')
TAKEN = {"USER": 1920, "PROFILE": 2379}
GONE = {"TABLE": 942, "SEQUENCE": 2289, "TRIGGER": 4080, "USER": 1918, "PROFILE": 2380}
LISTED = [re.compile(re.escape(change.text).replace(r"\{number\}", r"\d+")) for change in changes()]
USES = re.compile(r"LATCHSCOPE_SELFTEST_\w+")
FOREVER = 1e9

_QUIET = {"children": {}, "holders": {}, "waiters": {}, "mutexes": ORDINARY_19.mutexes}


def _waits_for(cache: str, changed: float) -> ScriptedLoad:
    """Sessions that change entries of a cache under the row cache lock, and others that want to read them."""
    return replace(
        ORDINARY_19,
        gets={**ORDINARY_19.gets, cache: 3000},
        modifications={**ORDINARY_19.modifications, cache: changed},
        events={**ORDINARY_19.events, "row cache lock": (210, 3.6)},
        seconds={**ORDINARY_19.seconds, "DB time": 30.0},
        waiting=(
            ScriptedWaiters("row cache lock", 4.0, cache, "4m7m0t6fjcs5x", "SECRETMODULE", "secret@host", p3=5),
            ScriptedWaiters("row cache lock", 3.0, cache, "7nuw4xwrnuwxq", "SECRETMODULE", "secret@host", p3=3),
        ),
    )


EFFECTS: Mapping[str, ScriptedLoad] = {
    "": ORDINARY_19,
    "sequence": replace(NUMBERING, **_QUIET),
    "failed-logons": replace(
        ORDINARY_19,
        events={**ORDINARY_19.events, "library cache lock": (2.0, 6.0), "row cache lock": (3.0, 2.4)},
        seconds={**ORDINARY_19.seconds, "DB time": 14.0, "connection management call elapsed time": 8.0},
        waiting=(ScriptedWaiters("row cache lock", 2.4, "dc_users", None, None, "secret@host", p3=3),),
    ),
    "logons": LOGON_STORM,
    "ddl-hang": ORDINARY_19,
    "grants": _waits_for("dc_users", 30.0),
    "partitions": _waits_for("dc_objects", 60.0),
    "literals": replace(PARSING, **{**_QUIET, "mutexes": {"[19] kqrpre": (260, 0.9), "[10] kqreqd": (120, 0.4)}}),
}
HOLDER = ScriptedBlocker(sid=312, serial=48211, username=WRITER, program="secret@host", machine="secrethost")


class SelftestBackend(ScriptedBackend):
    """One disposable database. `place` is where its user is, `uptime` its age in seconds, `others` the sessions of others."""

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
        """Called with each statement of the selftest, after its effect."""
        self.service: Service | None = None
        self._moment = clock
        self._change = RLock()
        self._phases: list[tuple[float, ScriptedLoad]] = []
        self._hangs: list[ScriptedHang] = []
        self._effect, self._since = "", 0.0
        self._failed_before = 0
        super().__init__(replace(HEALTHY_19C, name="disposable"), clock)
        self._zero = clock()

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        """See `Backend.answer`: the statements of the selftest, and those of a poll."""
        with self._change:
            if "latchscope" in sql and "v$instance" in sql:
                self._play()
            own = self._own(sql)
            if own is not None:
                self.sees(sql)
        return own if own is not None else super().answer(service, sql, binds)

    def _own(self, sql: str) -> Answer | None:
        """The answer to a statement of the selftest. None if it is another."""
        if sql == PLACE:
            return _texts(("USERNAME", "CONTAINER", "DATABASE"), [(WRITER, self.container, "FREE")])
        if sql == LEFTOVERS:
            listed = [(kind, _owner(kind), name) for name, kind in self.made.items()]
            return _texts(("KIND", "OWNER", "NAME"), listed)
        if sql == UPTIME:
            columns = (ResultColumn("SECONDS"), ResultColumn("PARALLEL", OracleType.VARCHAR2))
            return Answer(columns, [(self.uptime, self.parallel)])
        if sql == SESSIONS:
            columns = (*_columns("USERNAME", "ACTION"), ResultColumn("SESSIONS"))
            ours = [(one.user, one.action, 1) for one in self._live() if self.sees_writer or one.user != WRITER]
            return Answer(columns, [*ours, *((user, None, number) for user, number in self.others.items())])
        if (found := CREATE.match(sql)) or (found := DROP.match(sql)):
            made = self._make if sql.startswith("create") else self._drop
            made(found[1].upper(), found[2], sql)
            self._play()
            return Answer()
        if sql.startswith("select /* latchscope confirm */"):
            columns = (ResultColumn("ANSWER"), ResultColumn("CON_NAME", OracleType.VARCHAR2), ResultColumn("CON_ID"))
            return Answer(columns, [(300, self.container, 3)])
        if any(listed.fullmatch(sql) for listed in LISTED):
            return self._worked(sql)
        return None

    def _live(self) -> list[SessionRecord]:
        return [one for one in self.service.sessions if not one.ended] if self.service else []

    def _make(self, kind: str, name: str, sql: str) -> None:
        if name in self.made:
            raise OracleError(TAKEN.get(kind, 955))
        self._need(set(USES.findall(sql)) - {name})
        self.made[name] = kind
        password = IDENTIFIED.search(sql)
        if password and self.service:
            self.service.accounts[name] = Account(password[1])
            self._failed_before = self.service.counters.failed_logins

    def _drop(self, kind: str, name: str, _sql: str) -> None:
        if self.made.get(name) != kind:
            raise OracleError(GONE[kind])
        if kind == "USER" and any(one.user == name for one in self._live()):
            raise OracleError(1940, "cannot drop a user that is currently connected")
        if kind == "USER" and self.service:
            self.service.accounts.lock(name)
        del self.made[name]
        if kind == "TABLE" and name.endswith("HELD"):
            self.made.pop("LATCHSCOPE_SELFTEST_HOLD", None)

    def _need(self, names: set[str]) -> None:
        """Refuse a statement about something that is not there."""
        for name in names - self.made.keys():
            raise OracleError(GONE[next(one.kind for one in objects() if one.name == name)])

    def _worked(self, sql: str) -> Answer:
        """A statement of a load. Its delay leaves this machine time for the others."""
        self._need(set(USES.findall(sql)))
        self.sent.add(sql)
        if sql.startswith("select"):
            rows: list[tuple[object, ...]] = [(1,)] * (3 if sql == NEXT_NUMBERS.text else 1)
            return Answer([ResultColumn("N")], rows, delay=0.05)
        return Answer(delay=20.0 if sql.startswith(HOLDS.text.partition("{")[0]) else 0.05)

    # What the loads do to the figures

    def _now_made(self) -> str:
        """The load that what is there belongs to."""
        names = {name.removeprefix("LATCHSCOPE_SELFTEST_") for name in self.made}
        by = {"NUMBERS": "sequence", "HOLD": "ddl-hang", "GRANTED": "grants", "PARTED": "partitions"}
        for name, load in {**by, "LITERAL": "literals"}.items():
            if name in names:
                return load
        if "LOGON" not in names or self.service is None:
            return ""
        return "failed-logons" if self.service.counters.failed_logins > self._failed_before else "logons"

    def _play(self) -> None:
        """Change the script from this moment on. What has been counted stays."""
        effect, now = self._now_made(), self._moment() - self._zero
        if effect == self._effect:
            return
        self._phases.append((now - self._since, EFFECTS[self._effect]))
        if self._effect == "ddl-hang":
            self._hangs[-1] = replace(self._hangs[-1], end=now)
        if effect == "ddl-hang":
            self._hangs.append(_hang(now))
        self._effect, self._since = effect, now
        loop = (*self._phases, (FOREVER, EFFECTS[effect]))
        script: Scenario = replace(self._scenario, loop=loop, hangs=tuple(self._hangs))
        self._database.scenario = script


def _hang(begin: float) -> ScriptedHang:
    return ScriptedHang(
        begin=begin,
        end=FOREVER,
        event="row cache lock",
        cache="dc_objects",
        sessions=6,
        arriving=2.0,
        holder=HOLDER,
        module="SECRETMODULE",
        program="secret@host",
        username=WRITER,
        in_library_cache=3,
        key="5D00000018004C4154434853434F50455F53454C46544553545F48454C44",
    )


def disposable(speed: float = 1.0) -> Service:
    """A service with our two users. Its own clock runs `speed` times as fast, so that seconds play minutes."""
    backend = SelftestBackend(lambda: monotonic() * speed)
    users = {USER: Account(PASSWORD), WRITER: Account(PASSWORD)}
    backend.service = Service(backend, users, ORACLE_19C)
    return backend.service


def services() -> dict[str, Service]:
    """One disposable database, twenty times as fast as a clock; for `python -m tests.oracle_standin`."""
    return {"free": disposable(20.0)}


def _owner(kind: str) -> str | None:
    return None if kind in ("USER", "PROFILE") else WRITER


def _columns(*names: str) -> list[ResultColumn]:
    return [ResultColumn(name, OracleType.VARCHAR2) for name in names]


def _texts(names: tuple[str, ...], rows: list[tuple[object, ...]]) -> Answer:
    return Answer(_columns(*names), rows)
