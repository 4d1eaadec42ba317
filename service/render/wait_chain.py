"""A wait chain as a tree, for a terminal and as Markdown."""

from collections.abc import Iterator

from rules.hangs.model import Blockers, WaitChain
from rules.hangs.words import (
    ACTION,
    EMERGENCY_NOTICE,
    LEFT_ALONE,
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
from service.render.parts import inline, wrapped

BRANCH = "└─ "


def tree_lines(blockers: Blockers) -> Iterator[str]:
    """The largest chains as trees, with what may be done, as lines for a terminal."""
    for chain in shown_first(blockers.chains):
        yield from wrapped(f"Wait chain: {heading(chain)}")
        held = entry_of(chain, blockers)
        for line in tree(chain, held):
            yield from wrapped(f"{'   ' * (line.depth - 1)}{BRANCH}{line.text}" if line.depth else line.text, "  ")
        yield from (line for words in remarks(chain) for line in wrapped(words, "  "))
        if held is not None and (words := entry_words(held)):
            yield from wrapped(words, "  ")
        yield from _ending(chain)
    yield from (line for words in not_shown(blockers) for line in wrapped(words, "  "))
    if blockers.unknown:
        yield from wrapped(f"Nothing more is known: {blockers.unknown}.", "  ")
    yield from wrapped(f"{LEFT_ALONE} {EMERGENCY_NOTICE}", "  ")


def _ending(chain: WaitChain) -> Iterator[str]:
    if chain.action is None:
        yield from wrapped(why_no_command(chain), "  ")
        for missing in queries(chain):
            yield from wrapped(f"{to_find(missing)}: {missing.query}", "    ")
        return
    yield from wrapped(f"{ACTION}:", "  ")
    yield from wrapped(f"First: {chain.action.first}.", "    ")
    yield from wrapped(chain.action.command, "      ")
    yield from wrapped(f"Where: {chain.action.where}.", "    ")
    yield from wrapped(f"Risk: {chain.action.risk}.", "    ")
    yield from wrapped(f"Why this session: {chain.action.why_safe}.", "    ")


def tree_as_markdown(blockers: Blockers) -> Iterator[str]:
    """The same as nested lists, commands as blocks of code."""
    for chain in shown_first(blockers.chains):
        yield f"\n### Wait chain: {inline(heading(chain))}\n"
        held = entry_of(chain, blockers)
        yield from (f"{'  ' * line.depth}- {inline(line.text)}" for line in tree(chain, held))
        yield from (f"\n{inline(words)}" for words in remarks(chain))
        if held is not None and (words := entry_words(held)):
            yield f"\n{inline(words)}"
        if chain.action is not None:
            yield f"\n**{ACTION}**. First {inline(chain.action.first)}. Then, {inline(chain.action.where)}:"
            yield f"\n```sql\n{chain.action.command}\n```\n"
            yield f"- **Risk**: {inline(chain.action.risk)}."
            yield f"- **Why this session**: {inline(chain.action.why_safe)}."
        else:
            yield f"\n**{inline(why_no_command(chain))}**"
            for missing in queries(chain):
                yield f"\n{inline(to_find(missing))}:\n\n```sql\n{missing.query}\n```"
    yield from (f"\n{words}" for words in not_shown(blockers))
    yield f"\n{inline(f'{LEFT_ALONE} {EMERGENCY_NOTICE}')}\n"
