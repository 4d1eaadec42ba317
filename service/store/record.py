"""One poll in the form that waits for the store and is written to it: plain data, made in the poll's own thread."""

import json
import zlib
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from collectors.capture import dump_snapshot, load_snapshot
from collectors.model import Delta, NotComparable, ObstacleKind, Snapshot
from rules.model import Diagnosis, verdict_of
from service.state.board import PollRecord
from service.state.confirmations import Confirmed
from service.state.episodes import OF_ONE_POLL, Episode, EpisodeChange
from service.store.ingest.samples import Sample, SampleItem, changes_of, levels_of, missing_of

DETAILS = ("container", "con_id", "names", "unnamed", "refused")
"""What the store keeps of a confirmation beside its number, as JSON."""
_CHANGES = TypeAdapter(list[EpisodeChange])
_NOT_KEPT = {"__all__": {"episode": OF_ONE_POLL}}
_ENCODED = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class IngestRecord:
    """One poll for the store. `body` is its snapshot as JSON; `diagnosis` is empty if it is unchanged; `seconds` is
    None if the poll has no interval; `why` says why."""

    database: str
    at: datetime
    body: bytes
    diagnosis: str
    severity: str
    headline: str
    verdict: list[Any]
    seconds: float | None
    share: float | None
    waiting: float | None
    missing: str
    startup_time: str | None
    why: str | None
    figures: list[Sample] = field(default_factory=list)
    episodes: list[dict[str, Any]] = field(default_factory=list)
    confirmed: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    kind: ObstacleKind | None = None
    """Of `why`; None in a file of the spool that latchscope 0.2 or older left."""

    @property
    def items(self) -> list[SampleItem]:
        """The items of its figures, in order."""
        return [item for item, _ in self.figures]


def record_of(snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None) -> IngestRecord | None:
    """The record of a poll. None for a poll without a time, because time is the key."""
    if snapshot.taken_at is None:
        return None
    delta = poll_record.change if poll_record and isinstance(poll_record.change, Delta) else None
    gap = poll_record.change if poll_record and isinstance(poll_record.change, NotComparable) else None
    impact = diagnosis.impact
    figures = list(changes_of(delta, impact)) if delta else []
    if poll_record:
        figures.extend(levels_of(snapshot, poll_record.previous))
    return IngestRecord(
        database=snapshot.database,
        at=snapshot.taken_at,
        body=plain(snapshot),
        diagnosis="" if poll_record and poll_record.short else diagnosis.model_dump_json(),
        severity=diagnosis.severity.value,
        headline=diagnosis.headline,
        verdict=verdict_of(diagnosis),
        seconds=delta.basis.seconds if delta else None,
        share=impact.share_of_db_time if impact and delta else None,
        waiting=impact.waiting_sessions if impact and delta else None,
        missing=_ENCODED(missing_of(delta, snapshot, impact)) if delta else "[]",
        startup_time=snapshot.startup_time,
        why=gap.why if gap else None,
        kind=gap.kind if gap else None,
        figures=figures,
        episodes=[_episode(episode) for episode in poll_record.episodes] if poll_record else [],
        confirmed=[_confirmed(result) for result in poll_record.confirmed] if poll_record else [],
        changes=_CHANGES.dump_python(list(poll_record.episode_changes), mode="json", exclude=_NOT_KEPT)
        if poll_record
        else [],
    )


def changes_in(record: IngestRecord) -> list[EpisodeChange]:
    """The changes of episodes by the poll of a record."""
    return _CHANGES.validate_python(record.changes)


def plain(snapshot: Snapshot) -> bytes:
    """A snapshot in the form of a capture file's, as JSON: the writer packs it with its day's first."""
    return _ENCODED(dump_snapshot(snapshot)).encode()


def snapshot_of(record: IngestRecord) -> Snapshot:
    """The snapshot of a poll that waits for the store. Raises InputError or ValueError if it is not one."""
    return load_snapshot(json.loads(record.body), record.database, f"spool, {record.database}")


def unpack(body: bytes, database: str) -> Snapshot:
    """A stored snapshot as it was. Raises InputError, ValueError or zlib.error if it is not one."""
    return load_snapshot(json.loads(zlib.decompress(body)), database, f"store, {database}")


def to_bytes(record: IngestRecord) -> bytes:
    members = asdict(record) | {"at": record.at.isoformat(), "body": zlib.compress(record.body, 1).hex()}
    return zlib.compress(json.dumps(members).encode(), 3)


def from_bytes(data: bytes) -> IngestRecord:
    """The record back. Raises ValueError, KeyError, TypeError or zlib.error if the data is not one."""
    members = json.loads(zlib.decompress(data))
    figures: list[Sample] = [
        ((view, key, column, gauge), value) for (view, key, column, gauge), value in members["figures"]
    ]
    converted = {
        "at": datetime.fromisoformat(members["at"]),
        "body": zlib.decompress(bytes.fromhex(members["body"])),
        "figures": figures,
    }
    return IngestRecord(**(members | converted))


def _episode(episode: Episode) -> dict[str, Any]:
    return {
        "database": episode.database,
        "cause": episode.cause,
        "began": episode.begin.isoformat(),
        "ended": episode.end.isoformat() if episode.end else None,
        "last_seen": episode.last_seen.isoformat(),
        "cache": episode.cache,
        "title": episode.title,
        "severity": episode.severity.value,
        "peak_severity": episode.peak_severity.value,
        "peak_at": episode.peak_at.isoformat(),
        "peak_share": episode.peak_share_of_db_time,
        "headline": episode.headline,
    }


def _confirmed(confirmed: Confirmed) -> dict[str, Any]:
    return {
        "cause": confirmed.cause,
        "at": confirmed.at,
        "sql": confirmed.sql,
        "value": confirmed.value,
        "startup_time": confirmed.startup_time,
        "details": json.dumps({name: getattr(confirmed, name) for name in DETAILS}, separators=(",", ":")),
    }
