"""A hang in a Diagnosis: who waits behind whom, who holds what they wait for, and the one action that is safe, if any."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, model_validator

from rules.base import Frozen
from rules.library_cache_model import LibraryCacheWait

# A wait chain: its end, who waits behind it, and its action.

SessionKind = Literal["foreground", "background", "parallel slave", "job"]
Holding = Literal["exclusive", "share", "unknown"]
ChainSource = Literal["v$wait_chains", "v$session", "v$rowcache_parent", "gv$ges_blocking_enqueue", "trace"]


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
    status: str | None = Field(None, description="ACTIVE, INACTIVE, KILLED, CACHED or SNIPED")
    waited_seconds: float | None = None
    cache: str | None = Field(None, description="the dictionary cache that it waits for")
    sources: tuple[ChainSource, ...] = ()
    undo_blocks: int | None = Field(None, description="undo that its end would roll back; null if unknown")
    undo_fall_per_minute: float | None = Field(None, description="how fast that shrinks, by two looks")
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


ActionKind = Literal["cancel", "kill", "disconnect", "stop_job"]


class FurtherAction(Frozen):
    """What comes after the command before it, if that one did not do. The check stands before it again."""

    kind: ActionKind
    when: str = Field(description="what shows that the one before it did not do")
    command: str
    risk: str


class ChainAction(Frozen):
    """The mildest command that ends the chain, and what comes after it. latchscope never runs any of them."""

    kind: ActionKind
    first: str = Field(description="what to do before it")
    check: str = Field(description="the query to run before each command")
    still: str = Field(description="what the check has to show: only then the command")
    when: str | None = Field(None, description="in which case the command is the right one")
    command: str
    where: str = Field(description="where to run it")
    risk: str
    why_safe: str
    then: tuple[FurtherAction, ...] = ()


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
    circle: int = Field(0, description="sessions that wait for each other in a circle; the others wait behind it")
    disagreements: tuple[str, ...] = Field((), description="where the sources name different sessions; all are kept")
    oracle: HangVerdict | None = None
    seen_at: datetime | None = Field(
        None, description="when it was last proven that the end holds what the others wait for; null if it never was"
    )
    age_seconds: float | None = Field(None, description="the time since then, when the chain was judged")
    action: ChainAction | None = Field(None, description="null also if the look is older than 60 seconds")
    why_no_action: str | None = Field(None, description="why there is no command; null if there is one")
    missing: tuple[MissingFact, ...] = Field((), description="facts without which there is no command")

    @model_validator(mode="before")
    @classmethod
    def _checked_commands_only(cls, members: Any) -> Any:
        """A chain that was stored before commands had a check is read without its command, which is old by now."""
        action = members.get("action") if isinstance(members, dict) else None
        if isinstance(action, dict) and "check" not in action:
            return {**members, "action": None, "why_no_action": members.get("why_no_action") or UNCHECKED}
        return members

    @property
    def direct(self) -> tuple[ChainSession, ...]:
        """Those who wait for what the end holds. LCK0 only carries such waits to another instance."""
        carriers = {f"{each.sid}@{each.instance}" for each in self.waiters if (each.depth, each.name) == (1, MESSENGER)}
        return tuple(
            each for each in self.waiters if each.behind in carriers or (each.depth == 1 and each.name != MESSENGER)
        )

    @property
    def fresh(self) -> bool:
        """Whether the look is young enough for a command."""
        return self.age_seconds is not None and self.age_seconds <= OLDEST_SECONDS

    @property
    def missing_alone(self) -> bool:
        """Whether there is no command only because facts are missing."""
        return (self.why_no_action or "").startswith(NOT_KNOWN)

    def without(self, why: str | None, *missing: MissingFact) -> "WaitChain":
        """The chain without its command: why, or the facts that are missing."""
        told = why or f"{NOT_KNOWN}{'; '.join(each.fact for each in missing)}"
        return self.model_copy(update={"action": None, "why_no_action": told, "missing": missing})


MESSENGER = "LCK0"
NOT_KNOWN = "not known: "
OLDEST_SECONDS = 60.0
"""The longest time since it was proven that the end holds, for which there is a command."""
UNCHECKED = "it was found by an earlier version, which did not say how to check it"


# Beside the chains: the groups that wait, and the sessions that hold.


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

    @property
    def commands(self) -> bool:
        """Whether a chain has a command."""
        return any(chain.action for chain in self.chains)

    def without_commands(self, why: str) -> "Blockers":
        """The same with the check in place of each command."""
        chains = tuple(chain.without(why, _checked(chain)) if chain.action else chain for chain in self.chains)
        ended = {"kill": None, "kill_risk": None, "no_kill": why}
        held = tuple(each.model_copy(update=ended) if each.kill else each for each in self.blockers)
        return self.model_copy(update={"chains": chains, "blockers": held})

    def later(self, seconds: float) -> "Blockers":
        """The same this many seconds later: each look is older, and one that is too old has no command."""
        aged = tuple(
            chain
            if chain.age_seconds is None
            else chain.model_copy(update={"age_seconds": chain.age_seconds + seconds})
            for chain in self.chains
        )
        found = self.model_copy(update={"chains": aged})
        if all(chain.fresh for chain in aged if chain.action):
            return found
        return found.without_commands(OLD)


OLD = "when it was last seen that it holds is more than a minute ago: look again"
LEFT = "a command that ends a session is on the page of the database only, for a minute after each look"


def _checked(chain: WaitChain) -> MissingFact:
    """What the command would have been checked by."""
    check = chain.action.check if chain.action else None
    return MissingFact(
        fact="whether it still holds that", query=check, instance=chain.end.instance if chain.end else None
    )
