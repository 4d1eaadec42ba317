"""A store that does not answer just now, as one class for those who do not know the database toolkit."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError


class StoreTrouble(Exception):
    """The store did not answer just now; what was asked may be asked again."""


@contextmanager
def as_trouble() -> Iterator[None]:
    """Raise what the store's driver raises as StoreTrouble, in one line."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreTrouble(str(getattr(error, "orig", None) or error).splitlines()[0]) from None
