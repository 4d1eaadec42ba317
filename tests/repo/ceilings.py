"""What the project may cost its readers: each figure, how it is counted, its ceiling, and the aim. Run it to print the table.

A ceiling may fall in any commit. Whoever raises one writes the reason beside it: that line is a diff which somebody reads.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.paths import ROOT

FLOORS = ("collectors", "rules", "service")
UNCOUNTED = ("collectors/views/", "service/store/migrations/")
"""Files that do not count as files: one a view, one a migration. Their lines count."""


@cache
def files(*parts: str) -> tuple[Path, ...]:
    """Files that git follows, or would follow, below a folder and with an ending: `files("docs", ".md")`."""
    folder, ending = parts
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return tuple(sorted(ROOT / name for name in listed if name.endswith(ending) and (ROOT / name).is_file()))


@cache
def text(path: Path) -> str:
    """The content of a file."""
    return path.read_text(encoding="utf-8")


def lines(ending: str, *folders: str) -> int:
    """Physical lines of all files below some folders."""
    return sum(len(text(path).splitlines()) for folder in folders for path in files(folder, ending))


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    """The syntax trees of the product, without migrations."""
    return tuple(
        (path, ast.parse(text(path)))
        for floor in FLOORS
        for path in files(floor, ".py")
        if "/migrations/versions/" not in str(path)
    )


@cache
def nodes() -> tuple[Sequence[ast.AST], ...]:
    """Every node of each of these trees."""
    return tuple([*ast.walk(tree)] for _, tree in trees())


def product_files() -> int:
    """Files that somebody has to know, without views, migrations and empty `__init__.py`."""
    names = [str(path.relative_to(ROOT)) for path, _ in trees()]
    return sum(not name.startswith(UNCOUNTED) and not name.endswith("__init__.py") for name in names)


def longest_file() -> int:
    """Lines of the longest file of the product."""
    return max(len(text(path).splitlines()) for path, _ in trees())


def sentence_words() -> int:
    """Words of letters in the texts of four words or more that stand in the product's Python, without docstrings and SQL."""
    return sum(len(WORD.findall(said)) for every in nodes() for said in _texts(every) if len(said.split()) >= 4)


WORD = re.compile(r"[A-Za-z][A-Za-z']+")
SQL = re.compile(r"\s*(?:select|/\*|alter|insert|create|update|delete|begin)\b", re.IGNORECASE)


def _texts(every: Sequence[ast.AST]) -> Iterator[str]:
    """Constant texts and formatted ones, each once, a name in a formatted one as a blank."""
    inside: set[int] = set()
    for node in every:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            said = "".join(str(part.value) if isinstance(part, ast.Constant) else " " for part in node.values)
            if not SQL.match(said):
                yield said
    for node in every:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from () if SQL.match(node.value) else (node.value,)


def undescribed_share() -> float:
    """Percent of the public functions and methods of the product without a docstring."""
    public = [
        node
        for _, tree in trees()
        for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef)))
        for node in body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    return round(100 * sum(ast.get_docstring(node) is None for node in public) / len(public), 1)


def lines_per_comment() -> float:
    """Lines of the product for each line that is a comment. Fewer comments raise it."""
    every = [line for path, _ in trees() for line in text(path).splitlines()]
    return round(len(every) / sum("#" in line and line.lstrip().startswith("#") for line in every), 1)


