"""A cache for answers: each result of a Delta is computed once, however many causes need it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

Kept = TypeVar("Kept")
Asked = TypeVarTuple("Asked")


def remembered(method: Callable[[Any, *Asked], Kept]) -> Callable[[Any, *Asked], Kept]:
    """A method or function of an immutable object. Equal arguments give the first answer again."""
    name = f"{method.__module__}.{method.__qualname__}"

    @wraps(method)
    def ask(self: Any, *question: *Asked) -> Kept:
        answers: dict[Any, Kept] = self.__dict__.setdefault(name, {})
        if question not in answers:
            answers[question] = method(self, *question)
        return answers[question]

    return ask
