"""`python -m tests.oracle_standin.demo_wire`: the demo's databases through the real driver, and a clean end."""

import signal
import subprocess
import sys

import httpx
import pytest

from collectors.demo.scenarios import scenarios
from tests.oracle_standin.deadline import HANGS, within
from tests.ports import free_port
from tests.service.standin import becomes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_standin_demo_over_the_wire_polls_every_scripted_database(how: signal.Signals) -> None:
    port = free_port()
    command = [sys.executable, "-m", "tests.oracle_standin.demo_wire", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as both:
        try:
            becomes(lambda: _up(port) == set(scenarios()), "every database is polled")
            both.send_signal(how)
            out, errors = within(HANGS, both.communicate)
        finally:
            both.kill()
    assert both.returncode == 0, errors
    assert f"service on http://127.0.0.1:{port}/" in out and "Traceback" not in errors
    assert len(out.splitlines()) == 1, "the listener met an unknown statement"


def _up(port: int) -> set[str]:
    try:
        told = httpx.get(f"http://127.0.0.1:{port}/api/v1/databases", timeout=HANGS).json()
    except httpx.TransportError:
        return set()
    return {one["name"] for one in told if one.get("up")}
