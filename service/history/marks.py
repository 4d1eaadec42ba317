"""set_mark(): a change mark from REST, a page or the command line, with the same rules for all."""

from datetime import datetime, timedelta

from service.state.window import iso
from service.store.queries.marks import Mark
from service.store.repository import Repository

LONGEST = 500
AHEAD = timedelta(minutes=5)
"""Clocks differ by this much. A mark further in the future is a mistake."""


class BadMark(ValueError):
    """A mark that is refused: why, and the way out."""


def set_mark(store: Repository, database: str, text: str, at: datetime, who: str, now: datetime) -> Mark:
    """Keep a mark of a change on a database. Raises BadMark, and what the store does."""
    note = " ".join(text.split())
    if not note or len(note) > LONGEST or not note.isprintable():
        raise BadMark(f"a mark is 1 to {LONGEST} printable characters; say in short what was changed")
    if at.tzinfo is None:
        raise BadMark("the time has no time zone; write it in UTC with a Z, such as 2026-03-01T12:00Z")
    if at > now + AHEAD:
        raise BadMark(f"{iso(at)} is in the future; set the mark when the change is made")
    return store.marks.add(database, at, note, who)
