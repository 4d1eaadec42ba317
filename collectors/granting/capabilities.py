"""What a poll showed of the user's rights: what can be read, what is lost where not, and the SQL that would open it."""

from dataclasses import dataclass
from typing import Literal

from collectors.granting.script import ANYBODY
from collectors.mechanism import Mechanism, mechanism_in
from collectors.model import Collector, Rows, Snapshot, number, text
from collectors.registry import collectors


@dataclass(frozen=True, slots=True)
class Readable:
    """One view: whether we can read it, what is lost when not, and the SQL that would help (None: nothing does)."""

    view: str
    status: Literal["read", "refused", "failed", "not_asked"]
    why: str
    without: str
    sql: str | None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What latchscope can do on a database, found by trying, not by its release."""

    release: str | None
    mechanism: Mechanism | None
    cluster: bool | None
    container: str | None
    """Name of the container of a CDB, None where there is none or it is not known."""
    inside_pdb: bool
    views: tuple[Readable, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a DBA should know about this connection."""
        sentences = []
        if self.inside_pdb:
            sentences.append(
                f"connected inside the PDB {self.container}: latches and row cache belong to the whole instance, and rows of "
                "other containers may be hidden; connect to CDB$ROOT as a common user"
            )
        if self.cluster:
            sentences.append("an instance of a cluster (RAC): watch every instance with a connection of its own")
        return tuple(sentences)

    @property
    def lacking(self) -> tuple[Readable, ...]:
        """The views that a grant would open."""
        return tuple(view for view in self.views if view.status in ("refused", "failed"))


def capabilities(snapshot: Snapshot, user: str) -> Capabilities:
    """What a poll showed of the user's rights and the instance's features."""
    instance = snapshot.instance
    container = next(iter(snapshot.rows("sys_context")), {})
    con_id = number(container.get("con_id"))
    parallel = instance.get("parallel")
    return Capabilities(
        release=snapshot.release,
        mechanism=mechanism_in(snapshot.readings),
        cluster=None if parallel is None else parallel == "YES",
        container=text(container.get("con_name")) if con_id else None,
        inside_pdb=con_id is not None and con_id > 1,
        views=tuple(_readable(collector, snapshot, user) for collector in collectors().values()),
    )


def _readable(collector: Collector, snapshot: Snapshot, user: str) -> Readable:
    reading = snapshot.read(collector.view)
    if isinstance(reading, Rows):
        as_of = f", as of {reading.read_at:%Y-%m-%d %H:%M:%S} UTC" if reading.read_at else ""
        told = f"{len(reading.rows)} row{'s' * (len(reading.rows) != 1)}{as_of}"
        return Readable(collector.view, "read", told, collector.without, None)
    status: Literal["refused", "failed", "not_asked"] = "not_asked"
    if reading.kind in ("refused", "failed"):
        status = "refused" if reading.kind == "refused" else "failed"
    # A view that needs another one's rows is opened by the other one's grant, which its way out names.
    sql = reading.way_out.replace(ANYBODY, user) if status == "refused" else None
    return Readable(collector.view, status, reading.why, collector.without, sql)
