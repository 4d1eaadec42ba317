"""A wait chain in a Diagnosis: its end, who waits behind it, and the one action that is safe, if there is one."""

from typing import Literal

from pydantic import Field

from rules.base import Frozen

SessionKind = Literal["foreground", "background", "parallel slave", "job"]
Holding = Literal["exclusive", "share", "unknown"]
ChainSource = Literal["v$wait_chains", "v$session", "v$rowcache_parent"]


class ChainSession(Frozen):
    """A session of a chain, or sessions that wait alike. An unknown value is null."""

    instance: int | None
    sid: int | None = Field(description="null for sessions that are only counted")
    serial: int | None = None
    kind: SessionKind | None = None
    name: str | None = Field(None, description="of a process that Oracle starts, such as LCK0; owner and name of a job")
    holds: Holding = Field("unknown", description="the mode in which it holds what those behind it wait for")
    event: str | None = Field(
        None, description="what it waits for itself; null if it does not wait, or if that is unknown"
    )
    waited_seconds: float | None = None
    cache: str | None = Field(None, description="the dictionary cache that it waits for")
    sources: tuple[ChainSource, ...] = ()
    undo_blocks: int | None = Field(None, description="undo that its end would roll back; null if unknown")
    username: str | None = None
    program: str | None = None
    machine: str | None = None
    module: str | None = None
    sql_id: str | None = None
    coordinator: str | None = Field(None, description="of a parallel slave: the session to look at instead")
    fatal: bool | None = Field(None, description="whether Oracle calls it a critical background process")
    behind: str | None = Field(None, description="the session that it waits for, SID@INSTANCE; null for the end")
    depth: int = Field(0, description="0 for the end, 1 for those that wait for it")
    alike: int = Field(1, description="sessions that wait the same way; the values are those of the longest wait")
    certain: bool = Field(True, description="false if sessions between it and the one it waits behind are not known")


class MissingFact(Frozen):
    """A fact without which no command is given, and the query that finds it."""

    fact: str
    query: str | None = None
    instance: int | None = Field(None, description="the instance on which to run the query")


class ChainAction(Frozen):
    """The one command that ends the chain. latchscope never runs it."""

    first: str = Field(description="what to do before it")
    command: str
    where: str = Field(description="where to run it")
    risk: str
    why_safe: str


class HangVerdict(Frozen):
    """What Oracle itself says of the hang in v$hang_info."""

    hang_id: int | None
    kind: str | None = Field(description="Hang, or Deadlock if the chain closes")
    since: str | None
    resolves_at: str | None = Field(description="when it may be resolved automatically, by the database's clock")
    ignored: bool | None = Field(description="whether Oracle will not resolve it at this time")
    status: str | None
    victim: str | None = Field(description="SID,SERIAL on instance N")
    fatal_background: bool | None


class WaitChain(Frozen):
    """A tree of sessions: the end, and those that wait behind it, nearest first."""

    end: ChainSession | None = Field(description="null if the chain closes in a circle, or nobody names its end")
    waiters: tuple[ChainSession, ...] = ()
    waiting: int = Field(description="sessions that wait behind the end")
    left_out: int = Field(0, description="sessions among them that are not listed")
    cycle: bool = False
    disagreements: tuple[str, ...] = Field((), description="where the sources name different sessions; all are kept")
    oracle: HangVerdict | None = None
    action: ChainAction | None = None
    no_action: str | None = Field(None, description="why there is no command, if no fact is missing")
    missing: tuple[MissingFact, ...] = Field((), description="facts without which there is no command")
