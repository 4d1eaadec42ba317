"""SECURITY.md promises nothing that no test holds: docs/security.md names the tests of each sentence, or why there is none."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.paths import ROOT

PROMISING = (
    "Who may do what",
    "What we send to a database",
    "Attackers we expect, and the defence",
    "Supply chain",
)
"""Sections of which every sentence needs tests. Of the others a sentence may have some."""
TABLE = "## Which test holds which promise"
WITHOUT = "without a test: "


def plain(text: str) -> str:
    """A text without its marks, on one line."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(text.split())).replace("`", "").replace("**", "")


def sentences(page: str, section: str) -> list[str]:
    """The sentences of a section. A row of a table is one; the title of a point in a list is none."""
    (body,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=- |\|)", body.strip()):
        if block.startswith("|"):
            found.append(plain(block.strip("| ")))
            continue
        parts = re.split(r"(?<=\.)\s+(?=[A-Z`*])|(?<=\.\*\*)\s+", block.removeprefix("- "))
        found += [plain(part) for part in parts[block.startswith("- **") :]]
    return [each for each in found if not each.startswith(("-", "who |"))]


def rows(page: str) -> dict[str, str]:
    """How a sentence begins → the tests, or why there is none."""
    cells = re.findall(r"^\| (.+?) … \| (.+) \|$", page.partition(TABLE)[2], re.M)
    assert len(dict(cells)) == len(cells), "two rows begin alike"
    return dict(cells)


def mistakes(security: str, documented: str) -> list[str]:
    """Sentences without a row, rows without a sentence, and tests that do not exist."""
    held = rows(documented)
    titles = re.findall(r"^## (.+)$", security, re.M)
    said = {title: sentences(security, title) for title in titles}
    wrong = [f"no row: {each}" for title in PROMISING for each in said[title] if not any(map(each.startswith, held))]
    every = [each for section in said.values() for each in section]
    wrong += [f"no sentence: {begin}" for begin in held if sum(each.startswith(begin) for each in every) != 1]
    for begin, what in held.items():
        if not what.startswith(WITHOUT):
            names = re.findall(r"`([^`]+)`", what)
            wrong += [f"no test: {begin}"] if not names else []
            wrong += [f"{name} does not exist" for name in names if not exists(*name.split("::"))]
        elif len(what) < len(WITHOUT) + 20:
            wrong.append(f"no reason: {begin}")
    return wrong


@cache
def exists(file: str, name: str) -> bool:
    """Whether a file has that test."""
    path = ROOT / file
    parts = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
    return any(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name == name for part in parts)


def test_each_promise_names_tests_that_exist_or_why_there_is_none() -> None:
    security, documented = (
        Path(ROOT / name).read_text(encoding="utf-8") for name in ("SECURITY.md", "docs/security.md")
    )
    assert mistakes(security, documented) == []
