"""The whole list of SQL: what `collectors.sql_list` has, the confirming queries of causes, and the driver's own text at login.

A session of the service accepts `texts()` and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import groupby

from collectors.deadline import CONNECT_SECONDS
from collectors.ondemand.check import MOST_NAMES, limited
from collectors.release import OLDEST, parts
from collectors.sql_list import accepted
from collectors.sql_list import statements as of_collectors
from collectors.statement import Statement
from rules.cause import Cause, catalogue
from rules.remedy import CONTAINERS_SINCE, Query

ASKED = "a person asks"
BEGUN = "a person asks, or a problem begins and defaults.confirm is once_per_episode"
LOGIN = Statement(
    kind="login",
    name="the driver",
    text="ALTER SESSION SET TIME_ZONE='+00:00'",
    why="python-oracledb in thin mode sends it within the login, so that times come in the time zone of its host",
    when="a login; a text sent through the session is never this one",
    how_often="once per session; +00:00 stands for the host's offset from UTC, or for ORA_SDTZ if that is set",
    deadline_seconds=CONNECT_SECONDS,
)
"""Not of ours. The driver's ping, its marks and its goodbye are calls without a text. What Oracle Client sends in thick
mode is not known here."""


@cache
def statements() -> tuple[Statement, ...]:
    """Every statement that latchscope can send to a database that it watches."""
    confirming: dict[str, Statement] = {}
    for cause in catalogue().values():
        for one in _confirming(cause, cause.confirm) if cause.confirm else ():
            confirming[one.text] = _shared(confirming[one.text], one) if one.text in confirming else one
    return (LOGIN, *of_collectors(), *confirming.values())


@cache
def texts() -> frozenset[str]:
    """The exact texts that a session of the service accepts."""
    return accepted(statements())


def _shared(first: Statement, second: Statement) -> Statement:
    """One text that two causes ask."""
    names, releases = f"{first.name}, {second.name}", dict.fromkeys((first.releases, second.releases))
    return replace(first, name=names, why=f"{first.why}; {second.why}", releases="; ".join(releases))


def _confirming(cause: Cause, query: Query) -> Iterator[Statement]:
    """The texts of a cause's confirming query as they are sent: another release may bring another text, or containers."""
    for text, releases in _sent(cause, query, _number).items():
        why = f'the number that confirms or refutes "{cause.name}"'
        yield Statement("confirm", cause.id, text, why, BEGUN, "once per request or episode", releases)
    for text, releases in _sent(cause, query, _names).items():
        why, when = f'names what was counted for "{cause.name}"', f"{ASKED}, and the number is above zero"
        yield Statement("confirm", cause.id, text, why, when, "once per request", releases)


def _number(query: Query, release: str | None) -> str | None:
    text = query.text(release)
    return None if text is None else limited(text, release)


def _names(query: Query, release: str | None) -> str | None:
    text = query.naming(release)
    return None if text is None else limited(text, rows=MOST_NAMES)


def _sent(cause: Cause, query: Query, of: Callable[[Query, str | None], str | None]) -> dict[str, str]:
    """Each text of a query with the releases it goes to, in words."""
    releases: dict[str, list[str]] = {}
    stretches = groupby(_floors(cause, query), lambda floor: of(query, floor))
    first = [(text, next(floors)) for text, floors in stretches]
    for (text, floor), after in zip(first, [*(floor for _, floor in first[1:]), None][: len(first)], strict=True):
        if text is not None:
            releases.setdefault(text, []).append(_span(floor, after, cause.releases.until))
    if (oldest := of(query, None)) is not None:
        releases.setdefault(oldest, []).append("an unknown release")
    return {text: ", ".join(found) for text, found in releases.items()}


def _span(floor: str, after: str | None, until: str | None) -> str:
    if after is None and until is not None:
        return floor if floor == until else f"{floor} to {until}"
    return f"{floor} to below {after}" if after else f"{floor} and later"


def _floors(cause: Cause, query: Query) -> list[str]:
    """The releases from which on a cause's texts may be others, oldest first."""
    floors = {cause.releases.since or OLDEST, CONTAINERS_SINCE}
    for written in (query.sql, query.names):
        floors |= set(written) if isinstance(written, Mapping) else set()
    return [floor for floor in sorted(floors, key=parts) if cause.releases.include(floor)]
