"""From a storm in a database to a person's chat: latchscope, a real Prometheus and a real Alertmanager on loopback. The
shipped rules and the shipped routing run with every duration divided by FACTOR, so a minute of them is a second here. Other
numbers stay the same.
"""

import json
import re
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Child, Scenario
from collectors.demo.scenarios import loads, row_caches, scenarios
from collectors.errors import CredentialError, SessionError, StartingError
from collectors.poll import Connection
from collectors.registry import collectors
from rules.base import LOADER
from service.app import create_app
from service.config.settings import DatabaseSettings, Defaults, Settings
from service.state.board import MonitoredDatabase
from tests.ports import free_port
from tests.repo.processes import fetch_json, monitor
from tests.service.receiver import Answer, http_server
from tests.service.standin import becomes

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).resolve().parents[2] / "dashboards" / "prometheus"
FACTOR = 60
"""A minute of the shipped rules is a second here."""
LONGEST = 15 * 60_000
"""Longer `keep_firing_for` values are 15 minutes here: the alert only has to outlast its symptoms, and waiting costs most."""
PATIENCE = 200.0
"""Seconds after which an event will never come; a busy machine is no failure."""
DURATION_KEYS = ("for", "keep_firing_for", "interval", "group_wait", "group_interval", "repeat_interval")
IN_EXPRESSIONS = re.compile(r"(?<=\[)\d+[smhd](?=\])|(?<=\boffset )\d+[smhd]\b")
UNIT = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

WRITTEN_BY_RULES = 'last_over_time({__name__=~"ALERTS|.+:.+"}[1h])'
"""The records of the rules since Prometheus began: an alert whose expression has data is at least pending."""

QUIET_HERE = {
    "LatchscopeDataStale-warning": "its limit, ten minutes, is a number of seconds and not a duration",
    "LatchscopePollTooCostly-warning": "a scripted database answers in milliseconds",
    "RowCacheHang-warning": "no session of these databases waits without an end; row-cache.test.yml has them hang",
    "RowCacheHang-critical": "as RowCacheHang-warning",
    "LatchscopeMostDatabasesDown-critical": "two of eight databases are down; test_pages_sent.py has whole networks fail",
    "LatchscopeStoreDown-warning": "as LatchscopePollsLost",
    "LatchscopeDatabasesUnowned-critical": "a single process polls every database it is given",
    "LatchscopePollsLost-warning": "the store of this test answers",
    "LatchscopeSpoolFilling-warning": "as LatchscopePollsLost-warning",
    "LatchscopeThreadDown-warning": "no thread of this test dies",
    "LatchscopeWebhookGaveUp-warning": "this test configures no webhook of latchscope's own",
    "LatchscopePollsQueue-warning": "a handful of scripted databases never wait for each other",
}
"""Alerts whose expression has no data in this test, each with the reason. Their promtool tests show that they fire."""

HEALTHY_SECONDS = 6.0
HEALTHY, STORM, UNDO_STORM = loads()["healthy"], loads()["storm"], scenarios()["undo-storm"]
LOGON_STORM = loads()["logon-storm"]
MINIMAL = {"v$instance", "v$latchname", "v$event_name", "v$latch_children", "v$sys_time_model"}
WAITS_ALONE = {"v$instance", "v$latchname", "v$event_name", "v$system_event", "v$sys_time_model"}


# ---------------------------------------------------------------- durations


def milliseconds(duration: str) -> int:
    return int(duration[:-1]) * UNIT[duration[-1]]


def shrunk(duration: str, factor: int = FACTOR) -> str:
    """A duration divided by the factor, at least a millisecond."""
    return f"{max(milliseconds(duration) // factor, 1)}ms"


def scaled(part: Any, factor: int = FACTOR, key: str = "") -> Any:
    """A shipped file with its durations divided by the factor, otherwise unchanged."""
    if isinstance(part, dict):
        return {name: scaled(value, factor, name) for name, value in part.items()}
    if isinstance(part, list):
        return [scaled(one, factor, key) for one in part]
    if key == "keep_firing_for" and milliseconds(part) > LONGEST:
        return shrunk(f"{LONGEST // 60_000}m", factor)
    if key in DURATION_KEYS:
        return shrunk(part, factor)
    if key == "expr":
        return IN_EXPRESSIONS.sub(lambda match: shrunk(match[0], factor), part)
    return part


