"""One test over many values, for questions too small for a test each. A failure names the value."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

MOST_LETTERS = 200
"""How a failure names a value; for a dictionary or a cause, its beginning is enough."""


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but all values are one test. At least one value is required."""
    given, wanted = list(values), (names,) if isinstance(names, str) else names
    assert given, f"nothing to ask about as {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        assert len(fixtures) + len(wanted) == len(signature.parameters), f"{test.__name__} does not take {names}"

        @wraps(test)
        def over_all(**others: Any) -> None:
            for value in given:
                try:
                    test(**others, **dict(zip(wanted, (value,) if isinstance(names, str) else value, strict=True)))
                except BaseException as failure:
                    failure.add_note(f"{names}: {value!s:.{MOST_LETTERS}}")
                    raise

        del over_all.__wrapped__  # type: ignore[attr-defined]  # pytest would ask it for its arguments
        over_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return over_all

    return decorate
