"""Which changed lines of the product the tests notice: mutants drawn by a seed, each met by the tests that run its line.

`--record` first runs the whole suite once with the context of each test, which takes long. Each mutant changes one place in this
checkout, which must be clean; its tests run until one fails, the fastest first, and the file is put back. With `--only FILE`, a
list of tests one a line, only those count: so one recording answers for `make test` and for `make test-all`.
"""

import ast
import json
import os
import random
import subprocess
import sys
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from bench import _options
from bench._contexts import CONFIGURATION

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / ".coverage.contexts"
CRITICAL = ("service/state/login_gate.py", "service/store/", "rules/hangs/")
"""Where a mistake costs most: the login gate, what the store and its spool write, and chains of a hang."""
LEFT_OUT = ("/migrations/",)
SECONDS = 120
"""The longest that the tests of one mutant run."""
TINY = "--list --mutants 3 --critical 1"

_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_COMPUTED: Mapping[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One place of one file, and the text that stands there instead."""

    path: str
    line: int
    begin: int
    end: int
    was: str
    now: str

    def __str__(self) -> str:
        """As `path:line was → now`."""
        return " ".join(f"{self.path}:{self.line} {self.was} → {self.now}".split())


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change that this script knows, in the order of the file."""
    data = path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr | ast.stmt, now: str) -> Mutant:
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return Mutant(str(path.relative_to(ROOT)), node.lineno, begin, end, data[begin:end].decode(), now)

    for node in ast.walk(ast.parse(data)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARED:
                yield place(node, f"({ast.unparse(left)} {_COMPARED[type(operator)]} {ast.unparse(right)})")
            case ast.BoolOp(op=operator, values=values):
                joined = " or " if isinstance(operator, ast.And) else " and "
                yield place(node, "(" + joined.join(f"({ast.unparse(value)})" for value in values) + ")")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield place(node, f"bool({ast.unparse(operand)})")
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED and not _text(node):
                yield place(node, f"({ast.unparse(left)} {_COMPUTED[type(operator)]} {ast.unparse(right)})")
            case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
                yield place(node, "return")
            case ast.Constant(value=bool() as value):
                yield place(node, repr(not value))
            case ast.Constant(value=int() | float() as value):
                yield place(node, repr(value + 1))
            case ast.Expr(value=ast.Call()):
                yield place(node, "pass")


def _text(node: ast.BinOp) -> bool:
    return any(isinstance(each, ast.JoinedStr | ast.Constant) and not _number(each) for each in ast.walk(node))


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def drawn(seed: int, count: int, critical: int) -> list[Mutant]:
    """`count` mutants of all product lines, a line at most once, and `critical` of CRITICAL."""
    lines: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for floor in ("collectors", "rules", "service"):
        for path in sorted((ROOT / floor).rglob("*.py")):
            if not any(part in str(path) for part in LEFT_OUT):
                for mutant in mutants(path):
                    lines[mutant.path, mutant.line].append(mutant)
    dice = random.Random(seed)
    first = dice.sample(sorted(lines), count)
    rest = sorted(line for line in lines if line[0].startswith(CRITICAL) and line not in first)
    return [dice.choice(lines[line]) for line in (*first, *dice.sample(rest, critical))]


def record() -> None:
    """Run the whole suite with the context of each test, into RECORDED."""
    RECORDED.mkdir(exist_ok=True)
    configuration, durations = RECORDED / "coveragerc", RECORDED / "durations.xml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    environment = {**os.environ, "COVERAGE_CORE": "ctrace", "COVERAGE_PROCESS_START": str(configuration)}
    tests = ["-p", "bench._contexts", "-q", "-n", "2", "--all", "--dist", "loadfile", f"--junitxml={durations}"]
    run = [sys.executable, "-m", "coverage", "run", f"--rcfile={configuration}", "-m", "pytest", *tests]
    subprocess.run(run, cwd=ROOT, env=environment, check=False)
    subprocess.run(
        [sys.executable, "-m", "coverage", "combine", f"--rcfile={configuration}", "-q"], cwd=ROOT, check=True
    )


def tests_by_line(chosen: Sequence[Mutant]) -> dict[Mutant, list[str]]:
    """The recorded tests that run each mutant's line, the fastest first.

    A line of a module or a class runs at import, which is recorded for no test: then every test of the file counts.
    """
    from coverage import CoverageData
    from lxml import etree

    seconds: dict[str, float] = {}
    for case in etree.parse(RECORDED / "durations.xml").iter("testcase"):
        path = f"{case.get('classname', '').replace('.', '/')}.py"
        seconds[f"{path}::{case.get('name')}"] = float(case.get("time", "0"))
    data = CoverageData(str(RECORDED / "data"))
    data.read()
    found: dict[Mutant, list[str]] = {}
    for mutant in chosen:
        contexts = data.contexts_by_lineno(str(ROOT / mutant.path))
        named = {test for test in contexts.get(mutant.line, ()) if test}
        if not named and mutant.line in contexts:
            named = {test for tests in contexts.values() for test in tests if test}
        found[mutant] = sorted(named, key=lambda test: (seconds.get(test, 1.0), test))
    return found


def verdict(mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
    """`killed` and the test, `survived`, `late` after SECONDS, or `unmet` where no test runs its line."""
    if not tests:
        return "unmet", ""
    path = ROOT / mutant.path
    original = path.read_bytes()
    path.write_bytes(original[: mutant.begin] + mutant.now.encode() + original[mutant.end :])
    listed = RECORDED / f"tests-{os.getpid()}"
    listed.write_text("\n".join(tests), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, f"@{listed}"], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "late", ""
    finally:
        path.write_bytes(original)
    failed = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    if done.returncode not in (0, 1, 2):  # 2 is a file that no longer imports; more is a list that pytest cannot run
        sys.exit(f"the tests of {mutant} cannot be run: {done.stderr[-400:]}")
    return ("survived", "") if done.returncode == 0 else ("killed", failed[:160])


def figures(options: Sequence[str] = ()) -> Table:
    """A row a mutant, and the counts."""
    parser = _options.parser("mutants", __doc__)
    parser.add_argument("--seed", type=int, default=58)
    parser.add_argument("--mutants", type=int, default=120, help="drawn from all product lines")
    parser.add_argument("--critical", type=int, default=40, help="drawn from where a mistake costs most")
    parser.add_argument("--list", action="store_true", help="draw and print them, and run nothing")
    parser.add_argument("--record", action="store_true", help="run the suite with contexts first; takes long")
    parser.add_argument("--only", type=Path, help="a file with the tests that count, one a line")
    parser.add_argument(
        "--half", choices=("0/1", "0/2", "1/2"), default="0/1", help="every second mutant, for two checkouts"
    )
    parser.add_argument("--out", type=Path, help="append each verdict to this file, as JSON lines")
    return _table(parser.parse_args(options))


def _table(asked: Namespace) -> Table:
    if asked.record:
        record()
    all_of_them = drawn(asked.seed, asked.mutants, asked.critical)
    part, of = map(int, asked.half.split("/"))
    chosen = all_of_them[part::of]
    table = Table("mutant", "drawn from", "tests", "verdict", "by", "s", title=f"seed {asked.seed}")
    counts: dict[str, int] = defaultdict(int)
    recorded = {} if asked.list else tests_by_line(chosen)
    counting = set(asked.only.read_text(encoding="utf-8").splitlines()) if asked.only else None
    for mutant in chosen:
        area = "all" if all_of_them.index(mutant) < asked.mutants else "critical"
        if asked.list:
            table.add_row(str(mutant), area, "–", "–", "–", "0")
            continue
        tests = [test for test in recorded[mutant] if counting is None or test in counting]
        began = time.monotonic()
        said, by = verdict(mutant, tests)
        taken = time.monotonic() - began
        counts[said] += 1
        table.add_row(str(mutant), area, str(len(tests)), said, by, f"{taken:.0f}")
        if asked.out:
            with asked.out.open("a", encoding="utf-8") as written:
                line = {**asdict(mutant), "area": area, "tests": len(tests), "verdict": said, "by": by}
                print(json.dumps(line), file=written, flush=True)
    table.caption = " · ".join(f"{count} {said}" for said, count in sorted(counts.items())) or None
    return table
