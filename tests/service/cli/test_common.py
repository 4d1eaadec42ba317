"""Text on a terminal: colour and width there. A pipe or NO_COLOR gives the same characters as before."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from tests.oracle_standin.deadline import HANGS

SCRIPT = """
import sys
from service.cli.common import fit_to_terminal, show
from service.render.parts import wrapped
fit_to_terminal()
show("\\n".join(["WARNING: hot", *wrapped("Found: " + "word " * 30), "a" * 30 + "   " + "b" * 40, "Note: " + "long " * 20]))
"""


def on_a_terminal(columns: int, **environment: str) -> str:
    """What a program writes to a terminal of that width."""
    main, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    done = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=its, env={**kept, "TERM": "xterm", **environment})
    os.close(its)
    read = b""
    try:
        while more := os.read(main, 4096):
            read += more
    except OSError:  # the other end is closed
        pass
    os.close(main)
    assert done.wait(HANGS) == 0
    return read.decode()


def test_severity_is_coloured_and_text_fits_the_window() -> None:
    told = on_a_terminal(60)
    assert "\x1b[1;33mWARNING\x1b[0m: hot" in told and "\x1b[1mFound\x1b[0m" in told
    lines = on_a_terminal(60, NO_COLOR="1").replace("\r", "").split("\n")
    assert lines[0] == "WARNING: hot"
    assert {len(line) <= 60 for line in lines if not line.startswith("aaa")} == {True}
    assert any(line.startswith("aaa") and line.endswith("bbb") for line in lines), "a table is not torn"


def test_piped_text_has_no_colour_and_the_width_of_a_document() -> None:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "40"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if line.startswith("Found")) > 60


def test_colour_and_width_can_be_forced_on_a_pipe_and_no_colour_wins() -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        forced = {**kept, "TERM": "xterm", "COLUMNS": "60", "FORCE_COLOR": "1", **environment}
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=forced)
        assert ("\x1b[1;33mWARNING" in done.stdout) == coloured
        plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
        assert 50 < max(len(line) for line in plain.splitlines() if not line.startswith("aaa")) <= 60


def test_what_to_do_and_what_not_are_told_apart_by_colour() -> None:
    script = "from service.cli.common import show\nshow('Do: switch\\nDo not: drop')"
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**kept, "TERM": "xterm", "FORCE_COLOR": "1"},
    )  # fmt: skip
    assert done.stdout == "\x1b[1;32mDo\x1b[0m: switch\n\x1b[1;31mDo not\x1b[0m: drop\n"
