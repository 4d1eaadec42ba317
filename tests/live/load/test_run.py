"""Whole runs on the stand-in: what is diagnosed, what the file says, and that nothing is left however a run ends."""

import json
import random
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import service.watch.worker
import tests.live.load.run
from tests.live.load.conftest import Disposable
from tests.live.load.statements import LOADS, PREFIX
from tests.oracle_standin.deadline import HANGS
from tests.oracle_standin.disposable import WRITER
from tests.oracle_standin.scripted import PASSWORD, USER

pytestmark = pytest.mark.slow

NAMES = (PREFIX, WRITER, USER, PASSWORD, "secret", "127.0.0.1", "FREEPDB1", "disposable", "4m7m0t6fjcs5x", "ORDERS")
"""Users, hosts, modules, objects and statements that the stand-in shows."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of sessions as often as the played time runs fast, and patience with a busy machine."""
    monkeypatch.setattr(service.watch.worker, "EVERY_SECONDS", 0.1)
    monkeypatch.setattr(tests.live.load.run, "LONGEST", 60.0)


def written(database: Disposable) -> dict[str, Any]:
    """The loads of the file, which has no name of a user, host, object or statement."""
    text = database.output.read_text(encoding="utf-8")
    told = text.replace('"kind": "latchscope test-live-load"', "").replace('"latchscope": ', "")
    assert [name for name in NAMES if name.lower() in told.lower()] == []
    result = json.loads(text)
    assert result["oracle"] == "19.0.0.0.0" and result["mechanism"] == "mutex" and result["processors"] == 16
    loads: dict[str, Any] = result["loads"]
    return loads


@pytest.mark.usefixtures("quick")
def test_loads_are_diagnosed_and_leave_nothing(database: Disposable) -> None:
    code, told = database.run("--only", "sequence", "ddl-hang")
    loads = written(database)
    assert {name: seen["outcome"] for name, seen in loads.items()} == dict.fromkeys(loads, "as expected"), told
    assert code == 0 and list(loads) == ["sequence", "ddl-hang"] and not database.backend.made
    for seen in loads.values():
        assert seen["counts"]["done"] and seen["error"] is None and seen["polls"]
        assert all(poll["interval_seconds"] and poll["waits"] and poll["caches"] for poll in seen["polls"])
    for poll in loads["sequence"]["polls"]:
        assert any(one["parameter"] == "dc_sequences" and one["modifications"] for one in poll["caches"])
    hang = loads["ddl-hang"]["polls"]
    assert max(poll["blockers_found"] or 0 for poll in hang) == 1
    assert {poll["library_cache_waiting"] for poll in hang} == {3}


@pytest.mark.usefixtures("quick")
def test_what_is_not_made_or_read_or_found_is_in_the_file_and_the_other_loads_go_on(database: Disposable) -> None:
    database.backend.sees = lambda sql: "LITERAL" in sql and database.backend.refused.add("v$rowcache")
    refuses = database.listener.services["free"].faults.fail_statements
    refuses(lambda sql: "LATCHSCOPE_LOAD_PARTED (" in sql, 1031)
    code, _ = database.run("--only", "failed-logons", "partitions", "literals")
    loads = written(database)
    assert code == 1 and not database.backend.made
    assert [loads["partitions"][member] for member in ("outcome", "error")] == ["not made", "ORA-01031"]
    assert loads["failed-logons"]["outcome"] == "another cause"
    assert loads["failed-logons"]["counts"].keys() == {"ORA-01017", "done"}
    assert loads["literals"]["outcome"] == "no cause" and loads["literals"]["polls"]
    for poll in loads["literals"]["polls"]:
        assert poll["caches"] is None and poll["waits"] and poll["missing"] == {"v$rowcache": "refused"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_asks_a_run_to_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with tests.live.load.run.stopping() as stop:
        signal.raise_signal(number)
        assert stop.is_set()
    assert signal.getsignal(number) == before


def test_stopped_run_undoes_what_was_made(database: Disposable) -> None:
    started = database.start("--only", "ddl-hang", seconds=60)
    when_sent(database, 30, lambda: started.send_signal(signal.SIGINT))
    _, errors = started.communicate(timeout=HANGS)
    assert started.returncode == 2 and "stopped; everything is undone, and no file was written" in errors
    assert database.backend.sent and not database.backend.made and not database.output.exists()


@pytest.mark.usefixtures("quick")
def test_lost_sessions_are_replaced_and_everything_is_undone(database: Disposable) -> None:
    when_sent(database, 30, database.listener.services["free"].faults.kill_sessions)
    database.run("--only", "sequence", "literals")
    loads = written(database)
    assert "ORA-00028" in loads["sequence"]["counts"] and all(seen["counts"]["done"] for seen in loads.values())
    assert not database.backend.made


def test_database_that_is_gone_is_said(database: Disposable) -> None:
    free = database.listener.services["free"]

    def gone() -> None:
        free.faults.fail_logins(1033)
        free.faults.kill_sessions()

    when_sent(database, 30, gone)
    code, told = database.run("--only", "sequence")
    assert code == 2 and "could not be dropped: ORA-01033; run `make test-live-load CLEAN=1`" in told
    free.faults.clear()
    assert database.run("--clean")[0] == 0 and not database.backend.made


def test_what_cannot_be_dropped_is_named(database: Disposable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tests.live.load.run, "UNDO_SECONDS", 1.0)
    database.listener.services["free"].faults.fail_statements(lambda sql: sql.startswith("drop sequence"), 54)
    code, told = database.run("--only", "sequence")
    assert code == 2 and not database.output.exists()
    assert f"sequence {PREFIX}NUMBERS of {WRITER} could not be dropped: ORA-00054; run" in told


def when_sent(
    database: Disposable, count: int, act: Callable[[], object], counts: Callable[[str], bool] = lambda _: True
) -> None:
    """Act once, within the answer to the `count`-th of these statements for which something is made."""
    seen, acted = 0, False

    def see(sql: str) -> None:
        nonlocal seen, acted
        seen += counts(sql) and bool(database.backend.made)
        if seen >= count and database.backend.made and not acted:
            acted = True
            act()

    database.backend.sees = see


@pytest.mark.parametrize("seed", range(2))
def test_killed_run_is_cleaned(database: Disposable, seed: int) -> None:
    """A run that is killed while it makes, works or undoes; then a refusal that names what is left, and a cleaning."""
    dice = random.Random(seed)
    left: dict[str, str] = {}
    running: list[subprocess.Popen[str]] = []

    def kill() -> None:
        running[0].kill()
        left.update(database.backend.made)

    if undoing := dice.random() < 0.4:
        load = dice.choice([load for load in LOADS if len(load.makes) > 1])
        when_sent(database, 1, kill, lambda sql: sql.startswith("drop"))
    else:
        load = dice.choice(LOADS)
        when_sent(database, dice.randint(1, 60 if load.sends else 3), kill)
    running.append(database.start("--only", load.name, seconds=1 if undoing else 3600))
    running[0].communicate(timeout=HANGS)
    assert running[0].returncode == -signal.SIGKILL
    database.backend.sees = lambda _: None
    assert left and left == database.backend.made and not database.output.exists()
    code, told = database.run()
    assert code == 2 and all(name in told for name in left) and "CLEAN=1" in told and left == database.backend.made
    assert database.run("--clean")[0] == 0 and not database.backend.made
    assert "nothing of a load is left" in database.run("--clean")[1]
