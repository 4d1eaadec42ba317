"""Damage that mail, editors, terminals, SQL*Plus and transfers do to reports, and what `latchscope diagnose` says of it.

Written from printed reports alone, without a look at what reads them: `python -m tests.second.damage [--pairs 2000] [REPORT…]`.
"""

import argparse
import html as entities
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from itertools import count
from pathlib import Path
from typing import Any

from tests.paths import REPORTS

NUMBER = re.compile(r"(?<![\w.,:/-])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+)(?![\w.,:/-])")
EXAMPLES = sorted(set(REPORTS.iterdir()) - set(REPORTS.glob("awrdd-*")))
SWAPPED = str.maketrans(".,", ",.")
TABLE_ROW = r"(?is)<tr\b.*?</tr>"
LAST_CELL = r"(?is)<t[dh]\b[^>]*>[^<]*</t[dh]>\s*(?=</tr>)"
PADDED = "{:255}".format
TAG_BLANK = r" (?=[^<>]*>)(?<=[\w'\"] )"
WORD = "span lang=EN-US style='font-size:8.0pt;font-family:\"Courier New\"'"


@dataclass(frozen=True)
class Page:
    """A report as text, and whether it is HTML."""

    text: str
    html: bool

    def put(self, pattern: str, becomes: str) -> "Page":
        return Page(re.sub(pattern, becomes, self.text), self.html)

    def lines(self, each: Callable[[str], str], end: str = "\n") -> "Page":
        return Page(end.join(map(each, self.text.split("\n"))), self.html)

    def shown(self, each: Callable[[str], str]) -> "Page":
        """With what a reader sees changed: in HTML what is between tags."""
        parts = re.split(r"(<style.*?</style>|<[^>]*>)", self.text, flags=re.DOTALL) if self.html else [self.text]
        return Page("".join(each(part) if at % 2 == 0 else part for at, part in enumerate(parts)), self.html)

    def part(self, begin: float, end: float) -> "Page":
        rows = re.split(r"(?<=[>\n])", self.text)
        return Page("".join(rows[int(begin * len(rows)) : int(end * len(rows))]), self.html)


def from_word(page: Page) -> Page:
    """Saved by Word as filtered HTML."""
    page = page.shown(lambda text: re.sub(r"(?<= )-(?= )", "\N{EN DASH}", text))
    if page.html:
        cell = rf"\1<p class=MsoNormal><{WORD}>\2<o:p></o:p></span></p>\3"
        return Page(re.sub(r"(?is)(<t[dh]\b[^>]*>)(.*?)(</t[dh]>)", cell, page.text), html=True)
    rows = (re.sub(r" (?= )|^ ", "&nbsp;", entities.escape(row, quote=False)) for row in page.text.split("\n"))
    body = "\n".join(f"<p class=MsoNormal><{WORD}>{row or '&nbsp;'}</span></p>" for row in rows)
    head = "<head><meta charset=utf-8><meta name=Generator content='Microsoft Word 15'></head>"
    return Page(f"<html>{head}<body><div class=WordSection1>{body}</div></body></html>", html=True)


def by_browser(page: Page) -> Page:
    """HTML marked and copied as text, with a tab between cells; text that a browser showed and saved as HTML."""
    if not page.html:
        return Page(f"<html><body><pre>{entities.escape(page.text, quote=False)}</pre></body></html>", html=True)
    text = re.sub(r"\s+", " ", re.sub(r"(?is)<(style|head)\b.*?</\1>", "", page.text))
    text = re.sub(r"(?i)</t[dh]>\s*(?=<t[dh])", "\t", text)
    text = re.sub(r"(?i)</?(tr|p|h\d|li|ul|table|br|div|pre)\b[^>]*>", "\n", text)
    text = entities.unescape(re.sub(r"<[^>]*>", "", text))
    return Page(re.sub(r"[ \xa0]*([\t\n])[ \xa0\n]*", r"\1", text), html=False)


def changed(text: str, pattern: str, share: float, becomes: str) -> str:
    """With this share of what the pattern finds replaced, drawn anew for each text."""
    chance = random.Random(text)
    return re.sub(pattern, lambda found: becomes if chance.random() < share else found[0], text)


