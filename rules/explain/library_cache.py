"""Who waits in the library cache at the poll, in words: 90 logons of APP1 from web07 wait for one account."""

from collectors.model import spoken
from rules.context import SignalContext
from rules.formatting import count
from rules.library_cache import ACCOUNTS, CURSOR, LIBRARY_CACHE_SESSIONS, library_cache_waiters
from rules.library_cache_model import Covering, LibraryCacheGroup, LibraryCacheWaiters
from rules.model import Figure, Step
from rules.samples import MINIMUM_WAITERS
from rules.waiting_sessions import HANGING_SECONDS

LIBRARY_CACHE_WAITS = "library cache waits"
MOST_GROUPS = 3
"""Groups in words. JSON has all."""
THINGS = {
    CURSOR: ("cursor", "cursors"),
    1: ("table, view, sequence, synonym or PL/SQL unit", "tables, views, sequences, synonyms or PL/SQL units"),
    2: ("package or type body", "package or type bodies"),
    3: ("trigger", "triggers"),
    4: ("index", "indexes"),
    5: ("cluster", "clusters"),
    **dict.fromkeys(ACCOUNTS, ("account", "accounts")),
}


def library_cache_steps(context: SignalContext) -> list[Step]:
    """Who waits for what, and how to name it. Nothing if few wait and not for long, or if the sessions were not read."""
    waiters = library_cache_waiters(context)
    if waiters is None or not noticeable(waiters):
        return []
    waits = Step(
        step=LIBRARY_CACHE_WAITS,
        statement=f"{heading(waiters)}: {'; '.join(map(in_words, waiters.groups[:MOST_GROUPS]))}. That is not the row cache.",
        figures=tuple(
            Figure(name=in_words(group), value=group.sessions, unit="sessions", of=LIBRARY_CACHE_SESSIONS)
            for group in waiters.groups[:MOST_GROUPS]
        ),
    )
    queries = [
        f"{look.finds[0].upper()}{look.finds[1:]}: {look.query} ({look.touches})." for look in waiters.groups[0].lookups
    ]
    return [waits, Step(step="library cache handle", statement=" ".join(queries))] if queries else [waits]


def noticeable(waiters: LibraryCacheWaiters | None) -> bool:
    """Whether so many sessions wait that it is worth a sentence, or one has waited for long. Not if they were not read."""
    if waiters is None:
        return False
    longest = max((group.longest_seconds or 0.0 for group in waiters.groups), default=0.0)
    return bool(waiters.groups) and (waiters.met >= MINIMUM_WAITERS or longest >= HANGING_SECONDS)


def heading(waiters: LibraryCacheWaiters) -> str:
    """How many sessions wait at the poll, and of how many of them the rest speaks."""
    wait = f"At the poll {count(waiters.met)} session{'s wait' if waiters.met != 1 else ' waits'} in the library cache"
    return wait if waiters.met <= waiters.listed else f"{wait}, and of the {count(waiters.listed)} longest waits"


def in_words(group: LibraryCacheGroup) -> str:
    """90 logons of APP1 from web07 wait for one account."""
    noun = "logon" if group.namespace in ACCOUNTS else "session"
    many = group.sessions != 1
    namespace = group.namespace_name or (None if group.namespace is None else f"namespace {group.namespace}")
    told = [group.event, namespace, f"{group.mode} mode" if group.mode else None]
    longest = group.longest_seconds or 0.0
    since = f", for up to {spoken(longest)}" if longest >= 1 else ""
    behind = f", behind session {group.blocker.name}" if group.blocker else ""
    behind += _part(group.blocker, group) if group.blocker else ""
    return (
        f"{count(group.sessions)} {noun}{'s' * many}{_who(group)} wait{'s' * (not many)} for {_what(group)} "
        f"({', '.join(filter(None, told))}){since}{behind}"
    )


def _who(group: LibraryCacheGroup) -> str:
    """Of which user, from which machine, in which module, as far as one name covers most of them."""
    names = (("of", group.username), ("from", group.machine), ("in module", group.module))
    return "".join(f" {joined} {one.name}{_part(one, group)}" for joined, one in names if one)


def _part(one: Covering, group: LibraryCacheGroup) -> str:
    """How many a name covers, if not all."""
    return "" if one.sessions == group.sessions else f" ({count(one.sessions)} of them)"


def _what(group: LibraryCacheGroup) -> str:
    one, several = THINGS.get(-1 if group.namespace is None else group.namespace, ("handle", "handles"))
    if group.handles is None:
        return f"{several}, how many is not known"
    if group.handles == 1:
        number = (
            f" with object number {group.identifier}" if group.identifier and group.namespace not in ACCOUNTS else ""
        )
        return f"one {one}{number}"
    return f"{count(group.handles)} {several}, {count(group.handle_sessions or 0)} of them for the same one"
