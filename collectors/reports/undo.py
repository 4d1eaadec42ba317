"""What a mail, a terminal or an office program did to a report is undone here, before anything is read of it."""

import codecs
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from itertools import pairwise

Span = tuple[int, int]


def as_text(data: bytes) -> str:
    """Bytes as text: by their mark, as UTF-16 where every other byte is zero, as UTF-8 if valid, else as Windows-1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if (zeros := [data[at:2000:2].count(0) for at in (0, 1)]) and max(zeros) > 0.4 * min(len(data), 2000) / 2:
        return data.decode("utf-16-le" if zeros[1] > zeros[0] else "utf-16-be", "replace")
    if data.count(b"=3D", 0, 1 << 16) > 2 and data.count(b"=\n") + data.count(b"=\r\n") > 2:
        data = quopri.decodestring(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.start:  # the begin of a file, cut within a letter
            return data[: error.start].decode("utf-8-sig")
        return data.decode("cp1252", "replace")


HEAD_BYTES = 128 * 1024
"""The title is at the top. Only mail headers and style sheets may come before it."""
_PAGE = re.compile(r"^[^\S\n]*<(!doctype|html|head|body|table|h1|title)\b", re.IGNORECASE | re.MULTILINE)
"""A page has such a tag at the start of a line. A program that writes pages has it in quotes."""


def is_html(text: str) -> bool:
    return _PAGE.search(text[:HEAD_BYTES]) is not None


MOST_LAYERS = 5


def undone(text: str) -> tuple[str, tuple[str, ...]]:
    """The text as the report's script wrote it, as far as nothing is lost, and in a few words what was undone."""
    text, changes = line_ends(text), dict[str, None]()
    for _ in range(MOST_LAYERS):
        whole, text = text, _taken(_AROUND_PAGES if is_html(text) else _AROUND_TEXT, text, changes)
        if text == whole:
            break
    text = _taken(_OF_PAGES if is_html(text) else _OF_TEXT, text, changes)
    return text, tuple(changes)


def _taken(steps: "_Steps", text: str, changes: dict[str, None]) -> str:
    for words, step in steps:
        before, text = text, step(text)
        if words and text != before:
            changes[words] = None
    return text


def line_ends(text: str) -> str:
    """Plain line ends: CR CR LF, LF CR, CR, the begin of a page and the separators of Unicode are one each."""
    for end in (
        ("\r\r\n", "\r\n", "\n\r", "\r") * ("\r" in text)
        + ("\f",)
        + ("\u2028", "\u2029", "\x85") * (not text.isascii())
    ):
        text = text.replace(end, "\n")
    return text


