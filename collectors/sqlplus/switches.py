"""Which text of a statement a release runs: SQL*Plus variables at the start of each line comment out all others."""

from collections.abc import Iterator

from collectors.release import parts


def switch(which: str, floor: str) -> str:
    """The variable that comments out a line below a release (`from`), or from it on (`below`)."""
    return f"ls_{which}_{floor.replace('.', '_')}"


def switches(floors: list[str]) -> Iterator[str]:
    """The columns of the SELECT that sets every variable by the release."""
    for floor in floors:
        weighed = sum(part * 100 ** (3 - rank) for rank, part in enumerate(parts(floor)[:4]))
        on, off = "'/* */'", "'--'"
        yield f"       case when release >= {weighed} then {on} else {off} end as {switch('from', floor)},"
        yield f"       case when release >= {weighed} then {off} else {on} end as {switch('below', floor)},"


def defines(floors: list[str]) -> Iterator[str]:
    """The variables before that SELECT. If the release is hidden they stay as they are: the oldest texts."""
    for floor in floors:
        for which, value in (("from", "--"), ("below", "/* */")):
            yield f"column {switch(which, floor)} new_value {switch(which, floor)} noprint"
            yield f"define {switch(which, floor)} = '{value}'"
