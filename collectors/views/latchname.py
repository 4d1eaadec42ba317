"""v$latchname: latch numbers by name. They change with the release, so latchscope reads them once per start."""

from collections.abc import Mapping

from collectors.model import Binds, Collector, Column, ColumnKind, Missing, Reading, Rows

LATCHNAME = Collector(
    view="v$latchname",
    about="latch number of each latch we follow",
    columns=(
        Column("latch#", ColumnKind.KEY, "", "latch number, different from release to release"),
        Column("name", ColumnKind.TEXT, "", "latch name"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$latchname */ latch#, name
              from v$latchname
             where name in ('row cache objects', 'Result Cache: RC Latch')""",
    },
    without="the children of the row cache latch, because v$latch_children is only read for one latch number",
    granted_on="sys.v_$latchname",
    once=True,
    after=("v$instance",),
)


def number_of(name: str, view: str, readings: Mapping[str, Reading]) -> Binds | Missing:
    """The bind `latch` for a statement on `view`. Missing if this instance has no latch of that name."""
    names = readings["v$latchname"]
    if isinstance(names, Missing):
        return Missing(view, names.kind, f"{view} needs a latch number; {names.why}", names.way_out)
    assert isinstance(names, Rows)
    for row in names.rows:
        if row.get("name") == name:
            return {"latch": row["latch#"]}
    return Missing(view, "not_asked", f"this instance has no latch named {name}", "nothing to do on this release")
