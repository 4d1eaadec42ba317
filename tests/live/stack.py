"""docker-compose.yml on a real engine: `make compose-test`, or `python -m tests.live.stack`.

It builds the image, starts the file under a project name of its own, checks what a user relies on, and takes everything down
again with its volumes. The ports of the file must be free. Without an engine, or with a compose older than 2.20, it says so
and ends with 0. Each check is a line; the exit code is 1 if any failed.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "latchscope-compose-test"
NEEDS = (2, 20)
"""The compose that knows `required` below `depends_on`."""
LATCHSCOPE, GRAFANA, PROMETHEUS = "http://127.0.0.1:8000", "http://127.0.0.1:3000", "http://127.0.0.1:9090"
STAY = ("latchscope", "prometheus", "alertmanager", "grafana")
UIDS = {"latchscope": "10001", "prometheus": "65534", "alertmanager": "65534", "grafana": "472"}
START_SECONDS, SETTLE_SECONDS = 300.0, 120.0
DASHBOARDS = 3
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """A check failed: what was expected and what was found."""


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def expect(found: object, wanted: object, what: str) -> None:
    """Raises Failed if they differ."""
    if found != wanted:
        raise Failed(f"{what}: {found!r} instead of {wanted!r}")


def docker(*words: str) -> str:
    """The output of a docker command. Raises Failed with the first line of its error output."""
    done = subprocess.run(["docker", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"docker {' '.join(words)}: {done.stderr.strip().partition(chr(10))[0][:400]}")
    return done.stdout.strip()


def compose(*words: str) -> str:
    """The output of a compose command on the file, under the project of this test. Raises Failed."""
    return docker("compose", "--project-name", PROJECT, *words)


def why_not() -> str | None:
    """Why compose cannot run here, or None."""
    if shutil.which("docker") is None:
        return "there is no program docker"
    try:
        version = docker("compose", "version", "--short")
        docker("info", "--format", "{{.ServerVersion}}")
    except Failed as error:
        return f"no Docker engine with compose v2 answers ({error})"
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) < NEEDS:
        return f"compose is {version}, and the file needs {NEEDS[0]}.{NEEDS[1]} or newer"
    return None


def answer(url: str, login: str | None = None, bearer: str | None = None) -> tuple[int, str]:
    """Status and body of a GET; `login` is NAME:PASSWORD. Status 0 while nobody answers."""
    request = urllib.request.Request(url)
    if login is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    if bearer is not None:
        request.add_header("Authorization", f"Bearer {bearer}")
    try:
        with _DIRECT.open(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def become(check: Callable[[], object], seconds: float = SETTLE_SECONDS) -> None:
    """Repeat a check until it passes. Raises its last Failed after so many seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            check()
            return
        except Failed:
            if time.monotonic() > until:
                raise
            time.sleep(2)


@dataclass(frozen=True, slots=True)
class Logins:
    """The generated secrets: latchscope's token and the password of Grafana's admin."""

    token: str
    admin: str


def logins() -> Logins:
    """As docs/deploy.md says to read them."""
    token = compose("exec", "-T", "prometheus", "cat", "/run/generated/latchscope_token")
    admin = compose("exec", "-T", "grafana", "cat", "/run/generated/grafana_admin_password")
    return Logins(token, admin)


def container(service: str) -> dict[str, Any]:
    """What the engine knows of a service's container."""
    (found,) = json.loads(docker("inspect", compose("ps", "--all", "--quiet", service)))
    return dict(found)


def healthy() -> None:
    """Every service that stays is healthy, and `secrets` ended with 0."""
    for service in STAY:
        expect(container(service)["State"].get("Health", {}).get("Status"), "healthy", service)
    state = container("secrets")["State"]
    expect((state["Status"], state["ExitCode"]), ("exited", 0), "secrets")


def latchscope_logins() -> None:
    """Only the token opens pages and metrics; health and documentation are open."""
    token = logins().token
    tried = {None: 401, "admin:admin": 401, "latchscope:latchscope": 401, "any:": 401, f"any:{token}": 200}
    for login, status in tried.items():
        shown = "the token" if status == 200 else login or "no login"
        expect(answer(f"{LATCHSCOPE}/", login)[0], status, f"latchscope with {shown}")
    expect(answer(f"{LATCHSCOPE}/api/v1/databases", bearer=token)[0], 200, "latchscope with the token as Bearer")
    expect(answer(f"{LATCHSCOPE}/metrics")[0], 401, "/metrics without a token")
    for path in ("/healthz", "/readyz", "/docs/"):
        expect(answer(LATCHSCOPE + path)[0], 200, path)


def grafana_logins() -> None:
    """The generated password, no default one, and reading without a login; the dashboards and the data source are there."""
    admin = logins().admin
    expect(answer(f"{GRAFANA}/api/admin/stats", f"admin:{admin}")[0], 200, "Grafana with the generated password")
    expect(answer(f"{GRAFANA}/api/admin/stats", "admin:admin")[0], 401, "Grafana with admin:admin")
    status, text = answer(f"{GRAFANA}/api/search?type=dash-db")
    expect((status, len(json.loads(text or "[]"))), (200, DASHBOARDS), "dashboards without a login")
    expect(answer(f"{GRAFANA}/api/admin/stats")[0] in (401, 403), True, "Grafana's administration without a login")
    status, text = answer(f"{GRAFANA}/api/datasources", f"admin:{admin}")
    expect([each["type"] for each in json.loads(text or "[]")], ["prometheus"], "data sources")


