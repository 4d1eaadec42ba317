"""What this user may read, what is lost without it, and the exact SQL that opens it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.mechanism import Mechanism, mechanism_in
from collectors.model import Collector, Rows, Snapshot, number, text
from collectors.registry import collectors

KQRST_COLUMNS = "kqrstcln, kqrstcid, kqrsttyp, kqrstsno"
"""All we read of x$kqrst; the SYS-owned view shows nothing else."""

ANYBODY = "<user>"
"""Stands for the user in the grants that a poll names, which does not know whom it polls as."""

ON_REQUEST = ("sys.v_$latchholder", "sys.gv_$session")
"""Read only when somebody asks for a profile of holders, and where a hang has its holder on another instance."""

DatabaseKind = Literal["11.2", "cdb", "rds"]


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


def grant(collector: Collector, user: str) -> str:
    """The SQL, to be run as SYS, that lets the user read a view. One statement per line: SQL*Plus ends none elsewhere."""
    granted = _grant(collector.granted_on, user)
    if collector.view == "x$kqrst":
        return f"create or replace view sys.x_$kqrst as select {KQRST_COLUMNS} from x$kqrst;\n{granted}"
    return granted


def _grant(granted_on: str, user: str) -> str:
    return f"grant select on {granted_on} to {user};"


def grants_script(user: str, kind: DatabaseKind) -> str:
    """The whole least-privilege script: a user that may log in and read what we poll, and nothing else."""
    return "\n".join({"11.2": _plain, "cdb": _cdb, "rds": _rds}[kind](user)) + "\n"


def _granted() -> list[Collector]:
    """One collector for each object to be granted; two of them may read the same view."""
    return list(
        {collector.granted_on: collector for collector in collectors().values() if collector.granted_on}.values()
    )


def _plain(user: str) -> Iterator[str]:
    yield f"-- latchscope on Oracle 11.2 or a non-CDB: run as SYS, in SQL*Plus. It creates {user}, who can only read."
    yield f"create user {user} identified by &password;"
    yield f"grant create session to {user};"
    yield from (grant(collector, user) for collector in _granted())
    yield from (_grant(view, user) for view in ON_REQUEST)
    yield from _note_on_x()


def _cdb(user: str) -> Iterator[str]:
    common = user if user.upper().startswith("C##") else f"C##{user}"
    yield f"-- latchscope on a container database (12.1+): run as SYS in CDB$ROOT. It creates {common}, who can only read."
    yield "alter session set container = CDB$ROOT;"
    yield f"create user {common} identified by &password container = all;"
    yield f"grant create session to {common};"
    yield f"alter user {common} set container_data = all container = current;"
    yield from (grant(collector, common) for collector in _granted())
    yield from (_grant(view, common) for view in ON_REQUEST)
    yield from _note_on_x()


def _rds(user: str) -> Iterator[str]:
    yield f"-- latchscope on Amazon RDS: run as the master user. It creates {user}, who can only read."
    yield f"create user {user} identified by &password;"
    yield f"grant create session to {user};"
    for granted_on in (*(collector.granted_on for collector in _granted() if collector.view != "x$kqrst"), *ON_REQUEST):
        name = granted_on.removeprefix("sys.").upper()
        yield f"begin rdsadmin.rdsadmin_util.grant_sys_object('{name}', '{user.upper()}', 'SELECT'); end;\n/"
    yield "-- x$kqrst cannot be opened on RDS: it is not among the X$ views RDS shows. latchscope infers the child latch's"
    yield "-- cache from its gets instead, says so, and holds its confidence to medium."


def _note_on_x() -> Iterator[str]:
    yield "-- X$ tables cannot be granted (ORA-02030), so SYS owns a view of the four columns needed. Drop it before an"
    yield "-- upgrade and create it again afterwards: drop view sys.x_$kqrst;"
