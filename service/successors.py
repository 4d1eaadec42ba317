"""What left latchscope, and what does its job now: successors.yaml, for the command line, the configuration and the web."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Successors:
    """Old name → what you use in its place, by kind of name. The file says what each kind means."""

    commands: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@cache
def successors() -> Successors:
    """The table. A kind that the class does not name is an error."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return Successors(**{kind: names or {} for kind, names in yaml.safe_load(text).items()})
