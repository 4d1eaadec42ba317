"""A service whose wall clock jumps by an hour and back while it polls:

polls go on, and it claims nothing that it did not measure. libfaketime is between the process and its clock (Debian package
faketime). Monotonic clocks stay correct, as in a kernel.
"""

import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from service.store.admin import problems
from service.store.repository import Repository
from tests.service.noting import NOTED
from tests.service.running import ASK, serve
from tests.service.standin import becomes
from tests.service.stores import Place
from tests.service.test_crash import noted

NAMES = ("undo-storm", "busy-but-fine")


def library() -> str:
    """The path of libfaketime. Without it the test is skipped by name."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed (Debian package faketime)")
    return str(found[0])


def settings(place: Place) -> dict[str, object]:
    """Two databases that are polled twice a second."""
    databases = [{"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in NAMES]
    return {
        "store": place.url,
        "databases": databases,
        "spool": {"directory": str(place.folder / "spool")},
        "defaults": {"budget": 1},
    }


def told_by(clock: Path, place: Place) -> dict[str, str]:
    """An environment in which a process reads the time from a file."""
    return {
        NOTED: str(place.folder / "polls.txt"),
        "LD_PRELOAD": library(),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@pytest.mark.soak
def test_polls_go_on_across_jumps_of_the_clock(place: Place) -> None:
    clock = place.folder / "clock"
    clock.write_text("+0", encoding="utf-8")
    with serve(place.folder, environment=told_by(clock, place), fresh=True, **settings(place)) as running:
        for offset in (0, 3600, 0, -3600, 0):
            jump = f"{offset:+d}"
            clock.write_text(f"{jump}\n", encoding="utf-8")
            before, began = len(noted(place)), time.monotonic()
            becomes(lambda before=before: len(noted(place)) > before + 6 * len(NAMES), f"polls go on after {jump}")
            told = running.json("/api/v1/databases")
            ready = ASK.get(f"{running.url}/readyz")
            print(f"{place.kind} {jump}: 12 polls in {time.monotonic() - began:.1f} s, readyz {ready.status_code}")  # noqa: T201
            assert ready.status_code == 200, ready.text
            told_time = parsedate_to_datetime(ASK.get(f"{running.url}/healthz").headers["date"]).timestamp()
            assert abs(told_time - time.time() - offset) < 60, "the clock of the process has the right time"
            assert {one["name"] for one in told if one["up"]} == set(NAMES), told
        running.stop()
        assert running.process.returncode == 0
        said = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in said and "ERROR" not in said, said
    store = Repository(place.url)
    found = list(problems(store.engine))
    store.close()
    assert found == []
    moments = [at for _, at in noted(place)]
    stored = place.execute("select count(*) from polls")[0][0]
    print(f"{place.kind}: {len(moments)} polls noted, {stored} stored")  # noqa: T201  figures for `make soak`
    assert len(set(noted(place))) - stored <= len(NAMES)
