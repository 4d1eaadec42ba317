"""v$latchname: latch numbers by name. They change with the release, so latchscope reads them once per start."""

from collections.abc import Mapping

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LATCH,
    Binds,
    Collector,
    Column,
    ColumnKind,
    Missing,
    Reading,
    Rows,
)

LATCHES = {
    "latch": ROW_CACHE_LATCH,
    "latch_result_cache": RESULT_CACHE_LATCH,
    "latch_shared_pool": "shared pool",
    "latch_redo": "redo allocation",
    "latch_session": "session allocation",
    "latch_enqueue": "enqueue hash chains",
    "latch_undo": "undo global data",
    "latch_messages": "messages",
}
"""Bind → name of each latch we follow. A bind may not be a reserved word, as SESSION is."""
BUFFER_CHAINS = "cache buffers chains"
"""Followed by its wait event: it has a million children on a large SGA, which no poll adds up. A report prints it as a latch."""
_NAMES = ", ".join(f"'{name}'" for name in LATCHES.values())

LATCHNAME = Collector(
    view="v$latchname",
    about="latch number of each latch we follow",
    columns=(
        Column("latch#", ColumnKind.KEY, "", "latch number, different from release to release"),
        Column("name", ColumnKind.TEXT, "", "latch name"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$latchname */ latch#, name
              from v$latchname
             where name in ({_NAMES})""",
    },
    without="the latches, because v$latch and v$latch_children are only read by their numbers",
    granted_on="sys.v_$latchname",
    once=True,
)


def numbers_of(view: str, readings: Mapping[str, Reading]) -> Binds | Missing:
    """Bind → number of each latch, for a statement on `view`; -1 for one that this instance does not have."""
    names = readings["v$latchname"]
    if isinstance(names, Missing):
        return Missing(view, names.kind, f"{view} needs a latch number; {names.why}", names.way_out)
    assert isinstance(names, Rows)
    numbers = {row.get("name"): row.get("latch#") for row in names.rows}
    return {bind: numbers.get(name, -1) for bind, name in LATCHES.items()}
