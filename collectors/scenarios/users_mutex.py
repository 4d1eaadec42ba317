"""users-mutex: 19c, an application that logs on for every request; dc_users is looked up under mutexes, not latches."""

from dataclasses import replace

from collectors.scenarios.dictionary import RELEASE_19
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Scenario, ScriptedLoad
from collectors.simulator.sessions import ScriptedWaiters

QUIET = {
    "[19] kqrpre": (0.03, 0.00004),
    "[10] kqreqd": (0.02, 0.00002),
    "[06] kqrGetClusterLock": (0.01, 0.00001),
}
FAST = {"dc_users": 0.934, "dc_tablespaces": 0.922, "dc_segments": 0.626}
"""Share of the look-ups by the fast way, as published for a 19c instance (F. Hoogland, March 2020)."""
ORDINARY_19 = replace(
    ORDINARY,
    children={},
    holders={},
    waiters={},
    mutexes=QUIET,
    gets={
        **{name: asked * (1 - FAST.get(name, 0.0)) for name, asked in ORDINARY.gets.items()},
        "global database name": 0,
    },
    fastgets={name: ORDINARY.gets[name] * share for name, share in FAST.items()},
)

LOGON_STORM: ScriptedLoad = replace(
    ORDINARY_19,
    gets={**ORDINARY_19.gets, "dc_users": 21500, "dc_profiles": 610, "dc_props": 1450, "dc_objects": 2600},
    mutexes={
        "[19] kqrpre": (2350, 7.9),
        "[10] kqreqd": (310, 0.9),
        "[06] kqrGetClusterLock": (22, 0.03),
        "[32] kqrsfd": (14, 0.01),
    },
    events={**ORDINARY.events, "row cache lock": (2.0, 0.01), "library cache: mutex X": (25.0, 0.05)},
    seconds={
        **ORDINARY.seconds,
        "DB time": 38.0,
        "DB CPU": 17.5,
        "connection management call elapsed time": 9.6,
        "parse time elapsed": 2.2,
        "hard parse elapsed time": 0.3,
    },
    statistics={**ORDINARY.statistics, "logons cumulative": 205, "execute count": 9900},
    waiting=(
        ScriptedWaiters(
            "row cache mutex", 6.1, "dc_users", None, "JDBC Thin Client", "JDBC Thin Client", "WEBSHOP", p2=19
        ),
        ScriptedWaiters(
            "row cache mutex", 1.7, "dc_users", "9babjv8yq8ru3", "orders", "JDBC Thin Client", "WEBSHOP", p2=19
        ),
        ScriptedWaiters(
            "row cache mutex", 0.6, "dc_objects", "3nkd3g3ju5ph1", "orders", "JDBC Thin Client", "WEBSHOP", p2=10
        ),
    ),
    busy=0.78,
)

USERS_MUTEX = Scenario(
    name="users-mutex",
    release="19.0.0.0.0",
    about="a logon for every request: dc_users under row cache mutexes",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, LOGON_STORM),),
    past=((3600, LOGON_STORM),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
)
