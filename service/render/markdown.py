"""Escapes foreign words for Markdown, so that they cannot become HTML, a link, a picture, a heading or a second cell.

Text that we mark as `code` with backticks stays code, where nothing has a special meaning.
"""

import re
from collections.abc import Iterable

from service.characters import visible

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ANYWHERE = re.compile(r"[\\`*~|]|\](?=[(\[:])")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_AT_FIRST = re.compile(r"^(?:(?=[#>]|[-+=]+(?: |$))|(\d{1,9})(?=[.)](?: |$)))")


def inline(text: str) -> str:
    """Text inside a line of Markdown."""
    return _AT_FIRST.sub(r"\1\\", "".join(_pieces(_line(text), table=False)))


def row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join("".join(_pieces(_line(cell), table=True)) for cell in cells) + " |"


def _line(text: str) -> str:
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
