"""The releases, and for each the dictionary caches with their ids and child latches, as published.

11.2 is the map of the incident of 2010. In 12.1 `dc_props` replaced "global database name" and took child 18, so later
children moved. From 12.2 on mutexes guard the row cache: x$kqrst still lists child numbers, which mean nothing.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

Guard = Literal["latch", "mutex"]
Key = tuple[str, int | None]
"""Name of a cache, and the number of the subordinate or None for the parent."""

_CHILDREN_11_2 = """
1 3 dc_rollback_segments|2 1 dc_free_extents|3 4 dc_used_extents|4 2 dc_segments|5 0 dc_tablespaces
6 5 dc_tablespace_quotas|7 6 dc_files|8 10 dc_users|8 7.0 dc_users|8 7.1 dc_users|8 7.2 dc_users|9 8 dc_objects
9 8.0 dc_object_grants|10 17 dc_global_oids|11 12 dc_constraints|12 13 dc_sequences|13 16 dc_histogram_defs
13 16.0 dc_histogram_data|13 16.1 dc_histogram_data|14 32 kqlsubheap_object|15 19 dc_table_scns
15 19.0 dc_partition_scns|16 18 dc_outlines|17 14 dc_profiles|18 47 realm cache|18 47.0 realm auth
19 48 Command rule cache|20 49 Realm Object cache|20 49.0 Realm Subordinate Cache|21 46 Rule Set Cache
29 44 event map|30 45 format|31 43 audit collector|32 15 global database name|33 20 rule_info|34 21 rule_or_piece
34 21.0 rule_fast_operators|35 23 dc_qmc_ldap_cache_entries|36 52 qmc_app_cache_entries|37 53 qmc_app_cache_entries
38 27 qmtmrcin_cache_entries|39 28 qmtmrctn_cache_entries|44 9 qmrc_cache_entries|46 24 outstanding_alerts
47 22 dc_awr_control|48 25 SMO rowcache|49 40 sch_lj_objs|50 41 sch_lj_oids"""
_MOVED_FROM, _MOVED_TO = 18, 31
"""Children of 11.2 whose number is one higher in 12.1, where `dc_props` has child 18."""
_SINCE_12_1 = ((51, 55, "dc_cdbfiles"), (52, 56, "dc_cdbservices"), (53, 57, "dc_pdbdba"), (54, 58, "dc_pdbstates"))
_SINCE_19 = ((60, 61, "dc_realtime_colst"), (61, 62, "dc_realtime_tabst"))
_SINCE_21 = ((62, 54, "dc_sql_prs_errors"),)


@dataclass(frozen=True, slots=True)
class Cache:
    """One row of v$rowcache: its id, which subordinate it is, and the child latch that guards it."""

    id: int
    subordinate: int | None
    name: str
    child: int

    @property
    def key(self) -> Key:
        return self.name, self.subordinate

    @property
    def kind(self) -> str:
        return "PARENT" if self.subordinate is None else "SUBORDINATE"


@dataclass(frozen=True, slots=True)
class Release:
    """One release. `full` is a pattern for v$instance.version_full, empty before 18c."""

    name: str
    version: str
    full: str
    updates: tuple[int, int]
    guard: Guard
    latch_number: int
    result_cache_latch_number: int
    fast: bool
    """Whether entries are read without the mutex where that is possible (FASTGETS)."""
    caches: tuple[Cache, ...]

    def cache(self, name: str, subordinate: int | None = None) -> Cache:
        """The cache of that name; KeyError where the release has none."""
        for known in self.caches:
            if known.key == (name, subordinate):
                return known
        raise KeyError(f"{self.name} has no cache {name} {subordinate}")

    @property
    def properties(self) -> str:
        """Where the properties of the database are stored."""
        return "global database name" if self.name.startswith("11.2") else "dc_props"

    @property
    def multitenant(self) -> bool:
        return not self.name.startswith("11.2")

    def event(self) -> str:
        """The wait for the guard of the row cache."""
        return "latch: row cache objects" if self.guard == "latch" else "row cache mutex"


def _eleven() -> tuple[Cache, ...]:
    caches = []
    for entry in _CHILDREN_11_2.replace("\n", "|").strip("|").split("|"):
        child, number, name = entry.split(" ", 2)
        parent, _, subordinate = number.partition(".")
        caches.append(Cache(int(parent), int(subordinate) if subordinate else None, name, int(child)))
    return tuple(caches)


def _twelve(more: tuple[tuple[int, int, str], ...]) -> tuple[Cache, ...]:
    caches = []
    for old in _eleven():
        moved = _MOVED_FROM <= old.child <= _MOVED_TO
        child, name = old.child + 1 if moved else old.child, old.name
        if name == "global database name":
            child, name = 18, "dc_props"
        caches.append(Cache(old.id, old.subordinate, name, child))
    return *caches, *(Cache(number, None, name, child) for child, number, name in more)


@cache
def releases() -> dict[str, Release]:
    """Every release by its short name."""
    eleven, twelve = _eleven(), _twelve(_SINCE_12_1)
    nineteen = _twelve((*_SINCE_12_1, *_SINCE_19))
    newest = _twelve((*_SINCE_12_1, *_SINCE_19, *_SINCE_21))
    known = (
        Release("11.2.0.3", "11.2.0.3.0", "", (0, 0), "latch", 270, 399, False, eleven),
        Release("11.2.0.4", "11.2.0.4.0", "", (0, 0), "latch", 280, 415, False, eleven),
        Release("12.1", "12.1.0.2.0", "", (0, 0), "latch", 411, 559, False, twelve),
        Release("12.2", "12.2.0.1.0", "", (0, 0), "mutex", 463, 627, False, twelve),
        Release("19", "19.0.0.0.0", "19.{}.0.0.0", (3, 25), "mutex", 530, 702, True, nineteen),
        Release("21", "21.0.0.0.0", "21.{}.0.0.0", (3, 15), "mutex", 541, 715, True, newest),
        Release("23", "23.0.0.0.0", "23.{}.0.0.0", (4, 9), "mutex", 560, 740, True, newest),
    )
    return {release.name: release for release in known}


LATCHED = ("11.2.0.3", "11.2.0.4", "12.1")
MUTEXED = ("12.2", "19", "21", "23")
EVERY = (*LATCHED, *MUTEXED)

MUTEX_LOCATIONS = {
    "kqrpre": (19, 19),
    "kqreqd": (13, 10),
    "kqrsfd": (32, 32),
    "kqrssc": (34, 34),
    "kqrGetClusterLock": (6, 6),
    "kqrCreateUsingSecondaryKey": (17, 17),
    "kqrpup": (25, 25),
    "kqrcmt": (31, 31),
}
"""Location ids of Mutex Sleep Summary: in 12.2, and from 18c on."""


def mutex_location(release: Release, function: str) -> tuple[int, str]:
    """The location id and the name v$mutex_sleep prints."""
    number = MUTEX_LOCATIONS[function][release.name != "12.2"]
    return number, f"[{number:02d}] {function}"
