"""Finds the kind of database from what the session can see, and says so where it cannot tell."""

from dataclasses import dataclass

from collectors.granting.kinds import DatabaseKind
from collectors.model import Row, Snapshot, number, text
from collectors.release import at_least

RDS_CDB = "RDSCDB"
"""The name of every container database on Amazon RDS, which nobody can change."""
NOT_AUTONOMOUS = ("PAAS",)
"""Values of CLOUD_SERVICE that other cloud databases have as well."""


@dataclass(frozen=True, slots=True)
class FoundKind:
    """A kind of database, why latchscope thinks so, and whether it is certain or assumed."""

    kind: DatabaseKind
    why: str
    certain: bool = True
    role: str | None = None
    """Role in Data Guard, if the session asked: PRIMARY, PHYSICAL STANDBY and so on."""

    @property
    def standby(self) -> bool:
        """Whether nothing created here lasts, because users and grants come from the primary."""
        return self.role in ("PHYSICAL STANDBY", "SNAPSHOT STANDBY")

    def __str__(self) -> str:
        kind = "11.2 (stands for any release without containers)" if self.kind == "11.2" else self.kind
        return f"kind {kind}, as {self.why}" if self.certain else f"cannot tell the kind, assumed {kind}: {self.why}"


def detected(snapshot: Snapshot, asked: Row | None = None) -> FoundKind:
    """The kind from a poll alone, or with the answers to `collectors.ondemand.database_kind`."""
    asked = asked or {}
    found = _by_container(snapshot, asked)
    role = text(asked.get("database_role"))
    found = FoundKind(found.kind, found.why, found.certain, role)
    if found.standby and found.kind not in ("rds", "rds-cdb"):
        return FoundKind("standby", f"its role is {role}", role=role)
    return found


def _by_container(snapshot: Snapshot, asked: Row) -> FoundKind:
    session = next(iter(snapshot.rows("sys_context")), {})
    con_id, release = number(session.get("con_id")), snapshot.release
    rds = None if "rds_users" not in asked else bool(number(asked["rds_users"]))
    if con_id is None and (release is None or at_least(release, "12.1")):
        return FoundKind("11.2", "neither release nor container could be read", certain=False)
    if con_id == 1:
        return FoundKind("cdb", "the session is in CDB$ROOT")
    if con_id is not None and con_id > 1:
        return _inside_pdb(text(session.get("cdb_name")), rds, asked)
    if rds:
        return FoundKind("rds", "it has no containers and a user RDSADMIN")
    if rds is None:
        return FoundKind("11.2", "it has no containers, and whether it is on Amazon RDS was not asked", certain=False)
    return FoundKind("11.2", "it has no containers")


def _inside_pdb(cdb: str | None, rds: bool | None, asked: Row) -> FoundKind:
    if cdb == RDS_CDB or rds:
        return FoundKind("rds-cdb", f"the session is in a PDB of {cdb}" + " with a user RDSADMIN" * bool(rds))
    if "cloud_service" not in asked:
        why = "the session is in a PDB, and this database does not say whether it is Autonomous"
        return FoundKind("pdb", why, certain=False)
    service = text(asked["cloud_service"])
    if service and service.upper() not in NOT_AUTONOMOUS:
        return FoundKind("autonomous", f"the session is in a PDB of the cloud service {service}")
    return FoundKind("pdb", "the session is in a PDB of no cloud service that we know")