_SIGNS = str.maketrans(
    {"\0": " ", **dict.fromkeys("\u00a0\u2000\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
     **dict.fromkeys("\ufeff\u200b\u00ad", None), **dict.fromkeys("‘’´ʼ", "'"), **dict.fromkeys("“”", '"'), "‐": "-", "‑": "-"}
)  # fmt: skip


def _signs(text: str) -> str:
    """Hard and narrow blanks as blanks, and quotation marks of an office program as those of a keyboard."""
    return text if text.isascii() else text.translate(_SIGNS)


# Layers around the whole report: marks of quotation and numbers before every line, a page around plain text.


def _quotes(text: str) -> str:
    """The lines without the marks of a quoted mail. Lines that are not quoted are those of who sent it."""
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    marked = [line for line in filled if line.startswith((">", "| ", "|\t", "|\xa0")) or line == "|"]
    if len(marked) * 2 < len(filled) or not filled:
        return text
    wide = all(line[1:2] in ("", " ", "\xa0", ">", "|") for line in marked)
    return "\n".join(
        line[2 if wide and line[1:2] in (" ", "\xa0") else 1 :] if line.startswith((">", "|")) else line
        for line in lines
    )


_NUMBERED = re.compile(r"[ \t\xa0]{0,9}(\d{1,7})[:.)|]?")


def _line_numbers(text: str) -> str:
    """The lines without the number that an editor put before each: one more than that of the line before."""
    lines = text.split("\n")
    found = [(at, match) for at, line in enumerate(lines) if (match := _NUMBERED.match(line))]
    ours = {
        at: match.end()
        for one, other in pairwise(found)
        if int(other[1][1]) == int(one[1][1]) + 1
        for at, match in (one, other)
    }
    if len(ours) * 2 <= sum(bool(line.strip()) for line in lines):
        return text
    behind = [rest for at, end in ours.items() if (rest := lines[at][end:]).strip()]
    gap = min((len(rest) - len(rest.lstrip()) for rest in behind), default=0)
    bare = [line[ours[at] + gap :] if at in ours else line for at, line in enumerate(lines)]
    if "\t" in text and any(
        map(columns_of, bare)
    ):  # tabs between the columns of a text count from the begin of the line
        return _line_numbers(text.expandtabs())
    return "\n".join(bare)


_CELL = re.compile(r"<t[dh]\b", re.IGNORECASE)
_LINE = re.compile(r"<(?:p|div|li|br)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")


def _page_around(text: str) -> str:
    """The text within a page without a table, which an office program or a browser made of a text report."""
    if _CELL.search(text) or (begin := text.lower().find("<body")) < 0:
        return text
    body = text[begin:]
    if "<pre" not in body[:HEAD_BYTES].lower():
        body = _LINE.sub("\n", " ".join(body.split()))
    return unescape(re.sub("\n +", "\n", TAG.sub("", body))).replace("\xa0", " ")


# Rulers: a line of dashes and blanks says where the columns of a table are.

MOST_COLUMNS = 40
_RUN = re.compile(r"[-~]+")
_LONG = re.compile(r"[—–]")


def columns_of(line: str) -> tuple[Span, ...]:
    """Start and end of each column under a ruler. Empty if the line is none."""
    if not line.startswith(("-", "~")) or line.strip("-~ ") or " " not in line:
        return ()
    columns = tuple(match.span() for match in _RUN.finditer(line))
    return columns if len(columns) <= MOST_COLUMNS else ()


def in_gaps(line: str, columns: Sequence[Span]) -> bool:
    """Whether a line has signs where the ruler has blanks, so that its cells do not stand under it."""
    return any(line[left[1] : right[0]].strip() for left, right in pairwise(columns))


def _dashes(text: str) -> str:
    """Rulers with the dashes that an office program took two or three of for one long one, and names with their short one."""
    text = text.replace("&#8211;", "–").replace("&ndash;", "–")
    if "—" not in text and "–" not in text:
        return text
    rulers = {line for line in text.split("\n") if _LONG.search(line) and not line.strip("—–-~ ")}
    # What is left over of a run shows how many made one: a run of 11 is five long ones and one, or three and two.
    size = 3 if any("—--" in line for line in rulers) else 2
    em, en = "-" * size, "--" if any("–-" in line for line in rulers) else "-"
    return "\n".join(
        line.replace("—", em).replace("–", en) if line in rulers else line.replace("–", "-")
        for line in text.split("\n")
    )


def _tabs(text: str) -> str:
    """Blanks for tabs, of the width by which most rows stand under their rulers."""
    if "\t" not in text:
        return text
    lines = text.split("\n")
    if not any(map(columns_of, lines)):  # a page that was copied: its tabs part the cells
        return text
    return "\n".join(min(([line.expandtabs(width) for line in lines] for width in (8, 4, 2, 3)), key=_misfits))


def _misfits(lines: Iterable[str]) -> int:
    """Rows that do not stand under their ruler."""
    columns: tuple[Span, ...] = ()
    wrong = 0
    for line in lines:
        columns = columns_of(line) or (columns if line.strip() else ())
        wrong += bool(columns) and in_gaps(line, columns)
    return wrong


# Line breaks that are none of the report's.

NARROW, WIDE = 50, 140


def _folds(text: str) -> str:
    """Lines that were broken at a fixed width, whole again. A ruler that goes on in the next line shows the width."""
    lines = text.split("\n")
    ends = Counter(
        len(line) for line, after in pairwise(lines) if NARROW <= len(line) <= WIDE and _ruler_goes_on(line, after)
    )
    if not ends:
        return text
    width = max(ends, key=lambda size: (ends[size], size))
    if sum(len(line) > width for line in lines) > len(lines) // 10:
        return text
    return "\n".join(_unfolded(lines, width))


def _ruler_goes_on(line: str, after: str) -> bool:
    return line[:1] in ("-", "~", " ") and not line.strip("-~ ") and bool(after.strip()) and not after.strip("-~ ")


def _unfolded(lines: Sequence[str], width: int) -> Iterator[str]:
    """Each line with what follows it where it fills the width, but under and over rulers that are no wider.

    Under a wider ruler also where blanks at the break were lost: what follows is no longer than what the ruler has beyond it.
    """
    spare: int | None = None  # of a row under the present ruler, beyond the width
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        ruler = _is_ruler(line)
        over = next(
            (
                here
                for here in range(at - 1, min(at + MOST_ABOVE, len(lines)))
                if not lines[here].strip() or _is_ruler(lines[here])
            ),
            None,
        )
        below = _beyond(lines, over, width) if spare is None and over is not None and lines[over].strip() else spare
        room = _beyond(lines, at - 1, width) if ruler else width if below is None else below
        last, end = line, at
        while end < len(lines) and len(last) == width and lines[end].strip() and len(lines[end]) <= room:
            line, last, end = line + lines[end], lines[end], end + 1
        if (
            end == at
            and spare
            and line.strip()
            and not ruler
            and 0 < len("".join(lines[at : at + 1]).strip()) <= spare >= len(lines[at])
        ):
            line, end = line.ljust(width) + lines[at], at + 1
        spare = room if ruler else spare if line.strip() else None
        yield line
        at = end


MOST_ABOVE = 8


def _is_ruler(line: str) -> bool:
    return " " in line.strip() and not line.strip("-~ ")


def _beyond(lines: Sequence[str], at: int, width: int) -> int:
    """What a ruler has beyond the width: what follows it where it fills the width."""
    goes_on = len(lines[at]) == width and at + 1 < len(lines) and _ruler_goes_on(lines[at], lines[at + 1])
    return len(lines[at + 1]) if goes_on else 0


def _doubled(text: str) -> str:
    """Without the empty lines that something put between all lines, rulers and rows included."""
    lines = text.split("\n")
    rulers = [at for at, line in enumerate(lines[:-1]) if columns_of(line.rstrip()) and at]
    apart = sum(not lines[at - 1].strip() or not lines[at + 1].strip() for at in rulers)
    return "\n".join(line for line in lines if line.strip()) if apart * 3 > len(rulers) else text


# Numbers: thousands and decimals as Oracle prints them in English.

_PARTED = re.compile(
    r"([0-9])(?:['’\u00a0\u202f\u2009]|&(?:#39|#x27|apos|rsquo|#8217|nbsp|#160|#xa0|#8239|#x202f|#8201|thinsp);)(?=\d{3})",
    re.IGNORECASE,
)
# They begin with a digit, which makes the search several times as fast.
_ENGLISH = re.compile(r"[0-9](?<![\w.,].)\d{0,2}(?:(?:,\d{3}){2,}|(?:,\d{3})*\.\d{1,2})(?![\w.,])")
_CONTINENTAL = re.compile(r"[0-9](?<![\w.,].)\d{0,2}(?:(?:\.\d{3}){2,}|(?:\.\d{3})*,\d{1,2})(?![\w.,])")
_OURS = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d*,\d+)(?![\w.,])")
_SWAP = str.maketrans(",.", ".,")
SAMPLE = 30_000
"""So much of a report shows how it writes numbers."""


