"""Whole runs on the stand-in: what is diagnosed, what the file says, and that nothing is left however a run ends."""

import json
import random
import re
import signal
import subprocess
from collections.abc import Callable

import pytest

import service.selftest.run
import service.watch.worker
from service.selftest.result import SelftestResult
from service.selftest.statements import LOADS, PREFIX, Repeated, changes
from tests.oracle_standin.deadline import HANGS
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.selftest import WRITER
from tests.service.disposable import Disposable

NAMES = (PREFIX, WRITER, USER, PASSWORD, "secret", "127.0.0.1", "FREEPDB1", "disposable", "4m7m0t6fjcs5x", "ORDERS")
"""Users, hosts, modules, objects and statements that the stand-in shows."""
MOST_STATEMENTS = 60
SENDING = [load.name for load in LOADS if any(isinstance(part, Repeated) for part in load.work)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of sessions as often as the played time runs fast, and patience with a busy machine."""
    monkeypatch.setattr(service.watch.worker, "EVERY_SECONDS", 0.1)
    monkeypatch.setattr(service.selftest.run, "LONGEST", 60.0)


@pytest.mark.usefixtures("quick")
def test_whole_run_sends_everything_diagnoses_each_load_and_leaves_nothing(database: Disposable) -> None:
    said = database.run(seconds=2.0)
    text = database.output.read_text(encoding="utf-8")
    result = SelftestResult.model_validate_json(text)
    assert {load.load: load.outcome for load in result.loads} == dict.fromkeys(
        (load.name for load in LOADS), "as expected"
    ), said.stderr
    assert said.code == 0 and said.stdout == ""
    assert not database.backend.made
    worked = {change.text for change in changes() if not change.text.startswith(("create", "drop"))}
    unsent = [
        text
        for text in worked
        if not any(re.fullmatch(re.escape(text).replace(r"\{number\}", r"\d+"), sent) for sent in database.backend.sent)
    ]
    assert not unsent
    told = text.replace('"kind": "latchscope selftest"', "").replace('"latchscope": ', "")
    assert [name for name in NAMES if name.lower() in told.lower()] == []
    assert result.oracle == "19.0.0.0.0" and result.mechanism == "mutex" and result.processors == 16
    for load in result.loads:
        assert load.done and load.error is None and load.polls
        assert all(poll.interval_seconds and poll.waits and poll.caches for poll in load.polls)
    logons = next(load for load in result.loads if load.load == "failed-logons")
    assert logons.errors.keys() == {"ORA-01017"}
    hang = next(load for load in result.loads if load.load == "ddl-hang")
    assert max(poll.blockers_found or 0 for poll in hang.polls) == 1
    sequence = next(load for load in result.loads if load.load == "sequence")
    for poll in sequence.polls:
        assert poll.caches and any(cache.cache == "dc_sequences" and cache.modifications for cache in poll.caches)
    assert {poll.library_cache_waiting for poll in hang.polls} == {3}
    assert result.container == 0
    assert any(load.confirmations for load in result.loads)


@pytest.mark.usefixtures("quick")
def test_unexpected_verdict_gives_exit_code_1(database: Disposable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database.backend, "_now_made", lambda: "")
    said = database.run("--only", "sequence", seconds=1.0)
    (load,) = json.loads(database.output.read_text(encoding="utf-8"))["loads"]
    assert said.code == 1 and load["outcome"] == "no cause" and not database.backend.made


@pytest.mark.usefixtures("quick")
def test_statement_that_the_database_refuses_is_in_the_file_and_the_other_loads_go_on(database: Disposable) -> None:
    database.listener.services["free"].faults.fail_statements(lambda sql: sql.startswith("create profile"), 1031)
    said = database.run("--only", "logons", "--only", "sequence")
    result = SelftestResult.model_validate_json(database.output.read_text(encoding="utf-8"))
    seen = {load.load: load for load in result.loads}
    assert said.code == 1 and seen["logons"].outcome == "not made" and seen["logons"].error == "ORA-01031"
    assert seen["sequence"].done and not database.backend.made


@pytest.mark.usefixtures("quick")
def test_view_that_cannot_be_read_is_unknown_in_the_file(database: Disposable) -> None:
    database.backend.refused = {"v$rowcache"}
    database.run("--only", "sequence")
    result = SelftestResult.model_validate_json(database.output.read_text(encoding="utf-8"))
    assert result.views["v$rowcache"].missing == "refused" and result.views["v$rowcache"].rows is None
    assert result.loads[0].polls
    for poll in result.loads[0].polls:
        assert poll.caches is None and poll.waits and poll.missing == {"v$rowcache": "refused"}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_undoes_what_was_made(database: Disposable, name: str) -> None:
    started = database.start("--only", "ddl-hang", seconds=60)
    when_sent(database, 30, lambda: started.send_signal(getattr(signal, name)))
    _, errors = started.communicate(timeout=HANGS)
    assert started.returncode == 2 and "stopped; everything is undone, and no file was written" in errors
    assert database.backend.sent and not database.backend.made and not database.output.exists()


@pytest.mark.usefixtures("quick")
def test_lost_sessions_are_replaced_and_everything_is_undone(database: Disposable) -> None:
    when_sent(database, 30, database.listener.services["free"].faults.kill_sessions)
    said = database.run("--only", "sequence", "--only", "literals")
    result = SelftestResult.model_validate_json(database.output.read_text(encoding="utf-8"))
    assert said.code in (0, 1) and not database.backend.made
    assert "ORA-00028" in result.loads[0].errors and all(load.done for load in result.loads)


def test_database_that_is_gone_is_said(database: Disposable) -> None:
    free = database.listener.services["free"]

    def gone() -> None:
        free.faults.fail_logins(1033)
        free.faults.kill_sessions()

    when_sent(database, 30, gone)
    said = database.run("--only", "sequence")
    assert said.code == 2 and "could not be dropped: ORA-01033; run `latchscope selftest --clean`" in said.stderr
    free.faults.clear()
    assert database.run("--clean").code == 0 and not database.backend.made


def test_what_cannot_be_dropped_is_named(database: Disposable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.selftest.run.UNDO_SECONDS", 1.0)
    database.listener.services["free"].faults.fail_statements(lambda sql: sql.startswith("drop sequence"), 54)
    said = database.run("--only", "sequence")
    assert said.code == 2 and not database.output.exists()
    assert f"sequence {PREFIX}NUMBERS of {WRITER} could not be dropped: ORA-00054; run" in said.stderr


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


def killed(database: Disposable, seed: int) -> None:
    """A run that is killed while it makes, works or undoes; then a refusal that names what is left, and a cleaning."""
    dice = random.Random(seed)
    left: dict[str, str] = {}
    running: list[subprocess.Popen[str]] = []

    def kill() -> None:
        running[0].kill()
        left.update(database.backend.made)

    if undoing := dice.random() < 0.4:
        load = dice.choice([load.name for load in LOADS if len(load.made) > 1])
        when_sent(database, 1, kill, lambda sql: sql.startswith("drop"))
    else:
        load = dice.choice([load.name for load in LOADS])
        when_sent(database, dice.randint(1, MOST_STATEMENTS if load in SENDING else 3), kill)
    running.append(database.start("--only", load, seconds=1 if undoing else 3600))
    running[0].communicate(timeout=HANGS)
    assert running[0].returncode == -signal.SIGKILL
    database.backend.sees = lambda _: None
    assert left and left == database.backend.made and not database.output.exists()
    refusal = database.run()
    assert refusal.code == 2 and all(name in refusal.stderr for name in left) and "--clean" in refusal.stderr
    assert left == database.backend.made
    assert database.run("--clean").code == 0 and not database.backend.made
    assert "nothing of the selftest is left" in database.run("--clean").stderr


@pytest.mark.parametrize("seed", range(3))
def test_killed_run_is_cleaned(database: Disposable, seed: int) -> None:
    killed(database, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_killed_runs_are_cleaned(database: Disposable, seed: int) -> None:
    killed(database, seed)
