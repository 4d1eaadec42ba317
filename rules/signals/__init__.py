"""Every named number that a cause may ask for: one function and one test each, bound by name when the causes load.

A signal reads a SignalContext for a Subject (the caches and the miss location its cause is about) and gives Known or Unknown.
It never gives zero for a figure it could not read. The modules of this folder are found by scanning. A signal has the
name of its function.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, comb

from rules.base import meets
from rules.context import MINIMUM_SLEEPS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, part_of
from rules.model import Surface
from rules.waits import MINIMUM_WAITERS


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a condition: cache names and surfaces of its cause, a miss location, a parameter, and the comparison."""

    caches: tuple[str, ...] = ()
    location: str | None = None
    parameter: str | None = None
    surfaces: tuple[Surface, ...] = ()
    needs: str = ">="
    """The direction of its bound. If containers set a parameter differently, the value closest to it counts."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number: its unit, its view, and how to read it."""

    name: str
    unit: str
    of: str
    about: str
    read: Callable[[SignalContext, Subject], SignalValue]
    surface: Surface | None = None
    """The surface of its events, for a signal without meaning elsewhere. None for a signal about the instance."""
    diluted: tuple[str, ...] = ()
    """Comparisons that other work can make fail; such a failure proves nothing. See EITHER_WAY."""
    called: str = ""
    """Its name for people."""
    share_of: str = ""
    """What a ratio is a share of; empty where it is a share of nothing countable."""


EITHER_WAY = (">=", "<=")
"""Diluted both ways: a ratio to the work of the whole instance, which other work moves up and down."""

SIGNALS: dict[str, Signal] = {}


def signal(
    unit: str,
    of: str,
    surface: Surface | None = None,
    diluted: tuple[str, ...] = (),
    called: str = "",
    share_of: str = "",
) -> Callable[[Callable[[SignalContext, Subject], SignalValue]], Callable[[SignalContext, Subject], SignalValue]]:
    """Register a function as the signal of its name; its docstring is what people read about it, `called` its name for them.

    `share_of` is what a ratio is a share of, where its name does not end with it.
    """

    def register(
        read: Callable[[SignalContext, Subject], SignalValue],
    ) -> Callable[[SignalContext, Subject], SignalValue]:
        name = read.__name__
        if name in SIGNALS:
            raise ValueError(f"two signals are named {name}")
        SIGNALS[name] = Signal(
            name,
            unit,
            of,
            " ".join((read.__doc__ or "").split()),
            read,
            surface,
            diluted,
            called or _plain(name),
            share_of or (_whole(name) if unit == "ratio" else ""),
        )
        return read

    return register


def _plain(name: str) -> str:
    """A signal's name in plain words: logons_per_second → logons per second."""
    return name.replace("_", " ").replace("db time", "DB time").replace("lookups", "look-ups")


def _whole(name: str) -> str:
    """What a ratio is a share of, by its name: parse_share_of_db_time → DB time."""
    whole = re.search(r"(?:^|_)(?:share_of|to)_(.+)$", name)
    return _plain(whole[1]) if whole else ""


def already_enough(least: float, needs: str) -> bool:
    """Whether a value meets a comparison whatever is added to it."""
    return needs.startswith(">= ") and meets(least, needs)


def certain(least: float, most: float, needs: str) -> bool:
    """Whether a comparison gives the same for every possible value."""
    return " " not in needs or meets(least, needs) == meets(most, needs)


def enough_sleeps(context: SignalContext, sleeps: float, view: str) -> SignalValue:
    """The sleeps as a whole for shares. Unknown if there are too few."""
    if sleeps < MINIMUM_SLEEPS:
        why = f"too few events: {count(sleeps)} sleeps, at least {MINIMUM_SLEEPS} are needed"
        return Unknown(view, why, context.busier)
    return Known(sleeps)


FEW = 5
"""Fewer waiters that all say the same do so by chance more often than once in twenty."""
AGREEING = 3
"""From so few waiters on it counts, with a doubt, that all of them say so."""
CHANCE = 0.05
"""A share of too few waiters counts where at most so often chance alone puts it on this side of its bound."""
HALF = 0.5
"""The bound for which MINIMUM_WAITERS are enough. One further from it needs more."""
LONGER = "ask for a longer burst, or wait for a busier interval"


def too_few_waiters(
    met: int, event: str, view: str = "v$session", way_out: str = LONGER, least: int = MINIMUM_WAITERS
) -> Unknown:
    """That too few waiters were seen for a share."""
    why = f"too few waiters: {met} seen waiting for {event}, at least {least} are needed"
    return Unknown(view, why, way_out)


def share_of_waiters(
    own: int, met: int, event: str, beside: str = "", few: Unknown | None = None, bound: float = HALF
) -> SignalValue:
    """A share of waiters. Of few, it counts where chance alone seldom puts it on this side of its bound; of very few, where all
    say yes.

    `few`: what to give where they are too few, if not `too_few_waiters`. `bound`: what the share is compared with. That none of
    five says yes is no sign that fewer than a tenth do.
    """
    least = ceil(MINIMUM_WAITERS * HALF / min(bound, 1 - bound))
    above = own >= bound * met
    chance = _chance(range(own, met + 1) if above else range(own + 1), met, bound) if met < least else 0.0
    if chance > CHANCE and not (own == met >= AGREEING):
        return few or too_few_waiters(met, event, least=least)
    return Known(own / met, f"{part_of(own, met)} waiters{beside}", own, met, few=met < FEW)


def _chance(times: range, met: int, bound: float) -> float:
    """How often so many of those who were met say yes, if each does as often as the bound says."""
    return sum(comb(met, each) * bound**each * (1 - bound) ** (met - each) for each in times)


for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
