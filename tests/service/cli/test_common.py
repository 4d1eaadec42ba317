"""Text on a terminal: colour and width there. A pipe or NO_COLOR gives the same characters as before."""

import re
from contextvars import copy_context
from io import StringIO

import pytest

from service.cli.common import fit_to_terminal, show
from service.render.parts import wrapped


class Screen(StringIO):
    """Standard output, on a terminal or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


def told(*, terminal: bool, **environment: str) -> str:
    """What a command writes there, sixty columns wide."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": "60", **environment}.items():
            patch.setenv(name, value)
        patch.setattr("sys.stdout", screen := Screen(terminal))
        copy_context().run(printed)
    return screen.getvalue()


def printed() -> None:
    fit_to_terminal()
    found = ["WARNING: hot", *wrapped("Found: " + "word " * 30)]
    show("\n".join([*found, "a" * 30 + "   " + "b" * 40, "Note: " + "long " * 20, "Do: switch", "Do not: drop"]))


def widest(text: str) -> int:
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    return max(len(line) for line in plain.splitlines() if not line.startswith("aaa"))


@pytest.mark.parametrize("how", [{"terminal": True}, {"terminal": False, "FORCE_COLOR": "1"}])
def test_terminal_has_colours_and_text_that_fits_it_and_no_colour_wins(how: dict[str, object]) -> None:
    coloured, plain = told(**how), told(**how, NO_COLOR="1")  # type: ignore[arg-type]
    assert "\x1b[1;33mWARNING\x1b[0m: hot" in coloured and "\x1b[1mFound\x1b[0m" in coloured
    assert "\x1b[1;32mDo\x1b[0m: switch\n\x1b[1;31mDo not\x1b[0m: drop\n" in coloured, "told apart by colour"
    assert plain.startswith("WARNING: hot\n") and "\x1b" not in plain
    assert 50 < widest(coloured) <= 60 and 50 < widest(plain) <= 60
    assert f"{'a' * 30}   {'b' * 40}\n" in plain, "a table is not torn"


def test_piped_text_has_no_colour_and_the_width_of_a_document() -> None:
    text = told(terminal=False)
    assert "\x1b" not in text and widest(text) > 60
