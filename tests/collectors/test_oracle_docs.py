"""docs/oracle.md is true: every error code with its cure, every deadline."""

import re
from pathlib import Path

import pytest

from collectors import errors
from collectors.oracle import Deadlines

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "oracle.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("`credential`", errors.CREDENTIAL),
        ("`starting`", errors.STARTING),
        ("`setup`", errors.SETUP),
        ("`network`", errors.LOST),
        ("(view refused)", errors.REFUSED),
    ],
)
def test_error_codes_are_documented_beside_their_cure(kind: str, codes: set[str]) -> None:
    (row,) = [row for row in ROWS if row[0] == kind]
    told = set(re.findall(r"(?:ORA|DPY|DPI)-\d+", row[1]))
    for first, last in re.findall(r"DPY-(\d+) to DPY-(\d+)", row[1]):
        told |= {f"DPY-{number}" for number in range(int(first), int(last) + 1)}
    assert sorted(codes - told) == []


def test_documented_deadlines_are_the_ones_in_force() -> None:
    told = {row[0]: row[1] for row in ROWS if len(row) == 3}
    deadlines = Deadlines()
    assert told["the login, all of it"] == f"{deadlines.connect:g} s"
    assert told["a statement"].startswith(f"{deadlines.statement:g} s")
    assert told["the ping of a session whose statement was cancelled"].startswith(f"{deadlines.ping:g} s")
    assert told["a statement on a server that does not answer the cancel either"].startswith(f"{deadlines.frozen:g} s")
    assert told["the goodbye"] == f"{deadlines.close:g} s"


@pytest.mark.parametrize("page", ["oracle.md", "connect.md", "security.md", "unproven.md"])
def test_links_of_the_page_lead_somewhere(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([\w.-]+\.md)(?:#([\w-]+))?\)", text):
        other = (ROOT / "docs" / target).read_text(encoding="utf-8")
        headings = {
            re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-")
            for one in re.findall(r"^#+ (.+)$", other, re.M)
        }
        assert not anchor or anchor in headings, f"{page} → {target}#{anchor}"
