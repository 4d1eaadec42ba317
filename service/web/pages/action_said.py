"""What the page of a database says once an operator has done something there."""

from collections.abc import Mapping
from dataclasses import dataclass

from rules.formatting import number
from service.state.board import MonitoredDatabase


@dataclass(frozen=True, slots=True)
class ActionSaid:
    """What came of an action, in one sentence."""

    words: str
    failed: bool = False


DONE: Mapping[str, str] = {
    "sampled": "Waiting sessions are sampled from the next poll to the one after it.",
    "resumed": "latchscope logs in once more with the same credential.",
    "confirmed": "The confirming query was run. Its result counts from the next poll on.",
}


def said_of(watched: MonitoredDatabase, done: str) -> ActionSaid | None:
    """What the page says after an action; None where there was none."""
    if done == "confirmed" and watched.confirmed:
        last = max(watched.confirmed.values(), key=lambda result: result.at)
        if last.value is not None:
            return ActionSaid(f"The query gave {number(last.value)}. It counts from the next poll on.")
    words = DONE.get(done)
    return ActionSaid(words) if words else None