def prometheus_sees_everything() -> None:
    """Both targets are up, every rule is ok, and the Alertmanager is known."""
    targets = json.loads(answer(f"{PROMETHEUS}/api/v1/targets")[1] or "{}").get("data", {}).get("activeTargets", [])
    found = {each["labels"]["job"]: each["health"] for each in targets}
    expect(found, {"latchscope": "up", "prometheus": "up"}, "targets")
    groups = json.loads(answer(f"{PROMETHEUS}/api/v1/rules")[1] or "{}").get("data", {}).get("groups", [])
    health = {rule["health"] for group in groups for rule in group["rules"]}
    expect(health, {"ok"}, "health of the rules")
    known = json.loads(answer(f"{PROMETHEUS}/api/v1/alertmanagers")[1] or "{}").get("data", {})
    expect(len(known.get("activeAlertmanagers", [])), 1, "Alertmanagers")


def hardened() -> None:
    """No root, no capability, no way to gain one, a read-only root; memory, processes and logs have limits."""
    for service in STAY:
        status = dict(
            line.split(":", 1) for line in compose("exec", "-T", service, "cat", "/proc/1/status").splitlines()
        )
        expect(status["Uid"].split()[0], UIDS[service], f"uid of {service}")
        for name in ("CapEff", "CapBnd"):
            expect(int(status[name], 16), 0, f"{name} of {service}")
        expect(status["NoNewPrivs"].strip(), "1", f"NoNewPrivs of {service}")
        host = container(service)["HostConfig"]
        expect(host["ReadonlyRootfs"], True, f"read-only root of {service}")
        expect(bool(host["Memory"]) and (host["PidsLimit"] or 0) > 0, True, f"limits of {service}")
        expect(host["LogConfig"]["Config"].get("max-file"), "3", f"logs of {service}")


def second_up_changes_nothing() -> None:
    """`up` again leaves every container running, of one image."""
    before = {service: container(service)["Id"] for service in STAY}
    compose("up", "--detach")
    expect({service: container(service)["Id"] for service in STAY}, before, "containers after a second up")
    expect(container("secrets")["Image"], container("latchscope")["Image"], "image of secrets")


def restart_keeps_history() -> None:
    """A stop ends with 0, and `down` and `up` keep the secrets and the episode that was on."""
    kept, begin = logins(), _begin_of_an_episode()
    compose("stop", "latchscope")
    expect(container("latchscope")["State"]["ExitCode"], 0, "exit code of latchscope after SIGTERM")
    compose("down")
    compose("up", "--detach")
    become(healthy, START_SECONDS)
    expect(logins() == kept, True, "the same secrets after down and up")
    expect(_begin_of_an_episode(), begin, "begin of the episode after down and up")


def _begin_of_an_episode() -> str:
    found: list[str] = []

    def there() -> None:
        _, text = answer(f"{LATCHSCOPE}/api/v1/databases/users-mutex/episodes", bearer=logins().token)
        found[:] = [each["begin"] for each in json.loads(text or "[]") if each["end"] is None]
        expect(len(found), 1, "open episodes of users-mutex")

    become(there)
    return found[0]


CHECKS: Sequence[tuple[str, Callable[[], None], float]] = (
    ("every service is healthy", healthy, START_SECONDS),
    ("latchscope's logins", latchscope_logins, 0),
    ("Grafana's logins, dashboards and data source", grafana_logins, SETTLE_SECONDS),
    ("Prometheus' targets, rules and Alertmanager", prometheus_sees_everything, SETTLE_SECONDS),
    ("rights and limits of the containers", hardened, 0),
    ("a second up changes nothing", second_up_changes_nothing, 0),
    ("stop, down and up keep history and secrets", restart_keeps_history, 0),
)
"""Name, check, and the seconds that it may take to come true."""


def down_leaves_nothing() -> None:
    """`down --volumes` leaves no container and no volume of the project."""
    compose("down", "--volumes", "--remove-orphans")
    label = f"label=com.docker.compose.project={PROJECT}"
    expect(docker("ps", "--all", "--quiet", "--filter", label), "", "containers after down")
    expect(docker("volume", "ls", "--quiet", "--filter", label), "", "volumes after down --volumes")


def failures() -> Iterator[str]:
    """Run everything, a printed line for each check. Yields the failed ones."""
    try:
        compose("up", "--detach", "--build")
        for name, check, seconds in CHECKS:
            try:
                become(check, seconds)
            except Failed as error:
                yield f"{name}: {error}"
                say(f"FAILED {name}: {error}")
            else:
                say(f"ok     {name}")
    except Failed as error:
        yield str(error)
        say(f"FAILED the start: {error}")
    finally:
        down_leaves_nothing()
    say("ok     down --volumes leaves nothing")


def main() -> int:
    """The exit code: 0 if every check passed or none can run here."""
    missing = why_not()
    if missing is not None:
        say(f"compose-test: skipped: {missing}")
        return 0
    try:
        failed = list(failures())
    except Failed as error:
        failed = [str(error)]
        say(f"FAILED the end: {error}")
    say(f"compose-test: {len(failed)} failed" if failed else "compose-test: passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
