"""Makes foreign names (modules, files, databases) safe for a terminal, a page or a log. They get there only through here.

Control characters drive terminals, and marks of writing direction make text look like other text. Both appear as
`[U+001B]`, so that they deceive nobody and hide nothing.
"""

import re
import unicodedata

UNSEEN = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks to Unicode that are invisible: fillers and variant selectors, in which a text can hide."""


def visible(text: str, keep: str = "") -> str:
    """The text with every invisible character shown by its number. Of spaces only the plain one is left.

    `keep`: characters that stay, such as the line ends of a text that has lines of its own.
    """
    plain = text
    for character in keep:
        plain = plain.replace(character, "")
    if _seen(plain):
        return text
    return "".join([character if character in keep or _seen(character) else _shown(character) for character in text])


def visible_json(text: str) -> str:
    """JSON with the same characters as JSON escapes, which does not change its meaning."""
    if _seen(text.replace("\n", "")):
        return text
    return "".join([character if character == "\n" or _seen(character) else _escape(character) for character in text])


def fenced(text: str, language: str = "sql", indent: str = "") -> str:
    """A text as a block of code in Markdown, whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return "\n".join(f"{indent}{line}" for line in (f"{fence}{language}", *text.split("\n"), fence))


def plain_cell(text: str) -> str:
    """A name for a cell of CSV: visible, and not a formula for a spreadsheet."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def _seen(text: str) -> bool:
    return text.isprintable() and (text.isascii() or UNSEEN.search(text) is None)


def _shown(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"[U+{ord(character):04X}]"


def _escape(character: str) -> str:
    if ord(character) < 0x10000:
        return f"\\u{ord(character):04x}"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in (0, 2))