def shipped(name: str) -> Any:
    return yaml.load((SHIPPED / name).read_text(encoding="utf-8"), Loader=LOADER)


# ---------------------------------------------------------------- the fleet


@dataclass
class Fleet:
    """The scripted databases of this test by name, in place of the Connector. All began together with the fleet."""

    scripts: Mapping[str, Scenario]
    refused: Mapping[str, frozenset[str]]
    failing: Mapping[str, SessionError]
    steady: frozenset[str] = frozenset()
    """Databases whose trouble never changes, so one poll a second is enough."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    zero: float = field(default_factory=time.monotonic)
    connections: list[ScriptedDatabase] = field(default_factory=list)

    def open(self, watched: MonitoredDatabase) -> Connection:
        if watched.name in self.failing:
            raise self.failing[watched.name]
        script, refused = self.scripts[watched.name], self.refused.get(watched.name, frozenset())
        self.connections.append(ScriptedDatabase(script, self.began, lambda: time.monotonic() - self.zero, refused))
        return self.connections[-1]

    def relieve(self) -> None:
        """The storms end now. Up to this moment each script stays the same, so no counter falls."""
        now = time.monotonic() - self.zero
        relieved = {
            name: replace(
                one,
                loop=((HEALTHY_SECONDS, HEALTHY), (now - HEALTHY_SECONDS, one.loop[1][1]), (3600, loads()["relieved"])),
            )
            for name, one in self.scripts.items()
            if one.loop[0] == (HEALTHY_SECONDS, HEALTHY)
        }
        for connection in self.connections:
            connection.scenario = relieved.get(connection.scenario.name, connection.scenario)
        self.scripts = {**self.scripts, **relieved}

    def credential(self, watched: MonitoredDatabase) -> str:
        return watched.name

    @property
    def names(self) -> list[str]:
        return [*self.scripts, *self.failing]


def short_storm(name: str, sleep_us: float) -> Scenario:
    """Six healthy seconds, then the undo storm until `Fleet.relieve`."""
    storm = replace(STORM, children={**STORM.children, 1: Child(miss_ratio=0.21, sleeps=5200, sleep_us=sleep_us)})
    return replace(UNDO_STORM, name=name, loop=((HEALTHY_SECONDS, HEALTHY), (3600, storm)))


def nineteen() -> Scenario:
    """A 19c where sessions wait for the mutex, for the lock and for the RC latch."""
    load = replace(
        LOGON_STORM,
        events={**LOGON_STORM.events, "row cache lock": (2.0, 4.5), "latch free": (400, 4.5)},
        latches={"Result Cache: RC Latch": (21000, 500, 4.5)},
        modifications={"dc_sequences": 90},
    )
    return Scenario(
        name="nineteen",
        release="19.0.0.0.0",
        about="waits of 12.2 and newer",
        caches=row_caches()["19"],
        ordinary=loads()["ordinary-19"],
        loop=((3600, load),),
        events=("row cache mutex", "row cache lock", "latch free"),
        mutexes=True,
    )


def whole_fleet() -> Fleet:
    scripts = {
        "storm": short_storm("storm", 1900),
        "milder": short_storm("milder", 300),
        "blind": short_storm("blind", 1900),
        "parse": scenarios()["parse-storm"],
        "nineteen": nineteen(),
        "blind19": nineteen(),
    }
    failing = {
        "locked": CredentialError("ORA-01017: invalid username/password"),
        "starting": StartingError("ORA-01033: initialization or shutdown in progress"),
    }
    # If only the latch or only the waits can be read, no cause has a name, and the symptom alert fires alone.
    everything = frozenset(collectors())
    refused = {"blind": everything - MINIMAL, "blind19": everything - WAITS_ALONE}
    return Fleet(scripts, refused, failing, steady=frozenset({"parse", "nineteen", "blind19"}))


# ---------------------------------------------------------------- the processes


def wait_for(happened: Callable[[], bool], what: str) -> None:
    becomes(happened, what, PATIENCE)


@dataclass
class Receiver:
    """The receiver of calls: every notification, with the time it came."""

    zero: float
    calls: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)

    def take(self, path: str, _: dict[str, str], body: bytes) -> Answer:
        for alert in json.loads(body)["alerts"]:
            self.calls.append((time.monotonic() - self.zero, path.strip("/"), alert))
        return 200, {}, b""

    def has(self, status: str, alert: str, db: str, severity: str = "critical") -> bool:
        wanted = {"alertname": alert, "db": db, "severity": severity}
        return any(one["status"] == status and wanted.items() <= one["labels"].items() for _, _, one in self.calls)

    def timeline(self) -> str:
        lines = []
        for at, whom, one in self.calls:
            labels = one["labels"]
            about = labels.get("cause") or labels.get("collector") or ""
            what = f"{labels['alertname']} ({labels['severity']}) {labels.get('db', '')} {about}"
            lines.append(f"{at:6.1f} s  {whom:6}  {one['status']:8}  {what}")
        return "\n".join(lines)


@contextmanager
def latchscope(fleet: Fleet, port: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The real app over the fleet, polling the changing databases twice a second."""
    databases = [
        DatabaseSettings(name=name, dsn="demo:undo-storm", interval=1.0 if name in fleet.steady else 0.5)
        for name in fleet.names
    ]
    monkeypatch.setattr("service.app.Connector", lambda *_: fleet)
    app = create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=databases, defaults=Defaults(budget=1)))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.started, "latchscope to serve")
        yield
    finally:
        server.should_exit = True
        thread.join(60)


