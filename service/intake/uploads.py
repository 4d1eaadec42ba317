"""Uploaded reports: read and diagnosed as on the command line, then kept under the SHA-256 of their content."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from pydantic import Field, ValidationError, model_validator

from collectors.model import DeltaSource
from rules.base import Frozen
from rules.context import REMEMBER
from rules.model import Diagnosis
from service.intake.archives import LIMITS, Limits, TooLarge, label, mib
from service.intake.incident import Incident, Story, incident, story, under_one_name
from service.intake.inputs import Bars, InputResults, diagnose_data, figures, short_names
from service.store.episodes import EpisodePage
from service.store.reports import Reports, StoredReportSummary

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
        self._reading = Lock()

    def take(self, files: Sequence[File], who: str) -> list[Upload]:
        """Diagnose all files, then keep them. One unreadable file refuses them all. Raises InputError, StoreError."""
        with self._reading:  # one request at a time, so that only one unpacked archive is in memory
            read = [(file, self._read(file)) for file in files]
            return [self._keep(file, outcome, who) for file, outcome in read]

    def get(self, id: str) -> Upload | None:
        """A kept report, or None. A report in an older format is diagnosed again. Raises StoreError."""
        found = self._reports.get(id)
        if found is None:
            return None
        kept, content = found
        try:
            return Upload(kept, StoredReportContent.model_validate_json(content, extra="ignore"), known=True)
        except ValidationError:
            original = self._reports.original(id) or b""
            return Upload(kept, _content(diagnose_data(original, kept.name, self._limits)), known=True)

    def original(self, id: str) -> InputResults | None:
        """The findings of a kept report when it is read again, figures included, or None. Raises StoreError."""
        kept, body = self._reports.get(id), self._reports.original(id)
        if kept is None or body is None:
            return None
        with self._reading:
            return diagnose_data(body, kept[0].name, self._limits)

    def story(self, ids: Sequence[str]) -> Story | None:
        """Several kept reports read again as one incident. None if one of them is not kept. Raises StoreError."""
        outcomes = [self.original(id) for id in dict.fromkeys(ids)]
        if not outcomes or None in outcomes:
            return None
        return story(short_names([entry for outcome in outcomes if outcome for entry in outcome.diagnosed]))

    def delete(self, id: str) -> bool:
        """Delete a report for good. False if there is none. Raises StoreError."""
        return self._reports.delete(id)

    def newest(self, limit: int, database: str | None = None) -> list[StoredReportSummary]:
        """Reports, newest first; for one database if given. Raises StoreError."""
        return self._reports.newest(limit, database)

    def page(self, limit: int, cursor: str | None) -> EpisodePage[StoredReportSummary]:
        """Reports, newest first, from the position of the cursor. Raises StoreError and BadCursor."""
        return self._reports.page(limit, cursor)

    def _read(self, file: File) -> InputResults:
        if len(file.data) > self.max_bytes:
            raise TooLarge(f"{label(file.name)} is more than {mib(self.max_bytes)} MiB; see reports.max_bytes")
        outcome = diagnose_data(file.data, file.name, self._limits)
        if not outcome.diagnosed:
            raise outcome.errors[0]
        return outcome

    def _keep(self, file: File, outcome: InputResults, who: str) -> Upload:
        content = _content(outcome)
        diagnoses = [diagnosis.diagnosis for diagnosis in content.diagnoses]
        worst = max(outcome.diagnosed, key=lambda entry: (entry.diagnosis.severity.rank, entry.graded == "unknown"))
        kept = StoredReportSummary(
            id=hashlib.sha256(file.data).hexdigest(),
            uploaded_at=datetime.now(UTC),
            name=label(file.name),
            size=len(file.data),
            who=who,
            databases=tuple(dict.fromkeys(diagnosis.database for diagnosis in diagnoses)),
            severity=worst.graded,
            headline=worst.diagnosis.headline,
        )
        if self._reports.keep(kept, content.model_dump_json(), file.data):
            return Upload(kept, content, known=False)
        return self.get(kept.id) or Upload(kept, content, known=True)


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
