"""Answers that are kept: what follows from one Delta is worked out once, however many causes ask for it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

Answer = TypeVar("Answer")
Question = TypeVarTuple("Question")


def remembered(method: Callable[[Any, *Question], Answer]) -> Callable[[Any, *Question], Answer]:
    """A method of an object that never changes: asked again with equal arguments, it gives the answer it gave."""
    name = f"_{method.__name__}_remembered"

    @wraps(method)
    def ask(self: Any, *question: *Question) -> Answer:
        answers: dict[Any, Answer] = self.__dict__.setdefault(name, {})
        if question not in answers:
            answers[question] = method(self, *question)
        return answers[question]

    return ask
