"""The first screen of a story in a terminal: at most twelve lines, and in Markdown a list. The rest is behind `-v`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rules.explain.story import Paragraph
from service.escape import fenced, inline
from service.render.parts import code_lines, wrapped

MOST_LINES = 12
"""With the line that names the input and the one that says how to read on."""


def first_lines(paragraphs: Sequence[Paragraph], most: int | None) -> list[str]:
    """The paragraphs as lines, at most `most`. The lightest lose sentences, then statements; what to do stays longest."""
    shown = list(paragraphs)
    lines = [_lines(each) for each in shown]
    for cut, weights in _CUTS if most is not None else ():
        for place in sorted(range(len(shown)), key=lambda place: (shown[place].weight, -place)):
            if shown[place].weight in weights and sum(map(len, lines)) > (most or 0):
                shown[place] = cut(shown[place])
                lines[place] = _lines(shown[place])
    return [line for each in lines for line in each]


def _lines(paragraph: Paragraph) -> list[str]:
    words = (
        wrapped(f"{paragraph.label}: {paragraph.words}" if paragraph.label else paragraph.words)
        if paragraph.words
        else []
    )
    return [*words, *(line for code in paragraph.code for line in code_lines(code, "  "))]


def _first_sentence(paragraph: Paragraph) -> Paragraph:
    first, stop, _ = paragraph.words.partition(". ")
    return replace(paragraph, words=f"{first}{stop.strip()}")


def _without_code(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, code=())


def _left_out(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, words="", code=())


_CUTS = (
    (_first_sentence, range(9)),
    (_left_out, range(6)),
    (_without_code, range(9)),
    (_left_out, range(7, 8)),
    (_first_sentence, range(10)),
)
"""What is cut one after the other until the lines fit, and of which weights."""


def first_list(paragraphs: Sequence[Paragraph]) -> Iterator[str]:
    """The same as a list in Markdown, whole."""
    for each in paragraphs:
        yield f"- {f'**{each.label}**: ' if each.label else ''}{inline(each.words)}"
        yield from (f"\n{fenced(' '.join(code.split()), indent='  ')}\n" for code in each.code)
