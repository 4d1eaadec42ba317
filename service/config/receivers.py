"""The common part of webhooks and notifications: names, databases and the word `on`."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from pydantic_core import PydanticCustomError

TOLD_WITH_LINE = "told_with_line"
"""The kind of a mistake that `own_mistakes` finds in the file too, where it has its line."""


def refused_with_line(words: str) -> PydanticCustomError:
    """A mistake of that kind, in these words."""
    return PydanticCustomError(TOLD_WITH_LINE, "{words}", {"words": words})


class Receiver(Protocol):
    """A receiver: its name, its databases (all if none is named), and its kind."""

    @property
    def target(self) -> str:
        """Its name in log, metrics and store."""
        ...

    @property
    def kind(self) -> str:
        """Webhook or notification."""
        ...

    databases: list[str]


def named_on(members: Any) -> Any:
    """YAML 1.1 reads the bare key `on` as true. Here it is a word."""
    if isinstance(members, dict) and True in members:
        return {("on" if name is True else name): value for name, value in members.items()}
    return members


def checked(receivers: Sequence[Receiver], databases: Iterable[str]) -> None:
    """Raise ValueError if two have the same name, or if one names a database that does not exist."""
    known, names = set(databases), [receiver.target for receiver in receivers]
    for receiver in receivers:
        if names.count(receiver.target) > 1:
            kinds = sorted({f"{each.kind}s" for each in receivers if each.target == receiver.target})
            raise ValueError(f"two {' or '.join(kinds)} are named {receiver.target}; give each a name of its own")
        for name in receiver.databases:
            if name not in known:
                raise refused_with_line(
                    f"{receiver.kind} {receiver.target} names {name}, which is not under `databases`"
                )
