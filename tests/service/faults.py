"""The fault matrix: what can go wrong with a database, how to cause it, and what latchscope must do."""

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread
from time import sleep

from collectors.model import Missing
from service.state.board import MonitoredDatabase
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.faults import Faults, Spoil, Stage
from tests.oracle_standin.scripted import USER, ScriptedBackend
from tests.service.standin import Fleet

Act = Callable[["Patient"], None]


@dataclass
class Patient:
    """The database with the fault."""

    fleet: Fleet
    name: str
    dsn: str = ""
    over: Event = field(default_factory=Event)

    @property
    def watched(self) -> MonitoredDatabase:
        return self.fleet[self.name]

    @property
    def service(self) -> Service:
        return self.fleet.services[self.name]

    @property
    def backend(self) -> ScriptedBackend:
        assert isinstance(self.service.backend, ScriptedBackend)
        return self.service.backend

    def move(self, dsn: str) -> None:
        """Another address, as after a change of DNS or the network."""
        self.dsn = self.dsn or self.watched.settings.dsn
        self.watched.settings = self.watched.settings.model_copy(update={"dsn": dsn})


def cleared(patient: Patient) -> None:
    """The fault is over. Hung connections stay hung until the client closes them."""
    patient.over.set()
    patient.service.faults.clear()


def failure(watched: MonitoredDatabase) -> str | None:
    """latchscope's answer about a database that gives no data."""
    if watched.failure is None:
        return None
    assert watched.current is None and not watched.up, "old values appear as new"
    return f"{watched.failure.kind}: {watched.failure.why}"


def refusal(watched: MonitoredDatabase) -> str | None:
    """latchscope's answer about a refused view while the rest goes on."""
    reading = watched.published.snapshot.read("v$latch_misses") if watched.published else None
    if not isinstance(reading, Missing):
        return None
    return f"{'up' if watched.up else 'down'}, {reading.kind}: {reading.why}; {reading.way_out}"


def restarted(watched: MonitoredDatabase) -> str | None:
    """latchscope's answer across a restart."""
    known = watched.published
    if known is None or known.delta is not None or "restart" not in known.diagnosis.headline:
        return None
    return f"{'up' if watched.up else 'down'}: {known.diagnosis.headline}"


@dataclass(frozen=True)
class Fault:
    """One row of the matrix. `way_in`: an open session would not notice the fault, so it is dropped as the fault begins."""

    name: str
    begin: Act
    expect: str
    end: Act = cleared
    seen: Callable[[MonitoredDatabase], str | None] = failure
    way_in: bool = False
    first: Act | None = None
    """How the fault begins during the first login, where that differs."""
    after_first_poll: bool = False

    def start(self, patient: Patient, *, running: bool) -> None:
        """Bring it about."""
        begin = self.begin if running or self.first is None else self.first
        begin(patient)
        if running and self.way_in:
            patient.service.drop_connections()

    def recognised(self, told: str) -> bool:
        """Whether latchscope named the fault."""
        return re.search(self.expect, told) is not None


def causes(do: Callable[..., object], *given: object) -> Act:
    """What a method of the stand-in's faults does, at this database."""
    return lambda patient: do(patient.service.faults, *given)


def deny(code: int) -> Act:
    return causes(Faults.fail_statements, lambda sql: "v$latch_misses" in sql, code)


def fail_all(code: int) -> Act:
    return causes(Faults.fail_statements, lambda _: True, code)


def closing(patient: Patient) -> None:
    patient.service.faults.fail_logins(1089)
    fail_all(1089)(patient)


def dropping(patient: Patient) -> None:
    """Every connection drops again and again until the fault is over."""

    def drop() -> None:
        while not patient.over.wait(0.002):
            patient.service.drop_connections()

    Thread(target=drop, name="dropper", daemon=True).start()


def slow(patient: Patient) -> None:
    patient.service.faults.slow(1.6 * patient.fleet.oracle.statement_timeout)


