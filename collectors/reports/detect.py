"""Which document a file is, by its title. For documents that latchscope does not read: why, and what to run instead."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar

from collectors.reports.decode import as_text

ReportKind = Literal["AWR", "Statspack", "compare"]

T = TypeVar("T")

HEAD_BYTES = 128 * 1024
"""The title is at the top. Only mail headers and style sheets may come before it."""
_PAGE = re.compile(r"^[^\S\n]*<(!doctype|html|head|body|table|h1|title)\b", re.IGNORECASE | re.MULTILINE)
"""A page has such a tag at the start of a line. A program that writes pages has it in quotes."""

_RUN_AWR = "run awrrpt.sql for one instance instead"
_REFUSED: Mapping[str, tuple[str, str]] = {
    r"workload repository sql report": ("an AWR SQL report, which covers one statement", _RUN_AWR),
    r"workload repository report \(rac\)": ("a report over all instances of a cluster, whose latches it adds up", _RUN_AWR),
    r"workload repository (rac|global) ": ("a report over all instances of a cluster, whose latches it adds up", _RUN_AWR),
    r"statspack sql report for": ("a Statspack SQL report, which covers one statement", "run spreport.sql instead"),
    r"ash report for": ("an ASH report, which has no latch and no dictionary cache sections", _RUN_AWR),
    r"addm report for": ("an ADDM report, which has advice and no counters", _RUN_AWR),
}  # fmt: skip
_READ: Mapping[str, ReportKind] = {
    r"workload repository compare period report": "compare",
    r"awr compare period report": "compare",
    r"workload repository (pdb )?report": "AWR",
    r"awr (pdb )?report for db:": "AWR",
    r"statspack report for": "Statspack",
}


def looks_like_report(data: bytes) -> bool:
    """Whether the file calls itself a report of Oracle, refused ones included. A file that only quotes one does not count."""
    head = as_text(data[:HEAD_BYTES]).replace("\r", "\n")
    return kind_of(head) is not None or refusal_of(head) is not None


def kind_of(text: str) -> ReportKind | None:
    """Which report the document is. None if it is none that latchscope reads."""
    return _first(_READ, text)


def refusal_of(text: str) -> tuple[str, str] | None:
    """For a known document that latchscope cannot read: what it is, and what to run instead. None for any other."""
    return _first(_REFUSED, text)


def is_of_pdb(text: str) -> bool:
    """Whether the report was made inside a PDB or for one."""
    head = _head(text[:HEAD_BYTES])
    return "workload repository pdb report" in head or "(pdb snapshots)" in head or "awr pdb report" in head


def is_html(text: str) -> bool:
    return _PAGE.search(text[:HEAD_BYTES]) is not None


def _first(titles: Mapping[str, T], text: str) -> T | None:
    """The meaning of the first title. Titles begin a line, or an element in an HTML page."""
    head = text[:HEAD_BYTES]
    lines = re.sub(r"<[^<>]*>", "\n", head) if is_html(head) else head
    found = ((match.start(), what) for title, what in titles.items() if (match := _title(title).search(lines)))
    return min(found, key=lambda pair: pair[0], default=(0, None))[1]


@cache
def _title(words: str) -> re.Pattern[str]:
    return re.compile(r"^[^\S\n]*" + words.replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)


def _head(text: str) -> str:
    return " ".join(re.sub(r"<[^<>]*>", " ", text).lower().split())
