"""What mail, terminals and office programs do to a report: each kind of damage by name, and whether anything is lost by it."""

import gzip
import io
import re
import tarfile
import zipfile
from base64 import encodebytes
from collections.abc import Callable
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
    "no summaries": lambda text: re.sub(r" summary=\"[^\"]*\"", "", text),
}
"""The same to pages alone."""


PACKED = (
    "UTF-16 without mark", "UTF-16, the other order", "mail, quoted-printable", "mail, base64", "gzip", "zip",
    "tar.gz",
)  # fmt: skip
"""The kinds that give bytes."""


def _without(pattern: str) -> Damage:
    return lambda text: re.sub(pattern, "", text, flags=re.MULTILINE)


LOST: dict[str, Damage] = {
    "runs of blanks as one": lambda text: re.sub(r" {2,}", " ", text),
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
