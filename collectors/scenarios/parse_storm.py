"""parse-storm: 12.1, literals everywhere; hard parsing reads the dictionary, and the row cache is dragged along."""

from dataclasses import replace

from collectors.scenarios.dictionary import RELEASE_12_1
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Child, Scenario

LITERALS = (
    "select count(*) from (select force_matching_signature from v$sqlstats where force_matching_signature > 0 group by "
    "force_matching_signature having count(*) > 50)"
)
FAMILIES = (
    "select max(sql_id) as sql_id, count(*) as statements from v$sqlstats where force_matching_signature > 0 group by "
    "force_matching_signature having count(*) > 50 order by 2 desc"
)
"""The confirming query of hard-parse-storm and the query that names what it counted. A test checks both against the cause."""

PARSING = replace(
    ORDINARY,
    gets={
        **ORDINARY.gets,
        "dc_histogram_data": 24000,
        "dc_objects": 9300,
        "dc_histogram_defs": 7900,
        "dc_users": 8600,
        "dc_segments": 5100,
    },
    getmiss_ratio=0.0015,
    children={
        13: Child(miss_ratio=0.012, sleeps=150, sleep_us=2100),
        9: Child(miss_ratio=0.009, sleeps=95, sleep_us=2200),
        8: Child(miss_ratio=0.008, sleeps=70, sleep_us=2000),
        4: Child(miss_ratio=0.004, sleeps=30, sleep_us=1900),
        5: Child(miss_ratio=0.001, sleeps=3),
    },
    holders={"kqreqd: reget": 0.40, "kqrpre: find obj": 0.24, "kqrso": 0.29, "kqreqd": 0.07},
    waiters={"kqrpre: find obj": 0.56, "kqrso": 0.33, "kqreqd": 0.08, "kqreqd: reget": 0.03},
    events={
        "library cache: mutex X": (2100, 16.4),
        "cursor: pin S wait on X": (310, 10.2),
        "latch: shared pool": (870, 4.1),
        "library cache lock": (12, 0.4),
    },
    seconds={
        **ORDINARY.seconds,
        "DB time": 49.0,
        "DB CPU": 13.2,
        "parse time elapsed": 41.0,
        "hard parse elapsed time": 23.4,
        "failed parse elapsed time": 0.3,
    },
    statistics={**ORDINARY.statistics, "parse count (total)": 3900, "parse count (hard)": 310, "execute count": 4600},
    latches={
        **ORDINARY.latches,
        "cache buffers chains": (240000, 3, 0.003),
        "shared pool": (91000, 870, 4.1),
        "redo allocation": (2600, 0.3, 0.0005),
    },
    busy=0.83,
    answers={LITERALS: 214},
    names={
        FAMILIES: (
            {"sql_id": "gx0d8ku3vq7mz", "statements": 18210.0},
            {"sql_id": "fz61mq0ts2c9h", "statements": 6044.0},
            {"sql_id": "dkhr4wx7n5b1y", "statements": 911.0},
        )
    },
)

PARSE_STORM = Scenario(
    name="parse-storm",
    release="12.1.0.2.0",
    about="literals instead of bind variables: parsing is the cause, the row cache its victim",
    caches=RELEASE_12_1,
    ordinary=ORDINARY,
    loop=((300, PARSING),),
    past=((1500, PARSING),),
    past_marks=((1500, "shop 8.1 deployed: reports are built without bind variables"),),
    latch=411,
    parameters={"cursor_sharing": "EXACT", "session_cached_cursors": "50"},
    container=(1, "CDB$ROOT"),
)
