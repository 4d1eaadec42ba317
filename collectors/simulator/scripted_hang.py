"""What hangs in a scripted database: who holds the entry, who wants it, and from when to when."""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class ScriptedHang:
    """A session that holds an entry of a cache from `begin` to `end`, in seconds of the loop; whoever wants it waits.

    The sessions arrive one after the other over `arriving` seconds, and all their waits end with the hang.
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

    def waited(self, session: int, into: float) -> float:
        """Seconds of the loop that a session has waited at a moment of it, from its arrival to the end of the hang."""
        arrived = self.begin + self.arriving * session / self.sessions
        return min(max(into - arrived, 0.0), self.end - arrived)
