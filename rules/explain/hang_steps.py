"""The steps of a hang: who holds what, since when, what not to kill; and who waits in the library cache meanwhile."""

from collections.abc import Iterator, Sequence

from collectors.model import spoken
from rules.formatting import count
from rules.hangs.blockers import NOT_A_HANG, ROW_CACHE_BLOCKERS
from rules.hangs.graph import named
from rules.hangs.model import Blocker, Blockers
from rules.hangs.words import EMERGENCY_NOTICE, LEFT_ALONE, MOST_TREES, entry_words, in_one_sentence, shown_first
from rules.library_cache import ACCOUNT_STATUS, NAMESPACES
from rules.library_cache_model import LibraryCacheWait
from rules.model import Figure, Step
from rules.waiting_sessions import StillWaiting

APART = (
    "A row cache lock guards an entry of the dictionary cache, a library cache lock or pin an object of the library cache: the "
    "end of one need not end the other."
)


def blocker_steps(found: Blockers | None, waiters: Sequence[StillWaiting] = ()) -> list[Step]:
    """The step that says who holds it, since when, and what not to kill; and who waits in the library cache meanwhile."""
    if found is None:
        return []
    sentences = [in_one_sentence(chain, found) for chain in shown_first(found.chains)]
    if not found.chains:
        sentences += [
            f"{count(blocker.waiters or 0)} sessions wait behind session {named(blocker.sid, blocker.serial, blocker.instance)}"
            f"{_of_session(blocker)}: {blocker.no_kill}."
            for blocker in found.blockers[:1]
            if blocker.sid is not None and blocker.no_kill == NOT_A_HANG
        ]
    sentences += [words for blocker in found.blockers[:MOST_TREES] if (words := entry_words(blocker))]
    if found.unknown:
        sentences.append(f"Nothing more is known: {found.unknown}.")
    sentences.append(f"{LEFT_ALONE} {EMERGENCY_NOTICE}")
    figures = tuple(
        Figure(
            name=f"held by session {blocker.sid}, at least",
            value=blocker.held_at_least_seconds,
            unit="s",
            of=ROW_CACHE_BLOCKERS,
        )
        for blocker in found.blockers
        if blocker.held_at_least_seconds is not None
    )
    step = Step(step="blocker", statement=" ".join(sentences), figures=figures)
    beside = _library_cache(found, waiters)
    return [step, Step(step="library cache", statement=beside)] if beside else [step]


def _of_session(blocker: Blocker) -> str:
    about = [f"user {blocker.username}", blocker.program, f"module {blocker.module}" if blocker.module else None]
    return f" ({', '.join(filter(None, about))})"


def _library_cache(found: Blockers, waiters: Sequence[StillWaiting]) -> str | None:
    """Who waits in the library cache meanwhile. None if the look found nobody."""
    if not found.library_cache:
        return None
    groups = [_library_cache_group(group) for group in found.library_cache]
    return " ".join([f"At the look, {'; '.join(groups)}.", *_entangled(found, waiters), APART])


def _library_cache_group(group: LibraryCacheWait) -> str:
    has = "session" if group.sessions == 1 else "sessions"
    sid, instance = (group.sid, group.instance) if group.final_sid is None else (group.final_sid, group.final_instance)
    whom = "a session that Oracle does not name" if sid is None else f"session {sid}"
    whom += "" if sid is None or instance is None else f" on instance {instance}"
    name = None if group.type is None else NAMESPACES.get(group.type)
    what = "" if group.type is None else f" ({name})" if name else f" (type {group.type})"
    what = (
        f" of an account (type {ACCOUNT_STATUS}: logons after failed passwords)" * (group.type == ACCOUNT_STATUS)
        or what
    )
    since = f" for up to {spoken(group.longest_seconds)}" if group.longest_seconds >= 1 else ""
    return f"{count(group.sessions)} {has} waited for {group.event}{what}{since}, behind {whom}"


def _entangled(found: Blockers, waiters: Sequence[StillWaiting]) -> Iterator[str]:
    """How the two waits are connected: one holder of both, or a circle."""
    holders = {blocker.sid: blocker for blocker in found.blockers if blocker.sid is not None}
    stuck = {waiter.sid for waiter in waiters}
    both = sorted({sid for group in found.library_cache if (sid := group.final_sid) is not None and sid in holders})
    for sid in both:
        yield f"Session {sid} holds the entry of the row cache as well: both waits should end with it."
    inside = [sid for sid, holder in holders.items() if (holder.waits_for or "").startswith("library cache")]
    behind = sorted({sid for group in found.library_cache if (sid := group.sid) is not None and sid in stuck})
    if inside and behind:
        yield (
            f"Session {behind[0]}, their blocker, waits for the row cache itself, and session {inside[0]}, which holds the "
            "entry, waits in the library cache: a circle, of which Oracle ends one with ORA-00060 (row-cache-library-deadlock)."
        )
