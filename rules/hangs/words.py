"""A wait chain in words: its end, each line of its tree, what may be done, and which fact is missing for it."""

from collections.abc import Iterator, Sequence

from collectors.model import spoken
from rules.base import Frozen
from rules.formatting import count, sentence
from rules.hangs.blockers import named_session
from rules.hangs.knowledge import event_of
from rules.hangs.model import Blocker, Blockers, ChainSession, HangVerdict, MissingFact, WaitChain
from rules.samples import within_cache

EMERGENCY_PAGE = "docs/emergency.md"
"""Relative to the root of the project. Every output that reports a hang links to it by this constant."""
EMERGENCY_NOTICE = f"Before anything is killed or restarted, collect what {EMERGENCY_PAGE} lists."
"""One sentence to print beside a hang."""
NO_COMMAND = "No command to end a session"
ACTION = "The one action, if the session cannot finish by itself"
MOST_TREES = 3
"""Trees that are shown. JSON has all."""
NO_COMMAND_NOW = "No command: the last look is more than a minute old, or this page has no script to see that"
CHECK = "Check, asked now"
ONLY_IF = "Only if the check says the same ({0})"
USUAL = ("ACTIVE", "INACTIVE", None)
"""Values of a session's status that say nothing more."""


class TreeLine(Frozen):
    """One session of a tree, or sessions that wait alike. `depth` 0 is the end, on the left."""

    depth: int
    who: str
    about: str = ""
    """Its kind and who it is, in words; empty for sessions that are only counted."""
    facts: tuple[str, ...] = ()
    end: bool = False

    @property
    def text(self) -> str:
        """All of it in one line."""
        who = f"{self.who} ({self.about})" if self.about else self.who
        if self.end:
            return f"{who}, {'; '.join(self.facts)}"
        return (", " if len(self.facts) > 1 else " ").join((who, *self.facts))


def heading(chain: WaitChain) -> str:
    """How many sessions a tree has."""
    behind = f"{count(chain.waiting)} session{'s' * (chain.waiting != 1)}"
    if chain.cycle and chain.end is None:
        inside = chain.circle or chain.waiting  # a chain of an earlier version does not say how many
        return f"{count(inside)} sessions wait for each other in a circle{behind_circle(chain.waiting - inside)}"
    if chain.end is None:
        return f"{behind} wait, and nobody is known to hold what they wait for"
    return f"{behind} wait{'s' * (chain.waiting == 1)} behind session {named_session(chain.end)}"


def behind_circle(more: int) -> str:
    """`, and 3 more wait behind it`, for sessions that a circle keeps waiting. Empty without any."""
    return f", and {count(more)} more wait{'s' * (more == 1)} behind it" if more > 0 else ""


def tree(chain: WaitChain, held: Blocker | None = None) -> tuple[TreeLine, ...]:
    """The lines of a tree: the end first, each session below the one it waits behind. `held`: the entry that the end holds."""
    lines = [_end(chain.end, held)] if chain.end else []
    lines += [_waiter(session) for session in chain.waiters]
    if chain.left_out:
        lines.append(TreeLine(depth=1, who=f"{count(chain.left_out)} more sessions", facts=("are not listed",)))
    return tuple(lines)


def _end(end: ChainSession, held: Blocker | None) -> TreeLine:
    words = [_holding(end, held)]
    if end.status not in USUAL:
        words.append(f"its status is {end.status}")
    if end.event is not None:
        known = event_of(end.event)
        meaning = "" if known is None else f"so for {known.who}" if known.own is None else known.own
        # A short wait says that it is getting on.
        short = end.waited_seconds is not None and end.waited_seconds < 1
        waited = ", for less than 1 second" if short else _since(end.waited_seconds)
        words.append(f"itself waits for {end.event}{waited}" + f" ({meaning})" * bool(meaning))
    if end.undo_blocks is not None:
        words.append(f"undo to roll back: {count(end.undo_blocks)} blocks")
    if end.coordinator is not None:
        words.append(f"its coordinator is session {end.coordinator}")
    return TreeLine(depth=0, who=f"session {named_session(end)}", about=_about(end), facts=tuple(words), end=True)


def _holding(end: ChainSession, held: Blocker | None) -> str:
    if held is None or held.cache is None:
        what = "what the session before it waits for"
    elif held.object is not None:
        what = f"{held.object} in {within_cache(held.cache)}"
    else:
        what = f"an entry of {within_cache(held.cache)}"
    if end.holds == "unknown":
        return f"at the end; in which mode it holds {what} is not known"
    how = "exclusively" if end.holds == "exclusive" else "in share mode, since when is not known"
    lasts = held.held_at_least_seconds if held else None
    return f"holds {what} {how}" + (f" for at least {spoken(lasts)}" if lasts is not None else "")


def _about(session: ChainSession) -> str:
    """Its kind and who it is."""
    kind: str = session.kind or "kind not known"
    if session.kind in ("background", "parallel slave", "job") and session.name:
        kind = f"{session.kind} {session.name}"
    program = None if session.kind == "background" or (session.program or "").startswith("(") else session.program
    said = [kind, session.username, program, session.module, f"SQL {session.sql_id}" if session.sql_id else None]
    return ", ".join(dict.fromkeys(" ".join(part.split()) for part in said if part))


