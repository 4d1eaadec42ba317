"""Which views the confirming queries read, by cause and release. Grants and documents use it."""

from collections.abc import Iterable
from dataclasses import dataclass

from collectors.release import OLDEST, parts
from rules.cause import Cause
from rules.query import CONTAINERS_SINCE


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The releases on which a cause's query has one text, and the views that the text reads."""

    cause: str
    since: str
    until: str | None
    """The last release, as the cause has it. None without one, or if another text follows."""
    before: str | None
    """The release at which the next text starts."""
    views: tuple[str, ...]

    @property
    def older(self) -> bool:
        """Whether it is for releases before 12.1, which have no containers."""
        return parts(self.since) < parts(CONTAINERS_SINCE)

    @property
    def newer(self) -> bool:
        """Whether it is for 12.1 or later."""
        if self.before is not None:
            return parts(self.before) > parts(CONTAINERS_SINCE)
        return self.until is None or parts(self.until) >= parts(CONTAINERS_SINCE)


def text_spans(cause: Cause) -> tuple[TextSpan, ...]:
    """The texts of a cause's confirming query, oldest first. Empty if it has no query."""
    query = cause.confirm
    if query is None:
        return ()
    begin = max(cause.releases.since or query.since or OLDEST, query.since or "0", key=parts)
    later = [
        floor for floor in query.variants() if floor and parts(floor) > parts(begin) and cause.releases.include(floor)
    ]
    floors = [begin, *later]
    return tuple(
        TextSpan(cause.id, floor, None if after else cause.releases.until, after, query.views(floor))
        for floor, after in zip(floors, [*later, None], strict=True)
    )


def views_before_containers(causes: Iterable[Cause]) -> dict[str, tuple[str, ...]]:
    """View → causes whose confirming query reads it on a release before 12.1."""
    return _by_view(span for cause in causes for span in text_spans(cause) if span.older)


def views_since_containers(causes: Iterable[Cause]) -> dict[str, tuple[str, ...]]:
    """View → causes whose confirming query reads it on 12.1 or later."""
    return _by_view(span for cause in causes for span in text_spans(cause) if span.newer)


def _by_view(spans: Iterable[TextSpan]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for span in spans:
        for view in span.views:
            found.setdefault(view, []).append(span.cause)
    return {view: tuple(dict.fromkeys(found[view])) for view in sorted(found)}
