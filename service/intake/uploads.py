"""Uploaded reports: read and diagnosed as on the command line, then kept under the SHA-256 of their content.

All that reads a file, also one that is kept, runs in the process of WORKER.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import Field, ValidationError, model_validator

from collectors.model import DeltaSource
from rules.base import Frozen
from rules.gaps import REMEMBER
from rules.model import Diagnosis
from service.intake.archives import LIMITS, Limits, TooLarge, label, mib
from service.intake.incident import Incident, Story, incident, story, under_one_name
from service.intake.inputs import Bars, InputResults, diagnose_data, figures, short_names
from service.intake.worker import WORKER
from service.store.episodes import EpisodePage
from service.store.reports import Reports, StoredReportSummary

T = TypeVar("T")
MOST_FILES = 20
"""Most files of one request."""


@dataclass(frozen=True, slots=True)
class File:
    """One uploaded file: its name from the sender, which is only displayed, and its bytes."""

    name: str
    data: bytes


class ReportPart(Frozen):
    """One Diagnosis of a report, its part of the report, and the figures that are drawn beside it."""

    name: str
    diagnosis: Diagnosis
    figures: tuple[Bars, ...] = ()


class StoredReportPart(ReportPart):
    """A part as stored. It says what was judged, beside its Diagnosis."""

    source: DeltaSource

    @model_validator(mode="before")
    @classmethod
    def _of_before(cls, members: dict[str, Any]) -> dict[str, Any]:
        """Parts stored by older versions do not say their source. A printed report is known by its note."""
        if isinstance(members, dict) and "source" not in members:
            printed = REMEMBER in members.get("diagnosis", {}).get("notes", ())
            return {**members, "source": "report" if printed else "views"}
        return members


class StoredReportContent(Frozen):
    """All findings of a report. `unread` are its unreadable parts, each with the reason."""

    diagnoses: tuple[StoredReportPart, ...]
    incident: Incident | None = Field(
        None, description="what its parts tell together; null without a problem that has a time"
    )
    unread: tuple[str, ...] = Field((), description="parts of an archive that were not read, each with the reason")


@dataclass(frozen=True, slots=True)
class Upload:
    """A kept report. `known` says that the same content was uploaded before."""

    kept: StoredReportSummary
    content: StoredReportContent
    known: bool


class Uploads:
    """Accepts reports and returns them."""

    def __init__(self, reports: Reports, max_bytes: int) -> None:
        self._reports = reports
        self.max_bytes = max_bytes
        self._limits = Limits(per_input=min(LIMITS.per_input, 4 * max_bytes), total=8 * max_bytes, members=200)

    def take(self, files: Sequence[File], who: str) -> list[Upload]:
        """Diagnose all files, then keep them. One unreadable file refuses them all. Raises InputError, StoreError."""
        for file in files:
            if len(file.data) > self.max_bytes:
                raise TooLarge(f"{label(file.name)} is more than {mib(self.max_bytes)} MiB; see reports.max_bytes")
        read = WORKER.run(_names(files), _read, files, self._limits, who)
        return [self._keep(*found, file.data) for file, found in zip(files, read, strict=True)]

    def get(self, id: str) -> Upload | None:
        """A kept report, or None. A report in an older format is diagnosed again. Raises StoreError."""
        found = self._reports.get(id)
        if found is None:
            return None
        kept, content = found
        try:
            return Upload(kept, StoredReportContent.model_validate_json(content, extra="ignore"), known=True)
        except ValidationError:
            found_again = self.again([id], _content)
            return None if found_again is None else Upload(kept, found_again, known=True)

    def again(self, ids: Sequence[str], told: Callable[..., T]) -> T | None:
        """What `told` makes of the findings of kept reports that are read again. None if one of them is not kept.

        Raises StoreError, and InputError where that takes too long.
        """
        kept = [(self._reports.get(id), self._reports.original(id)) for id in dict.fromkeys(ids)]
        files = [File(found[0].name, body) for found, body in kept if found is not None and body is not None]
        if not kept or len(files) < len(kept):
            return None
        return WORKER.run(_names(files), _again, files, self._limits, told)

    def story(self, ids: Sequence[str]) -> Story | None:
        """Several kept reports as one incident; see again."""
        return self.again(ids, _story)

    def delete(self, id: str) -> bool:
        """Delete a report for good. False if there is none. Raises StoreError."""
        return self._reports.delete(id)

    def newest(self, limit: int, database: str | None = None) -> list[StoredReportSummary]:
        """Reports, newest first; for one database if given. Raises StoreError."""
        return self._reports.newest(limit, database)

    def page(self, limit: int, cursor: str | None) -> EpisodePage[StoredReportSummary]:
        """Reports, newest first, from the position of the cursor. Raises StoreError and BadCursor."""
        return self._reports.page(limit, cursor)

    def _keep(self, kept: StoredReportSummary, content: StoredReportContent, data: bytes) -> Upload:
        if self._reports.keep(kept, content.model_dump_json(), data):
            return Upload(kept, content, known=False)
        return self.get(kept.id) or Upload(kept, content, known=True)


def _names(files: Sequence[File]) -> str:
    return ", ".join(label(file.name) for file in files)


# In the process that reads.


def _read(files: Sequence[File], limits: Limits, who: str) -> list[tuple[StoredReportSummary, StoredReportContent]]:
    """What new files say. Raises the InputError of the first one that says nothing."""
    found = []
    for file in files:
        outcome = diagnose_data(file.data, file.name, limits)
        if not outcome.diagnosed:
            raise outcome.errors[0]
        content = _content(outcome)
        worst = max(outcome.diagnosed, key=lambda entry: (entry.diagnosis.severity.rank, entry.graded == "unknown"))
        kept = StoredReportSummary(
            id=hashlib.sha256(file.data).hexdigest(),
            uploaded_at=datetime.now(UTC),
            name=label(file.name),
            size=len(file.data),
            who=who,
            databases=tuple(dict.fromkeys(part.diagnosis.database for part in content.diagnoses)),
            severity=worst.graded,
            headline=worst.diagnosis.headline,
        )
        found.append((kept, content))
    return found


def _again(files: Sequence[File], limits: Limits, told: Callable[..., T]) -> T:
    return told(*(diagnose_data(file.data, file.name, limits) for file in files))


def _story(*outcomes: InputResults) -> Story:
    return story(short_names([entry for outcome in outcomes for entry in outcome.diagnosed]))


def _content(outcome: InputResults) -> StoredReportContent:
    parts = tuple(
        StoredReportPart(
            name=diagnosed.name,
            diagnosis=diagnosed.diagnosis,
            figures=figures(diagnosed.change),
            source=diagnosed.source,
        )
        for diagnosed in under_one_name(outcome.diagnosed)
    )
    return StoredReportContent(
        diagnoses=parts,
        incident=incident(short_names(outcome.diagnosed)),
        unread=(*(str(error) for error in outcome.errors), *outcome.skipped),
    )
