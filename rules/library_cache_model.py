"""Waits for the library cache in a Diagnosis: who waits for which handle at the poll, and who waited at the look for blockers."""

from typing import Literal

from pydantic import Field

from rules.base import Frozen


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


LibraryCacheMode = Literal["null", "share", "exclusive"]


class Covering(Frozen):
    """A name that more than half of some sessions share, and how many they are."""

    name: str
    sessions: int


class Lookup(Frozen):
    """A query for the DBA, and what it touches. latchscope never runs it."""

    finds: str
    query: str
    touches: str


class LibraryCacheGroup(Frozen):
    """Foreground sessions that wait for the same kind of thing in the library cache at the poll."""

    event: str
    namespace: int | None = Field(description="number of the namespace in P3; null if P3 is unknown")
    namespace_name: str | None = Field(description="its name; null if no public list has the number")
    mode: LibraryCacheMode | None = Field(description="the mode asked for; null if it is unknown, or if they differ")
    container: str | None = Field(None, description="con_id of the sessions; null if there are no containers")
    sessions: int
    handles: int | None = Field(description="different handles that they wait for; null if some are unknown")
    handle: str | None = Field(description="address of the handle that most of them wait for, in hex")
    handle_sessions: int | None = Field(description="how many wait for that handle")
    identifier: int | None = Field(
        description="identifier of that handle in P3; of a table or another object its object number, as public scripts "
        "read it"
    )
    longest_seconds: float | None = Field(description="the longest of their waits so far")
    username: Covering | None = Field(description="null before a logon is complete, and if no name covers most of them")
    machine: Covering | None = None
    program: Covering | None = None
    module: Covering | None = None
    action: Covering | None = None
    sql_id: Covering | None = None
    blocker: Covering | None = Field(None, description="the session at the end of their chain, SID@INSTANCE")
    lookups: tuple[Lookup, ...] = Field((), description="what names that handle, and who holds it")


class LibraryCacheWaiters(Frozen):
    """Who waits for library cache lock or pin at the poll. It is not the row cache, and often looks like it."""

    met: int = Field(description="all such sessions, background processes included")
    listed: int = Field(description="those that were read: the longest waits")
    groups: tuple[LibraryCacheGroup, ...] = Field((), description="most sessions first")
