"""What the looks saw of a hang, in one value: the input of `rules.wait_chain.forest`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from collectors.model import Row, Value, number

SessionKey = tuple[int | None, int]
"""A session: number of its instance, None if unknown, and SID."""


@dataclass(frozen=True, slots=True)
class ChainLooks:
    """Rows as the views gave them. A view that was not read has no rows and is not in `read`."""

    own: int | None
    """Number of the polled instance."""
    clustered: bool | None
    """Whether it is one of a cluster. None if unknown."""
    cache_of: Callable[[Row], str | None]
    """The cache that a waiting session waits for; None if it does not wait for the row cache."""
    waiters: Sequence[Row] = ()
    """waiting_sessions: foreground and background sessions that wait for the row cache."""
    met: int = 0
    """How many there were, listed or not."""
    holders: Sequence[Row] = ()
    """row_cache_blockers: v$rowcache_parent with v$session, and sessions of other instances without an entry."""
    sessions: Sequence[Row] = ()
    """chain_sessions."""
    chains: Sequence[Row] = ()
    """v$wait_chains."""
    hangs: Sequence[Row] = ()
    """v$hang_info."""
    hang_sessions: Sequence[Row] = ()
    slaves: Sequence[Row] = ()
    locks: Sequence[Row] = ()
    jobs: Sequence[Row] = ()
    transactions: Sequence[Row] = ()
    read: frozenset[str] = field(default_factory=frozenset)
    """The views that were read."""

    def key(self, instance: Value, sid: Value) -> SessionKey | None:
        """A session by what a row says. Outside a cluster every session is of the polled instance."""
        of = whole(sid)
        if of is None:
            return None
        at = whole(instance)
        return (self.own if at is None and self.clustered is False else at, of)

    def named(self, row: Row, kind: str) -> SessionKey | None:
        """The session that a row of v$session names as `blocking` or `final_blocking`."""
        return self.key(row.get(f"{kind}_instance"), row.get(f"{kind}_session"))

    def here(self, row: Row) -> SessionKey | None:
        """The session of a row without an instance, which is of the polled instance."""
        return self.key(row.get("instance", self.own), row.get("sid"))


def whole(value: Value) -> int | None:
    """A whole number, None if it is none."""
    known = number(value)
    return None if known is None else int(known)


def at(key: SessionKey) -> str:
    """`312@1`, or `312` if the instance is unknown."""
    instance, sid = key
    return f"{sid}" if instance is None else f"{sid}@{instance}"


def first(rows: Iterable[Row]) -> Row:
    """The first row, empty without any."""
    return next(iter(rows), {})
