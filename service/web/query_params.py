"""What requests about time ask for, read from their query; what cannot be understood is 422 with the way out."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode

from fastapi import HTTPException, Request, Response

from service.config.units import seconds
from service.state.window import BadWindow, Window, iso, parted, window
from service.store.queries.history import BadCursor

T = TypeVar("T")
LONGEST_SPAN = timedelta(days=31)


def asked_window(begin: str, end: str) -> Window:
    """The window between two times of a query."""
    return understood(lambda: window(begin, end, datetime.now(UTC)))


def one_window(text: str, now: datetime) -> Window:
    """A window written as begin/end (ISO 8601) or begin..end. Raises BadWindow."""
    return parted(text.replace("/", "..", 1) if ".." not in text else text, now)


def duration(name: str, text: str) -> timedelta:
    """A length of time such as 10m. Raises BadWindow."""
    try:
        length = timedelta(seconds=float(str(seconds(text))))
    except (ValueError, OverflowError):
        length = timedelta(days=-1)
    if not timedelta(0) <= length <= LONGEST_SPAN:
        raise BadWindow(f"{name} is {text[:40]!r}; write a length of time such as 90s, 10m or 2h")
    return length


def understood(read: Callable[[], T]) -> T:
    """What `read` gives; a cursor or a time that cannot be understood is 422."""
    try:
        return read()
    except (BadCursor, BadWindow) as error:
        raise HTTPException(422, str(error)) from None


def link_next(request: Request, response: Response, within: Window, cursor: str | None, **more: object) -> str | None:
    """The address of what follows, told in the header `Link`; relative times have become those they stand for."""
    if cursor is None:
        return None
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if name not in _OURS and name not in more
    ]
    ours = {"begin": iso(within.begin), "end": iso(within.end), **more, "cursor": cursor}
    address = f"{request.url.path}?{urlencode([*kept, *ours.items()])}"
    response.headers["Link"] = f'<{address}>; rel="next"'
    return address


_OURS = ("begin", "end", "cursor")
