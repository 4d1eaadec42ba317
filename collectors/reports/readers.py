"""Every reader of `collectors/reports/sections`, found by scanning. A wrong module stops the start with an error."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from collectors.registry import collectors
from collectors.reports import sections
from collectors.reports.reader import Reader


class BadReader(Exception):
    """A module below collectors/reports/sections that does not hold exactly one sound Reader."""


@cache
def readers() -> Mapping[str, Reader]:
    """View name → reader."""
    found: dict[str, Reader] = {}
    for module in pkgutil.iter_modules(sections.__path__, f"{sections.__name__}."):
        own = [value for value in vars(importlib.import_module(module.name)).values() if isinstance(value, Reader)]
        if len(own) != 1:
            raise BadReader(f"{module.name} holds {len(own)} readers; each module of sections holds exactly one")
        if own[0].view not in collectors():
            raise BadReader(f"{module.name} reads {own[0].view}, which no collector declares")
        if own[0].view in found:
            raise BadReader(f"{module.name} reads {own[0].view} a second time; keep one")
        found[own[0].view] = own[0]
    return found
