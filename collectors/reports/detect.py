"""Which document this is, by what it calls itself; and of those that are not read, why and what to run instead."""

import re
from collections.abc import Mapping
from typing import Literal, TypeVar

from collectors.reports.decode import as_text

Kind = Literal["AWR", "Statspack", "compare"]

T = TypeVar("T")

HEAD_BYTES = 128 * 1024
"""A title stands at the top; only mail headers and style sheets may come before it."""

_RUN_AWR = "run awrrpt.sql for one instance instead"
_REFUSED: Mapping[str, tuple[str, str]] = {
    r"workload repository sql report": ("an AWR SQL report, which tells of one statement", _RUN_AWR),
    r"workload repository report \(rac\)": ("a report over all instances of a cluster, whose latches it adds up", _RUN_AWR),
    r"workload repository (rac|global) ": ("a report over all instances of a cluster, whose latches it adds up", _RUN_AWR),
    r"statspack sql report for": ("a Statspack SQL report, which tells of one statement", "run spreport.sql instead"),
    r"ash report for": ("an ASH report, which has no latch and no dictionary cache sections", _RUN_AWR),
    r"addm report for": ("an ADDM report, which has advice and no counters", _RUN_AWR),
}  # fmt: skip
_READ: Mapping[str, Kind] = {
    r"workload repository compare period report": "compare",
    r"awr compare period report": "compare",
    r"workload repository (pdb )?report": "AWR",
    r"awr (pdb )?report for db:": "AWR",
    r"statspack report for": "Statspack",
}


def looks_like_report(data: bytes) -> bool:
    """Whether the file calls itself a report of Oracle, one of those that are refused included."""
    head = _head(as_text(data[:HEAD_BYTES]))
    return any(re.search(title, head) for title in (*_REFUSED, *_READ))


def kind_of(text: str) -> Kind | None:
    """What the document is, or None when it calls itself none of the reports that are read."""
    return _first(_READ, _head(text[:HEAD_BYTES]))


def refusal_of(text: str) -> tuple[str, str] | None:
    """What a known document is that cannot be read, and what to run instead; None for any other."""
    return _first(_REFUSED, _head(text[:HEAD_BYTES]))


def is_of_pdb(text: str) -> bool:
    """Whether the report was made inside a PDB, or of one."""
    head = _head(text[:HEAD_BYTES])
    return "workload repository pdb report" in head or "(pdb snapshots)" in head or "awr pdb report" in head


def is_html(text: str) -> bool:
    """Whether the report is HTML."""
    return re.search(r"<(html|table|body|h1|title)\b", text[:HEAD_BYTES], re.IGNORECASE) is not None


def _first(titles: Mapping[str, T], head: str) -> T | None:
    found = ((match.start(), what) for title, what in titles.items() if (match := re.search(title, head)))
    return min(found, key=lambda pair: pair[0], default=(0, None))[1]


def _head(text: str) -> str:
    return " ".join(re.sub(r"<[^<>]*>", " ", text).lower().split())
