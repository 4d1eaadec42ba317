"""The first screen of a story in a terminal: at most twelve lines, and in Markdown a list. The rest is behind `-v`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rules.explain.story import Paragraph
from service.escape import fenced, inline
from service.render.parts import code_lines, wrapped

MOST_LINES = 12
"""With the line that names the input and the one that says how to read on."""
HEAVIEST = 9
"""The weight of what is never left out, nor its statements."""


def first_lines(paragraphs: Sequence[Paragraph], most: int | None) -> list[str]:
    """The paragraphs as lines, at most `most`. The lightest lose sentences, then statements; of weight 5 and less all goes."""
    shown = list(paragraphs)
    lines = [_lines(each) for each in shown]
    for cut, weights in _CUTS if most is not None else ():
        for place in sorted(range(len(shown)), key=lambda place: (shown[place].weight, -place)):
            if shown[place].weight in weights and sum(map(len, lines)) > (most or 0):
                shown[place] = cut(shown[place])
                lines[place] = _lines(shown[place])
    return [line for each in lines for line in each]


def _lines(paragraph: Paragraph) -> list[str]:
    label = f"{paragraph.label}: " if paragraph.label else ""
    lines = wrapped(f"{label}{paragraph.words}") if paragraph.words else []
    for place, code in enumerate(paragraph.code):
        lines += code_lines(code, "  ", whole=place > 0)
    return lines


def _sentences(paragraph: Paragraph) -> Paragraph:
    """Its first sentence; of the weightiest the first two."""
    if not paragraph.words:
        return paragraph
    kept = paragraph.words.split(". ")[: 2 if paragraph.weight == HEAVIEST else 1]
    words = ". ".join(kept)
    return replace(paragraph, words=words if words.endswith((".", "?")) else f"{words}.")


def _without_code(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, code=())


def _left_out(paragraph: Paragraph) -> Paragraph:
    return replace(paragraph, words="", code=())


_CUTS = (
    (_sentences, range(9)),
    (_left_out, range(6)),
    (_without_code, range(9)),
    (_sentences, range(10)),
    (_left_out, range(7)),
    (_left_out, range(8)),
)
"""What is cut one after the other until the lines fit, and of which weights."""


def first_list(paragraphs: Sequence[Paragraph]) -> Iterator[str]:
    """The same as a list in Markdown, whole."""
    for each in paragraphs:
        yield f"- {f'**{each.label}**: ' if each.label else ''}{inline(each.words)}"
        yield from (f"\n{fenced(' '.join(code.split()), indent='  ')}\n" for code in each.code)
