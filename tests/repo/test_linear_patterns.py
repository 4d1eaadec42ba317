"""Every pattern takes time in proportion to the text: one call of `re` stops the whole process until it is done, so a pattern
that takes the square of a line's length lets one line of a file, or one error of a database, stop every poll.

Patterns are found by themselves: each call of `re` in the code, and each compiled pattern that a module holds. A pattern is
run on its own worst lines: for each repetition in it, what leads there and what repeats, over and over.
"""

import ast
import importlib
import re
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from itertools import islice, product
from math import inf
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from time import thread_time
from types import ModuleType
from typing import Any

import pytest

from collectors import errors
from collectors.reports import read
from rules.hangs.knowledge import knowledge
from service.cli import main as cli
from service.intake import inputs
from tests.paths import ROOT

pytestmark = pytest.mark.slow  # it imports every module, and runs some 20,000 lines
PACKAGES = ("collectors", "rules", "service")
AT_THE_BEGIN = {"match", "fullmatch"}
METHODS = {*AT_THE_BEGIN, "search", "findall", "finditer", "sub", "subn", "split"}
LETTERS = 2_000
"""Of the first line that a pattern is run on."""
QUICK = 0.00006
"""Seconds for as many letters, which a quadratic pattern takes more than."""
MOST_GROWTH = 9.0
"""Times as long for a line four times as long: 4 is linear, 16 quadratic."""
MOST_SECONDS = 0.2
"""Of one call."""
Node = tuple[Any, Any]


# The worst lines of a pattern.


@cache
def letters_of(pattern: str | bytes) -> str:
    """One of each kind, and those that the pattern names."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    return "".join(dict.fromkeys("a0 A_.x-\n" + re.sub(r"\\.|\w", "", text)))


def fits(node: Node, letter: str, flags: int) -> bool:
    """Whether a letter is one that this part of a pattern takes."""
    kind, value = node
    if kind in (sre.LITERAL, sre.NOT_LITERAL):
        same = chr(value) == letter or (flags & re.IGNORECASE and chr(value).lower() == letter.lower())
        return bool(same) is (kind is sre.LITERAL)
    if kind is sre.ANY:
        return letter != "\n" or bool(flags & re.DOTALL)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    if kind is sre.CATEGORY:
        word = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}[str(value).rpartition("_")[2]]
        return (re.match(word, letter) is None) == ("NOT" in str(value))
    if kind is sre.IN:
        negated = bool(value) and value[0][0] is sre.NEGATE
        return any(fits(each, letter, flags) for each in value[negated:]) != negated
    return False


def texts_of(nodes: Any, letters: str, flags: int, most: int = 3) -> list[str]:
    """Some short texts that a sequence of parts takes: each part as few times as it must come, but once where it may."""
    found = [""]
    for kind, value in nodes:
        ways = [""]
        if kind is sre.LITERAL:
            ways = [chr(value)]
        elif kind in (sre.NOT_LITERAL, sre.ANY, sre.IN):
            ways = [each for each in letters if fits((kind, value), each, flags)]
            ways = ways or [next(chr(code) for code in range(0x110000) if fits((kind, value), chr(code), flags))]
        elif kind is sre.SUBPATTERN:
            ways = texts_of(value[3], letters, flags)
        elif kind is sre.ATOMIC_GROUP:
            ways = texts_of(value, letters, flags)
        elif kind is sre.BRANCH:
            ways = [text for branch in value[1] for text in texts_of(branch, letters, flags, 1)]
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            ways = [text * max(value[0], 1) for text in texts_of(value[2], letters, flags)]
        found = [before + after for before, after in islice(product(found, ways), most)]
    return found


def repetitions(nodes: Any, letters: str, flags: int, before: str = "") -> Iterator[tuple[str, list[str]]]:
    """Each repetition without a bound: a text that leads to it, and texts that it may repeat."""
    for node in nodes:
        kind, value = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            if value[1] > 100:
                yield before, texts_of(value[2], letters, flags, len(letters))
            yield from repetitions(value[2], letters, flags, before)
        elif kind is sre.SUBPATTERN:
            yield from repetitions(value[3], letters, flags, before)
        elif kind is sre.ATOMIC_GROUP:
            yield from repetitions(value, letters, flags, before)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from repetitions(branch, letters, flags, before)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from repetitions(value[1], letters, flags, before)
        before += texts_of([node], letters, flags, 1)[0]


def worst_lines(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """What a line begins with, what it repeats, and how it ends."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    letters = letters_of(pattern)
    whole = _parser.parse(text, flags)
    for before, repeated in repetitions(whole, letters, whole.state.flags):
        for each in repeated:
            for begin, again in ((before, each), ("", before + each), ("", before or each), ("x", each)):
                for end in ("", "\0"):
                    yield begin, again, end


