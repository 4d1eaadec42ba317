"""nocache-sequence-1 and -2: an 11.2 RAC pair that numbers orders from a sequence without a cache.

Every nextval changes the dictionary and fights for the entry across both instances: row cache lock, not the latch.
"""

from dataclasses import replace

from collectors.scenarios.dictionary import RELEASE_11_2
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Child, Scenario
from collectors.simulator.sessions import ScriptedWaiters

SMALL = "select count(*) from dba_sequences where cache_size < 20 and sequence_owner not in ('SYS', 'SYSTEM')"
BUSIEST = (
    "select sequence_owner, sequence_name, cache_size, last_number from dba_sequences where cache_size < 20 and "
    "sequence_owner not in ('SYS', 'SYSTEM') order by last_number desc"
)
"""The confirming query of sequence-nocache and the query that names what it counted. A test checks both against the cause."""

NUMBERING = replace(
    ORDINARY,
    gets={**ORDINARY.gets, "dc_sequences": 410},
    modifications={"dc_sequences": 409},
    cluster_locks={"dc_sequences": (820, 190), "dc_objects": (40, 0.2), "dc_segments": (25, 0.1)},
    children={8: Child(sleeps=0.4), 12: Child(miss_ratio=0.002, sleeps=0.9), 5: Child(sleeps=0.1)},
    events={**ORDINARY.events, "row cache lock": (395, 5.4), "enq: SQ - contention": (3.0, 0.02)},
    seconds={**ORDINARY.seconds, "DB time": 16.5, "DB CPU": 5.1, "sequence load elapsed time": 5.6},
    statistics={**ORDINARY.statistics, "user commits": 420},
    waiting=(
        ScriptedWaiters(
            "row cache lock", 4.6, "dc_sequences", "4m7m0t6fjcs5x", "ORDERS", "orders@app", "ORDERS", p3=5, blocker=312
        ),
        ScriptedWaiters(
            "row cache lock", 0.8, "dc_sequences", "7nuw4xwrnuwxq", "BILLING", "billing@app", "BILLING", p3=5
        ),
    ),
    busy=0.44,
    answers={SMALL: 3},
    names={
        BUSIEST: (
            {"sequence_owner": "ORDERS", "sequence_name": "ORDER_NUMBER", "cache_size": 0.0, "last_number": 48211906.0},
            {
                "sequence_owner": "BILLING",
                "sequence_name": "INVOICE_NUMBER",
                "cache_size": 0.0,
                "last_number": 611204.0,
            },
            {"sequence_owner": "ORDERS", "sequence_name": "RETURN_NUMBER", "cache_size": 2.0, "last_number": 40117.0},
        )
    },
)


def _instance(number: int) -> Scenario:
    return Scenario(
        name=f"nocache-sequence-{number}",
        release="11.2.0.4.0",
        about="a sequence without a cache on both instances of a RAC pair: row cache lock on dc_sequences",
        caches=RELEASE_11_2,
        ordinary=ORDINARY,
        loop=((300, NUMBERING),),
        past=((3000, NUMBERING),),
        cluster="nocache-sequence",
        instance=number,
    )


FIRST = _instance(1)
SECOND = _instance(2)