def elsewhere(dsn: Callable[[Patient], str]) -> Act:
    return lambda patient: patient.move(dsn(patient))


def moved_back(patient: Patient) -> None:
    patient.move(patient.dsn)


def wrong_password(patient: Patient) -> None:
    patient.service.accounts.change(USER, "changed by somebody else")


def unlocked(patient: Patient) -> None:
    patient.service.accounts.unlock(USER)
    assert patient.fleet.workers[patient.name].resume_login()


def renewed(patient: Patient) -> None:
    patient.service.accounts[USER] = Account("renewed")
    patient.fleet.passwords[patient.name].write_text("renewed", encoding="utf-8")


def restart(patient: Patient) -> None:
    """A new instance life. Open sessions see it only as a new startup_time."""
    sleep(1.1)  # startup_time is in whole seconds
    patient.backend.restart()


def closed_port(patient: Patient) -> str:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}/{patient.name}"


def no_host(patient: Patient) -> str:
    return "nowhere.invalid:1521/x"


SILENT = "^network: no answer to the login"
CUT_OFF = "^network: .*(DPY-4011|DPY-4024|no answer to a statement)"
UNREADABLE = r"^up, refused: v\$latch_misses: {}.*grant select"
DROPPED = "^network: DPY-(4011|6005|5006|1001)"

FAULTS = (
    Fault("hang at accept", causes(Faults.hang, Stage.ACCEPT), SILENT, way_in=True),
    Fault("hang at login", causes(Faults.hang, Stage.LOGIN), SILENT, way_in=True),
    Fault("hang on execute", causes(Faults.hang, Stage.EXECUTE), CUT_OFF),
    Fault("hang mid-fetch", causes(Faults.hang, Stage.FETCH), CUT_OFF),
    Fault("refused, service unknown", causes(Faults.refuse, 12514), "^starting: .*ORA-12514", way_in=True),
    Fault("refused, blocked", causes(Faults.refuse, 12528), "^starting: .*ORA-12528", way_in=True),
    Fault("refused, SID unknown", causes(Faults.refuse, 12505), "^starting: .*ORA-12505", way_in=True),
    Fault("connection refused", elsewhere(closed_port), "^network: nothing listens", moved_back, way_in=True),
    Fault("host unknown", elsewhere(no_host), "^network: .*cannot be resolved", moved_back, way_in=True),
    Fault("wrong password", wrong_password, "^credential: ORA-01017", renewed, way_in=True),
    Fault(
        "account locked", lambda one: one.service.accounts.lock(USER), "^credential: ORA-28000", unlocked, way_in=True
    ),
    Fault(
        "password expired",
        lambda one: one.service.accounts.expire(USER),
        "^credential: ORA-28001",
        renewed,
        way_in=True,
    ),
    Fault("instance starting", causes(Faults.fail_logins, 1033), "^starting: .*ORA-01033", way_in=True),
    Fault("instance closing", closing, "^starting: .*ORA-01089"),
    Fault("view missing", deny(942), UNREADABLE.format("ORA-00942"), seen=refusal),
    Fault("privilege missing", deny(1031), UNREADABLE.format("ORA-01031"), seen=refusal),
    Fault("session killed", causes(Faults.kill_sessions), "^network: .*ORA-00028", first=fail_all(28)),
    Fault("dropped while idle", lambda one: one.service.drop_connections(), DROPPED, first=dropping),
    Fault("dropped mid-answer", causes(Faults.spoil, Spoil.HALF), "^network: DPY-(4011|5)"),
    Fault("end of file", causes(Faults.spoil, Spoil.CLOSE), "^network: DPY-4011"),
    Fault("garbage", causes(Faults.spoil, Spoil.GARBAGE), "^network: DPY-5"),
    Fault("noise", causes(Faults.spoil, Spoil.NOISE), "^network: DPY-4011"),
    Fault("slower than the timeout", slow, "^network: two statements.*4024"),
    Fault("restart", restart, "^up: .*restart", seen=restarted, after_first_poll=True),
)
