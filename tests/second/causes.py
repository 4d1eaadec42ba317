"""What each documented cause does to an instance: which caches it asks, how, how often, and what else it moves.

The ids are those of the table of causes in docs/oracle.md. What each does is Oracle's behaviour as its reference and public
notes tell it. No bound of the product is in here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from collectors.release import at_least

RELEASES = {
    "11.2": ("11.2.0.2.0", "11.2.0.3.0", "11.2.0.4.0"),
    "12.1": ("12.1.0.2.0",),
    "12.2": ("12.2.0.1.0",),
    "18c": ("18.3.0.0.0", "18.12.0.0.0"),
    "19c": ("19.5.0.0.0", "19.7.0.0.0", "19.16.0.0.0", "19.22.0.0.0"),
    "21c": ("21.3.0.0.0", "21.9.0.0.0"),
    "23ai": ("23.5.0.24.7", "23.7.0.25.1"),
}
"""Family → releases with their update."""
LATCH, MUTEX = ("11.2", "12.1"), ("12.2", "18c", "19c", "21c", "23ai")
ALL = LATCH + MUTEX
CDB = ALL[1:]
UNDO, USERS, OBJECTS, SEGMENTS = "dc_rollback_segments", "dc_users", "dc_objects", "dc_segments"
TABLESPACES, SEQUENCES, DEFS, DATA = "dc_tablespaces", "dc_sequences", "dc_histogram_defs", "dc_histogram_data"
GRANTS, PROPS, PROFILES = "dc_object_grants", "dc_props", "dc_profiles"

Way = Literal["volume", "hold", "lock", "result"]
Rates = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Cause:
    """A cause. `caches`: cache → its gets beside those of the first, which is the hottest."""

    id: str
    way: Way
    """More gets; a longer hold of the latch or mutex; waits for locks on entries; the latch of the result cache."""
    caches: Mapping[str, float]
    families: tuple[str, ...] = ALL
    since: str = "11"
    before: str = "99"
    units: Rates = field(default_factory=dict)
    """What is done more often, a second: executes, parses, hard, failures, logons, commits, calls, recursive."""
    shape: str = "normal"
    """Where the latch is held when others sleep."""
    mods: float = 0.0
    """Modifications for each get, or for each request of a lock."""
    misses: float = 0.0
    """Share of its gets that load."""
    events: Rates = field(default_factory=dict)
    """Other waits that come with it, as shares of its own."""
    levels: Rates = field(default_factory=dict)
    """Levels that it moves: see `Machine.levels`."""
    mode: int = 5
    """Mode of the lock asked for."""
    cluster: bool = False
    conflicts: float = 0.0
    """Conflicts for each request between instances, on releases that count them."""
    who: tuple[str, str, str] = ("web", "JDBC Thin Client", "APP")
    """Module, program and user of those who wait."""
    in_parse: bool = False
    """Whether the sessions wait while they parse."""
    kin: tuple[str, ...] = ()
    """Causes that say the same in more general words, or that these views cannot tell from it."""

    def fits(self, family: str, release: str) -> bool:
        """Whether a release has it."""
        return family in self.families and at_least(release, self.since) and not at_least(release, self.before)


HARD = {"hard": (40, 220), "parses": (200, 900), "recursive": (800, 4000)}
SOFT = {"parses": (900, 5000), "executes": (1200, 7000), "calls": (900, 5000)}
DDL = {"hard": (5, 40), "parses": (20, 120), "recursive": (300, 2000), "commits": (4, 40)}
LOGONS = {"logons": (60, 260), "parses": (200, 900), "executes": (300, 1500), "calls": (300, 1200)}
LIBRARY = ("library cache: mutex X", "library cache lock", "cursor: pin S wait on X", "latch: shared pool")
JOB, PX = ("DBMS_SCHEDULER", "oracle@db (J001)", "SYS"), ("etl", "oracle@db (P00A)", "DWH")

SINGLES = (
    Cause("undo-segments", "hold", {UNDO: 1}, LATCH, units={"commits": (60, 500)}, shape="chain",
          levels={"segments": (4200, 28000), "together": (15, 90)}),
    Cause("undo-segment-floor", "hold", {UNDO: 1}, LATCH, units={"commits": (60, 500)}, shape="chain",
          levels={"segments": (9000, 32000), "floor": (9000, 60000), "together": (15, 90)}, kin=("undo-segments",)),
    Cause("undo-retention-runaway", "hold", {UNDO: 1}, LATCH, units={"commits": (60, 500)}, shape="chain",
          levels={"segments": (2600, 9000), "retention": (3e5, 2.5e6), "together": (15, 90)}, kin=("undo-segments",)),
    Cause("transaction-rate", "volume", {UNDO: 1}, LATCH, units={"commits": (2500, 9000), "executes": (3000, 12000)}),
    Cause("undo-online-storm", "lock", {UNDO: 1}, units={"commits": (100, 900)}, mods=0.8,
          events={"enq: US - contention": (0.3, 1.2)}, levels={"segments": (300, 2200), "together": (150, 900)}),
    Cause("undo-lock-smon", "lock", {UNDO: 1}, since="11.2.0.3", units={"commits": (20, 200)}, mods=0.2,
          levels={"blocker": (1, 1)}),
    Cause("vpd-policy-check", "volume", {USERS: 1, "dc_users+": 1.5}, ("11.2",), before="11.2.0.4", units=SOFT,
          shape="subordinate", in_parse=True, kin=("roles-per-parse",)),
    Cause("roles-per-parse", "volume", {USERS: 1, "dc_users+": 0.5}, since="11.2.0.4", units=SOFT, in_parse=True),
    Cause("logon-storm", "volume", {USERS: 1, PROFILES: 0.15, PROPS: 0.2}, units=LOGONS,
          who=("", "JDBC Thin Client", "")),
    Cause("dc-users-mutex-bug", "hold", {USERS: 1}, ("19c",), before="19.8", units={"parses": (100, 600)},
          in_parse=True),
    Cause("row-cache-clones", "hold", {OBJECTS: 1, USERS: 0.5}, ("19c",), units={"parses": (100, 600)},
          levels={"clones": (5e8, 5e9)}),
    Cause("px-hash-joins", "volume", {USERS: 1, TABLESPACES: 0.98}, LATCH, units={"executes": (100, 700)}, who=PX),
    Cause("upgrade-parse-volume", "volume", {OBJECTS: 1, USERS: 0.9, SEGMENTS: 0.6}, LATCH, units=SOFT,
          shape="volume", in_parse=True, kin=("roles-per-parse", "hard-parse-storm")),
    Cause("ddl-invalidation", "lock", {OBJECTS: 1}, units=DDL, mods=0.5,
          events={"library cache lock": (0.02, 0.3), "library cache pin": (0.01, 0.2)},
          kin=("partition-maintenance", "automatic-partitions", "edition-change", "object-ddl")),
    Cause("partition-maintenance", "lock", {OBJECTS: 1, SEGMENTS: 0.3}, units=DDL, mods=0.6, who=JOB,
          kin=("ddl-invalidation", "automatic-partitions", "object-ddl")),
    Cause("hard-parse-storm", "volume", {DEFS: 1, DATA: 0.8, OBJECTS: 1.24, SEGMENTS: 1.22, USERS: 1.25}, units=HARD,
          misses=0.01, in_parse=True, events={"library cache: mutex X": (0.05, 0.3)}),
    Cause("failed-parses", "volume", {OBJECTS: 1}, units={"failures": (150, 900), "parses": (200, 900)}, misses=0.02,
          in_parse=True),
    Cause("metadata-queries", "volume", {OBJECTS: 1, USERS: 0.6, GRANTS: 0.8}, units={"recursive": (200, 1500),
          "executes": (40, 250)}, who=("SQL Developer", "SQL Developer", "DEV")),
    Cause("object-types", "volume", {"dc_global_oids": 1, OBJECTS: 0.8, USERS: 0.8}, (*LATCH, "12.2"),
          units={"executes": (1500, 9000), "calls": (800, 5000)}),
    Cause("object-grants", "volume", {GRANTS: 1}, units={"parses": (300, 1500)}, shape="subordinate", in_parse=True),
    Cause("histogram-hard-parse", "volume", {DATA: 1, DEFS: 0.2}, units=HARD, shape="subordinate", in_parse=True,
          kin=("hard-parse-storm",)),
    Cause("many-partitions", "volume", {DEFS: 1, SEGMENTS: 0.5, OBJECTS: 0.4}, units=HARD, misses=0.06, in_parse=True,
          levels={"entries": (60000, 180000)}, kin=("hard-parse-storm",)),
    Cause("statistics-gathering", "lock", {DEFS: 1, OBJECTS: 0.2}, units=DDL, mods=0.9, who=JOB),
    Cause("dynamic-sampling", "volume", {DEFS: 1, SEGMENTS: 0.4}, units=HARD, in_parse=True,
          levels={"sampling": (4, 10)}, kin=("hard-parse-storm", "adaptive-statistics")),
    Cause("extent-allocation", "lock", {TABLESPACES: 1, SEGMENTS: 0.3}, units={"executes": (100, 900)}, mods=0.5,
          events={"enq: HW - contention": (0.2, 0.8)}, kin=("segment-churn",)),
    Cause("segment-churn", "lock", {SEGMENTS: 1, OBJECTS: 0.3}, units=DDL, mods=0.9, who=("etl", "sqlplus@app", "ETL"),
          kin=("partition-maintenance", "ddl-invalidation")),
    Cause("dictionary-managed", "lock", {"dc_free_extents": 1, "dc_used_extents": 0.8}, ("11.2", "12.1"), mods=0.9,
          units={"recursive": (300, 2000)}),
    Cause("file-checks", "volume", {"dc_files": 1}, units={"executes": (50, 400)}, who=("monitor", "agent", "DBSNMP")),
    Cause("mview-scns", "lock", {"dc_table_scns": 1}, mods=0.7, units={"commits": (50, 400)}, who=JOB),
    Cause("sequence-nocache", "lock", {SEQUENCES: 1}, units={"commits": (100, 900), "executes": (200, 2000)}, mods=1.0),
    Cause("sequence-conflicts", "lock", {SEQUENCES: 1}, LATCH, units={"executes": (200, 2000)}, mods=1.0, cluster=True,
          conflicts=0.2, events={"enq: SQ - contention": (0.05, 0.3)}, kin=("sequence-nocache", "cluster-conflicts")),
    Cause("cluster-conflicts", "lock", {SEGMENTS: 1, OBJECTS: 0.5}, LATCH, units=DDL, mods=0.2, cluster=True,
          conflicts=0.15, kin=("segment-churn",)),
    Cause("constraint-creation", "lock", {"dc_constraints": 1}, MUTEX, units=DDL, mods=0.9,
          events={"enq: TX - allocate ITL entry": (0.05, 0.4)}),
    Cause("database-properties", "volume", {PROPS: 1}, units={"executes": (400, 1500), "calls": (400, 1500)},
          who=("", "JDBC Thin Client", "APP")),
    Cause("profile-lookups", "volume", {PROFILES: 1, USERS: 0.2}, units={"logons": (15, 60)},
          kin=("logon-storm",)),
    Cause("cdb-services", "volume", {"dc_cdbservices": 1}, CDB, units={"logons": (15, 80)}, kin=("logon-storm",)),
    Cause("feature-caches", "volume", {"sch_lj_objs": 1}, units={"executes": (40, 300)}, who=JOB),
    Cause("shared-pool-shrink", "volume", {OBJECTS: 1, DEFS: 0.8, SEGMENTS: 0.5}, units=HARD, misses=0.3, in_parse=True,
          levels={"shrinks": (3, 12)}, events={"latch: shared pool": (0.05, 0.3)}, kin=("hard-parse-storm",)),
    Cause("role-operations", "lock", {USERS: 1}, mods=0.3, units={"calls": (100, 600)},
          events={"enq: CB - role operation": (0.3, 1.0)}),
    Cause("result-cache-latch", "result", {}, ("11.2", "12.1", "12.2"), units={"executes": (500, 4000)}),
    Cause("result-cache-force", "result", {}, ("11.2", "12.1", "12.2"), units={"executes": (500, 4000)},
          levels={"force": (1, 1)}, kin=("result-cache-latch",)),
    Cause("result-cache-adaptive", "result", {}, ("12.1",), units=HARD, in_parse=True,
          events={"enq: RC - Result Cache: Contention": (0.1, 0.5)}, kin=("result-cache-latch", "adaptive-statistics")),
)  # fmt: skip
BY_ID = {cause.id: cause for cause in SINGLES}

LOOK_ALIKES = (
    "misses without sleeps", "idle instance", "starved host", "parse storm", "storage stall", "log file sync",
    "busy application", "row locks", "cursor mutex at logons", "throttled sessions",
)  # fmt: skip
"""What only looks like a problem of the row cache."""
HANGS = {
    "row-cache-lock-hang": ((USERS, SEQUENCES, TABLESPACES, SEGMENTS, UNDO, PROFILES), ()),
    "object-ddl": ((OBJECTS,), ("row-cache-lock-hang",)),
    "row-cache-library-deadlock": ((OBJECTS, USERS, SEQUENCES), ("row-cache-lock-hang",)),
    "undo-lock-smon": ((UNDO,), ("row-cache-lock-hang",)),
    "grants-while-logging-on": ((USERS,), ("row-cache-lock-hang",)),
    "cluster-lock-process": ((SEQUENCES, OBJECTS, SEGMENTS), ("row-cache-lock-hang",)),
}
"""Cause of a hang → the caches where it happens, and its kin."""
