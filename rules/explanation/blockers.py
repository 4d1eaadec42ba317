"""The session behind a hang in words: who, what, since when, what not to kill; and who waits in the library cache too."""

from collections.abc import Iterator, Sequence

from collectors.durations import spoken
from collectors.emergency import EMERGENCY_NOTICE
from rules.blockers import VIEW, process, session_of
from rules.formatting import count
from rules.hang_model import Blocker, Blockers, LibraryCacheWait
from rules.hangs import StillWaiting
from rules.model import Figure, Step
from rules.waiters import within

ACCOUNT_STATUS = 79
LEFT_ALONE = "Kill no background process, and no waiting session: that frees nothing, and pools open new ones at once."
OWN_WAITS = {
    "resmgr:": ": a resource plan keeps it off the processors (throttled-holder)",
    "SQL*Net message from client": ": it is idle, and keeps the entry until its client goes on",
    "library cache": ", which may be held by one of those who wait for it",
    "enq: ": ", a lock that another session holds: look there for the end of the chain",
}
"""What a wait of the holder itself means, by the start of the event's name."""
APART = (
    "A row cache lock guards an entry of the dictionary cache, a library cache lock or pin an object of the library cache: the "
    "end of one need not end the other."
)


def blocker_steps(found: Blockers | None, waiters: Sequence[StillWaiting] = ()) -> list[Step]:
    """The step that says who holds it, since when, and what not to kill; and who waits in the library cache meanwhile."""
    if found is None:
        return []
    sentences = [sentence_of(blocker) for blocker in found.blockers]
    if found.unknown:
        sentences.append(f"Nothing more is known: {found.unknown}.")
    sentences.append(f"{LEFT_ALONE} {EMERGENCY_NOTICE}")
    figures = tuple(
        Figure(name=f"held by session {blocker.sid}, at least", value=blocker.held_at_least_seconds, unit="s", of=VIEW)
        for blocker in found.blockers
        if blocker.held_at_least_seconds is not None
    )
    step = Step(step="blocker", statement=" ".join(sentences), figures=figures)
    beside = _library_cache(found, waiters)
    return [step, Step(step="library cache", statement=beside)] if beside else [step]


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
    what = f" (type {group.type})" if group.type and group.type != ACCOUNT_STATUS else ""
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


def sentence_of(blocker: Blocker) -> str:
    """A blocker in words: who, what, since when, what it waits for, and whether it may be ended."""
    who = "an unknown session" if blocker.sid is None else f"session {session_of(blocker)}"
    who += f" on instance {blocker.instance}" if blocker.sid is None and blocker.instance is not None else ""
    about = [
        process(blocker.program) if blocker.background else None,
        blocker.username,
        blocker.program,
        blocker.module,
    ]
    about.append(f"SQL {blocker.sql_id}" if blocker.sql_id else None)
    named = ", ".join(dict.fromkeys(part for part in about if part))
    holds = f"holds an entry of {within(blocker.cache or 'an unknown cache')}" + f" in {blocker.mode} mode" * (
        blocker.mode is not None
    )
    since = "" if blocker.held_at_least_seconds is None else f" for at least {spoken(blocker.held_at_least_seconds)}"
    behind = "" if blocker.waiters is None else f"; {count(blocker.waiters)} wait for it"
    words = f"{who[0].upper()}{who[1:]}{f' ({named})' if named else ''} {holds}{since}{behind}."
    return " ".join(filter(None, (words, _entry(blocker), _own_wait(blocker), _ending(blocker))))


def _entry(blocker: Blocker) -> str:
    if blocker.key is None:
        return ""
    if blocker.object is not None:
        confirmed = f" To confirm it: {blocker.object_query}." if blocker.object_query else ""
        return f"The entry is {blocker.object} (key {blocker.key}; {blocker.object_rule}).{confirmed}"
    hint = f"; readable in it: {blocker.key_text}" if blocker.key_text else ""
    why = f" It stays raw: {blocker.object_rule}." if blocker.object_rule else ""
    return f"The key of the entry is {blocker.key}{hint}.{why}"


def _own_wait(blocker: Blocker) -> str:
    if blocker.waits_for is None:
        return ""
    since = (
        "" if blocker.waits_seconds is None or blocker.waits_seconds < 1 else f", for {spoken(blocker.waits_seconds)}"
    )
    meaning = next((words for event, words in OWN_WAITS.items() if blocker.waits_for.startswith(event)), "")
    return f"It waits for {blocker.waits_for} itself{since}{meaning}."


def _ending(blocker: Blocker) -> str:
    if blocker.kill is None:
        unknown = f" To find out, {blocker.look_up}." if blocker.look_up else ""
        return f"No command to end it is given: {blocker.no_kill}.{unknown}"
    return f"Should it have to be ended: {blocker.kill}; risk: {blocker.kill_risk}."
