"""The user's rights as a poll found them: what can be read, what is lost without it, and the SQL that would open it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.grants import ANYBODY, OF_ITS_PART, TRAITS, DatabaseKind, FoundKind, detected, grant, grants_either
from collectors.model import Collector, Missing, Rows, Snapshot, number, text
from collectors.registry import collectors
from collectors.release import Mechanism, mechanism_in


@dataclass(frozen=True, slots=True)
class Readable:
    """One view: whether the user can read it, what is lost if not, and the SQL that would help (None: nothing does).

    `closed`: it is refused, and on that kind of database nobody can grant it. `optional`: it was not read, and the polls do not
    need it.
    """

    view: str
    status: Literal["read", "refused", "closed", "failed", "not_asked", "optional"]
    why: str
    without: str
    sql: str | None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What latchscope can do on a database. It is found by trying, not by the release."""

    release: str | None
    mechanism: Mechanism | None
    cluster: bool | None
    container: str | None
    """Name of the container of a CDB. None without containers, or if it is unknown."""
    inside_pdb: bool
    kind: FoundKind
    views: tuple[Readable, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts about this connection that a DBA should know."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.inside_pdb:
            way = _WAY_TO_THE_ROOT[self.kind.kind]
            yield f"connected inside the PDB {self.container}: {OF_ITS_PART}; {way}"
            yield OF_TWO_BASES
        if self.kind.standby:
            yield f"a {self.kind.role.lower() if self.kind.role else 'standby'}: users and grants are made on the primary"
        if self.cluster:
            yield "an instance of a cluster (RAC): watch every instance with a connection of its own"

    @property
    def lacking(self) -> tuple[Readable, ...]:
        """The views that a grant would open."""
        return tuple(view for view in self.views if view.status in ("refused", "failed"))


OF_TWO_BASES = (
    "v$sysstat, v$system_event and v$sys_time_model are figures of the PDB, v$latch, v$rowcache and v$mutex_sleep those of the "
    "whole CDB: row cache waits get no share of DB time here, and waiting sessions grade them"
)
_CONNECT_THERE = "connect to CDB$ROOT as a common user"
_WAY_TO_THE_ROOT = dict.fromkeys(TRAITS, _CONNECT_THERE) | {
    "pdb": f"{_CONNECT_THERE}, if you may",
    "rds-cdb": "nobody reaches the root on Amazon RDS",
    "autonomous": "nobody reaches the root of an Autonomous Database",
}


def capabilities(snapshot: Snapshot, user: str, kind: FoundKind | None = None) -> Capabilities:
    """The user's rights and the instance's features as a poll found them. The poll also gives the kind, unless it is known."""
    instance, kind_found = snapshot.instance, kind or detected(snapshot)
    container = next(iter(snapshot.rows("sys_context")), {})
    con_id = number(container.get("con_id"))
    parallel = instance.get("parallel")
    return Capabilities(
        release=snapshot.release,
        mechanism=mechanism_in(snapshot.readings),
        cluster=None if parallel is None else parallel == "YES",
        container=text(container.get("con_name")) if con_id else None,
        inside_pdb=con_id is not None and con_id > 1,
        kind=kind_found,
        views=tuple(_readable(collector, snapshot, user, kind_found.kind) for collector in collectors().values()),
    )


def _readable(collector: Collector, snapshot: Snapshot, user: str, kind: DatabaseKind) -> Readable:
    reading = snapshot.read(collector.view)
    if isinstance(reading, Rows):
        as_of = f", as of {reading.read_at:%Y-%m-%d %H:%M:%S} UTC" if reading.read_at else ""
        row_count = f"{len(reading.rows)} row{'s' * (len(reading.rows) != 1)}{as_of}"
        return Readable(collector.view, "read", row_count, collector.without, None)
    if reading.kind == "refused" and collector.view.startswith("x$") and not TRAITS[kind].opens_x_tables:
        why = f"{reading.why}; on {TRAITS[kind].where} nobody can open it"
        return Readable(collector.view, "closed", why, collector.without, None)
    if collector.optional and reading.kind in ("refused", "failed"):
        sql = _opening(reading, user, kind, snapshot.release) if reading.kind == "refused" else None
        return Readable(collector.view, "optional", reading.why, collector.without, sql)
    status = reading.kind if reading.kind in ("refused", "failed") else "not_asked"
    sql = _opening(reading, user, kind, snapshot.release) if status == "refused" else None
    return Readable(collector.view, status, reading.why, collector.without, sql)


def _opening(reading: Missing, user: str, kind: DatabaseKind, release: str | None) -> str:
    """The SQL that opens a view. A view that needs another view's rows is opened by that view's grant."""
    for collector in collectors().values():
        if collector.granted_on and reading.way_out in grants_either(collector):
            return grant(collector, user, kind, release)
    return reading.way_out.replace(ANYBODY, user)
