"""Damaged conversations with a database:

each outcome has a known class, and no thread or socket is left. The short form always runs; the long one has 3,000
conversations. They run in separate processes, because some bytes crash the driver itself (a segmentation fault in its
compiled part, without any code of ours; see SECURITY.md). The test counts such a crash separately, and fails on any other
unknown outcome.
"""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.oracle_standin.profiles import PROFILES

ROOT = Path(__file__).parents[2]
OF_A_PROCESS = 100
CRASHED = "the driver crashed"
OF_THE_DRIVER = ("site-packages/oracledb/", "collectors/deadline.py", "nowhere", "Garbage-collecting")
"""Where Python was when it crashed:

in a call of the driver, outside all Python code, or later, in any thread, in the garbage collector, in memory that the
driver had damaged. Here only numpy and YAML are compiled besides the driver.
"""


def run(profile: str, seeds: Sequence[int]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.collectors.fuzzing", profile, *map(str, seeds)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)


def outcomes(profile: str, seeds: Sequence[int]) -> Iterator[str]:
    """The outcome of each conversation. After a crash, the unfinished conversations run again one by one."""
    while seeds:
        done = run(profile, seeds)
        ended = [line.split(maxsplit=2) for line in done.stdout.splitlines() if line.startswith("end ")]
        yield from (outcome for _, _, outcome in ended)
        if done.returncode == 0:
            assert done.stdout.endswith("nothing is left\n")
            return
        assert done.returncode == -signal.SIGSEGV, done.stderr
        frame = (done.stderr.partition("Current thread")[2].splitlines() or ["", "nowhere"])[1:2]
        assert not frame or any(place in frame[0] for place in OF_THE_DRIVER), done.stderr
        if len(seeds) == 1:
            yield CRASHED
            return
        over = {int(number) for _, number, _ in ended}
        begun = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("begin ")]
        for seed in begun:
            if seed not in over:
                yield from outcomes(profile, [seed])
        seeds = [seed for seed in seeds if seed not in begun]


@pytest.mark.parametrize("conversations", [30, pytest.param(3000, marks=pytest.mark.soak)])
def test_damaged_conversations_end_in_a_known_class_and_leave_nothing(conversations: int) -> None:
    told: Counter[str] = Counter()
    share = conversations // len(PROFILES)
    for place, profile in enumerate(PROFILES):
        seeds = range(place * share, (place + 1) * share)
        for begin in range(0, share, OF_A_PROCESS):
            told.update(outcomes(profile, seeds[begin : begin + OF_A_PROCESS]))
            print(f"{told.total()} conversations so far: {dict(told.most_common())}", flush=True)  # noqa: T201  as below
    print(f"{told.total()} conversations: {dict(told.most_common())}")  # noqa: T201  figures for `make soak`
    assert [each for each in told if each.startswith("UNKNOWN")] == []
    assert told.total() >= conversations
