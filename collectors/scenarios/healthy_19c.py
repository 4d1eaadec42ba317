"""healthy-19c: 19c on an ordinary day; the row cache latch is silent because mutexes do its work, and they are quiet."""

from collectors.scenarios.dictionary import RELEASE_19
from collectors.scenarios.users_mutex import ORDINARY_19
from collectors.simulator.scenario import Scenario

HEALTHY_19C = Scenario(
    name="healthy-19c",
    release="19.0.0.0.0",
    about="an ordinary day: nothing to say",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, ORDINARY_19),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
)
