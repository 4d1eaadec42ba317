"""Scripted databases for the demo and for tests, one file each, found by scanning."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from collectors.simulator.scenario import Scenario


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Name → scenario of every module here. Two with the same name are an error."""
    found: dict[str, Scenario] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Scenario) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"{module.name} holds a second scenario named {value.name}")
    return found
