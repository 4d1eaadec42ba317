"""Which of our files a marked number passes at run time: a profile hook that looks into arguments and results of functions.
A number is the sample if its leading digits are a mark (five of them, or rounded to four). A text is the sample if a number
in it is, ignoring separators and the decimal point. So the planted total, its change, its rate and its share all count. A
text that rounds further is not seen. Dicts, lists, tuples, sets, frozen dataclasses and pydantic models hold the sample if
one of their parts does. A board, a connection or a queue has its own state, and the tracer does not look inside. A function
has the sample in hand if an argument, a local variable, its result, or a value that it passed on or received is the sample,
ignoring plain dicts and lists around it. A function that only carries it inside an object (a whole snapshot) passes it only
if it gives it to, or returns it to, a function that passes it. A file is on the walk if one of its functions passes the
sample, or if it defines the type that carries it (`shape`).
"""

import dataclasses
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

FLOORS = ("collectors", "rules", "service")
THREADS = {"poll ": "poll", "store writer": "store"}
"""Prefix of a thread's name → its leg of the walk. Threads that neither poll, write nor answer are left out."""
DIGITS = re.compile(r"\d[\d,.\u2009\u202f\xa0]*")
NOT = 99
"""Depth of a value without the sample."""
DEEPEST = 14


class Function(NamedTuple):
    """A function of ours, on one leg of the walk."""

    file: str
    name: str
    leg: str


class Tracer:
    """The hook, for sys.setprofile and threading.setprofile."""

    def __init__(self, root: Path, marks: Sequence[str]) -> None:
        self.request: str | None = None
        """The leg of the current request."""
        self.marked = cache(self._marked)
        self._marks = tuple(marks)
        self._rounded = {f"{round(int(mark), -1)}".rstrip("0") for mark in marks}
        self._root = root
        self._files: dict[str, str | None] = {}
        self._depths: dict[int, tuple[Any, int]] = {}
        self._fields: dict[type, tuple[str, ...] | None] = {}
        self._had: set[Function] = set()
        self._handed: dict[Function, set[Function]] = defaultdict(set)
        """Function that carried the sample → function that received it."""
        self._shapes: set[Function] = set()

    def __call__(self, frame: FrameType, event: str, given: Any) -> None:
        """One call or return of a thread."""
        if event not in ("call", "return") or self._file(frame) is None or (leg := self._leg()) is None:
            return
        here, before = self._function(frame, leg), self._caller(frame, leg)
        if event == "call":
            self._passed(before, here, self._depth_of(v for name, v in [*frame.f_locals.items()] if name != "self"))
        else:
            self._passed(here, before, self.depth(given))
            self._passed(here, None, self._depth_of([*frame.f_locals.values()]))

    def walk(self) -> Mapping[str, Mapping[str, set[str]]]:
        """File → leg (poll, store, page, metrics, or shape) → functions that passed the sample, types that carried it."""
        takes: dict[Function, set[Function]] = defaultdict(set)
        for giver, takers in self._handed.items():
            for taker in takers:
                takes[taker].add(giver)
        passed, waiting = set(self._had), [*self._had]
        while waiting:
            new = takes[waiting.pop()] - passed
            passed |= new
            waiting.extend(new)
        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for file, name, leg in passed | self._shapes:
            found[file][leg].add(name)
        return found

    def _passed(self, giver: Function | None, taker: Function | None, depth: int) -> None:
        if depth == 0:
            self._had.update(function for function in (giver, taker) if function)
        elif depth < NOT and giver and taker:
            self._handed[giver].add(taker)

    def _leg(self) -> str | None:
        name = threading.current_thread().name
        found = next((leg for begin, leg in THREADS.items() if name.startswith(begin)), None)
        return found or (self.request if name == "MainThread" or "worker" in name.lower() else None)

    def _function(self, frame: FrameType, leg: str) -> Function:
        return Function(self._file(frame) or "", frame.f_code.co_qualname, leg)

    def _caller(self, frame: FrameType, leg: str) -> Function | None:
        """The nearest calling function of ours, libraries skipped."""
        above = frame.f_back
        while above is not None and self._file(above) is None:
            above = above.f_back
        return above and self._function(above, leg)

    def _file(self, frame: FrameType) -> str | None:
        """The path below the root, of files of ours."""
        path = frame.f_code.co_filename
        if path not in self._files:
            inside = path.removeprefix(f"{self._root}/")
            self._files[path] = inside if inside != path and inside.split("/")[0] in FLOORS else None
        return self._files[path]

    def _depth_of(self, values: Iterable[Any]) -> int:
        return min((self.depth(value) for value in values), default=NOT)

    def depth(self, value: Any, level: int = 0) -> int:
        """How many objects are around the sample in a value:

        0 for the sample itself, also inside plain dicts and lists; NOT for none.
        """
        if isinstance(value, str | bytes | int | float):
            return 0 if self.marked(value) else NOT
        if value is None or level > DEEPEST:
            return NOT
        fields = self._fields_of(type(value))
        if fields is None:
            return min((self.depth(part, level + 1) for part in _parts(value)), default=NOT)
        if id(value) not in self._depths:
            inside = min((self.depth(getattr(value, name, None), level + 1) for name in fields), default=NOT)
            self._depths[id(value)] = (value, min(inside + 1, NOT))  # kept alive, so that its id stays unique
            if inside < NOT:
                self._shape(type(value))
        return self._depths[id(value)][1]

    def _fields_of(self, kind: type) -> tuple[str, ...] | None:
        """The fields of immutable data; None for any other type."""
        if kind not in self._fields:
            self._fields[kind] = None
            if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                self._fields[kind] = tuple(field.name for field in dataclasses.fields(kind))
            elif hasattr(kind, "model_fields"):
                self._fields[kind] = tuple(kind.model_fields)
        return self._fields[kind]

    def _shape(self, kind: type) -> None:
        file = f"{kind.__module__.replace('.', '/')}.py"
        if file.split("/")[0] in FLOORS:
            self._shapes.add(Function(file, kind.__name__, "shape"))

    def _marked(self, value: str | bytes | float) -> bool:
        if isinstance(value, int | float):
            return bool(value) and self._is_mark(f"{abs(value):.12e}".split("e")[0])
        text = value.decode("utf-8", "ignore") if isinstance(value, bytes) else value
        return any(self._is_mark(number) for number in DIGITS.findall(text))

    def _is_mark(self, number: str) -> bool:
        digits = re.sub(r"\D", "", number).lstrip("0")
        return digits.startswith(self._marks) or digits.rstrip("0") in self._rounded


def _parts(value: Any) -> Iterator[Any]:
    """The contents of a plain container; empty for any other object."""
    if type(value) is dict:
        yield from [*value.keys(), *value.values()]
    elif isinstance(value, Sequence | Set) and not isinstance(value, range | memoryview | Mapping):
        yield from [*value]