def in_mail(page: Page) -> tuple[str, bytes]:
    """HTML saved as a web archive, text as a message: both in quoted-printable."""
    mail = EmailMessage(SMTP)
    mail.set_content(page.text, subtype="html" if page.html else "plain", cte="quoted-printable")
    if page.html:
        mail.make_related()
    mail["From"] = "<Saved by Blink>" if page.html else "a@example.com"
    return (".mht" if page.html else ".eml"), mail.as_bytes()


def packed(suffix: str, content: bytes) -> tuple[str, bytes]:
    """HTML in a zip file beside a picture, text in a compressed tar file."""
    file = io.BytesIO()
    if suffix in (".html", ".mht"):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"report/awr{suffix}", content)
            archive.writestr("report/screen.png", b"\x89PNG\r\n\x1a\n" + bytes(64))
        return ".zip", file.getvalue()
    info = tarfile.TarInfo(f"report/awr{suffix}")
    info.size = len(content)
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.addfile(info, io.BytesIO(content))
    return ".tar.gz", file.getvalue()


Case = tuple[Path, tuple[str, ...]]
Kinds = dict[str, Callable[[Page], Page]]
REVERSIBLE: Kinds = {
    "quoted": lambda page: page.lines(lambda line: f"> {line}"),
    "in a ticket": lambda page: Page(f"Hello,\nwe are slow, look:\n\n```\n{page.text}\n```\n\nRegards\n", page.html),
    "double spaced": lambda page: page.lines(str, "\n\n"),
    "cut into 72": lambda page: page.put(r"([^\n]{72})(?=[^\n])", r"\1\n"),
    "tabs": lambda page: page.lines(lambda line: re.sub(r".{8}", lambda cell: re.sub(r" {2,}$", "\t", cell[0]), line)),
    "CR CR LF": lambda page: page.lines(str, "\r\r\n"),
    "hard blanks": lambda page: page.shown(lambda text: text.replace(" ", "\N{NO-BREAK SPACE}")),
    "decimal comma": lambda page: page.shown(lambda text: NUMBER.sub(lambda n: n[0].translate(SWAPPED), text)),
    "broken tags, padded": lambda page: page.put(TAG_BLANK, "\n  ") if page.html else page.lines(PADDED),
    "terminal": lambda page: Page(f"\x1b[?2004hSQL> @awrrpt\n\n{page.text}\n\x1b[0mSQL> exit\nBye\n", page.html),
    "line numbers": lambda page: Page(
        "".join(map("{:6d}  {}".format, count(1), page.text.splitlines(True))), page.html
    ),
    "Word": from_word,
    "browser": by_browser,
    "UTF-16": lambda page: page,
    "mail, web archive": lambda page: page,
    "packed": lambda page: page,
}
LOSSY: Kinds = {
    "blanks collapsed": lambda page: page.shown(lambda text: re.sub(r" {2,}", " ", text)),
    "blanks trimmed": lambda page: page.shown(str.strip) if page.html else page.lines(str.strip),
    "folded at words": lambda page: page.put(r"(\S[^\n]{0,59}) +(?=\S)", r"\1\n"),
    "end lost": lambda page: page.part(0, 0.55),
    "head lost": lambda page: page.part(0.2, 1),
    "right lost": lambda page: page.put(LAST_CELL if page.html else r"(?m)(?<=^.{66}).+", ""),
    "lines lost": lambda page: Page(changed(page.text, TABLE_ROW if page.html else r"[^\n]*\n", 0.1, ""), page.html),
    "hashes": lambda page: page.shown(lambda text: re.sub(r"(?<![\w.,])\d{1,3}(,\d{3}){2,}\b", "#########", text)),
    "misread": lambda page: page.shown(lambda text: changed(text, r"(?<=\d)[01](?=[\d,.])", 0.125, "l")),
}
KINDS = REVERSIBLE | LOSSY
OUTCOMES = ("equal", "cannot tell", "different", "too quiet")


def damaged(report: Path, kinds: Sequence[str]) -> tuple[str, bytes]:
    """The suffix and the bytes of this report with this damage; what concerns the file as a whole comes last."""
    page = Page(report.read_text(), report.suffix == ".html")
    for kind in kinds:
        page = KINDS[kind](page)
    suffix, content = (".html" if page.html else ".txt"), page.text.encode("utf-16" if "UTF-16" in kinds else "utf-8")
    if "mail, web archive" in kinds:
        suffix, content = in_mail(page)
    return packed(suffix, content) if "packed" in kinds else (suffix, content)


