"""The words for a hang in a Diagnosis: who waits, who holds what they wait for, and what you may do about it."""

from pydantic import Field

from rules.base import Frozen
from rules.chain_tree import WaitChain


class WaitingGroup(Frozen):
    """Sessions that still wait at the poll, by event and cache. `hanging`: those that have waited ten seconds or longer."""

    event: str
    cache: str
    sessions: int
    hanging: int
    longest_seconds: float


class Blocker(Frozen):
    """A session that holds what others hang on, or is at the end of their chain. An unknown value is null."""

    cache: str | None = Field(description="null for a session that is only known to be at the end of the chain")
    key: str | None = Field(None, description="the entry as Oracle keeps it, in hex")
    key_text: str | None = Field(None, description="printable characters in the key, most likely a name")
    object: str | None = Field(None, description="the meaning of the key; null if no published layout fits it")
    object_rule: str | None = Field(
        None, description="how the key was read, or why it was not; always an interpretation of raw bytes"
    )
    object_query: str | None = Field(None, description="the bounded query that checks the reading")
    mode: str | None = None
    waiters: int | None = None
    held_at_least_seconds: float | None = Field(
        None, description="the longest of the waits for it that have not ended; null unless it holds exclusively"
    )
    instance: int | None = None
    sid: int | None = None
    serial: int | None = None
    background: bool | None = None
    program: str | None = None
    username: str | None = None
    machine: str | None = None
    module: str | None = None
    sql_id: str | None = None
    waits_for: str | None = Field(None, description="what it waits for itself")
    waits_seconds: float | None = None
    kill: str | None = Field(None, description="the command for a foreground session; never run by latchscope")
    kill_risk: str | None = None
    no_kill: str | None = Field(None, description="why no command is given")
    look_up: str | None = Field(None, description="if only its SID is known: what to run, and on which instance")


class LibraryCacheWait(Frozen):
    """Sessions that waited in the library cache at the look for blockers, and the sessions they waited for."""

    event: str
    sessions: int
    longest_seconds: float
    type: int | None = Field(None, description="type of the object; 79 is the status of an account")
    instance: int | None = Field(None, description="instance of the session that blocks them")
    sid: int | None = None
    final_instance: int | None = Field(None, description="instance of the session at the end of the chain")
    final_sid: int | None = None


class Blockers(Frozen):
    """Who holds what sessions hang on. `unknown` says what is not known, and why."""

    blockers: tuple[Blocker, ...] = ()
    chains: tuple[WaitChain, ...] = Field(
        (), description="who waits behind whom, as trees, the largest first; at most one has an action"
    )
    chains_left_out: int = Field(0, description="smaller chains that are not listed")
    unknown: str | None = None
    library_cache: tuple[LibraryCacheWait, ...] = Field(
        (), description="who waits for library cache lock or pin meanwhile, which are not the row cache"
    )
