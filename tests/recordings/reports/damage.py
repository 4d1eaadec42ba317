"""What mail, terminals and office programs do to a report: each kind of damage by name, and whether anything is lost by it."""

import gzip
import html
import io
import re
import tarfile
import zipfile
from base64 import encodebytes
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTP
from itertools import count
from quopri import encodestring

Damage = Callable[[str], str | bytes]


def _each(change: Callable[[str], str]) -> Damage:
    return lambda text: "\n".join(map(change, text.split("\n")))


def _ends(end: str) -> Damage:
    return lambda text: text.replace("\n", end)


def _folded(width: int, strip: bool = False) -> Damage:
    def fold(line: str) -> str:
        pieces = [line[at : at + width] for at in range(0, len(line), width)] or [""]
        return "\n".join(piece.rstrip() if strip else piece for piece in pieces)

    return _each(fold)


def _tabbed(width: int) -> Damage:
    """Two and more blanks before a tab stop as one tab, as an editor saves them."""

    def line_of(line: str) -> str:
        pieces = [line[at : at + width] for at in range(0, len(line), width)]
        return "".join(
            f"{piece.rstrip(' ')}\t" if piece.endswith("  ") and len(piece) == width else piece for piece in pieces
        )

    return _each(line_of)


def _spaced(every: int) -> Damage:
    return lambda text: "\n".join(
        f"{line}\n" if number % every == 0 else line for number, line in enumerate(text.split("\n"))
    )


def _thousands(sign: str) -> Damage:
    return lambda text: re.sub(r"(?<=\d),(?=\d{3})", sign, text)


def _continental(text: str) -> str:
    swap = str.maketrans(",.", ".,")
    number = r"(?<![\w.,/:-])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+)(?![\w.,/:-])"
    return re.sub(number, lambda found: found[0].translate(swap), text)


def _mail(encoding: str, body: Callable[[bytes], bytes]) -> Damage:
    def made(text: str) -> bytes:
        kind = "html" if "<html" in text[:2000] else "plain"
        head = (
            "From: Night shift <night@example.com>\nSubject: slow\nMIME-Version: 1.0\n"
            f"Content-Type: text/{kind}; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n"
        )
        return head.encode() + body(text.encode())

    return made