@dataclass(frozen=True)
class Told:
    state: str
    severity: str
    causes: frozenset[str]
    share: float
    largest: str | None
    headline: str = field(compare=False)

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Told":
        use = found["other_wait"] or found["largest_use"] or {}
        causes = frozenset(finding["cause"] for finding in found["findings"])
        share = round((found["impact"] or {}).get("share_of_db_time") or 0.0, 6)
        said = found["state"], found["severity"], causes, share, use.get("event") or use.get("name")
        return cls(*said, headline=found["headline"])

    def outcome(self, whole: "Told") -> str:
        """Too quiet is Fine, Elsewhere or "nothing to do" where the whole report says more: louder, a cause, a wait, a share."""
        if self == whole:
            return "equal"
        if self.state == "No data" or self.headline.startswith("Cannot tell"):
            return "cannot tell"
        quiet = self.state in {"Fine", "Elsewhere"} or "nothing to do" in self.headline.lower()
        more = self.state != whole.state != "Fine" or whole.causes - self.causes or whole.share > self.share + 0.0005
        return "too quiet" if quiet and (more or (whole.largest and not self.largest)) else "different"


def diagnose(files: Sequence[Path]) -> list[list[Told]]:
    """What the command says of each file. Its JSON names no file, so a call whose counts do not fit is halved."""
    command = [sys.executable, "-m", "service", "diagnose", "--format", "json", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [Told.of(one) for one in json.loads(f"[{done.stdout.strip().removeprefix('[').removesuffix(']')}]")]
    refused = re.sub(r"latchscope: skipped: .*", "", done.stderr)  # Such as the picture beside a report.
    read = [file for file in files if str(file) not in refused]
    if len(files) == 1:
        return [found]
    if len(found) != len(read):
        return diagnose(files[: len(files) // 2]) + diagnose(files[len(files) // 2 :])
    said = dict(zip(read, found, strict=True))
    return [[said[file]] if file in said else [] for file in files]


def worst(told: Sequence[Told], whole: Sequence[Told]) -> str:
    """The worst outcome of all that a file gives; another number of diagnoses is different at best."""
    outcomes = [one.outcome(other) for one, other in zip(told, whole, strict=False)] or ["cannot tell"]
    return max(outcomes + ["different"] * (len(whole) != len(told) > 0), key=OUTCOMES.index)


def judged(cases: Sequence[Case]) -> Iterator[tuple[Case, str, str]]:
    """Each report and its damage, the outcome, and what the whole and the damaged report say."""
    reports = sorted({report for report, _ in cases})
    wholes = dict(zip(reports, diagnose(reports), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(cases), 25):
            some, files = cases[at : at + 25], []
            for number, case in enumerate(some):
                suffix, content = damaged(*case)
                files.append(Path(folder, f"r{number:02d}{suffix}"))
                files[-1].write_bytes(content)
            for case, file, told in zip(some, files, diagnose(files), strict=True):
                if worst(told, wholes[case[0]]) == "too quiet":  # Alone, lest other files of the call took part.
                    told = diagnose([file])[0]
                file.unlink()
                yield case, worst(told, wholes[case[0]]), f"{wholes[case[0]]} became {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=Path, default=EXAMPLES)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    drawn = random.Random(asked.seed)
    pairs = [(drawn.choice(asked.reports), tuple(drawn.sample(list(KINDS), 2))) for _ in range(asked.pairs)]
    table: dict[str, Counter[str]] = {}
    alone: list[Case] = [(report, (kind,)) for kind in KINDS for report in asked.reports]
    for (report, kinds), outcome, words in judged(pairs or alone):
        name = kinds[0] if len(kinds) == 1 else "reversible pair" if REVERSIBLE.keys() >= set(kinds) else "lossy pair"
        table.setdefault(name, Counter())[outcome] += 1
        sys.stdout.write(f"{outcome}\t{' + '.join(kinds)}\t{report.name}\t{words}\n")
    for name, one in table.items():
        figures = "".join(f"{one[outcome]:5d} {outcome}" for outcome in OUTCOMES)
        sys.stdout.write(f"{name:20}{'R' if name in REVERSIBLE else ' '}{figures}\n")


if __name__ == "__main__":
    main()
