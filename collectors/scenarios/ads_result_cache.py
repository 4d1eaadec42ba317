"""ads-result-cache: 12.1, adaptive dynamic sampling keeps its answers in the result cache and floods its one latch."""

from dataclasses import replace

from collectors.scenarios.dictionary import RELEASE_12_1
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Scenario
from collectors.simulator.sessions import ScriptedWaiters

FLOODED = replace(
    ORDINARY,
    latches={
        **ORDINARY.latches,
        "Result Cache: RC Latch": (88000, 3100, 8.6),
    },
    result_cache_places={
        "Result Cache: Serialization12": 0.71,
        "Result Cache: Serialization01": 0.22,
        "Result Cache: Serialization29": 0.07,
    },
    events={
        **ORDINARY.events,
        "latch free": (3100, 8.6),
        "enq: RC - Result Cache: Contention": (40, 0.6),
    },
    seconds={
        **ORDINARY.seconds,
        "DB time": 29.0,
        "DB CPU": 14.2,
        "parse time elapsed": 7.4,
        "hard parse elapsed time": 6.3,
    },
    statistics={**ORDINARY.statistics, "parse count (hard)": 74},
    waiting=(
        ScriptedWaiters("latch free", 6.9, None, "0y080mnfqzaq7", "REPORTS", "reports@app", "REPORTS", p2=461),
        ScriptedWaiters("latch free", 1.6, None, "5h7w8ykwtb2xt", "ORDERS", "orders@app", "ORDERS", p2=461),
    ),
    busy=0.69,
)

ADS_RESULT_CACHE = Scenario(
    name="ads-result-cache",
    release="12.1.0.2.0",
    about="dynamic statistics in the result cache: a flood on its single latch, seen as latch free",
    caches=RELEASE_12_1,
    ordinary=ORDINARY,
    loop=((300, FLOODED),),
    past=((720, FLOODED),),
    latch=411,
    parameters={"optimizer_adaptive_features": "TRUE", "result_cache_mode": "MANUAL"},
)
