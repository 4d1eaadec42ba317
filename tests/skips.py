"""What a run skipped for want of something, and how to get it, in one line each at the end of `make test`."""

import re
from collections.abc import Iterable, Iterator

REPORTS = "the anonymised reports are not here"
PROGRAM = re.compile(r"(\S+) is not installed \(Debian package (\S+)\)")


def lines(reasons: Iterable[str]) -> Iterator[str]:
    """The closing lines for the reasons of all skips of a run, one reason for each skip.

    A reason names a program and its package as `need` in tests/repo/processes.py does.
    """
    given = [reason.removeprefix("Skipped: ") for reason in reasons]
    programs = [found for reason in given if (found := PROGRAM.match(reason))]
    if programs:
        wanted = ", ".join(sorted({found[1] for found in programs}))
        packages = " ".join(sorted({found[2] for found in programs}))
        skipped = _tests(len(programs))
        yield f"{skipped} skipped for want of {wanted}; on Debian and Ubuntu: sudo apt-get install {packages}"
    if reports := sum(reason.startswith(REPORTS) for reason in given):
        yield f"{_tests(reports)} skipped without the anonymised reports, which the project may not carry"
    if others := len(given) - len(programs) - reports:
        yield f"{_tests(others)} skipped for another reason; the lines above say which"


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"
