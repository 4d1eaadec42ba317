"""Hand-written pages and docstrings are in plain English: none of the turns of phrase that CONTRIBUTING.md shows under Style."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
PHRASES = (
    r"(?:is|are|was|were|be|been|being|stays?) told",
    r"told (?:of|by|from)",
    r"tells? of",
    r"(?:is|are|be) said",
    r"anew",
    r"needs? (?:it|them) not",
    r"to be had|be had as",
    r"stands? in(?! for)(?! no counter)",
    r"by what is",
    r"of which no(?:body)?",
    r"who comes",
)
PLAIN = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
EXAMPLES = re.compile(r"^\| before \| after \|\n.*?\n\n", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"<!-- made:.*?<!-- end -->|^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def found(text: str) -> list[str]:
    """Each turn of phrase with the line it is on; code and what is made from code are left out."""
    prose = NOT_PROSE.sub(lambda part: "\n" * part[0].count("\n"), EXAMPLES.sub("", text))
    return [f"{match[0]!r} in: {line.strip()[:120]}" for line in prose.splitlines() for match in PLAIN.finditer(line)]


def test_pages_are_in_plain_english() -> None:
    assert {page.name: said for page in PAGES if (said := found(page.read_text(encoding="utf-8")))} == {}


def test_docstrings_are_in_plain_english() -> None:
    paths = [path for folder in ("rules", "collectors") for path in sorted((ROOT / folder).rglob("*.py"))]
    said: dict[str, list[str]] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            # A text of its own is a docstring, or explains the name above it.
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                said.setdefault(str(path.relative_to(ROOT)), []).extend(found(node.value.value))
    assert {path: lines for path, lines in said.items() if lines} == {} and len(said) > 100


def test_examples_of_the_style_page_are_what_is_looked_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| before | after |\n|---|---|\n")[2].partition("\n\n")[0]
    pairs = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert len(pairs) == 20
    assert sum(bool(found(before)) for before, _ in pairs) >= 15
    assert [after for _, after in pairs if found(after)] == []


def test_code_is_not_prose() -> None:
    assert found("```\nit is told\n```\n`is told`\n") == []
    assert len(found("it is told\n")) == 1
