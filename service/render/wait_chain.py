"""A wait chain as a tree, for a terminal and as Markdown."""

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
from service.escape import fenced, inline
from service.render.parts import code_lines, wrapped

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
            yield from wrapped(f"{to_find(missing)}:", "    ")
            yield from code_lines(missing.query, "      ")
        return
    action = chain.action
    yield from wrapped(f"{ACTION}:", "  ")
    yield from wrapped(f"First: {action.first}.", "    ")
    yield from wrapped(f"{CHECK}:", "    ")
    yield from code_lines(action.check, "      ")
    yield from wrapped(f"{ONLY_IF.format(action.still)}:", "    ")
    yield from code_lines(action.command, "      ", whole=True)
    yield from wrapped(f"Where: {action.where}.", "    ")
    yield from wrapped(f"Risk: {action.risk}.", "    ")
    yield from wrapped(f"Why this session: {action.why_safe}.", "    ")
    for each in action.then:
        yield from wrapped(f"Then, if {each.when}:", "    ")
        yield from code_lines(each.command, "      ", whole=True)
        yield from wrapped(f"Risk: {each.risk}.", "    ")


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
            action = chain.action
            yield f"\n**{ACTION}**. First {inline(action.first)}. {CHECK}:\n\n{fenced(action.check)}\n"
            yield f"{inline(ONLY_IF.format(action.still))}; {inline(action.where)}:\n\n{fenced(action.command)}\n"
            yield f"- **Risk**: {inline(action.risk)}."
            yield f"- **Why this session**: {inline(action.why_safe)}."
            for each in action.then:
                yield f"\nThen, if {inline(each.when)} (risk: {inline(each.risk)}):\n\n{fenced(each.command)}"
        else:
            yield f"\n**{inline(why_no_command(chain))}**"
            for missing in queries(chain):
                yield f"\n{inline(to_find(missing))}:\n\n{fenced(missing.query or '')}"
    yield from (f"\n{words}" for words in not_shown(blockers))
    yield f"\n{inline(f'{LEFT_ALONE} {EMERGENCY_NOTICE}')}\n"