def _waiter(session: ChainSession) -> TreeLine:
    through = "" if session.certain else ", through sessions that are not known"
    cache = "" if session.cache is None else f" on {within_cache(session.cache)}"
    if session.alike > 1 or session.sid is None:
        longest = "" if session.waited_seconds is None else f", the longest for {spoken(session.waited_seconds)}"
        who = f"{count(session.alike)} session{'s' * (session.alike != 1)}"
        waits = f"wait{'s' * (session.alike == 1)} for {session.event}{cache}{longest}{through}"
        return TreeLine(depth=session.depth, who=who, facts=(waits,))
    held = {"exclusive": ("holds exclusively",), "share": ("holds in share mode",)}.get(session.holds, ())
    held = () if session.kind == "background" else held  # LCK0 shows what a session behind it holds
    waits = f"waits for {session.event}{cache}{_since(session.waited_seconds)}" if session.event else "waits"
    who = f"session {named_session(session)}"
    return TreeLine(depth=session.depth, who=who, about=_about(session), facts=(*held, f"{waits}{through}"))


def _since(seconds: float | None) -> str:
    return "" if seconds is None or seconds < 1 else f", for {spoken(seconds)}"


def remarks(chain: WaitChain) -> Iterator[str]:
    """What to know beside the tree: where the sources disagree, and what Oracle says of the hang."""
    yield from (f"The sources disagree: {words}." for words in chain.disagreements)
    if chain.seen_at is not None and chain.end is not None:
        ago = f", {spoken(chain.age_seconds)} before this was judged" if chain.age_seconds else ""
        yield f"Seen at {chain.seen_at:%H:%M:%S} UTC{ago}."
    if chain.oracle is not None:
        yield _oracle(chain.oracle)


def _oracle(said: HangVerdict) -> str:
    about = "" if said.hang_id is None else f" as hang {said.hang_id}"
    words = [f"Oracle has seen this{about}" + (f" since {said.since}" if said.since else "")]
    words.append(f"names session {said.victim} as its victim or final blocker" if said.victim else "")
    if said.fatal_background:
        words.append("calls that a critical background process")
    if said.ignored:
        words.append("will not resolve it at this time")
    elif said.resolves_at:
        words.append(f"may resolve it by itself at {said.resolves_at}: wait for that")
    words.append(f"its status is {said.status}" if said.status else "")
    return ", ".join(filter(None, words)) + "."


def why_no_command(chain: WaitChain) -> str:
    """Why there is no command: a reason, or the facts that are missing."""
    return f"{NO_COMMAND}. {sentence(chain.why_no_action or '')}."


def to_find(missing: MissingFact) -> str:
    """Where to run the query that finds a fact."""
    where = "" if missing.instance is None else f" on instance {missing.instance}"
    return f"To find out {missing.fact}, run{where}"


def queries(chain: WaitChain) -> tuple[MissingFact, ...]:
    """The queries that find what is missing, each once."""
    asked = {missing.query: missing for missing in reversed(chain.missing) if missing.query}
    return tuple(reversed(asked.values()))


def entry_of(chain: WaitChain, found: Blockers) -> Blocker | None:
    """The entry that the end of a chain holds, as v$rowcache_parent shows it."""
    if chain.end is None:
        return None
    named = [each for each in found.blockers if (each.instance, each.sid) == (chain.end.instance, chain.end.sid)]
    return next((each for each in named if each.key is not None), named[0] if named else None)


def in_one_sentence(chain: WaitChain, found: Blockers) -> str:
    """A chain for a line of prose: its end, how many wait, and what may be done."""
    held = entry_of(chain, found)
    first = f"{heading(chain)}."
    who = f" {tree(chain, held)[0].text}." if chain.end else ""
    said = " ".join((f"{first[0].upper()}{first[1:]}{who[:2].upper()}{who[2:]}", *remarks(chain)))
    if chain.action is None:
        lookups = " ".join(f"{to_find(each)}: {each.query}." for each in queries(chain))
        return " ".join(filter(None, (said, why_no_command(chain), lookups)))
    return f"{said} {ACTION}: the wait chain gives it, with the check that comes before it."


def not_shown(found: Blockers) -> Iterator[str]:
    """How many chains are not shown."""
    more = max(len(found.chains) - MOST_TREES, 0) + found.chains_left_out
    if more:
        yield f"{count(more)} smaller chain{'s are' if more > 1 else ' is'} not shown."


def shown_first(chains: Sequence[WaitChain]) -> Sequence[WaitChain]:
    """The trees that fit: one with an action first, then the largest."""
    return sorted(chains, key=lambda chain: (chain.action is None, -chain.waiting))[:MOST_TREES]


LEFT_ALONE = "Kill no background process, and no waiting session: that frees nothing, and pools open new ones at once."


def entry_words(blocker: Blocker) -> str:
    """The entry that a holder holds, by its key. Empty without a key."""
    if blocker.key is None:
        return ""
    if blocker.object is not None:
        confirmed = f" To confirm it after the hang: {blocker.object_query}." if blocker.object_query else ""
        return f"The entry is {blocker.object} (key {blocker.key}; {blocker.object_rule}).{confirmed}"
    hint = f"; readable in it: {blocker.key_text}" if blocker.key_text else ""
    why = f" It stays raw: {blocker.object_rule}." if blocker.object_rule else ""
    return f"The key of the entry is {blocker.key}{hint}.{why}"
