"""Memory, threads and descriptors of a service whose databases name something new in every poll and drop the connection
again and again. A soak test only: a slope needs minutes. `LATCHSCOPE_TEST_MINUTES` sets another length than half an hour,
of more than the 15 minutes that the filling takes.
"""

import json
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from collectors.demo.scenarios import scenarios
from collectors.registry import views_of
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer
from tests.oracle_standin.databases import Service
from tests.oracle_standin.profiles import ORACLE_12_1
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.noting import COUNTED
from tests.service.running import ASK, Running, serve
from tests.service.standin import SCRIPT, IdleBackend, becomes, unlisted

MINUTES = float(os.environ.get("LATCHSCOPE_TEST_MINUTES", "30"))
DATABASES = 20
FIGURES = ("MB", "threads", "descriptors")
NAMED = {"v$rowcache", "v$latch_misses", "v$mutex_sleep", "v$system_event", "v$sgastat"}
FILLING = 15.0
"""Minutes in which three names an answer are new, so that every bound of what is remembered of names is reached."""


class Renaming(IdleBackend):
    """A database where the last named rows have a new name in every answer."""

    numbers = count()
    names = 3

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Answer:
        told = super().answer(service, sql, binds)
        views = views_of(sql)
        if not views & NAMED or not told.rows:
            return told
        # Views that are read together have their name in each row, and that one stays.
        last = [
            [f"{cell[:20]} {number}" if isinstance(cell, str) and cell not in views else cell for cell in row]
            for row, number in zip(told.rows[-self.names :], self.numbers, strict=False)
        ]
        return Answer(told.columns, [*told.rows[: -self.names], *last])


def sample(pid: int) -> tuple[float, float, float]:
    """Megabytes in memory, threads and open descriptors of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines())
    return int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(os.listdir(f"/proc/{pid}/fd"))


def objects(running: Running, folder: Path) -> Counter[str]:
    """How many objects of each type are alive."""
    file = folder / "objects.json"
    file.unlink(missing_ok=True)
    running.process.send_signal(signal.SIGUSR1)
    becomes(file.is_file, "objects are counted")
    return Counter(json.loads(file.read_text("utf-8")))


@pytest.mark.soak
def test_new_names_and_reconnects_leave_no_thread_and_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = {
        f"db-{number:02}": Service(Renaming(scenarios()[SCRIPT]), {USER: Account(PASSWORD)}, ORACLE_12_1)
        for number in range(DATABASES)
    }
    taken: list[tuple[float, float, float]] = []
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    login = {"user": USER, "password_file": str(tmp_path / "password"), "interval": "10s"}
    with (
        Listener(services) as listener,
        serve(
            tmp_path,
            databases=[{"name": name, "dsn": listener.dsn(name), **login} for name in services],
            environment={COUNTED: str(tmp_path / "objects.json")},
            fresh=True,
        ) as running,
    ):
        began = time.monotonic()
        early: Counter[str] = Counter()
        for number in count():
            passed = time.monotonic() - began
            if passed > 60 * MINUTES:
                break
            if number % 3 == 2:
                for each in list(listener.services.values())[number % 4 :: 4]:
                    each.drop_connections()
            if passed > 60 * FILLING:
                monkeypatch.setattr(Renaming, "names", 1)
                early = early or objects(running, tmp_path)
                taken.append(sample(running.process.pid))
            ASK.get(f"{running.url}/metrics")
            time.sleep(5)
        grown = objects(running, tmp_path) - early
        # A database that is not polled shows nothing.
        becomes(
            lambda: all(one["up"] for one in running.json("/api/v1/databases")), "all are polled after the last drop"
        )
        logins = sum(each.counters.logins for each in listener.services.values())
        running.stop()
    assert all("latchscope v$instance" in str(each.texts) for each in services.values())
    assert unlisted(services) == set(), "texts that are not on the list of SQL"
    assert logins > DATABASES * 2 and len(taken) > 10
    figures = [*zip(*taken, strict=True)]
    spans = ", ".join(
        f"{what} {values[0]:.0f} to {values[-1]:.0f}" for what, values in zip(FIGURES, figures, strict=True)
    )
    print(f"{MINUTES:g} min, {logins} logins: {spans}; more of {grown.most_common(8)}")  # noqa: T201  figures for `make soak`
    third = len(taken) // 3
    for what, values in zip(FIGURES[1:], figures[1:], strict=True):
        assert max(values[-third:]) <= max(values[:third]) + 3, f"{what} grow: {values}"
    # What is remembered of names has a bound (`MOST_KNOWN`, and what text was made of), so nothing is left to grow.
    assert statistics.fmean(figures[0][-third:]) - statistics.fmean(figures[0][:third]) <= 15.0, "memory grows"
