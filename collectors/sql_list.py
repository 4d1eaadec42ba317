"""The list of SQL, as far as this floor sends it: every text of the collectors, the groups and `collectors.ondemand`.

Nothing is listed here by hand. A collector brings its own texts, a group has its files, and a module of
`collectors.ondemand` declares what else it sends as `STATEMENTS`. `service.sql_list` adds the confirming queries of causes.
"""

import importlib
import itertools
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache

from collectors import ondemand
from collectors.deadline import LOOK_SECONDS, STATEMENT_SECONDS
from collectors.model import Collector
from collectors.ondemand.blockers import CHAIN_VIEWS, of_look
from collectors.ondemand.sampling import LONGEST_BURST
from collectors.registry import collectors, groups, under_older_name
from collectors.release import as_sent, parts
from collectors.statement import Statement, StatementKind, row_limit

POLL = "every poll"
PER_LOOK = "when a hang begins, when one of its waits ends, and every 5 minutes while it lasts"
IN_HANG = "each poll while sessions hang"


@cache
def statements() -> tuple[Statement, ...]:
    """Every statement of this floor: those of a poll first."""
    modules = [
        importlib.import_module(one.name) for one in pkgutil.iter_modules(ondemand.__path__, f"{ondemand.__name__}.")
    ]
    return (*_of_groups(), *_of_collectors(), *(one for module in modules for one in getattr(module, "STATEMENTS", ())))


@cache
def texts() -> frozenset[str]:
    """The exact texts of this floor, which a session accepts."""
    return accepted(statements())


MOST_ROWS = 50_000
"""Rows of an answer whose statement has no limit: several times as many as the largest view of the largest instance gives."""
MOST_BYTES = 32 * 2**20
"""Memory of the cells of an answer. Ten thousand rows of twenty short cells take some 10 MB, and no poll reads as many."""


@lru_cache(maxsize=1024)
def rows_at_most(sql: str) -> int:
    """Rows that an answer to this text may have: its own limit, or MOST_ROWS."""
    limit = row_limit(sql)
    return MOST_ROWS if limit is None else limit


def accepted(listed: Iterable[Statement]) -> frozenset[str]:
    """The texts that a session sends for us. The driver's own at login is not one of them."""
    return frozenset(one.text for one in listed if one.kind != "login")


def spans(floors: Iterable[str]) -> Mapping[str, str]:
    """Lowest release of a text → the releases it goes to, in words, given the lowest release of every text."""
    ordered = sorted(floors, key=parts)
    words = [f"{floor} to below {after}" for floor, after in itertools.pairwise(ordered)]
    return dict(zip(ordered, [*words, *(f"{floor} and later" for floor in ordered[-1:])], strict=True))


def _of_groups() -> Iterator[Statement]:
    for group in groups().values():
        releases = spans(group.texts)
        for floor, text in group.texts.items():
            yield Statement(
                kind="group",
                name=group.name,
                text=text.sql,
                why=f"{len(text.views)} views in one round trip, with the rows of {', '.join(text.views)}",
                when="a poll, unless oracle.statements is single or the group is set aside for an hour",
                how_often=POLL,
                releases=releases[floor],
            )


def _of_collectors() -> Iterator[Statement]:
    together = {view for group in groups().values() for view in group.views}
    for collector in collectors().values():
        kind, when, how_often = _schedule(collector, grouped=collector.view in together)
        releases = spans(collector.statements)
        for floor in releases:
            text = as_sent(collector.statements[floor])
            deadline = LOOK_SECONDS if of_look(text) else STATEMENT_SECONDS
            yield Statement(
                kind, collector.view, text, collector.about, when, how_often, releases[floor], deadline_seconds=deadline
            )
            if collector.formerly:
                yield Statement(
                    kind,
                    collector.view,
                    under_older_name(collector, text),
                    collector.about,
                    f"the view is refused under its own name; older releases of latchscope granted {collector.formerly}",
                    "once per start of the instance",
                    releases[floor],
                    deadline_seconds=deadline,
                )


def _schedule(collector: Collector, *, grouped: bool) -> tuple[StatementKind, str, str]:
    """The kind of a collector's statements, when they run, and how often."""
    if collector.sampled:
        return (
            "burst",
            "between polls, while the row cache costs something",
            f"once a second, {LONGEST_BURST} times at most",
        )
    if collector.for_changes:
        when = "a problem begins, an hour has passed, or `latchscope check` asks; never while sessions hang"
        return "changes", when, "once an hour, and once per problem, at most once a minute"
    if collector.on_request and collector.every_seconds:
        minutes = f"every {collector.every_seconds / 60:g} min at most"
        return "look", "no session hangs, after a poll or `latchscope check`", minutes
    if collector.on_request:
        often = IN_HANG if collector.view in CHAIN_VIEWS else PER_LOOK
        return "look", "sessions hang, or `latchscope check` asks", often
    when = "a poll in which its group is set aside, or with oracle.statements: single" if grouped else "a poll"
    if collector.once:
        return "poll", when, "once per start of the instance"
    if collector.every_seconds:
        return "poll", when, f"every {collector.every_seconds / 60:g} min at most"
    return "poll", when, POLL
