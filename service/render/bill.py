"""The bill of SQL as text, as JSON and as Markdown: what the commands print and the documents repeat."""

from collections.abc import Mapping, Sequence

from collectors.statement import Statement, StatementKind
from service.render.parts import row

KINDS: Mapping[StatementKind, str] = {
    "login": "the driver's own, within a login",
    "group": "polls: views read together",
    "poll": "polls: one view each",
    "burst": "samples of waiting sessions",
    "look": "looks at a hang",
    "holders": "profile of latch holders",
    "check": "kind of database",
    "confirm": "confirming queries of causes",
}
"""StatementKind → what it is, in the order of the list."""
HEADS = ("hash", "SQL_ID", "for", "releases", "reads", "why", "when", "how often", "rows at most", "deadline")


def as_text(listed: Sequence[Statement]) -> str:
    """Every statement in two lines, by kind."""
    lines = [f"latchscope can send these {len(listed)} statements and no other. `latchscope sql show HASH` prints one."]
    for kind, what in KINDS.items():
        of_kind = [one for one in listed if one.kind == kind]
        lines += ["", f"{what} ({len(of_kind)})"]
        for one in of_kind:
            lines.append(
                f"{one.hash}  {one.name}, {one.releases}; reads {_read(one)}; {_rows(one)}, {_deadline(one)} at most"
            )
            lines.append(f"{' ' * len(one.hash)}  why: {one.why}; when: {one.when}; how often: {one.how_often}")
    return "\n".join(lines)


def one_as_text(one: Statement) -> str:
    """A statement with all that is known of it, and its text."""
    facts = {
        "Hash": f"{one.hash} (SHA-256 of the text); SQL_ID {one.sql_id}",
        "For": f"{one.name} ({KINDS[one.kind]})",
        "Why": one.why,
        "When": one.when,
        "How often": one.how_often,
        "Releases": one.releases,
        "Reads": _read(one),
        "Binds": ", ".join(f":{name}" for name in one.binds) or "none",
        "Rows at most": _rows(one),
        "Deadline": _deadline(one),
    }
    return "\n".join((*(f"{name}: {fact}" for name, fact in facts.items()), "", one.text))


def as_objects(listed: Sequence[Statement]) -> list[dict[str, object]]:
    """Every statement for JSON. `rows_at_most` is null where the statement has no limit of its own."""
    return [
        {
            "hash": one.hash,
            "sql_id": one.sql_id,
            "kind": one.kind,
            "for": one.name,
            "releases": one.releases,
            "reads": one.reads,
            "binds": one.binds,
            "why": one.why,
            "when": one.when,
            "how_often": one.how_often,
            "rows_at_most": one.most_rows,
            "deadline_seconds": one.deadline_seconds,
            "text": one.text,
        }
        for one in listed
    ]


def as_markdown(listed: Sequence[Statement]) -> str:
    """A table for each kind, without the texts."""
    parts = []
    for kind, what in KINDS.items():
        rows = [row(_cells(one)) for one in listed if one.kind == kind]
        head = f"### {what[0].upper()}{what[1:]}"
        parts.append("\n".join((head, "", row(HEADS), "|" + "---|" * len(HEADS), *rows)))
    return "\n\n".join(parts)


def texts_as_markdown(listed: Sequence[Statement]) -> str:
    """The exact text of every statement under its hash."""
    return "\n\n".join(f"**`{one.hash}`** {row((one.name,)).strip('| ')}\n\n```sql\n{one.text}\n```" for one in listed)


def _cells(one: Statement) -> tuple[str, ...]:
    reads = ", ".join(f"`{view}`" for view in one.reads) or "nothing"
    return (
        f"`{one.hash}`",
        f"`{one.sql_id}`",
        one.name,
        one.releases,
        reads,
        one.why,
        one.when,
        one.how_often,
        "as the views have" if one.most_rows is None else str(one.most_rows),
        _deadline(one),
    )


def _read(one: Statement) -> str:
    return ", ".join(one.reads) or "nothing"


def _rows(one: Statement) -> str:
    if one.most_rows is None:
        return "as many rows as its views have" if one.reads else "no rows"
    return f"{one.most_rows} row{'s' * (one.most_rows > 1)}"


def _deadline(one: Statement) -> str:
    return f"{one.deadline_seconds:g} s"
