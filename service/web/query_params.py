"""Query parameters about time. An invalid one gives 422 with the way out."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import HTTPException, Query, Request, Response

from service.state.window import BadWindow, Window, iso, moment, window
from service.store.queries.episodes import EpisodePage
from service.store.queries.history import BadCursor

T = TypeVar("T")

BeginQuery = Annotated[str, Query(description="RFC 3339 with a zone, or relative to now such as -6h")]
EndQuery = Annotated[str, Query(description="as begin; default: now")]
AtQuery = Annotated[str | None, Query(description="a past time, as begin; default: now")]
CursorQuery = Annotated[str | None, Query(min_length=1, description="from the address of the next page")]
LimitQuery = Annotated[int, Query(ge=1, le=1000)]
WholeQuery = Annotated[int | None, Query(ge=1, le=1000, description="most entries per page; default: all")]


def requested_window(begin: str, end: str) -> Window:
    """The window between two times of a query."""
    return understood(lambda: window(begin, end, datetime.now(UTC)))


def requested_time(at: str) -> datetime:
    """The time of a query."""
    return understood(lambda: moment(at, datetime.now(UTC)))


def understood(read: Callable[[], T]) -> T:
    """The result of `read`. An invalid cursor or time is 422."""
    try:
        return read()
    except (BadCursor, BadWindow) as error:
        raise HTTPException(422, str(error)) from None


def part_of(items: Sequence[T], key: Callable[[T], str], cursor: str | None, limit: int | None) -> EpisodePage[T]:
    """Part of a list in memory. The cursor is the key of the last entry. Raises HTTPException 422 for any other."""
    begin = 0
    if cursor is not None:
        keys = [key(item) for item in items]
        if cursor not in keys:
            raise HTTPException(422, f"the list has no {cursor!r} to continue from; start again without `cursor`")
        begin = keys.index(cursor) + 1
    found = tuple(items[begin:] if limit is None else items[begin : begin + limit])
    return EpisodePage(found, key(found[-1]) if found and begin + len(found) < len(items) else None)


def link_next(
    request: Request, response: Response, within: Window | None, cursor: str | None, **more: object
) -> str | None:
    """The address of the next page, for the header `Link`. Relative times become fixed ones."""
    if cursor is None:
        return None
    kept = [
        (name, value) for name, value in request.query_params.multi_items() if name not in _OURS and name not in more
    ]
    times = {"begin": iso(within.begin), "end": iso(within.end)} if within else {}
    ours = {**times, **more, "cursor": cursor}
    address = f"{request.url.path}?{urlencode([*kept, *ours.items()])}"
    response.headers["Link"] = f'<{address}>; rel="next"'
    return address


_OURS = ("begin", "end", "cursor")
