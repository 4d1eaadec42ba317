"""ddl-hang: 19c on an ordinary day, until one DDL holds the entry of a hot table for a minute and everybody waits for it.

No wait ends while the DDL holds the entry, so v$system_event does not move. Only a look at v$session shows the hang.
"""

from collectors.model import ROW_CACHE_LOCK_EVENT
from collectors.scenarios.dictionary import RELEASE_19
from collectors.scenarios.users_mutex import ORDINARY_19
from collectors.simulator.scenario import Scenario
from collectors.simulator.sessions import ScriptedBlocker, ScriptedHang

BEGIN, END = 60.0, 135.0
ENTRY = "5D00000006004F5244455253"
"""Owner 93 in four bytes, the length of the name in two, ORDERS: the way a public script reads keys of dc_objects."""

DEPLOYMENT = ScriptedBlocker(
    sid=312,
    serial=48211,
    username="DEPLOY",
    program="sqlplus@build7 (TNS V1-V3)",
    module="release 4.2",
    sql_id="5ms6rbzdnq16t",
    machine="build7",
)

DDL_HANG = Scenario(
    name="ddl-hang",
    release="19.0.0.0.0",
    about="a DDL holds an entry of dc_objects for a minute, and everybody hangs behind it",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, ORDINARY_19),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
    hangs=(
        ScriptedHang(
            begin=BEGIN,
            end=END,
            event=ROW_CACHE_LOCK_EVENT,
            cache="dc_objects",
            sessions=38,
            arriving=12.0,
            holder=DEPLOYMENT,
            sql_id="8f1bq6zr4r6ps",
            module="orders",
            program="JDBC Thin Client",
            username="WEBSHOP",
            key=ENTRY,
        ),
    ),
)