def _numbers(text: str) -> str:
    if _PARTED.search(text, 0, SAMPLE):
        text = _PARTED.sub(r"\1,", text)
    if (ours := len(_CONTINENTAL.findall(text, 0, SAMPLE))) and ours > len(_ENGLISH.findall(text, 0, SAMPLE)):
        text = _OURS.sub(lambda found: found[0].translate(_SWAP), text)
    return text


def _spooled(page: str) -> str:
    """A page that SQL*Plus broke at the width of its lines, also within tags and numbers. A browser takes a break for a blank."""
    lines = page.split("\n")
    sizes = [*map(len, lines)]
    width = max(sizes)
    if sizes.count(width) < 3:
        return page
    # A break within a tag or a word.
    torn = [
        len(line) == width
        for line, after in pairwise(lines)
        if line.rfind("<") > line.rfind(">") or (line[-1:].isalnum() and after[:1].isalnum())
    ]
    if sum(torn) < 3 or sum(torn) < 0.8 * len(torn):  # lines wrapped between words end at any place, and lose nothing
        return page
    # A line that SQL*Plus filled up with blanks ended there.
    return "".join(line if len(line) == width and line[-2:] != "  " else f"{line}\n" for line in lines)


_Steps = Sequence[tuple[str, Callable[[str], str]]]
_AROUND_PAGES: _Steps = (("a page around the text", _page_around),)
_AROUND_TEXT: _Steps = (("marks of quotation", _quotes), ("line numbers", _line_numbers))
_OF_PAGES: _Steps = (
    ("line breaks within tags and numbers", _spooled),
    ("long dashes", _dashes),
    ("the signs that part thousands and decimals", _numbers),
)
_OF_TEXT: _Steps = (
    ("the signs that part thousands and decimals", _numbers),
    ("", _signs),
    ("long dashes", _dashes),
    ("", _tabs),
    ("lines that were folded", _folds),
    ("empty lines between all lines", _doubled),
)