def _zipped(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report.txt", text)
    return packed.getvalue()


def _tarred(text: str) -> bytes:
    packed, data = io.BytesIO(), text.encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("out/report.txt")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def _from_word(text: str) -> str:
    """Saved by Word as filtered HTML."""
    text = re.sub(r"(?<= )-(?= )", "\N{EN DASH}", text)
    word = "span lang=EN-US style='font-size:8.0pt;font-family:\"Courier New\"'"
    if "<html" in text[:2000].lower():
        cell = rf"\1<p class=MsoNormal><{word}>\2<o:p></o:p></span></p>\3"
        return re.sub(r"(?is)(<t[dh]\b[^>]*>)(.*?)(</t[dh]>)", cell, text)
    rows = (re.sub(r" (?= )|^ ", "&nbsp;", html.escape(row, quote=False)) for row in text.split("\n"))
    body = "\n".join(f"<p class=MsoNormal><{word}>{row or '&nbsp;'}</span></p>" for row in rows)
    head = "<head><meta charset=utf-8><meta name=Generator content='Microsoft Word 15'></head>"
    return f"<html>{head}<body><div class=WordSection1>{body}</div></body></html>"


def _by_browser(text: str) -> str:
    """A page marked and copied as text, with a tab between cells; text that a browser showed and saved as a page."""
    if "<html" not in text[:2000].lower():
        return f"<html><body><pre>{html.escape(text, quote=False)}</pre></body></html>"
    text = re.sub(r"\s+", " ", re.sub(r"(?is)<(style|head)\b.*?</\1>", "", text))
    text = re.sub(r"(?i)</t[dh]>\s*(?=<t[dh])", "\t", text)
    text = re.sub(r"(?i)</?(tr|p|h\d|li|ul|table|br|div|pre)\b[^>]*>", "\n", text)
    return re.sub(r"[ \xa0]*([\t\n])[ \xa0\n]*", r"\1", html.unescape(re.sub(r"<[^>]*>", "", text)))


def _web_archive(text: str) -> bytes:
    """A page as a browser saves it in one file."""
    mail = EmailMessage(SMTP)
    mail.set_content(text, subtype="html", cte="quoted-printable")
    mail.make_related()
    mail["From"] = "<Saved by Blink>"
    return mail.as_bytes()


def _around(text: str) -> str:
    return f"Hello,\n\nsee below, it is slow since nine.\n\n```\n{text}\n```\n\nRegards\n"


def _long_dashes(text: str) -> str:
    return text.replace("--", "—")


ANY: dict[str, Damage] = {
    "CR CR LF": _ends("\r\r\n"),
    "LF CR": _ends("\n\r"),
    "CR": _ends("\r"),
    "line separators": _ends("\u2028"),
    "UTF-16 without mark": lambda text: text.encode("utf-16-le"),
    "UTF-16, the other order": lambda text: text.encode("utf-16-be"),
    "apostrophes": _thousands("'"),
    "right quotes": _thousands("’"),
    "hard blanks between thousands": _thousands("\u00a0"),
    "decimal commas": _continental,
    "mail, quoted-printable": _mail("quoted-printable", encodestring),
    "mail, base64": _mail("base64", encodebytes),
    "terminal": lambda text: f"\x1b[?2004hSQL> @awrrpt\n\n{text}\n\x1b[0mSQL> exit\nBye\n",
    "line numbers": lambda text: "".join(map("{:6d}  {}".format, count(1), text.splitlines(True))),
    "Word": _from_word,
    "gzip": lambda text: gzip.compress(text.encode()),
    "zip": _zipped,
    "tar.gz": _tarred,
}
"""Damage by which nothing is lost, to text and pages."""
TEXT: dict[str, Damage] = {
    "quoted": _each(lambda line: f"> {line}".rstrip()),
    "quoted without blank": _each(lambda line: f">{line}"),
    "quoted twice": _each(lambda line: f"> > {line}"),
    "bars": _each(lambda line: f"| {line}"),
    "fences": _around,
    "double spaced": _spaced(1),
    "each second line spaced": _spaced(2),
    "no empty lines": lambda text: "\n".join(line for line in text.split("\n") if line.strip()),
    "hard blanks": lambda text: text.replace(" ", "\u00a0"),
    "tabs of 8": _tabbed(8),
    "tabs of 4": _tabbed(4),
    "folded at 72": _folded(72),
    "folded at 60": _folded(60),
    "folded at 76, ends stripped": _folded(76, strip=True),
    "left-trimmed": _each(str.lstrip),
    "long dashes": _long_dashes,
    "right-trimmed": _each(str.rstrip),
}
"""The same to text alone."""
PAGE: dict[str, Damage] = {
    "linesize 80": _folded(80),
    "linesize 132": _folded(132),
    "linesize 255": _folded(255),
    "linesize 132, padded": lambda text: "\n".join(line.ljust(132) for line in str(_folded(132)(text)).split("\n")),
    "tags in upper case": lambda text: re.sub(r"</?(table|t[drh]|h\d|p|body|html)\b", lambda tag: tag[0].upper(), text),
    "broken tags": lambda text: re.sub(r" (?=[^<>]*>)(?<=[\w'\"] )", "\n  ", text),
    "web archive": _web_archive,
    "no summaries": lambda text: re.sub(r" summary=\"[^\"]*\"", "", text),
}
"""The same to pages alone."""


PACKED = (
    "UTF-16 without mark", "UTF-16, the other order", "mail, quoted-printable", "mail, base64", "gzip", "zip",
    "tar.gz", "web archive",
)  # fmt: skip
"""The kinds that give bytes."""


def _without(pattern: str) -> Damage:
    return lambda text: re.sub(pattern, "", text, flags=re.MULTILINE)


LOST: dict[str, Damage] = {
    "runs of blanks as one": lambda text: re.sub(r" {2,}", " ", text),
    "through a browser": _by_browser,
    "gaps as tabs": lambda text: re.sub(r" {2,}", "\t", text),
    "cut at column 60": _each(lambda line: line[:60]),
    "cut in the middle": lambda text: text[: len(text) // 2],
    "a third cut out": lambda text: text[: len(text) // 3] + text[2 * len(text) // 3 :],
    "without rulers": _without(r"^[- ]*-{3,}[- ]*$"),
    "without headings": _without(r"^.*(?:Waits|Requests|Time \(s\)).*$"),
    "O for 0": lambda text: re.sub(r"(?<=[\d,])0(?=[\d,. ])", "O", text),
    "digits too wide": lambda text: re.sub(r"\b\d{1,3}(?:,\d{3})+", lambda found: "#" * len(found[0]), text),
    "numbers between bars": lambda text: re.sub(r"(?<= )(\d[\d,.]*)", r"|\1", text),
    "words wrapped at 72": _each(lambda line: re.sub(r"(.{1,72})(?:\s+|$)", r"\1\n", line)),
}
"""Damage by which something is lost."""
