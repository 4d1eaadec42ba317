"""What `check` reads to find the kind of database: two short statements, each of which may fail."""

from collectors.errors import StatementError
from collectors.model import Binds, Rows, Snapshot, Value
from collectors.ondemand.database_kind import CLOUD, SURROUNDINGS, ask_for_kind
from collectors.poll import Answer
from tests.collectors.shipped_sql import RELEASES, mistakes
from tests.each import each


class Session:
    """Answers the two statements with one value each. Without a role, or with an error, the statement fails."""

    def __init__(self, role: str | None = "PRIMARY", cloud: Value | StatementError = None) -> None:
        self.role, self.cloud = role, cloud
        self.asked: list[str] = []

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        if sql == SURROUNDINGS and self.role:
            return Answer(("database_role", "rds_users"), [(self.role, 0)])
        if sql == CLOUD and not isinstance(self.cloud, StatementError):
            return Answer(("cloud_service",), [(self.cloud,)])
        raise StatementError("ORA-02003: invalid USERENV parameter")

    def close(self) -> None:
        """Nothing to give back."""


def polled(con_id: int) -> Snapshot:
    instance, session = {"version": "19.0.0.0.0"}, {"con_id": con_id, "cdb_name": "ERP"}
    return Snapshot(
        "erp1",
        None,
        {"v$instance": Rows("v$instance", (instance,)), "sys_context": Rows("sys_context", (session,))},
    )


@each("release", RELEASES)
def test_statements_fit_every_release_and_carry_our_mark(release: str) -> None:
    for sql in (SURROUNDINGS, CLOUD):
        assert mistakes(sql, release, polled=False) == [] and "/* latchscope kind */" in sql


def test_cloud_is_asked_for_inside_a_pdb_only() -> None:
    session = Session(cloud="OLTP")
    assert ask_for_kind(session, polled(1)).kind == "cdb" and session.asked == [SURROUNDINGS]
    assert ask_for_kind(session, polled(3)).kind == "autonomous" and session.asked[1:] == [SURROUNDINGS, CLOUD]


def test_statement_that_fails_leaves_the_kind_assumed() -> None:
    found = ask_for_kind(Session(cloud=StatementError("ORA-02003")), polled(3))
    assert (found.kind, found.certain) == ("pdb", False)
    found = ask_for_kind(Session(role=None), polled(0))
    assert (found.kind, found.certain) == ("11.2", False)
    assert ask_for_kind(Session(role="PHYSICAL STANDBY"), polled(1)).kind == "standby"
