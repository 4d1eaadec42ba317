"""The fault matrix on the stand-in:

the real driver over real sockets, through worker, main path and board. Every fault affects one database at its first connect
and another while it runs. Healthy ones are polled beside them and must miss no poll. Each fault prints one line: `pytest -s
-k fault_matrix`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from service.config.settings import OracleSettings
from tests.oracle_standin.deadline import HANGS, within
from tests.service.faults import FAULTS, Fault, Patient
from tests.service.standin import QUICK, Fleet, becomes, idle, unlisted


@dataclass(frozen=True)
class Pace:
    """Time limits: those of the short form, or those of production."""

    oracle: OracleSettings
    interval: float
    hold: float
    """Seconds that a fault lasts after latchscope saw it."""
    detect: float
    recover: float
    miss: float
    """A pause between two polls of a healthy database that counts as a missed poll."""
    healthy: int
    """How many databases stay healthy."""

    @property
    def others(self) -> list[str]:
        """Names of the healthy ones."""
        return [f"other-{number}" for number in range(1, self.healthy + 1)]


SHORT = Pace(QUICK, interval=1.0, hold=0.0, detect=HANGS, recover=HANGS, miss=HANGS, healthy=4)
"""Nothing here fails because the machine is slow. LONG tests how soon everything happens."""
LONG = Pace(OracleSettings(), interval=10.0, hold=60.0, detect=40.0, recover=75.0, miss=20.0, healthy=9)


def play(fleet: Fleet, fault: Fault, name: str, pace: Pace, *, running: bool) -> float:
    """One fault on one database from beginning to end. Returns the longest pause of the healthy ones meanwhile."""
    patient = Patient(fleet, name)
    watched = patient.watched
    if running or fault.after_first_poll:
        fleet.start([name])
        needed = 2 if running else 1
        becomes(lambda: len(fleet.polled[name]) >= needed, f"{name} is polled", pace.detect)
    began = monotonic()
    fault.start(patient, running=running)
    if not (running or fault.after_first_poll):
        fleet.start([name])
    what = f"{name} shows {fault.expect}"
    detected = becomes(lambda: fault.recognised(fault.seen(watched) or ""), what, pace.detect)
    told = fault.seen(watched) or ""
    sleep(pace.hold)
    fault.end(patient)
    polls = len(fleet.polled[name])
    recovered = becomes(
        lambda: len(fleet.polled[name]) > polls and watched.up and fault.seen(watched) is None,
        f"{name} is well again; {watched.failure}",
        pace.recover,
    )
    longest = max(fleet.gaps(pace.others, began), default=0.0)
    print(  # noqa: T201  the matrix is there to be read
        f"{fault.name:<24} {'while running' if running else 'first connect':<13} seen after {detected:5.2f} s, well "
        f"{recovered:5.2f} s after its end, longest pause of the others {longest:.2f} s | {told}"
    )
    return longest


def matrix(folder: Path, pace: Pace, faults: Sequence[Fault], *, running: bool) -> dict[str, float]:
    """These faults at once, each on its own database, and the healthy ones beside them."""
    names = {fault: fault.name.replace(" ", "-").replace(",", "") for fault in faults}
    others = pace.others
    services = {name: idle() for name in (*names.values(), *others)}
    with Fleet(services, folder, pace.interval, pace.oracle) as fleet:
        fleet.start(others)
        becomes(lambda: all(len(fleet.polled[name]) > 2 for name in others), "the others are polled in turn")
        with ThreadPoolExecutor(len(faults)) as patients:
            plays = [patients.submit(play, fleet, fault, name, pace, running=running) for fault, name in names.items()]
            pauses = [one.result() for one in plays]
        polls = {name: len(fleet.polled[name]) for name in others}
        becomes(lambda: all(len(fleet.polled[name]) > polls[name] > 2 for name in others), "the others are polled on")
    strangers = [problem for problem in fleet.listener.problems if problem.service in others]
    assert not strangers
    assert all("latchscope v$instance" in str(services[name].texts) for name in others)
    assert unlisted(services) == set(), "texts that are not on the bill of SQL"
    return dict(zip(names.values(), pauses, strict=True))


HANG = [fault for fault in FAULTS if fault.name == "hang on execute"]


@pytest.mark.parametrize(
    ("pace", "running", "faults"),
    [
        pytest.param(replace(SHORT, healthy=1), True, HANG, id="one-hang"),
        *(
            pytest.param(
                pace, running, FAULTS, id=f"{name}-{'while-running' if running else 'first-connect'}", marks=mark
            )
            for name, pace, mark in (("short", SHORT, pytest.mark.slow), ("long", LONG, pytest.mark.soak))
            for running in (False, True)
        ),
    ],
)
def test_standin_fault_matrix_detects_recovers_and_delays_no_other(
    pace: Pace, running: bool, faults: Sequence[Fault], tmp_path: Path
) -> None:
    limit = 2 * pace.detect + pace.recover + pace.hold + 3 * pace.interval + 15
    pauses = within(limit, lambda: matrix(tmp_path, pace, faults, running=running))
    late = [name for name, longest in pauses.items() if longest >= pace.miss]
    assert not late, f"a healthy database missed a poll during {late}"
