"""Troubles around objects: DDL, metadata, grants, object types, properties, constraints (KB-20 to KB-29, KB-41, KB-42)."""

from tests.truth import shapes
from tests.truth.instance import Instance
from tests.truth.parts import Who
from tests.truth.registry import stages
from tests.truth.workload import PROPERTIES

OBJECTS = "dc_objects"
PROPERTIES_READ = 60
"""Rows of nls_database_parameters and its like: one look-up each."""


@stages("ddl-invalidation", "objects", caches=[OBJECTS], also=["object-ddl"])
def ddl_by_day(it: Instance, stake: float) -> None:
    """DDL holds the object's entry exclusively. Sessions that parse it again wait, here and in the library cache."""
    it.convoy(
        "ddl-invalidation",
        OBJECTS,
        stake,
        it.dice.scale(0.03, 1.0),
        exclusive=it.dice.between(0.1, 0.9),
        during="hard parse",
    )
    it.drive("ddl", it.dice.scale(0.5, 8))
    it.drive("hard parse", it.dice.scale(5, 40))
    it.neighbour("ddl-invalidation", "library cache lock", stake * it.dice.between(0.1, 0.9), 0.15, "hard parse")
    it.neighbour("ddl-invalidation", "library cache pin", stake * it.dice.between(0.02, 0.2), 0.05, "hard parse")


@stages("metadata-queries", "objects", caches=[OBJECTS, "dc_object_grants", "dc_users"])
def dictionary_views_read(it: Instance, stake: float) -> None:
    """A tool reads ALL_OBJECTS and its like with shared cursors: thousands of look-ups a query, hardly a parse."""
    look_ups = it.contend(
        "metadata-queries",
        OBJECTS,
        stake,
        it.dice.scale(3e-6, 1.5e-5),
        shape=shapes.volume(it.dice),
        who=Who("SQL Developer", "SQL Developer", "TOOL", "2pz4n7qd81sxu"),
    )
    it.look_up("dc_users", look_ups * it.dice.between(0.2, 0.6))
    it.look_up("dc_object_grants", look_ups * it.dice.between(0.1, 0.5), 0)
    queries = look_ups / it.dice.scale(300, 6000)
    it.drive("execution", queries)
    it.work.cpu += min(look_ups * 2e-6, 4.0)


@stages("object-types", "objects", caches=["dc_global_oids"], releases=("11.2.0.3", "11.2.0.4", "12.1", "12.2"))
def object_types_in_calls(it: Instance, stake: float) -> None:
    """Each call with an object type looks up dc_global_oids, dc_objects and dc_users, about five times in all."""
    look_ups = it.contend(
        "object-types",
        "dc_global_oids",
        stake,
        it.dice.scale(4e-6, 1.5e-5),
        shape=shapes.volume(it.dice),
        who=Who("AQ", "JDBC Thin Client", "QUEUE", "0w1fgx2u7tyhm"),
    )
    it.look_up(OBJECTS, look_ups * it.dice.between(0.6, 1.0))
    it.look_up("dc_users", look_ups * it.dice.between(0.6, 1.0))
    it.drive("execution", look_ups / it.dice.between(1.0, 2.5))


@stages("object-grants", "objects", caches=["dc_object_grants"])
def very_many_grants(it: Instance, stake: float) -> None:
    """Objects with thousands of grants: every privilege check walks the subordinates."""
    look_ups = it.contend(
        "object-grants",
        "dc_object_grants",
        stake,
        it.dice.scale(3e-6, 1.2e-5),
        subordinate=0,
        shape=shapes.subordinates(it.dice),
        during="soft parse",
    )
    it.entries["dc_object_grants", 0] = it.dice.scale(2e4, 3e5)
    it.scans["dc_object_grants", 0] += look_ups * 0.02
    it.drive("soft parse", look_ups / it.dice.between(20, 120))


@stages("failed-parses", "objects", caches=[OBJECTS])
def statements_that_fail(it: Instance, stake: float) -> None:
    """A client tries names that do not exist: parses fail, each after look-ups of the object under several owners."""
    look_ups = it.contend(
        "failed-parses",
        OBJECTS,
        stake,
        it.dice.scale(1e-5, 4e-5),
        shape=shapes.volume(it.dice),
        during="failed parse",
        who=Who("report.exe", "report.exe", "APP"),
    )
    it.drive("failed parse", look_ups / it.dice.between(8, 40))
    it.missed[OBJECTS, None] = it.dice.scale(0.001, 0.01)


@stages("database-properties", "objects", caches=["dc_props", "global database name"])
def properties_queried(it: Instance, stake: float) -> None:
    """Each query of nls_database_parameters reads every property of the database."""
    look_ups = it.contend(
        "database-properties",
        PROPERTIES,
        stake,
        it.dice.scale(3e-6, 1.2e-5),
        shape=shapes.volume(it.dice),
        who=Who("ODBC", "excel.exe", "APP", "4zk3b0y1v6qjh"),
    )
    queries = look_ups / PROPERTIES_READ
    it.drive("execution", queries)
    it.work.cpu += queries * 4e-4


@stages("constraint-creation", "objects", caches=["dc_constraints"], releases=("12.2", "19", "21", "23"))
def tables_with_constraints(it: Instance, stake: float) -> None:
    """Hundreds of sessions create tables with constraints: the lock on dc_constraints, and slots in blocks of CON$."""
    it.convoy("constraint-creation", "dc_constraints", stake * 0.93, it.dice.scale(0.05, 2.0), exclusive=0.97)
    it.contend(
        "constraint-creation", "dc_constraints", stake * 0.07, it.dice.scale(5e-4, 5e-3), shape=shapes.changes(it.dice)
    )
    rate = it.dice.scale(3, 40)
    it.modified["dc_constraints", None] += rate * it.dice.between(1, 4)
    it.drive("ddl", rate)
    it.neighbour("constraint-creation", "enq: TX - allocate ITL entry", stake * it.dice.between(0.05, 0.4), 0.2)


@stages("segment-churn", "objects", caches=["dc_segments"])
def segments_made_and_dropped(it: Instance, stake: float) -> None:
    """A load creates, truncates and drops tables all the time, which changes the entries of their segments."""
    part = it.dice.between(0.5, 0.9)
    it.convoy(
        "segment-churn", "dc_segments", stake * part, it.dice.scale(0.005, 0.2), exclusive=it.dice.between(0.2, 1)
    )
    it.contend(
        "segment-churn", "dc_segments", stake * (1 - part), it.dice.scale(1e-4, 5e-4), shape=shapes.changes(it.dice)
    )
    rate = it.dice.scale(5, 60)
    it.modified["dc_segments", None] += rate * it.dice.between(3, 8)
    it.drive("ddl", rate * 0.6)
