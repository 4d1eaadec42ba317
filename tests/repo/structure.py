"""The structure in numbers:

`python -m tests.repo.structure [ROOT]` prints them for any checkout, a line per folder. Frozen migrations are left out. The
length of a function runs from `def` to its end, docstring and inner functions included. An import counts anywhere, also
inside a function or under TYPE_CHECKING.
"""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FLOORS = ("collectors", "rules", "service")
LONG = 60
TINY = 3
"""Lines of a private helper that is better read where it is used, if that is one place."""
WORDS = ("one", "told")
Arrow = tuple[str, str]
"""The importing module and the imported one."""


@dataclass(frozen=True)
class Module:
    """One file: its name as it is imported, where it is, and its text."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """Its folder."""
        return str(self.path.parent)

    @property
    def lines(self) -> int:
        """How long the file is."""
        return len(self.text.splitlines())

    def functions(self) -> Iterator[tuple[str, int]]:
        """Name and length of every function, methods and inner functions too."""
        yield from _functions(self.tree, self.name)


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        inner = (
            f"{name}.{child.name}" if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else name
        )
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner, (child.end_lineno or child.lineno) - child.lineno + 1
        yield from _functions(child, inner)


def modules(root: Path) -> dict[str, Module]:
    """Name → module, for all of product code."""
    found: dict[str, Module] = {}
    for floor in FLOORS:
        for path in sorted((root / floor).rglob("*.py")):
            inside = path.relative_to(root)
            if "versions" not in inside.parts:
                name = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
                found[name] = Module(name, inside, path.read_text(encoding="utf-8"))
    return found


def arrows(known: Mapping[str, Module]) -> set[Arrow]:
    """Every import of one module of ours by another."""
    return {(each.name, target) for each in known.values() for target in _imported(each, known) if target != each.name}


def _imported(module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = _source(module, node)
            for alias in node.names:
                yield from [name for name in (f"{source}.{alias.name}", source) if name in known][:1]


def _source(module: Module, node: ast.ImportFrom) -> str:
    """The package or module that a `from` names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    parts = module.path.with_suffix("").parts[: -node.level]
    return ".".join((*parts, node.module) if node.module else parts)


def cycles(drawn: Iterable[Arrow]) -> list[list[str]]:
    """Groups of modules that all reach each other."""
    after: dict[str, set[str]] = defaultdict(set)
    for source, target in drawn:
        after[source].add(target)
    reached = {name: _reached(name, after) for name in after}
    groups = {frozenset({name, *(n for n in all_ if name in reached.get(n, ()))}) for name, all_ in reached.items()}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reached(start: str, after: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = after.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen


def words(module: Module) -> Counter[str]:
    """How often each of WORDS is a name in a module."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.NAME and token.string in WORDS)


def long(known: Iterable[Module]) -> list[tuple[str, int]]:
    """Functions over the limit, the longest first."""
    found = [each for module in known for each in module.functions() if each[1] > LONG]
    return sorted(found, key=lambda each: (-each[1], each[0]))


def with_one_importer(known: Mapping[str, Module], drawn: Iterable[Arrow]) -> list[str]:
    """Modules that exactly one other module imports. Packages do not count."""
    importers = Counter(target for _, target in drawn)
    return sorted(name for name in known if importers[name] == 1 and known[name].path.name != "__init__.py")


def used_once(known: Iterable[Module], most_lines: int) -> list[str]:
    """Private functions of a module, of at most so many lines, whose name stands once beside their definition."""
    found = []
    for module in known:
        named = Counter(node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name))
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and not node.decorator_list:
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines <= most_lines and named[node.name] == 1:
                    found.append(f"{module.name}.{node.name}")
    return found


def spread(lengths: Iterable[int]) -> str:
    """p50/p90/max of some lengths."""
    ranked = sorted(lengths)
    if not ranked:
        return "–"
    return "/".join(str(ranked[-(-len(ranked) * share // 100) - 1]) for share in (50, 90, 100))


def table(known: Iterable[Module]) -> Iterator[str]:
    """A line per room, and one for all."""
    rooms: dict[str, list[Module]] = defaultdict(list)
    for module in known:
        rooms[module.room].append(module)
    everything = [module for room in rooms.values() for module in room]
    yield f"{'room':<34}{'files':>6}  {'file lines':<14}{'function lines':<16}{'one':>5}{'told':>6}   (p50/p90/max)"
    for name, here in [*sorted(rooms.items()), ("together", everything)]:
        said = sum((words(module) for module in here), Counter())
        files, functions = spread(m.lines for m in here), spread(n for m in here for _, n in m.functions())
        yield f"{name:<34}{len(here):>6}  {files:<14}{functions:<16}{said['one']:>5}{said['told']:>6}"


def report(root: Path) -> Iterator[str]:
    """All the numbers of a checkout."""
    known = modules(root)
    drawn = arrows(known)
    yield from table(known.values())
    over = long(known.values())
    yield f"\nfunctions over {LONG} lines: {len(over)} (goal at most 3)"
    yield from (f"  {lines:>4}  {name}" for name, lines in over)
    yield f"files with one importer: {len(with_one_importer(known, drawn))}"
    once = used_once(known.values(), TINY)
    yield f"private helpers used once: {len(once)} of at most {TINY} lines, {len(used_once(known.values(), 6))} of at most 6"
    lines = sum(module.lines for module in known.values())
    tested = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (root / "tests").rglob("*.py"))
    yield f"lines: {lines} of product, {tested} of tests"
    around = cycles(drawn)
    yield f"import cycles: {len(around)} (goal 0)"
    yield from (f"  {' ↔ '.join(group)}" for group in around)


HOME = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1] if len(sys.argv) > 1 else HOME))))
