"""Every named number a cause may ask for: one function each, tested each, bound by name when the causes load.

A signal reads a SignalContext for a Subject (the caches and the miss location its cause is about) and gives Known or Unknown.
It never gives zero for what it could not see. The modules of this folder are found by scanning; a signal is named as
its function.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass

from rules.bounds import meets
from rules.context import MINIMUM_SLEEPS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count
from rules.model import Surface


@dataclass(frozen=True, slots=True)
class Subject:
    """What a condition speaks of: cache names and surfaces of its cause, a miss location, a parameter; and what it needs."""

    caches: tuple[str, ...] = ()
    location: str | None = None
    parameter: str | None = None
    surfaces: tuple[Surface, ...] = ()
    needs: str = ">="
    """Which way its bound lies: of a setting that containers have differently, the one that comes closest counts."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number: its unit, the view it comes from, and how it is read."""

    name: str
    unit: str
    of: str
    about: str
    read: Callable[[SignalContext, Subject], SignalValue]
    surface: Surface | None = None
    """Where its events happen, for a signal that means nothing elsewhere; None for one that speaks of the instance."""
    diluted: tuple[str, ...] = ()
    """Comparisons that other work beside the trouble can make fail, which then proves nothing: see EITHER_WAY."""
    called: str = ""
    """What people call it."""
    share_of: str = ""
    """What a ratio is a share of; empty where it is a share of nothing countable."""


EITHER_WAY = (">=", "<=")
"""Diluted both ways: a ratio to the work of the whole instance, which work of another kind moves up and down."""

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
    """The name of a signal that reads well as it is: logons_per_second → logons per second."""
    return name.replace("_", " ").replace("db time", "DB time").replace("lookups", "look-ups")


def _whole(name: str) -> str:
    """What a ratio is a share of, by its name: parse_share_of_db_time → DB time, connection_time_to_waits → waits."""
    whole = re.search(r"(?:^|_)(?:share_of|to)_(.+)$", name)
    return _plain(whole[1]) if whole else ""


def already_enough(least: float, needs: str) -> bool:
    """Whether a value meets a comparison whatever is added to it."""
    return needs.startswith(">= ") and meets(least, needs)


def certain(least: float, most: float, needs: str) -> bool:
    """Whether a comparison comes out the same for all that a value may be."""
    return " " not in needs or meets(least, needs) == meets(most, needs)


def enough_sleeps(context: SignalContext, sleeps: float, view: str) -> SignalValue:
    """The sleeps as a whole that shares may be made of, or Unknown when they are too few."""
    if sleeps < MINIMUM_SLEEPS:
        why = f"too few events: {count(sleeps)} sleeps, at least {MINIMUM_SLEEPS} are needed"
        return Unknown(view, why, context.busier)
    return Known(sleeps)


for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
