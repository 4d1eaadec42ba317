"""Every error class of this package says by its base classes whether the session survives it."""

import inspect

from collectors import errors
from collectors.errors import CollectError, SessionError, StatementError


def test_error_classes_are_divided_by_their_cures() -> None:
    drawn = {one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, CollectError)}
    assert all(one.__doc__ for one in drawn)
    for one in drawn - {CollectError, errors.InputError}:
        assert issubclass(one, SessionError) != issubclass(one, StatementError), f"{one} has no cure"
