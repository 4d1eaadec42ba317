"""Every named number that a cause may ask for, as signals.yaml describes it: a quantity, a quotient of two, or a function.

A signal reads a SignalContext for a Subject (the caches and the miss location its cause is about) and gives Known or Unknown.
It never gives zero for a figure it could not read.
"""

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ValidationError

from collectors.registry import collectors
from rules.base import LOADER, Frozen
from rules.context import LOOKUPS, SignalContext
from rules.model import Known, SignalValue, Surface, Unknown
from rules.signals.quantities import QUANTITIES, Operand, Quantity, Quotient, Subject, unlisted

__all__ = ["SIGNALS", "Signal", "Subject"]
HOME = Path(__file__).parent / "signals.yaml"
NO_VIEW = "opatch"
"""Lists the patches that are installed. No view shows them all without SQL."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number: its unit, its views, and how to read it."""

    name: str
    unit: str
    of: str
    about: str
    read: Callable[[SignalContext, Subject], SignalValue]
    surface: Surface | None = None
    """The surface of its events, for a signal without meaning elsewhere. None for a signal about the instance."""
    diluted: tuple[str, ...] = ()
    """Comparisons that other work can make fail; such a failure proves nothing."""
    called: str = ""
    """Its name for people."""
    share_of: str = ""
    """What a ratio is a share of; empty where it is a share of nothing countable."""


SIGNALS: dict[str, Signal] = {}


class BadSignal(Exception):
    """An entry of signals.yaml that cannot be read as it stands."""


Asked = str | Mapping[str, str | tuple[str, ...]]
"""A name, or a name with what is asked of it."""


class Entry(Frozen):
    """A signal as signals.yaml describes it; the file says what each member means."""

    of: Asked | tuple[Asked, Asked]
    reads: tuple[str, ...] = ()
    about: str = ""
    called: str = ""
    unit: str = "ratio"
    surface: Surface | None = None
    least: float = 0
    empty: float | None = None
    unlisted: float | None = None
    dilutes: tuple[Literal[">=", "<="], ...] = ()
    share_of: str = ""
    says: str = ""

    def signal(self, name: str) -> Signal:
        """The signal. Raises BadSignal."""
        operands = [_operand(name, each) for each in (self.of if isinstance(self.of, tuple) else (self.of,))]
        views = tuple(dict.fromkeys((*self.reads, *(one.quantity.view for one in operands if one.quantity.view))))
        for view in views:
            if view not in collectors() and view != NO_VIEW:
                raise BadSignal(f"{name} reads {view}, which no collector reads; the views are {_listed(collectors())}")
        # A name that no statement asks for would be unknown on every database, and look like a gap of the capture.
        for one in operands:
            if lacking := [asked for asked in one.names if asked not in _read_of(one.quantity.view)]:
                raise BadSignal(f"{name} asks {one.quantity.view} for {_listed(lacking)}, which no statement reads")
        whole_function = len(operands) == 1 and not operands[0].asked and not operands[0].quantity.view
        if not views or not (self.about or whole_function):
            raise BadSignal(f"{name} lacks {'`about`' if views else '`reads`'}, and nothing else says it")
        about = self.about or " ".join((operands[0].quantity.read.__doc__ or "").split())
        read: Callable[[SignalContext, Subject], SignalValue] = (
            operands[0] if operands[0].asked else operands[0].quantity.read
        )
        if len(operands) == 2:
            read = Quotient(operands[0], operands[1], self.least, self.empty, self.says)
        if self.unlisted is not None:
            read = partial(_if_unlisted, read, self.unlisted)
        share_of = self.share_of or (_whole(name) if self.unit == "ratio" else "")
        called = self.called or _plain(name)
        return Signal(name, self.unit, ", ".join(views), about, read, self.surface, self.dilutes, called, share_of)


# From a name in signals.yaml to what it stands for.


def _operand(name: str, of: Asked) -> Operand:
    """A quantity, or a function of a module of this folder, with what is asked of it."""
    called, asked = (of, ()) if isinstance(of, str) else (next(iter(of)), tuple(of.values()))
    module, _, function = called.rpartition(".")
    if not module:
        if called not in QUANTITIES:
            raise BadSignal(f"{name} is of {called}; the quantities are {_listed(QUANTITIES)}")
        found = QUANTITIES[called]
    else:
        try:
            read = getattr(importlib.import_module(f"{__name__}.{module}"), function)
        except (ImportError, AttributeError):
            raise BadSignal(f"{name} is of {called}, and rules/signals/{module}.py has no such function") from None
        found = Quantity(read, "")
    try:
        inspect.signature(found.read).bind(None, None, *asked)
    except TypeError as error:
        raise BadSignal(f"{name} asks {called} for {asked}: {error}") from None
    return Operand(found, asked)


@cache
def _read_of(view: str) -> Set[str]:
    """Columns of a view, the names its statements ask for, and what is computed from them."""
    one = collectors()[view]
    named = (name for statement in one.statements.values() for name in re.findall(r"'([^']+)'", statement))
    return {LOOKUPS, *(column.name for column in one.columns), *named}


def _if_unlisted(
    read: Callable[[SignalContext, Subject], SignalValue], value: float, context: SignalContext, subject: Subject
) -> SignalValue:
    """The reading, or the value of a latch that a report would list if it had any activity."""
    reading = read(context, subject)
    why = unlisted(context) if isinstance(reading, Unknown) else ""
    return Known(value, why) if why else reading


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _plain(name: str) -> str:
    """A signal's name in plain words: logons_per_second → logons per second."""
    return name.replace("_", " ").replace("db time", "DB time").replace("lookups", "look-ups")


def _whole(name: str) -> str:
    """What a ratio is a share of, by its name: parse_share_of_db_time → DB time."""
    whole = re.search(r"(?:^|_)(?:share_of|to)_(.+)$", name)
    return _plain(whole[1]) if whole else ""


def load(home: Path = HOME) -> dict[str, Signal]:
    """Every signal of a file, by name. Raises BadSignal, with the entry and what is wrong with it."""
    text = home.read_text(encoding="utf-8")
    entries = yaml.load(text, Loader=LOADER)
    for name, times in Counter(re.findall(r"^(\w+):", text, re.MULTILINE)).items():
        if times > 1:
            raise BadSignal(f"{home.name}: two signals are named {name}")
    found: dict[str, Signal] = {}
    for name, members in entries.items():
        try:
            found[name] = Entry.model_validate(members).signal(name)
        except ValidationError as error:
            wrong = error.errors()[0]
            raise BadSignal(f"{home.name}: {name}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None
        except BadSignal as error:
            raise BadSignal(f"{home.name}: {error}") from None
    return found


SIGNALS.update(load())
