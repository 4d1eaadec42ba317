"""The message on the page of a database after an operator's action."""

from collections.abc import Mapping
from dataclasses import dataclass

from rules.formatting import number
from service.state.board import MonitoredDatabase


@dataclass(frozen=True, slots=True)
class ActionSaid:
    """The result of an action, in one sentence."""

    words: str
    failed: bool = False


DONE: Mapping[str, str] = {
    "sampled": "Waiting sessions are sampled from the next poll to the one after it.",
    "resumed": "latchscope logs in once more with the same password.",
    "confirmed": "The confirming query ran. Its result counts from the next poll on.",
}


def said_of(watched: MonitoredDatabase, done: str) -> ActionSaid | None:
    """The message after an action. None without one."""
    if done == "confirmed" and watched.confirmed:
        last = max(watched.confirmed.values(), key=lambda result: result.at)
        if last.value is not None:
            return ActionSaid(f"The query gave {number(last.value)}. It counts from the next poll on.")
    words = DONE.get(done)
    return ActionSaid(words) if words else None
