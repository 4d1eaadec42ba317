"""Two rules of thumb as rivals, and a stronger one, with small readers of their own. They show whether the exam separates.

They read the same files. Of a live database they say that they cannot tell.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

from exam.draw import Key
from exam.words import CANNOT_TELL, ELSEWHERE, NOTHING

CPU = "DB CPU"
IDLE = ("SQL*Net message from client", "rdbms ipc message")
BORDER = 0.98
"""The hit ratio from which many handbooks say that the shared pool is large enough."""
ENOUGH = 0.02
"""Share of DB time from which waits are worth a look. Processor time and waits together stand for DB time."""
SURE = 0.8
TEXTBOOK: dict[str, tuple[str, tuple[str, ...]]] = {
    "latch: row cache objects": ("hard-parse-storm", ("Use bind variables.", "Increase the shared pool.")),
    "row cache lock": ("sequence-nocache", ("Increase the cache of the sequences.", "Increase the shared pool.")),
    "row cache mutex": ("hard-parse-storm", ("Use bind variables.", "Increase the shared pool.")),
    "latch: shared pool": ("hard-parse-storm", ("Use bind variables.", "Increase the shared pool.")),
    "library cache": ("downstream-of-library-cache", ("Use bind variables.", "Increase the shared pool.")),
    "cursor:": ("downstream-of-library-cache", ("Reduce the number of child cursors.",)),
    "latch free": ("result-cache-latch", ("Find the latch with the most sleeps.",)),
    "enq: SQ": ("sequence-nocache", ("Increase the cache of the sequences.",)),
    "enq: US": ("undo-online-storm", ("Keep the undo segments online.",)),
    "resmgr": ("throttled-holder", ("Review the resource plan.",)),
}
"""The beginning of an event → the cause that handbooks name first, and their advice."""
OF_CACHE = {
    "dc_rollback_segments": "undo-segments",
    "dc_users": "logon-storm",
    "dc_profiles": "profile-lookups",
    "dc_sequences": "sequence-nocache",
    "dc_objects": "ddl-invalidation",
    "dc_object_grants": "object-grants",
    "dc_global_oids": "object-types",
    "dc_props": "database-properties",
    "global database name": "database-properties",
    "dc_constraints": "constraint-creation",
    "dc_segments": "segment-churn",
    "dc_tablespaces": "extent-allocation",
    "dc_tablespace_quotas": "dictionary-managed",
    "dc_free_extents": "dictionary-managed",
    "dc_histogram_defs": "histogram-hard-parse",
    "dc_histogram_data": "histogram-hard-parse",
}
"""The busiest cache → the cause that one would try first."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a rule of thumb reads: seconds by event, and gets and misses by cache."""

    waits: Mapping[str, float] = field(default_factory=dict)
    caches: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def largest(self) -> str | None:
        """The wait with most seconds. Processor time is no wait."""
        return max((event for event in self.waits if event != CPU), key=lambda event: self.waits[event], default=None)

    @property
    def busiest(self) -> str | None:
        """The cache with most gets."""
        return max(self.caches, key=lambda name: self.caches[name][0], default=None)


def largest_wait(found: Figures) -> dict[str, Any]:
    """The largest wait gets its textbook cause and advice, however small it is."""
    event = found.largest
    if event is None:
        return _said(CANNOT_TELL, None, 0.0)
    cause, advice = next((told for start, told in TEXTBOOK.items() if event.startswith(start)), (ELSEWHERE, ()))
    return _said(cause, found.busiest, SURE, advice)


def busiest_cache(found: Figures) -> dict[str, Any]:
    """If waits of the row cache cost enough, the usual cause of the busiest cache; else nothing is wrong."""
    if not found.waits:
        return _said(CANNOT_TELL, None, 0.0)
    ours = [event for event in found.waits if "row cache" in event]
    if sum(found.waits[event] for event in ours) < ENOUGH * sum(found.waits.values()):
        return _said(NOTHING, None, SURE)
    event = max(ours, key=lambda name: found.waits[name])
    cause, advice = TEXTBOOK.get(event, (ELSEWHERE, ()))
    return _said(OF_CACHE.get(found.busiest or "", cause), found.busiest, SURE, advice)


def hit_ratio(found: Figures) -> dict[str, Any]:
    """A hit ratio below the border means that the shared pool is too small."""
    gets, misses = (sum(told[place] for told in found.caches.values()) for place in (0, 1))
    if not gets:
        return _said(CANNOT_TELL, None, 0.0)
    if 1 - misses / gets >= BORDER:
        return _said(NOTHING, None, SURE)
    worst = max(found.caches, key=lambda name: found.caches[name][1])
    return _said("shared-pool-too-small", worst, SURE, ("Increase the shared pool.",))


RIVALS: dict[str, Callable[[Figures], dict[str, Any]]] = {
    "largest wait": largest_wait,
    "busiest cache": busiest_cache,
    "hit ratio": hit_ratio,
}


