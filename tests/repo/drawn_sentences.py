"""Draws sentences that people read, by a seed, from any commit:

`python -m tests.repo.drawn_sentences COMMIT [SEED [COUNT]]`. They come evenly from pages, errors, README, docs and
docstrings. Two commits with one seed show how the prose changed. The last line counts the phrases of test_prose.py in all of
that prose.
"""

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.repo.test_prose import EXAMPLES, NOT_PROSE, PLAIN

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"^(?:collectors|rules|service)/.*\.py$")
KINDS = ("pages", "errors", "README", "docs", "docstrings")
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`{])")


def read(commit: str) -> Iterator[tuple[str, str]]:
    """Path and text of each file of a commit that may hold prose."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", commit], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in listed.stdout.splitlines():
        if CODE.match(path) or re.match(r"^(?:README\.md|docs/[\w-]+\.md|service/web/templates/.*\.html)$", path):
            shown = subprocess.run(
                ["git", "show", f"{commit}:{path}"], cwd=ROOT, capture_output=True, text=True, check=True
            )
            yield path, shown.stdout


def prose(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each piece of prose in a file."""
    if path.endswith(".md"):
        plain = NOT_PROSE.sub(" ", EXAMPLES.sub("", text))
        plain = "\n".join(line for line in plain.splitlines() if not line.startswith(("#", "|", "<", "!")))
        yield from (("README" if path == "README.md" else "docs", block) for block in plain.split("\n\n"))
    elif path.endswith(".html"):
        words = re.sub(r"<[^>]+>|\{%.*?%\}|\{#.*?#\}", "\n", text, flags=re.DOTALL)
        yield from (("pages", line) for line in words.splitlines() if "{{" not in line)
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield "docstrings", ast.get_docstring(node) or ""
            elif isinstance(node, ast.Raise | ast.Call) and (
                isinstance(node, ast.Raise) or getattr(node.func, "id", "") in ("fail", "BadSettings", "HTTPException")
            ):
                yield from (
                    ("errors", said(part)) for part in ast.walk(node) if isinstance(part, ast.Constant | ast.JoinedStr)
                )


def said(part: ast.Constant | ast.JoinedStr) -> str:
    """The words of a text of the code, with … for each inserted value."""
    if isinstance(part, ast.Constant):
        return part.value if isinstance(part.value, str) else ""
    return "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in part.values)


def sentences(commit: str) -> dict[str, list[str]]:
    """Kind → its sentences of six words and more, each once."""
    found: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for path, text in read(commit):
        for kind, block in prose(path, text):
            for sentence in SENTENCE.split(" ".join(block.replace("- ", " ").split())):
                if len(sentence.split()) >= 6:
                    found[kind].add(sentence)
    return {kind: sorted(many) for kind, many in found.items()}


def main(commit: str, seed: int = 21, count: int = 30) -> None:
    """Print the drawn sentences, then the count."""
    every = sentences(commit)
    drawn = random.Random(seed)
    for kind in KINDS:
        for sentence in drawn.sample(every[kind], min(len(every[kind]), count // len(KINDS))):
            print(f"{kind:>10}  {sentence[:200]}")
    suspect = {kind: sum(bool(PLAIN.search(one)) for one in many) for kind, many in every.items()}
    print(f"{commit}: {sum(map(len, every.values()))} sentences, of these with a turn of phrase to avoid: {suspect}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