class TooLong(Exception):
    """A call that was stopped."""


def seconds(call: Callable[[Any], object], given: str | bytes) -> float:
    """Processor time of the quicker of two calls; a call beyond MOST_SECONDS is stopped, and counts as endless."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    least = inf
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
            began = thread_time()
            call(given)
            least = min(least, thread_time() - began)
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return least


def slow_line(pattern: str | bytes, flags: int, search: bool) -> str | None:
    """A line on which the pattern takes far more than four times as long for four times the letters. None if none was found."""
    compiled = re.compile(pattern, flags)
    call: Callable[[Any], object] = compiled.findall if search else compiled.match
    for begin, again, end in dict.fromkeys(worst_lines(pattern, flags)):

        def line(size: int, begin: str = begin, again: str = again, end: str = end) -> str | bytes:
            made = begin + again * (size // len(again)) + end
            return made.encode("latin-1", "replace") if isinstance(pattern, bytes) else made

        size, took = LETTERS, seconds(call, line(LETTERS))
        while took > QUICK * size / LETTERS:
            before, size = took, 4 * size
            took = seconds(call, line(size)) if before < inf else inf
            if took < MOST_GROWTH * before:
                break
            if took > MOST_SECONDS / 4:
                return f"{begin!r} + {again!r} × n + {end!r}"
    return None


# Where patterns are.

OURS = {
    "collectors.registry._BRANCH": "statements of this repository",
    "collectors.statement._TOKEN": "statements of this repository",
    "service.web.pages.docs._INLINE": "pages of this repository",
    "rules.formatting._SLOT": "sentences of this repository",
    "service.cli.main: said": "the words of who gave the command",
}
"""Patterns that meet no text from outside → what they meet."""
BUILT: Mapping[str, Callable[[], Iterable[str | bytes]]] = {
    "collectors.errors: pattern": lambda: [pattern for pattern, _ in errors._PLAIN],
    "collectors.logs.dumps: pattern": list,  # these and those of phrases.yaml are held by tables
    "collectors.logs.phrases: pattern": list,
    "collectors.logs.phrases: phrase.ma": list,
    'collectors.reports.read: f"^[^\\\\S\\': lambda: [read._any_of(tuple(read._TITLES)).pattern],
    "collectors.reports.read: f'\\\\b{whi": lambda: [rf"\b{which}\b" for which in read.PERIODS],
    "collectors.sqlplus.script: f'(?<![\\\\": lambda: [r"(?<![\w$#])sid(?![\w$#])"],
    "rules.hangs.action: each.name": lambda: [each.name for each in knowledge().processes],
    "rules.remedy: f'(?<![\\\\": lambda: [r"(?<![\w$#])v\$latch(?![\w$#])"],
    "service.cli.main: said": lambda: [said for said, _ in cli._PLAIN],
    "service.intake.inputs: each['sig": lambda: [sign.pattern for sign, _ in inputs._kinds()],
    "service.web.pages.layout: f\"({'|'.j": lambda: ["(OWNER|NAME)"],
}
"""Calls of `re` with a pattern that is made at run time → such patterns."""


@dataclass
class Use:
    """Where a pattern stands, and the methods that it is used by."""

    where: set[str] = field(default_factory=set)
    ways: set[str] = field(default_factory=set)

    @property
    def search(self) -> bool:
        """Whether it is tried at every letter of a line."""
        return not self.ways or not self.ways <= AT_THE_BEGIN


def sources() -> Iterator[tuple[ModuleType, ast.Module]]:
    """Every module, and its code."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts and path.name != "__main__.py":
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                yield importlib.import_module(name), ast.parse(path.read_text(encoding="utf-8"))


