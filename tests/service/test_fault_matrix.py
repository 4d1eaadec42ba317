"""The fault matrix on the stand-in:

the real driver over real sockets, through worker, main path and board. Every fault affects one database at its first connect
and another while it runs. Healthy ones are polled beside them and must miss no poll. Each fault prints one line: `pytest -s
-k fault_matrix`. Nothing here fails because the machine is slow.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle_standin.deadline import HANGS, within
from tests.service.faults import FAULTS, Fault, Patient
from tests.service.standin import Fleet, becomes, idle, unlisted


def play(fleet: Fleet, fault: Fault, name: str, *, running: bool) -> None:
    """One fault on one database from beginning to end."""
    patient = Patient(fleet, name)
    watched = patient.watched
    if running or fault.after_first_poll:
        fleet.start([name])
        needed = 2 if running else 1
        becomes(lambda: len(fleet.polled[name]) >= needed, f"{name} is polled")
    fault.start(patient, running=running)
    if not (running or fault.after_first_poll):
        fleet.start([name])
    detected = becomes(
        lambda: fault.recognised(fault.seen(watched) or ""), f"{name} shows {fault.expect}: {watched.failure}"
    )
    told = fault.seen(watched) or ""
    fault.end(patient)
    polls = len(fleet.polled[name])
    recovered = becomes(
        lambda: len(fleet.polled[name]) > polls and watched.up and fault.seen(watched) is None,
        f"{name} is well again; {watched.failure}",
    )
    print(  # noqa: T201  the matrix is there to be read
        f"{fault.name:<24} {'while running' if running else 'first connect':<13} seen after {detected:5.2f} s, well "
        f"{recovered:5.2f} s after its end | {told}"
    )


def matrix(folder: Path, faults: Sequence[Fault], healthy: int, *, running: bool) -> None:
    """These faults at once, each on its own database, and so many healthy ones beside them."""
    names = {fault: fault.name.replace(" ", "-").replace(",", "") for fault in faults}
    others = [f"other-{number}" for number in range(1, healthy + 1)]
    services = {name: idle() for name in (*names.values(), *others)}
    with Fleet(services, folder, interval=1.0) as fleet:
        fleet.start(others)
        becomes(lambda: all(len(fleet.polled[name]) > 2 for name in others), "the others are polled in turn")
        with ThreadPoolExecutor(len(faults)) as patients:
            plays = [patients.submit(play, fleet, fault, name, running=running) for fault, name in names.items()]
            for one in plays:
                one.result()
        polls = {name: len(fleet.polled[name]) for name in others}
        becomes(lambda: all(len(fleet.polled[name]) > polls[name] > 2 for name in others), "the others are polled on")
    strangers = [problem for problem in fleet.listener.problems if problem.service in others]
    assert not strangers
    assert all("latchscope v$instance" in str(services[name].texts) for name in others)
    assert unlisted(services) == set(), "texts that are not on the list of SQL"


HANG = [fault for fault in FAULTS if fault.name == "hang on execute"]


@pytest.mark.parametrize(
    ("running", "faults", "healthy"),
    [
        pytest.param(True, HANG, 1, id="one-hang"),
        pytest.param(False, FAULTS, 4, id="first-connect", marks=pytest.mark.slow),
        pytest.param(True, FAULTS, 4, id="while-running", marks=pytest.mark.slow),
    ],
)
def test_standin_fault_matrix_detects_recovers_and_delays_no_other(
    running: bool, faults: Sequence[Fault], healthy: int, tmp_path: Path
) -> None:
    within(4 * HANGS, lambda: matrix(tmp_path, faults, healthy, running=running))