def write_configuration(folder: Path, ports: Mapping[str, int], webhook: str) -> None:
    """The shipped files, scaled, with the addresses of this test, one scrape a second, and receivers that call us."""
    for name in ("recording.yml", "fleet.yml", "alerts.yml"):
        (folder / name).write_text(yaml.safe_dump(scaled(shipped(name)), allow_unicode=True), encoding="utf-8")
    prometheus = shipped("prometheus.yml")
    prometheus["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    prometheus["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{ports['alertmanager']}"]
    (job,) = (one for one in prometheus["scrape_configs"] if one["job_name"] == "latchscope")
    del job["authorization"]
    job["static_configs"][0]["targets"] = [f"127.0.0.1:{ports['latchscope']}"]
    prometheus["scrape_configs"] = [job]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(prometheus), encoding="utf-8")
    routing = scaled(shipped("alertmanager.yml"))
    for one in routing["receivers"]:
        one["webhook_configs"] = [{"url": f"{webhook}/{one['name']}", "send_resolved": True}]
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(routing), encoding="utf-8")


@dataclass
class World:
    """All of it, running."""

    fleet: Fleet
    receiver: Receiver
    prometheus: str
    alertmanager: str
    stop_latchscope: Callable[[], None]

    def evaluated(self) -> set[str]:
        """Rules, by id, whose expression ever had data: one query for all of them."""
        query = urllib.parse.urlencode({"query": f"group by (__name__, alertname, severity) ({WRITTEN_BY_RULES})"})
        series = [one["metric"] for one in fetch_json(f"{self.prometheus}/api/v1/query?{query}")["data"]["result"]]
        names = [(one.get("alertname") or one["__name__"], one.get("severity")) for one in series]
        return {name for name, _ in names} | {f"{name}-{severity}" for name, severity in names}

    def unwell(self) -> list[str]:
        """Rules that Prometheus could not evaluate, with its message."""
        groups = fetch_json(f"{self.prometheus}/api/v1/rules")["data"]["groups"]
        found = [one for group in groups for one in group["rules"] if one["health"] != "ok"]
        return [f"{one['name']}: {one.get('lastError', 'never evaluated')}" for one in found]

    def inhibited(self, alert: str, db: str) -> bool:
        return any(
            one["status"]["inhibitedBy"]
            for one in fetch_json(f"{self.alertmanager}/api/v2/alerts")
            if one["labels"]["alertname"] == alert and one["labels"].get("db") == db
        )


