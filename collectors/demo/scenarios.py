"""undo-storm: 11.2, thousands of undo segments left behind by a batch; look-ups of one cache walk a long list.

After twenty healthy seconds a parallel load begins to hammer dc_rollback_segments. Two minutes in, somebody recreates
the undo tablespace: most of the contention goes, some of it stays. The same happened within the hour before, over many minutes.
"""

from collections.abc import Mapping
from dataclasses import replace

from collectors.confirmation import NamedRow
from collectors.scenarios.dictionary import RELEASE_11_2
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Child, Scenario, ramp
from collectors.simulator.sessions import ScriptedHolder, ScriptedWaiters

RECREATES = "undo tablespace recreated: 112 undo segments instead of 14,838"
LEFT_BEHIND = {"dc_rollback_segments": 14600}
RECREATED = {"dc_rollback_segments": 112}

SEGMENTS = "select count(*) from dba_rollback_segs"
BY_TABLESPACE = (
    "select tablespace_name, status, count(*) as segments from dba_rollback_segs group by tablespace_name, status "
    "order by 3 desc"
)
"""The confirming query of undo-segments and the query that names what it counted. A test checks both against the cause."""
LEFT: Mapping[str, tuple[NamedRow, ...]] = {
    BY_TABLESPACE: (
        {"tablespace_name": "UNDOTBS1", "status": "OFFLINE", "segments": 14645.0},
        {"tablespace_name": "UNDOTBS1", "status": "ONLINE", "segments": 192.0},
        {"tablespace_name": "SYSTEM", "status": "ONLINE", "segments": 1.0},
    )
}

HEALTHY = replace(ORDINARY, usage=LEFT_BEHIND, answers={SEGMENTS: 14838}, names=LEFT)

STORM = replace(
    ORDINARY,
    usage=LEFT_BEHIND,
    gets={**ORDINARY.gets, "dc_rollback_segments": 26500, "dc_tablespaces": 6900},
    children={
        1: Child(miss_ratio=0.21, sleeps=5200, sleep_us=1900),
        5: Child(miss_ratio=0.002, sleeps=0.6),
        8: Child(sleeps=0.3),
        4: Child(sleeps=0.1),
    },
    holders={"kqrpre: find obj": 0.851, "kqreqd: reget": 0.106, "kqreqd": 0.042, "kqrpup": 0.001},
    waiters={"kqrpre: find obj": 0.41, "kqreqd: reget": 0.33, "kqreqd": 0.26},
    seconds={**ORDINARY.seconds, "DB time": 31.0, "DB CPU": 12.5},
    statistics={**ORDINARY.statistics, "user commits": 1900, "execute count": 9400},
    busy=0.71,
    max_concurrency=190,
    waiting=(
        ScriptedWaiters(
            "latch: row cache objects", 7.4, "dc_rollback_segments", "g7w5kz3h1rq2m", "LOAD", "loader@etl", "ETL"
        ),
        ScriptedWaiters(
            "latch: row cache objects", 2.4, "dc_rollback_segments", "1fsr0z9bn4v6t", "LOAD", "loader@etl", "ETL"
        ),
    ),
    holding=(
        ScriptedHolder(611, 1, 0.52, "g7w5kz3h1rq2m", "LOAD", "loader@etl", "ETL", microseconds=620.0),
        ScriptedHolder(618, 1, 0.21, "1fsr0z9bn4v6t", "LOAD", "loader@etl", "ETL"),
    ),
    answers={SEGMENTS: 14838},
    names=LEFT,
)

RELIEVED = replace(
    STORM,
    usage=RECREATED,
    children={
        1: Child(miss_ratio=0.006, sleeps=38, sleep_us=700),
        5: Child(miss_ratio=0.002, sleeps=0.6),
        8: Child(sleeps=0.3),
        4: Child(sleeps=0.1),
    },
    holders={"kqreqd: reget": 0.61, "kqrpre: find obj": 0.27, "kqreqd": 0.12},
    waiters={"kqrpre: find obj": 0.78, "kqreqd: reget": 0.13, "kqreqd": 0.09},
    seconds={**ORDINARY.seconds, "DB time": 20.5, "DB CPU": 13.1},
    busy=0.74,
    waiting=(),
    holding=(),
    answers={SEGMENTS: 112},
    names={},
)

UNDO_STORM = Scenario(
    name="undo-storm",
    release="11.2.0.4.0",
    about="thousands of undo segments: dc_rollback_segments behind a long search, then the undo tablespace is recreated",
    caches=RELEASE_11_2,
    ordinary=ORDINARY,
    loop=(
        (20, HEALTHY),
        *ramp(HEALTHY, STORM, 15),
        (105, STORM),
        *ramp(STORM, RELIEVED, 15),
        (120, RELIEVED),
        *ramp(RELIEVED, HEALTHY, 5),
    ),
    marks=((140, RECREATES),),
    past=(
        (840, HEALTHY),
        *ramp(HEALTHY, STORM, 120),
        (870, STORM),
        *ramp(STORM, RELIEVED, 60),
        (990, RELIEVED),
        *ramp(RELIEVED, HEALTHY, 60),
        (660, HEALTHY),
    ),
    past_marks=((1770, RECREATES),),
    parameters={"undo_management": "AUTO", "undo_tablespace": "UNDOTBS1", "undo_retention": "900"},
)
