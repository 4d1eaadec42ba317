"""Only collectors/commands.py puts names into what people paste: nowhere else is a command made from parts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE_HERE = "collectors/commands.py"
CHANGES = re.compile(
    r"\s*(alter|begin|exec(ute)?|drop|grant|revoke|create|truncate|purge|call|declare|oradebug|kill|comment|rename|flashback)\s+\S",
    re.IGNORECASE,
)
READS = re.compile(r"\s*(select|with)\s+\S.*\bfrom\b", re.IGNORECASE | re.DOTALL)
SENT = ("collectors/views/", "collectors/ondemand/", "collectors/groups", "service/store/")
"""What these files make is sent by a session or kept in the store, from parts that are ours; nobody pastes it."""
NEVER_PASTED = ("service/store/",)
OURS = {
    "collectors/sqlplus/script.py": "the script is made of the statements above, and of numbers",
}


def composed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and beginning of each text that is put together: f-strings, format, %, and additions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            if any(isinstance(value, ast.FormattedValue) for value in node.values):
                whole = "".join(str(value.value) if isinstance(value, ast.Constant) else "?" for value in node.values)
                yield node.lineno, whole
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join")
        ):
            yield from _constant(node.func.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add):
            yield from _constant(node.left)


def _constant(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value


def made(path: str, text: str) -> list[str]:
    """The places of a file where a command, or a query for people, is put together."""
    sent, kept = path.startswith(SENT) or path in OURS, path.startswith(NEVER_PASTED) or path in OURS
    return [
        f"{path}:{line}: {words.strip()[:60]}"
        for line, words in composed(ast.parse(text))
        if (CHANGES.match(words) and not _prose(words) and not kept) or (READS.match(words) and not sent)
    ]


def _prose(words: str) -> bool:
    """A sentence that begins with such a word and is none: "begin and end are …"."""
    return words.startswith("begin and ")


def test_nothing_else_makes_a_command() -> None:
    files = [path for top in ("collectors", "rules", "service") for path in sorted((ROOT / top).rglob("*.py"))]
    names = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in files]
    found = [place for name, text in names if name != MADE_HERE for place in made(name, text)]
    assert found == [], f"make it with command() of {MADE_HERE}"
    assert len(files) > 100


@pytest.mark.parametrize(
    "line",
    [
        """x = f"alter system kill session '{sid}'" """,
        """x = "begin dbms_scheduler.stop_job('{}'); end;".format(name)""",
        """x = "drop user " + name""",
        """x = "grant select on %s to x" % view""",
        """x = f"select 1 from dba_objects where object_name = '{name}'" """,
    ],
)
def test_planted_command_is_found(line: str) -> None:
    assert made("rules/planted.py", line)
