"""Finds the records of a spool file, however its lines were wrapped, indented or re-encoded on the way.

A record has no blanks, so the text is read without blanks, and the length in each record says where it ends. Text
between records is kept as printed, because errors are there.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HEADER = re.compile(r"\{ls\|([a-z]+\d*|\d)\|([\w$#,.-]{1,400})\|(open|end|\d{1,6}/\d{1,6})\|(\d{1,5})\|")
ERROR = re.compile(r"\b(?:ORA|SP2|PLS|TNS)-\d{4,5}\b[^\r\n]*")
ESCAPED = re.compile(r"\\([0-9A-Fa-f]{4})")


@dataclass
class Section:
    """What one statement of the script printed, as far as the file has it."""

    opened: bool = False
    rows: dict[int, list[str]] = field(default_factory=dict)
    total: int = 0
    columns: list[str] | None = None
    """Names of the columns; None until the record that proves the statement's end."""
    damaged: int = 0
    """Records whose stated length is wrong."""
    error: str | None = None
    """The first error printed between its records."""

    @property
    def whole(self) -> bool:
        """Whether the statement ran to its end and every row of it is here."""
        if self.columns is None or self.damaged or set(self.rows) != set(range(1, self.total + 1)):
            return False
        return all(len(cells) == len(self.columns) for cells in self.rows.values())

    def table(self) -> Iterator[dict[str, str]]:
        """The rows in order, as cells by column."""
        for _, cells in sorted(self.rows.items()):
            yield dict(zip(self.columns or (), cells, strict=True))


def decoded(data: bytes) -> str:
    """The file as text, in whichever of the usual encodings an editor or a mail program saved it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if data[:2000].count(0) > len(data[:2000]) // 4:
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def sections(text: str) -> Mapping[tuple[str, str], Section]:
    """Everything the last run in the file printed, by part and view."""
    found: dict[tuple[str, str], Section] = {}
    packed, at = _packed(text)
    current, upto = Section(), 0
    for header, body in _records(packed):
        _note_error(current, text[at(upto) : at(header.start())])
        part, view, tag, _ = header.groups()
        if part == "head" and tag == "open" and view.startswith("latchscope-spool-"):
            found.clear()
        section = found.setdefault((part, view), Section())
        _take(section, tag, body)
        current = section if tag == "open" else current
        upto = header.end() if body is None else header.end() + len(body) + 1
    _note_error(current, text[at(upto) :])
    return found


def _packed(text: str) -> tuple[str, "_Origin"]:
    words = list(re.finditer(r"[^\s\ufeff\u200b\x00]+", text))
    return "".join(word[0] for word in words), _Origin(words)


class _Origin:
    """The place in the text of a place in the packed text."""

    def __init__(self, words: list[re.Match[str]]) -> None:
        self._starts: list[int] = []
        self._words = words
        packed = 0
        for word in words:
            self._starts.append(packed)
            packed += len(word[0])

    def __call__(self, index: int) -> int:
        if not self._words:
            return 0
        word = bisect_right(self._starts, max(index, 0)) - 1
        return self._words[word].start() + index - self._starts[word]


def _records(packed: str) -> Iterator[tuple[re.Match[str], str | None]]:
    """Each record with its body. None if the length does not match."""
    at = 0
    while header := HEADER.search(packed, at):
        end = header.end() + int(header[4])
        if packed[end : end + 1] == "}":
            yield header, packed[header.end() : end]
            at = end + 1
        else:
            yield header, None
            at = header.end()


def _take(section: Section, tag: str, body: str | None) -> None:
    if tag == "open":
        section.opened = True
    elif body is None:
        section.damaged += 1
    elif tag == "end":
        section.columns = body.split("|")
    else:
        number, _, total = tag.partition("/")
        section.rows[int(number)] = body.split("|")
        section.total = max(section.total, int(total))


def _note_error(section: Section, between: str) -> None:
    if section.error is None and (said := ERROR.search(between)):
        section.error = "".join(char for char in said[0].strip() if char.isprintable())[:200]


def plain(cell: str) -> str:
    """A text as the database had it: ~ was a blank, \\XXXX a character outside ASCII."""
    units = ESCAPED.sub(lambda code: chr(int(code[1], 16)), cell.replace("~", " "))
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
