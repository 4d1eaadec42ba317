"""Makes foreign names (modules, files, databases) safe for every output. They get there only through here.

Control characters drive terminals, and marks of writing direction make text look like other text. Both appear as
`[U+001B]`, so that they deceive nobody and hide nothing.
"""

import re
import unicodedata
from collections.abc import Iterable

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


# Markdown: foreign words cannot become HTML, a link, a picture, a heading or a second cell. Text that we mark as `code` with
# backticks stays code, where nothing has a special meaning.

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ANYWHERE = re.compile(r"[\\`*~|]|\](?=[(\[:])")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_AT_FIRST = re.compile(r"^(?:(?=[#>]|[-+=]+(?: |$))|(\d{1,9})(?=[.)](?: |$)))")


def inline(text: str) -> str:
    """Text inside a line of Markdown."""
    return _AT_FIRST.sub(r"\1\\", "".join(_pieces(_on_one_line(text), table=False)))


def row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join("".join(_pieces(_on_one_line(cell), table=True)) for cell in cells) + " |"


def _on_one_line(text: str) -> str:
    """One line of visible characters; its own line ends become spaces."""
    return visible(" ".join(text.split("\n")).strip(" "))


def _pieces(text: str, *, table: bool) -> Iterable[str]:
    """Escapes the text between code marks. Code stays as it is, but in a table its bars are escaped too."""
    end = 0
    for code in _CODE.finditer(text):
        yield _escaped(text[end : code.start()])
        yield code[0].replace("|", "\\|") if table else code[0]
        end = code.end()
    yield _escaped(text[end:])


def _escaped(text: str) -> str:
    text = _UNDERSCORE.sub(r"\\_", _ANYWHERE.sub(r"\\\g<0>", text))
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", text))


_SQL = re.compile(
    r"\s*(?:select|with|alter|create|drop|grant|revoke|insert|update|delete|truncate|audit|noaudit|lock|purge|analyze|merge|call)\b",
    re.I,
)
_PLSQL = re.compile(r"\s*(?:begin|declare)\b", re.I)


def pasted(text: str) -> str:
    """A statement as SQL*Plus takes it when it is pasted: no empty line in it, `;` at its end, and `/` below PL/SQL.

    What is no statement stays as it is: a setting of a file, a command of SQL*Plus.
    """
    if not (_SQL.match(text) or _PLSQL.match(text)):
        return text
    whole = "\n".join(line.rstrip() for line in text.strip().splitlines() if line.strip()).rstrip("; /")
    return f"{whole};\n/" if _PLSQL.match(text) else f"{whole};"


def fenced(text: str, language: str = "sql", indent: str = "") -> str:
    """A text as a block of code in Markdown, whose fence is longer than any run of backticks in it; SQL as it is pasted."""
    text = pasted(text) if language == "sql" else text
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return "\n".join(f"{indent}{line}" for line in (f"{fence}{language}", *text.split("\n"), fence))


def plain_cell(text: str) -> str:
    """A name for a cell of CSV: visible, and not a formula for a spreadsheet."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


_SIGNS = str.maketrans({"<": "‹", ">": "›", "@": "＠", "*": "∗", "`": "ˋ", "[": "［", "]": "］", "~": "∼"})
"""Characters with which chats mention people, format text or make a link of it."""
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.|(?<=mailto):", re.IGNORECASE)
"""Where an address is cut: clients find one by themselves."""


def in_chat(text: str) -> str:
    """A text for a chat or a mail: visible, without mentions, formatting and links."""
    return _ADDRESS.sub("\N{ONE DOT LEADER}", visible(text).translate(_SIGNS))


def in_label(text: str) -> str:
    """The value of a label of Prometheus."""
    return visible(text, keep="\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def in_header(text: str) -> str:
    """A name inside a header of HTTP, such as that of a file: letters, digits, points and dashes of ASCII."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII)


def _seen(text: str) -> bool:
    return text.isprintable() and (text.isascii() or UNSEEN.search(text) is None)


def _shown(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"[U+{ord(character):04X}]"


def _escape(character: str) -> str:
    if ord(character) < 0x10000:
        return f"\\u{ord(character):04x}"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in (0, 2))
