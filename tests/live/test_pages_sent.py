"""How many calls a failure sends: the shipped rules and routing in a real Prometheus and Alertmanager, as in test_alerting.py.
They scrape scripted answers. Each scenario is an environment of its own, and all of them happen at once."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.live.test_alerting import FACTOR, Receiver, shrunk, wait_for, write_configuration
from tests.ports import free_port
from tests.repo.processes import monitor
from tests.service.receiver import Answer, http_server

pytestmark = pytest.mark.slow

MINUTE = 60 / FACTOR
QUIET = 32
"""Minutes before the failures: a name that is not 15 minutes old in one environment may be one that left another."""
FAILED = 40
"""Minutes from the failures to the end."""
Script = Callable[[float], str]
"""Minutes since the failures, negative before → what /metrics says; nothing: no answer."""


def up(env: str, names: Mapping[str, int], more: str = "") -> str:
    labels = f'env="{env}",' if env else ""
    return "".join(f'latchscope_up{{{labels}db="{name}"{more}}} {value}\n' for name, value in names.items())


def down(env: str, count: int) -> Script:
    """No database of a latchscope answers."""
    return lambda now: up(env, {f"{env}-{number}": int(now < 0) for number in range(count)})


def ends(env: str, prefix: str, count: int) -> Script:
    """A latchscope that is gone for good."""
    return lambda now: up(env, {f"{prefix}{number}": 1 for number in range(count)}) if now < 0 else ""


def lasts(env: str, prefix: str, count: int) -> Script:
    return lambda now: up(env, {f"{prefix}{number}": 1 for number in range(count)})


def moved(now: float) -> str:
    """A database is taken out; twenty minutes later the other gets a target label."""
    if now < 0:
        return up("", {"kept": 1, "left": 1})
    env = "" if now < 20 else "moved"
    return up(env, {"kept": 1}) + f'latchscope_database_retired{{env="{env}",db="left"}} 1\n'


def costs(env: str, storm: bool, cause: str = "") -> str:
    """A database that loses 40 % of its time to the mutex, with its cause if one is named, or nothing."""
    labels, share = f'env="{env}",db="{env}"', 0.4 if storm else 0.0
    text = up(env, {env: 1}) + "".join(
        f"latchscope_{name}{{{labels}{more}}} {value}\n"
        for name, more, value in (
            ("impact_ratio", "", share),
            ("impact_sessions", "", 20 * share),
            ("surface_impact_ratio", ',surface="mutex"', share),
            ("surface_impact_sessions", ',surface="mutex"', 20 * share),
        )
    )
    found = f'latchscope_finding{{{labels},cause="{cause}",severity="critical"}} 1\n'
    return text + (found if storm and cause else "")


def storms(env: str, again: str) -> Script:
    """A mutex storm with a cause, remedied at 0; ten minutes later another, with this cause or none."""
    return lambda now: costs(env, now >= 10 or -12 <= now < 0, "logon-storm" if now < 0 else again)


def recurring(now: float) -> str:
    """A storm with its cause, again and again: six minutes of it, and six of peace. Its alert goes on for eight."""
    return costs("often", now % 12 < 6, "logon-storm")


def replica(
    env: str, own: str, shared: str, *, leaves: float = FAILED, comes: float = -QUIET, ends: bool = False
) -> Script:
    """A replica with a database of its own, and one that is with it between two moments. `ends`: it is gone with it."""

    def script(now: float) -> str:
        gone = ends and now >= leaves
        return "" if gone else up(env, {own: 1, **({shared: 1} if comes <= now < leaves else {})})

    return script


def refused(now: float) -> str:
    """A database that refuses the login."""
    stopped = 'latchscope_login_stopped{env="refused",db="refused",reason="ORA-01017"} 1\n'
    return up("refused", {"refused": int(now < 0), "well": 1}) + stopped * (now >= 0)


SCRIPTS: Mapping[str, Script] = {
    "net12": down("net12", 12),
    "net600": down("net600", 600),
    "beside": lambda now: up("net12", {"single": int(now < 0), "well": 1}),
    "second": ends("lost", "lost-", 40),
    "first": lasts("lost", "stays-", 3),
    "prod": ends("prod", "twin-", 2),
    "test": lasts("test", "twin-", 2),
    "moved": moved,
    "unnamed": storms("unnamed", ""),
    "same": storms("same", "logon-storm"),
    "slow": storms("slow", "logon-storm"),
    "often": recurring,
    "killed": replica("killed", "k", "k", leaves=0, ends=True),
    "takes": replica("killed", "l", "k", comes=0.5),
    "hands": replica("handed", "h", "x", leaves=0),
    "given": replica("handed", "i", "x", comes=0.25),
    "refused": refused,
}
SCRAPED = {"slow": "1m"}
"""Those that are scraped less often than every fifteen seconds."""
CALLS = {
    "net12": {"LatchscopeMostDatabasesDown": 1, "LatchscopeDatabaseDown": 1},
    "net600": {"LatchscopeMostDatabasesDown": 1},
    "lost": {"LatchscopeDatabaseUnwatched": 1},
    "prod": {"LatchscopeMissing": 1},
    "unnamed": {"LatchscopeFindingActive": 1, "RowCacheMutexWaits": 1},
    "same": {"LatchscopeFindingActive": 2},
    "slow": {"LatchscopeFindingActive": 2},
    "often": {"LatchscopeFindingActive": 1},
}
"""Environment → how often `pager` is called, and by which alert first. `single` is not behind the dead switch."""


CHATS = {("LatchscopeReplicaDown", "killed"), ("LatchscopeLoginStopped", "refused")}
"""What `chat` hears of failures that call nobody: alert and environment."""


@dataclass
class Pager(Receiver):
    """Counts calls, not alerts."""

    pages: list[tuple[float, str, str]] = field(default_factory=list)
    """Minute, environment and first alert of every call of `pager` with something that fires anew."""

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        told = {json.dumps(one["labels"], sort_keys=True) for _, _, one in self.calls if one["status"] == "firing"}
        answer = super().take(path, headers, body)
        firing = [one["labels"] for one in json.loads(body)["alerts"] if one["status"] == "firing"]
        new = [labels for labels in firing if json.dumps(labels, sort_keys=True) not in told or "cause" in labels]
        if path.strip("/") == "pager" and new:
            at = (time.monotonic() - self.zero) / MINUTE - QUIET
            self.pages.append((at, new[0].get("env", ""), new[0]["alertname"]))
        return answer


def test_one_failure_is_one_call_and_what_was_done_on_purpose_none(tmp_path: Path) -> None:
    ports = {name: free_port() for name in ("latchscope", "prometheus", "alertmanager")}
    pager = Pager(time.monotonic())

    def scraped(path: str, _: dict[str, str], __: bytes) -> Answer:
        text = SCRIPTS[path.strip("/")]((time.monotonic() - pager.zero) / MINUTE - QUIET)
        return (200 if text else 503), {}, text.encode()

    with ExitStack() as stack:
        webhook, served = (stack.enter_context(http_server(each)) for each in (pager.take, scraped))
        write_configuration(tmp_path, ports, webhook)
        told = yaml.safe_load((tmp_path / "prometheus.yml").read_text(encoding="utf-8"))
        told["scrape_configs"] = [
            {
                "job_name": name,
                "metrics_path": f"/{name}",
                "honor_labels": True,
                **({"scrape_interval": shrunk(SCRAPED[name])} if name in SCRAPED else {}),
                "static_configs": [
                    {"targets": [served.removeprefix("http://")], "labels": {"env": name} if name == "killed" else {}}
                ],
            }
            for name in SCRIPTS
        ]
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(told), encoding="utf-8")
        for name in ("alertmanager", "prometheus"):
            stack.enter_context(monitor(name, tmp_path, ports[name]))
        pager.zero = time.monotonic()
        wait_for(lambda: time.monotonic() - pager.zero > (QUIET + FAILED) * MINUTE, "the end of the scripts")
    pages = pager.pages
    lines = "\n".join(f"{at:6.1f} min  {env:8} {alert}" for at, env, alert in pages)
    counted = {env: dict(Counter(alert for _, of, alert in pages if of == env)) for env in {of for _, of, _ in pages}}
    assert counted == CALLS, f"{lines}\n{pager.timeline()[:3000]}"
    told = [one["labels"] for _, whom, one in pager.calls if whom == "chat"]
    assert {(of["alertname"], of.get("env")) for of in told} >= CHATS, pager.timeline()[:3000]
    (unnamed,) = (at for at, env, alert in pages if (env, alert) == ("unnamed", "RowCacheMutexWaits"))
    again = max(at for at, env, _ in pages if env == "same")
    assert 10 < unnamed < 25 and 10 < again < 20, f"the second storm began at 10:\n{lines}"