@contextmanager
def running(fleet: Callable[[], Fleet], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    ports = {name: free_port() for name in ("latchscope", "prometheus", "alertmanager")}
    receiver = Receiver(time.monotonic())
    with ExitStack() as stack:
        write_configuration(folder, ports, stack.enter_context(http_server(receiver.take)))
        alertmanager, prometheus = (
            stack.enter_context(monitor(name, folder, ports[name])) for name in ("alertmanager", "prometheus")
        )
        databases = fleet()
        receiver.zero = databases.zero
        ours = stack.enter_context(ExitStack())
        ours.enter_context(latchscope(databases, ports["latchscope"], folder, monkeypatch))
        try:
            yield World(databases, receiver, prometheus, alertmanager, ours.close)
        finally:
            print(f"\n{receiver.timeline()}")  # noqa: T201  shown with -s, and when the test fails


# ---------------------------------------------------------------- the proofs


def rule_id(rule: Mapping[str, Any]) -> str:
    """The record, or the alert with its severity; findings are recorded once for each severity."""
    severity = rule.get("labels", {}).get("severity")
    return "-".join(filter(None, (rule.get("record") or rule["alert"], severity)))


def rule_ids() -> set[str]:
    files = [shipped(name) for name in ("recording.yml", "alerts.yml")]
    return {rule_id(rule) for one in files for group in one["groups"] for rule in group["rules"]}


def test_storm_calls_somebody_and_its_end_calls_them_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(whole_fleet, tmp_path, monkeypatch) as world:
        called = world.receiver

        wait_for(lambda: called.has("firing", "RowCacheObjectsSleepsHigh", "blind"), "the call")
        wait_for(lambda: called.has("firing", "LatchscopeFindingActive", "storm"), "the finding")
        wait_for(lambda: world.inhibited("RowCacheObjectsSleepsHigh", "storm"), "the symptom held back")
        wait_for(lambda: world.inhibited("LatchscopeDatabaseDown", "locked"), "the login told instead")
        world.fleet.relieve()
        wait_for(lambda: called.has("resolved", "RowCacheObjectsSleepsHigh", "blind"), "the all-clear")
        wait_for(lambda: called.has("resolved", "LatchscopeFindingActive", "storm"), "the finding's end")
        assert world.unwell() == []
        world.stop_latchscope()
        gone = {"LatchscopeMissing-critical", "LatchscopeReplicaDown-warning"}
        wait_for(lambda: gone <= world.evaluated(), "latchscope to be missed")
        silent = rule_ids() - world.evaluated()

    firing = [(whom, one["labels"]) for _, whom, one in called.calls if one["status"] == "firing"]
    told = {(labels["alertname"], labels.get("db"), whom) for whom, labels in firing}
    assert ("LatchscopeFindingActive", "storm", "pager") in told
    assert ("LatchscopeFindingActive", "milder", "chat") in told
    assert ("LatchscopeLoginStopped", "locked", "chat") in told
    assert ("LatchscopeDatabaseDown", "starting", "pager") in told
    assert ("RowCacheMutexWaits", "blind19", "pager") in told
    assert ("RowCacheLockWaits", "blind19", "pager") in told
    for symptom in (("RowCacheObjectsSleepsHigh", "storm"), ("RowCacheLockWaits", "nineteen")):
        assert not {one for one in told if one[:2] == symptom}, f"{symptom}: its cause called instead"
    moment, alert = next(
        (at, one)
        for at, _, one in called.calls
        if one["labels"]["alertname"] == "RowCacheObjectsSleepsHigh" and one["labels"]["db"] == "blind"
    )
    assert moment > HEALTHY_SECONDS
    assert "sleeps a second" in alert["annotations"]["summary"]
    assert "% of DB time" in alert["annotations"]["description"]
    assert not [one for _, _, one in called.calls if "error" in str(one["annotations"])], "an annotation has no figure"
    silent.discard("LatchscopeRulesMissing-warning")  # it may see the first scrape before the recording rules do
    assert silent == set(QUIET_HERE), f"no data for {sorted(silent - set(QUIET_HERE))}"
