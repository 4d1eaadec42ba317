"""A wait chain as a tree, for every layout."""

from collections.abc import Iterator

from rules.hangs.model import Blockers, WaitChain
from rules.hangs.words import (
    ACTION,
    CHECK,
    EMERGENCY_NOTICE,
    LEFT_ALONE,
    ONLY_IF,
    entry_of,
    entry_words,
    heading,
    not_shown,
    queries,
    remarks,
    shown_first,
    to_find,
    tree,
    why_no_command,
)
from service.render.parts import Advice

BRANCH = "└─ "


def tree_parts(blockers: Blockers) -> Iterator[Advice]:
    """The largest chains as trees, with what may be done."""
    for chain in shown_first(blockers.chains):
        yield Advice("Wait chain", heading(chain), kind="heading")
        held = entry_of(chain, blockers)
        for line in tree(chain, held):
            yield Advice("", f"{BRANCH if line.depth else ''}{line.text}", depth=line.depth)
        yield from (Advice("", words) for words in remarks(chain))
        if held is not None and (words := entry_words(held)):
            yield Advice("", words)
        yield from _ending(chain)
    yield from (Advice("", words) for words in not_shown(blockers))
    if blockers.unknown:
        yield Advice("Nothing more is known", f"{blockers.unknown}.")
    yield Advice("", f"{LEFT_ALONE} {EMERGENCY_NOTICE}")


def _ending(chain: WaitChain) -> Iterator[Advice]:
    action = chain.action
    if action is None:
        yield Advice("", why_no_command(chain))
        yield from (Advice(to_find(missing), "", missing.query or "", depth=1) for missing in queries(chain))
        return
    yield Advice(ACTION, f"First {action.first}.")
    yield Advice(CHECK, "", action.check, depth=1)
    yield Advice(ONLY_IF.format(action.still), "", action.command, "command", 1)
    yield Advice("Where", f"{action.where}.", depth=1)
    yield Advice("Risk", f"{action.risk}.", depth=1)
    yield Advice("Why this session", f"{action.why_safe}.", depth=1)
    for each in action.then:
        yield Advice(f"Then, if {each.when}", f"Risk: {each.risk}.", each.command, "command", 1)
