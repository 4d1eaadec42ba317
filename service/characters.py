"""What others named (modules, files, databases) reaches a terminal, a page or a log only through here: nothing in it can act.

Control characters drive terminals, and marks of writing direction make text look like other text. Both are shown as what
they are, `[U+001B]`, so that nobody is deceived and nothing is hidden.
"""

import unicodedata


def visible(text: str, keep: str = "") -> str:
    """The text with every character that cannot be seen shown by its number; of spaces only the plain one is left.

    `keep`: characters that stay, such as the line ends of a text that has lines of its own.
    """
    plain = text
    for character in keep:
        plain = plain.replace(character, "")
    if plain.isprintable():
        return text
    return "".join([each if each.isprintable() or each in keep else _shown(each) for each in text])


def visible_json(text: str) -> str:
    """JSON with the same characters as escapes of JSON, which changes nothing of what it says."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join([each if each.isprintable() or each == "\n" else _escape(each) for each in text])


def plain_cell(text: str) -> str:
    """A name for a cell of CSV: visible, and no formula to a spreadsheet."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def _shown(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"[U+{ord(character):04X}]"


def _escape(character: str) -> str:
    if ord(character) < 0x10000:
        return f"\\u{ord(character):04x}"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in (0, 2))
