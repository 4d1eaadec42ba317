"""`check` finds the kind of database in what a visit shows: every kind by its marks. A guess is named as a guess."""

from collectors.granting.detection import detected
from collectors.model import Row, Rows, Snapshot, Value
from tests.each import each

PRIMARY: Row = {"database_role": "PRIMARY", "rds_users": 0}
STANDS_FOR = {"11.2": " (stands for any release without containers)"}


def polled(release: str | None, **session: Value) -> Snapshot:
    """A poll of that release whose session is in this container."""
    return Snapshot(
        "erp1",
        None,
        {
            "v$instance": Rows("v$instance", ({"version": release},)),
            "sys_context": Rows("sys_context", ({"db_unique_name": "ERP", **session},)),
        },
    )


OLD = polled("11.2.0.4.0")
NONE = polled("19.0.0.0.0", con_id=0, con_name="ERP", cdb_name=None)
ROOT = polled("19.0.0.0.0", con_id=1, con_name="CDB$ROOT", cdb_name="ERP")
PDB = polled("19.0.0.0.0", con_id=3, con_name="SALES", cdb_name="ERP")
RDS_PDB = polled("19.0.0.0.0", con_id=3, con_name="ORCL", cdb_name="RDSCDB")


@each(
    ("snapshot", "asked", "kind", "why"),
    [
        (OLD, PRIMARY, "11.2", "no containers"),
        (NONE, PRIMARY, "11.2", "no containers"),
        (ROOT, PRIMARY, "cdb", "in CDB$ROOT"),
        (OLD, {**PRIMARY, "rds_users": 1}, "rds", "RDSADMIN"),
        (NONE, {**PRIMARY, "rds_users": 1}, "rds", "RDSADMIN"),
        (RDS_PDB, {}, "rds-cdb", "RDSCDB"),
        (PDB, {**PRIMARY, "rds_users": 1}, "rds-cdb", "RDSADMIN"),
        *((PDB, {**PRIMARY, "cloud_service": name}, "autonomous", name) for name in ("OLTP", "DWCS", "JDCS", "APEX")),
        (PDB, {**PRIMARY, "cloud_service": None}, "pdb", "no cloud service"),
        (PDB, {**PRIMARY, "cloud_service": "PAAS"}, "pdb", "no cloud service"),
        (ROOT, {**PRIMARY, "database_role": "PHYSICAL STANDBY"}, "standby", "PHYSICAL STANDBY"),
        (OLD, {**PRIMARY, "database_role": "SNAPSHOT STANDBY"}, "standby", "SNAPSHOT STANDBY"),
        (ROOT, {**PRIMARY, "database_role": "LOGICAL STANDBY"}, "cdb", "in CDB$ROOT"),
    ],
)
def test_kind_is_told_by_its_marks(snapshot: Snapshot, asked: Row, kind: str, why: str) -> None:
    found = detected(snapshot, asked)
    assert (found.kind, found.certain) == (kind, True) and why in found.why
    assert str(found) == f"kind {kind}{STANDS_FOR.get(kind, '')}, as {found.why}"


@each(
    ("snapshot", "asked", "kind"),
    [
        (OLD, {}, "11.2"),
        (PDB, PRIMARY, "pdb"),
        (polled(None), PRIMARY, "11.2"),
        (polled("19.0.0.0.0"), PRIMARY, "11.2"),
        (Snapshot("erp1", None, {}), {}, "11.2"),
    ],
)
def test_kind_that_cannot_be_told_is_assumed_and_said_to_be(snapshot: Snapshot, asked: Row, kind: str) -> None:
    found = detected(snapshot, asked)
    assert (found.kind, found.certain) == (kind, False)
    assert str(found).startswith(f"cannot tell the kind, assumed {kind}{STANDS_FOR.get(kind, '')}: ")


def test_replica_on_rds_is_granted_as_rds_and_made_on_its_primary() -> None:
    found = detected(NONE, {"database_role": "PHYSICAL STANDBY", "rds_users": 1})
    assert found.kind == "rds" and found.standby
