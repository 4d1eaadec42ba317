"""`latchscope serve` on a disk that is full, read-only, failing, slow or stuck:

polls go on, /readyz says so, nothing is lost. One service lives through everything, one fault after the other, and recovers
by itself each time.
"""

import signal
import time
from pathlib import Path

import pytest

from service.store.admin import problems
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.writer import Writer
from tests.oracle_standin.deadline import HANGS
from tests.service.noting import NOTED
from tests.service.running import ASK, Running, serve
from tests.service.sick_disk import SickDisk, sick_disk
from tests.service.standin import becomes
from tests.service.stores import Place
from tests.service.test_crash import noted, stored

NAMES = ("undo-storm", "parse-storm", "busy-but-fine")
SICK = ("ENOSPC", "EROFS", "EIO", "slow 0.3", "stuck")
POLLS = 10
"""Of each database, while the disk is sick."""


def through(disk: SickDisk, sickness: str, place: Place, running: Running) -> str:
    """One fault from beginning to end, and its line."""
    before, began = len(noted(place)), time.monotonic()
    disk.suffer(sickness)
    said = ""
    if not sickness.startswith("slow"):
        running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 503)
        said = ASK.get(f"{running.url}/readyz").json()["status"]
    seen = time.monotonic() - began
    becomes(lambda: len(noted(place)) - before > POLLS * len(NAMES), f"polls go on while the disk is {sickness}")
    passed = time.monotonic() - began
    assert all(one["up"] for one in running.json("/api/v1/databases"))
    assert ASK.get(f"{running.url}/metrics").status_code == 200
    answered = time.monotonic() - began - passed
    disk.suffer("")
    well = time.monotonic()
    running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 200)
    taken = set(noted(place))
    becomes(lambda: taken <= stored(place), f"all polls of the time when the disk was {sickness} are stored")
    return (
        f"{sickness}: told after {seen:.1f} s, {len(taken) - before} polls in {passed:.1f} s, answers in {answered:.1f} s, "
        f"stored {time.monotonic() - well:.1f} s after the cure; {said}"
    )


def ends_while_stuck(disk: SickDisk, running: Running, place: Place, spool: Path | None) -> None:
    """It ends once everything in memory is on a disk that answers, or else it names the loss.

    The kernel releases a process only after the disk has answered.
    """
    disk.suffer("stuck")
    running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 503)
    running.process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    last = "Application shutdown complete" if spool else "polls are lost: latchscope stops"
    becomes(lambda: last in running.log.read_text("utf-8"), "it says what it loses, or ends")
    seen = time.monotonic() - began
    disk.suffer("")
    assert running.process.wait(HANGS) == 0
    if spool is not None:
        assert "polls are lost" not in running.log.read_text("utf-8")
        store, left = Repository(place.url), DiskQueue(spool, 2**30)
        waiting = len(left)
        Writer(store, left).catch_up()
        store.close()
        assert set(noted(place)) <= stored(place), "the next start brings in everything that was taken"
        last = f"{waiting} polls in the spool, all brought in"
    print(f"SIGTERM while it is stuck: done after {seen:.1f} s: {last}", flush=True)  # noqa: T201


@pytest.mark.soak
@pytest.mark.parametrize("spool", ["beside the store", "elsewhere"])
def test_service_lives_through_every_sickness_of_a_disk(tmp_path: Path, spool: str) -> None:
    databases = [{"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in NAMES]
    with sick_disk(tmp_path) as disk:
        place = Place("sqlite", tmp_path, None)
        place.file.symlink_to(disk.mount / "store.db")
        folder = None if spool == "beside the store" else tmp_path / "spool"
        settings = {} if folder is None else {"spool": {"directory": str(folder)}}
        with serve(
            tmp_path,
            databases=databases,
            store=f"sqlite:///{disk.mount}/store.db",
            defaults={"budget": 1},
            environment={NOTED: str(tmp_path / "polls.txt")},
            **settings,
        ) as running:
            running.wait(lambda: len(noted(place)) > POLLS)
            for sickness in SICK:
                print(f"spool {spool}, {through(disk, sickness, place, running)}", flush=True)  # noqa: T201  figures for `make soak`
            ends_while_stuck(disk, running, place, folder)
        assert "Traceback" not in running.log.read_text("utf-8"), running.log.read_text("utf-8")
        store = Repository(place.url)
        assert list(problems(store.engine)) == []
        store.close()