def answers(rival: str, folder: Path, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """The answers of a rival to all questions of a folder."""
    judge = RIVALS[rival]
    return [
        {"question": key.id, **judge(figures(folder / "questions" / key.file if key.file else None))} for key in keys
    ]


def figures(file: Path | None) -> Figures:
    """The figures of a file of questions; none of a live database."""
    if file is None:
        return Figures()
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        return of_capture(text)
    return of_html(text) if file.suffix == ".html" else of_text(text)


def _said(cause: str, cache: str | None, confidence: float, advice: Sequence[str] = ()) -> dict[str, Any]:
    return {"cause": cause, "cache": cache, "confidence": confidence, "advice": list(advice)}


def of_capture(text: str) -> Figures:
    """The growth between the first and the last snapshot."""
    snapshots = json.loads(text)["snapshots"]
    first, last = (_grown(snapshots[place]["views"]) for place in (0, -1))
    waits, caches = (
        {name: _less(now, first[part].get(name)) for name, now in last[part].items()} for part in ("waits", "caches")
    )
    seconds = {event: moved[0] / 1e6 for event, moved in waits.items() if event not in IDLE}
    return Figures(seconds, {name: (gets, misses) for name, (gets, misses) in caches.items()})


def _less(now: Sequence[float], before: Sequence[float] | None) -> tuple[float, ...]:
    return tuple(a - b for a, b in zip(now, before or [0.0] * len(now), strict=True))


def _grown(views: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Totals of a snapshot: microseconds by event, gets and misses by cache."""
    waits: dict[str, tuple[float, ...]] = {}
    caches: dict[str, tuple[float, ...]] = {}
    for row in _rows(views, "v$system_event"):
        waits[row["event"]] = (_of(row, "time_waited_micro_fg") or _of(row, "time_waited_micro"),)
    for row in _rows(views, "v$sys_time_model"):
        if row["stat_name"] == CPU:
            waits[CPU] = (_of(row, "value"),)
    for row in _rows(views, "v$rowcache"):
        gets, misses = caches.get(row["parameter"], (0.0, 0.0))
        caches[row["parameter"]] = (gets + _of(row, "gets"), misses + _of(row, "getmisses"))
    return {"waits": waits, "caches": caches}


def _rows(views: Mapping[str, Any], view: str) -> list[dict[str, Any]]:
    told = views.get(view, {"columns": [], "rows": []})
    return [dict(zip(told["columns"], row, strict=True)) for row in told["rows"]]


def _of(row: Mapping[str, Any], column: str) -> float:
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else 0.0


def of_html(text: str) -> Figures:
    """The wait events, processor time and dictionary caches of an AWR report in HTML."""
    tables = {}
    for section in re.split(r"<h3[^>]*>", text)[1:]:
        head, _, rest = section.partition("</h3>")
        table = re.search(r"<table[^>]*>(.*?)</table>", rest, re.S)
        tables[_bare(head)] = [
            [_bare(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
            for row in re.findall(r"<tr>(.*?)</tr>", table[1] if table else "", re.S)
        ]
    return _figures(
        next((rows for name, rows in tables.items() if name in ("Foreground Wait Events", "Wait Events")), []),
        tables.get("Time Model Statistics", []),
        tables.get("Dictionary Cache Stats", []),
    )


def _bare(cell: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", cell)).strip()


def of_text(text: str) -> Figures:
    """The same of a text report, AWR or Statspack, by the ruler of dashes that gives the columns of a section."""
    return _figures(
        _section(text, r"(?:Foreground )?Wait Events"),
        _section(text, r"Time Model (?:Statistics|System Stats)"),
        _section(text, r"Dictionary Cache Stats"),
    )


def _section(text: str, title: str) -> list[list[str]]:
    """The cells of all pages of a section."""
    cells: list[list[str]] = []
    columns: list[tuple[int, int]] | None = None
    inside = False
    for line in text.replace("\f", "\n").splitlines():
        if re.match(rf"{title}\s+DB/Inst", line):
            inside, columns = True, None
        elif not inside:
            continue
        elif re.fullmatch(r"[-\s]*-{3,}[-\s]*", line) and columns is None:
            columns = [match.span() for match in re.finditer(r"-+", line)]
        elif re.match(r"\s*-{20,}", line):
            inside = False
        elif columns and line.strip():
            cells.append([line[start:end].strip() for start, end in columns])
    return cells


def _figures(events: list[list[str]], times: list[list[str]], dictionary: list[list[str]]) -> Figures:
    waits = {row[0]: _figure(row[3]) for row in events if len(row) > 3 and row[0] not in IDLE}
    waits |= {row[0]: _figure(row[1]) for row in times if len(row) > 1 and row[0] == CPU}
    caches = {}
    for row in dictionary:
        if len(row) > 2 and row[0]:
            gets = _figure(row[1])
            caches[row[0]] = (gets, gets * _figure(row[2]) / 100)
    return Figures(waits, caches)


def _figure(text: str) -> float:
    """A printed number; 0 if it is blank or too wide for its column."""
    found = re.fullmatch(r"-?[\d,]*\.?\d+", text)
    return float(text.replace(",", "")) if found else 0.0