def one_line_helpers() -> int:
    """Functions of one statement that one place calls: each is a jump for the reader."""
    short: list[str] = []
    named: Counter[str] = Counter()
    for every in nodes():
        for node in every:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.name.startswith("__"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                short += [node.name] if len(body) == 1 else []
            if isinstance(node, ast.Name):
                named[node.id] += 1
            elif isinstance(node, ast.Attribute):
                named[node.attr] += 1
    return sum(named[name] == 1 for name in short)


def longest_function() -> int:
    """Lines of the longest function, from `def` to its end."""
    defined = (node for every in nodes() for node in every if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return max((node.end_lineno or 0) - node.lineno + 1 for node in defined)


def packages() -> int:
    """Packages that an install with every extra brings, by the lock file."""
    lock = tomllib.loads(text(ROOT / "uv.lock"))
    known = {package["name"]: package for package in lock["package"]}
    ours = known["latchscope"]
    asked = [*ours["dependencies"], *(one for extra in ours.get("optional-dependencies", {}).values() for one in extra)]
    found: set[str] = set()
    while asked:
        one = asked.pop()
        if (name := one["name"]) in found or "win32" in one.get("marker", ""):
            continue
        found.add(name)
        asked += known[name].get("dependencies", [])
        extras = known[name].get("optional-dependencies", {})
        asked += [each for extra in one.get("extra", []) for each in extras.get(extra, [])]
    return len(found)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A figure that may only fall."""

    what: str
    count: Callable[[], float]
    most: float
    aim: float | None
    reason: str = ""
    """Why it was raised last."""


ROUND = "the age of a look, slices, what an attack found, what nobody watched, damaged reports, grammar of dumps"
HELD = (
    "parts by cache, a shortlist, held verdicts, the month, new causes; sentences moved from the service to the rules"
)
MERGED = "what a file has lost, locks of a cluster; signals, metric families and first screens are data; reload, store, first aid"
TRIED = (
    "second stages: a simulator of hangs, drawn dumps, damaged reports, boards in each state, worst lines of patterns; a second "
    "generator of instances, by eyes that never saw the rules; held verdicts against judged ones"
)
GATE = "a poll of which a few cells show that nothing cost anything is not judged; room for a cause and a signal"
DATA = (
    "scripted databases, names of report sections, sentences of traces and steps of platforms are data in place of Python; "
    "room for two causes"
)
CEILINGS: Sequence[Ceiling] = (
    Ceiling("product lines", lambda: lines(".py", *FLOORS), 59_700, 45_000),
    Ceiling("lines of collectors", lambda: lines(".py", "collectors"), 13_100, 10_500, HELD),
    Ceiling("lines of rules", lambda: lines(".py", "rules"), 17_950, 12_000, GATE),
    Ceiling("lines of service", lambda: lines(".py", "service"), 28_700, 22_500),
    Ceiling(
        "product files",
        product_files,
        208,
        200,
        "the judge in files of one question each; two files of the second way left",
    ),
    Ceiling("lines of the longest file", longest_file, 740, 700, ROUND),
    Ceiling("lines of the longest function", longest_function, 83, 60),
    Ceiling("lines of YAML in the product", lambda: lines(".yaml", *FLOORS), 13_750, None, DATA),
    Ceiling("lines of templates", lambda: lines(".html", *FLOORS) + lines(".j2", *FLOORS), 1_240, None, DATA),
    Ceiling("lines of JavaScript and CSS", lambda: lines(".js", *FLOORS) + lines(".css", *FLOORS), 650, None, ROUND),
    Ceiling("words of sentences in Python", sentence_words, 26_300, 12_000),
    Ceiling("public functions without a docstring, %", undescribed_share, 3.3, None),
    Ceiling("product lines for each comment", lines_per_comment, 104, None),
    Ceiling("one-line functions with one caller", one_line_helpers, 124, None),
    Ceiling("packages of all extras", packages, 58, 60),
    Ceiling("lines of tests", lambda: lines(".py", "tests"), 69_200, 52_000, TRIED),
    Ceiling("lines of Python below dashboards", lambda: lines(".py", "dashboards"), 1_925, None, HELD),
    Ceiling("lines of decisions and changes", lambda: lines(".md", "DECISIONS.md", "CHANGELOG.md"), 500, 260, MERGED),
    Ceiling("lines of docs", lambda: lines(".md", "docs"), 5_650, 6_000),
)
"""Part by part: what the product is made of, what it leans on, and what stands beside it."""


def over() -> list[str]:
    """One line for each ceiling that is exceeded."""
    counted = [(ceiling, ceiling.count()) for ceiling in CEILINGS]
    return [
        f"{ceiling.what}: {count:,} are more than {ceiling.most:,}; take something away, or raise the ceiling in "
        "tests/repo/ceilings.py with the reason beside it"
        for ceiling, count in counted
        if count > ceiling.most
    ]


def main() -> int:
    """Print what is, the ceiling and the aim. The exit code is 1 if a figure is over its ceiling."""
    print(f"{'what':<42}{'now':>10}{'ceiling':>10}{'aim':>10}")
    for ceiling in CEILINGS:
        aim, count = "–" if ceiling.aim is None else f"{ceiling.aim:,}", ceiling.count()
        note = f"OVER by {round(count - ceiling.most, 1):,}" if count > ceiling.most else ceiling.reason
        print(f"{ceiling.what:<42}{count:>10,}{ceiling.most:>10,}{aim:>10}  {note}".rstrip())
    return bool(over())


if __name__ == "__main__":
    sys.exit(main())
