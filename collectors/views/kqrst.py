"""x$kqrst: which child latch guards which dictionary cache, read from each instance once per start.

X$ tables cannot be granted (ORA-02030), so SYS owns the view LATCHSCOPE_KQRST over it. The scripts of older releases created it
as X_$KQRST, a name that other tools use too. The join is kqrstcln = child#. A child number is not a cache id, though some
published scripts treat it as one.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.release import without_map

KQRST = Collector(
    view="x$kqrst",
    about="child latch number per dictionary cache",
    columns=(
        Column("child#", ColumnKind.TEXT, "", "child of `row cache objects` that guards the cache (kqrstcln)"),
        Column("cache#", ColumnKind.KEY, "", "dictionary cache id (kqrstcid)"),
        Column("type", ColumnKind.KEY, "", "PARENT or SUBORDINATE (kqrsttyp 1 or 2)"),
        Column("subordinate#", ColumnKind.KEY, "", "which subordinate (kqrstsno)"),
    ),
    # Not decode(…, null, …), whose result would be text: it must equal the number in v$rowcache.
    statements={
        "11.2": """
            select /* latchscope x$kqrst */
                   kqrstcln as child#, kqrstcid as cache#,
                   decode(kqrsttyp, 1, 'PARENT', 'SUBORDINATE') as type,
                   case when kqrsttyp <> 1 then kqrstsno end as subordinate#
              from sys.latchscope_kqrst""",
    },
    without="the certain way from a child latch to its cache; if it can, latchscope infers a map from the gets instead",
    granted_on="sys.latchscope_kqrst",
    formerly="sys.x_$kqrst",
    once=True,
    after=("v$instance", "v$event_name"),
    unneeded=without_map,
)
