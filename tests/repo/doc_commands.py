"""The commands in the blocks of README.md, docs/ and the runbooks, and the reasons why no test runs some of them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "dashboards/runbooks").glob("*.md")),
)
COMMAND = re.compile(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ +)*(\S*latchscope|make|curl) (.*)$")
NOT_RUN: Mapping[str, str] = {
    "latchscope demo": "serves until it is ended; tests/service/cli/test_serve.py serves",
    "make demo": "serves until it is ended; tests/service/cli/test_serve.py serves",
    "latchscope capture": "needs a database; tests/service/cli/test_main.py captures a scripted one",
    "latchscope check": "needs a database; tests/service/cli/test_check.py checks a scripted one",
    "latchscope compare": "needs a store with a mark; tests/service/cli/test_compare.py has one",
    "latchscope diagnose erp1.json": "reads a file that an earlier command writes",
    "latchscope diagnose latchscope_erp1_20260301_120000.txt": "reads what the script spools on a server",
    "latchscope init": "asks in a terminal; tests/service/cli/test_config.py answers",
    "latchscope month": "needs a store; tests/service/history/test_month.py has one",
    "latchscope mark": "needs a store; tests/service/cli/test_compare.py marks",
    "latchscope notify": "sends messages; tests/service/cli/test_notify.py receives them",
    "latchscope serve": "serves until it is ended; tests/service/cli/test_serve.py serves",
    "latchscope top": "shows until it is ended; tests/service/cli/test_top.py starts it",
    "curl -sN": "streams until it is ended; tests/service/web/api/test_live.py reads it",
    "curl -H Authorization: Bearer $token": "needs the token that the lines above it make; tests/service/web has tokens",
}
"""Beginning of a command → why no test runs it as printed."""


@dataclass(frozen=True, slots=True)
class DocCommand:
    """One command as a page prints it."""

    page: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command without its path."""
        return " ".join(self.words)

    @property
    def why_not_run(self) -> str | None:
        """The beginning under which NOT_RUN lists it."""
        return next((start for start in NOT_RUN if f"{self.text} ".startswith(f"{start} ")), None)


def blocks(text: str) -> Iterator[str]:
    """The text between fences, in any language."""
    inside: list[str] | None = None
    for line in text.splitlines():
        if line.strip().startswith("```"):
            if inside is not None:
                yield "\n".join(inside)
            inside = [] if inside is None else None
        elif inside is not None:
            inside.append(line)


def doc_commands() -> list[DocCommand]:
    """Every latchscope, make and curl command of every page."""
    found = []
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if match := COMMAND.match(line):
                    words = shlex.split(match[2], comments=True)
                    found.append(DocCommand(page.name, (match[1].rpartition("/")[2], *words)))
    return found
