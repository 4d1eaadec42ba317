"""Sessions of a script: those that wait, those that hold a latch, and a hang with its holder."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScriptedWaiters:
    """Sessions that wait on average, all alike: for which cache or latch, by which event, with which statement."""

    event: str
    sessions: float
    cache: str | None = None
    """Cache name. A latch event leads to it through its child."""
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    p2: int = 0
    p3: int = 0
    con_id: int = 0
    blocker: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptedHolder:
    """A session that holds a child latch for a share of the time."""

    sid: int
    child: int
    share: float
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    microseconds: float = 400.0
    """How long each of its holds lasts."""


@dataclass(frozen=True, slots=True)
class ScriptedBlocker:
    """The session that holds what others wait for."""

    sid: int
    serial: int
    username: str | None
    program: str
    module: str | None = None
    sql_id: str | None = None
    background: bool = False
    machine: str | None = None
    instance: int | None = None
    """Number of its instance, if that is another one."""
    waits_for: str = "db file sequential read"
    waits_micro: int = 4100
    undo_blocks: int = 3


@dataclass(frozen=True, slots=True)
class ScriptedHang:
    """A session that holds an entry of a cache from `begin` to `end`, in seconds of the loop. Sessions that want it wait.

    The sessions arrive one after the other within `arriving` seconds, and all their waits end with the hang.
    """

    begin: float
    end: float
    event: str
    cache: str
    sessions: int
    arriving: float
    holder: ScriptedBlocker
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    p2: int = 0
    p3: int = 3
    key: str = ""
    """The entry, in hex, as v$rowcache_parent.key has it."""
    in_library_cache: int = 0
    """Sessions that wait meanwhile for a library cache lock of the same holder."""

    def waited(self, session: int, into: float) -> float:
        """Seconds that a session has waited at a moment of the loop, from its arrival to the end of the hang."""
        arrived = self.begin + self.arriving * session / self.sessions
        return min(max(into - arrived, 0.0), self.end - arrived)
