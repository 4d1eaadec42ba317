"""busy-but-fine: 11.2, so many look-ups that half the gets of one child miss, and yet nobody sleeps: spinning is enough."""

from dataclasses import replace

from collectors.scenarios.dictionary import RELEASE_11_2
from collectors.scenarios.ordinary import ORDINARY
from collectors.simulator.scenario import Child, Scenario

COLLIDING = replace(
    ORDINARY,
    gets={**ORDINARY.gets, "dc_users": 61000, "dc_objects": 9400},
    children={
        8: Child(miss_ratio=0.63, sleeps=1.1, sleep_us=60),
        9: Child(miss_ratio=0.11, sleeps=0.2, sleep_us=60),
        5: Child(miss_ratio=0.001, sleeps=0.05),
    },
    seconds={**ORDINARY.seconds, "DB time": 11.4, "DB CPU": 10.3},
    statistics={**ORDINARY.statistics, "execute count": 31000, "parse count (total)": 15400},
    busy=0.62,
)

BUSY_BUT_FINE = Scenario(
    name="busy-but-fine",
    release="11.2.0.4.0",
    about="half of all gets miss and nobody sleeps: collisions that spinning absorbs",
    caches=RELEASE_11_2,
    ordinary=ORDINARY,
    loop=((300, COLLIDING),),
    past=((3600, COLLIDING),),
    latch=280,
)