def held(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The compiled patterns that a module holds, also within its tables, each by the name that leads to it."""
    todo = [(name, value) for name, value in vars(module).items() if not name.startswith("__")]
    while todo:
        name, value = todo.pop()
        if isinstance(value, re.Pattern):
            yield name, value
        elif isinstance(value, Mapping):
            todo += [(f"{name}[…]", each) for each in value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += [(f"{name}[…]", each) for each in value]
        elif closed := getattr(value, "__closure__", None):
            todo += [(f"{name}(…)", cell.cell_contents) for cell in closed]
        elif is_dataclass(value) and not isinstance(value, type):
            todo += [(f"{name}.{each.name}", getattr(value, each.name, None)) for each in fields(value)]


@cache
def patterns() -> tuple[Mapping[tuple[str | bytes, int], Use], frozenset[str]]:
    """Each pattern with its flags → its use. And the calls of `re` whose pattern is not known."""
    found: dict[tuple[str | bytes, int], Use] = defaultdict(Use)
    unknown = set()
    for module, code in sources():
        ways: dict[str, set[str]] = defaultdict(set)
        own = list(held(module))
        for call in ast.walk(code):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
                continue
            method = call.func.attr
            if method not in METHODS and method != "compile":
                continue
            of, asked = ast.unparse(call.func.value), ast.unparse(call.args[0])
            ways[of].add(method)
            if of != "re":
                continue
            place = f"{module.__name__}: {asked[:9]}"
            try:
                texts = [eval(asked, vars(module))]  # our own code
            except NameError:
                unknown.add(place)
                texts = list(BUILT.get(place, list)())
            flags = [ast.unparse(each) for each in (*call.args[1:], *(each.value for each in call.keywords))]
            flag = int(eval(next((each for each in flags if each.startswith("re.")), "0"), {"re": re}))
            for text in texts:
                if method != "compile" or not any(text == pattern.pattern for _, pattern in own):
                    found[text, flag].where.add(place)
                    found[text, flag].ways |= {method} & METHODS
        for name, pattern in own:
            use = found[pattern.pattern, pattern.flags & ~re.UNICODE]
            use.where.add(f"{module.__name__}.{name}")
            use.ways |= ways[name] & METHODS if name.isidentifier() else {"search"}
    return found, frozenset(unknown)


def test_every_pattern_of_the_code_is_known() -> None:
    found, unknown = patterns()
    assert len(found) > 200
    assert unknown == BUILT.keys(), "a pattern that is made at run time stands in BUILT"
    assert OURS.keys() <= {place for use in found.values() for place in use.where}


SLOW = (
    r"[^\s\"'/]*?([^\s\"'/]+\.trc)\b", r"(\d+(?:\.\d+)?) ?(day|hour|hr|min|sec)", r"(?:\s*(?:\[\d+\]|[*†‡¹²³]))+$",
    r"\*\*\* [A-Z ]+:\([^)]*\)+ ?(?=\d{4}-)", r"(?:Unix process pid|Windows thread id): *(\w+),.*?image: *(.*)",
    r"\s*(?:Help: \S+|See https?://\S+ for help)", r" \(CONNECTION_ID=[^)]*\)", r"(\w+\s?)+$",
)  # fmt: skip
"""Patterns that stopped the service for seconds or minutes, and one that takes for ever."""


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_found(pattern: str) -> None:
    assert slow_line(pattern, 0, search=True)


def test_each_pattern_takes_time_in_proportion_to_the_line() -> None:
    slow = []
    for (pattern, flags), use in patterns()[0].items():
        if not use.where <= OURS.keys() and (line := slow_line(pattern, flags, use.search)):
            slow.append(f"{', '.join(sorted(use.where))}: {pattern!r} on {line}")
    assert slow == []
