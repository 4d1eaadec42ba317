"""What hangs.yaml knows: kinds of process, who is behind an event, and the sentences of a wait chain. Checked at load."""

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

import yaml
from pydantic import model_validator

from collectors.commands import Given, command
from rules.base import Frozen
from rules.formatting import Value, say

HOME = Path(__file__).parent / "hangs.yaml"


class Process(Frozen):
    """Background processes whose name matches, and why to leave them alone."""

    name: str
    why: str


class Event(Frozen):
    """Events by their start: `own` work of the session, or `who` it waits for, how to `find` that, and whether a `kill` helps."""

    starts: tuple[str, ...]
    own: str | None = None
    who: str | None = None
    find: str | None = None
    kill: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "Event":
        if (self.own is None) == (self.who is None) or (self.who is None) != (self.kill is None):
            raise ValueError(f"{self.starts}: `own`, or `who` and `kill`")
        return self


class Knowledge(Frozen):
    """The whole file."""

    processes: tuple[Process, ...]
    events: tuple[Event, ...]
    states: Mapping[str, str]
    queries: Mapping[str, str]
    actions: Mapping[str, str]


@cache
def knowledge() -> Knowledge:
    """The file, read once."""
    return Knowledge.model_validate(yaml.safe_load(HOME.read_text(encoding="utf-8")))


@lru_cache(1024)
def event_of(name: str) -> Event | None:
    """What is known of an event, by the longest start that fits. None for one that the file does not have."""
    fitting = [(len(start), event) for event in knowledge().events for start in event.starts if name.startswith(start)]
    return max(fitting, key=lambda each: each[0])[1] if fitting else None


def state(name: str, /, **values: Value) -> str:
    """The sentence of a state."""
    return say(knowledge().states[name], values)


def query(name: str, /, **values: Given) -> str:
    """A query of the file. Raises WithheldError."""
    return command(knowledge().queries[name], **values)
