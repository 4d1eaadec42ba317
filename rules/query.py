"""Query: the query that settles a cause, as a cause file has it. Confirmation: the same in a finding."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Self

from pydantic import Field, model_validator

from collectors.release import as_sent, parts, text_for
from rules.frozen import Frozen

COMPARISON = r"^(>=|<=) -?\d+(\.\d+)?(e[+-]?\d+)?$"
RELEASE = r"^\d+(\.\d+)*$"
CONTAINERS_SINCE = "12.1"
INSTANCE_WIDE = frozenset(
    {"v$instance", "v$mutex_sleep", "v$osstat", "v$result_cache_statistics", "v$rowcache", "v$sga_resize_ops"}
)
"""Views of the whole instance, which are the same from every container."""
LASTING = ("dba_", "cdb_", "audit_", "v$datafile", "v$instance", "v$parameter", "v$pdbs", "v$system_parameter")
"""How the views begin whose rows last: what they have today they had some time ago, unless somebody changed it."""
PASSING = re.compile(r"sysdate|jobs_running|running_jobs")
"""What such a view is asked where only the last hour, or what runs right now, is meant."""

Texts = str | Mapping[str, str]
"""One text for every release, or lowest release → text. The nearest lower release wins."""


class Band(Frozen):
    """A stretch of the scale of a confirming query: the meaning of a number from `value` on, up to the next band."""

    value: float
    meaning: str


class Query(Frozen):
    """A confirming query: one number that a DBA, or latchscope on request, reads from the dictionary."""

    sql: Texts
    names: Texts | None = Field(None, description="up to five rows that name what was counted")
    reads: tuple[str, ...] = Field(min_length=1, description="every view that one of the texts reads")
    root: bool = Field(False, description="inside a PDB the number means nothing")
    reading: str = Field(description="what the number is, and how to read it beside the bands")
    bands: tuple[Band, ...] = Field((), description="the scale of the number, where one is known")
    needs: str | None = Field(None, pattern=COMPARISON)

    @model_validator(mode="after")
    def _texts_are_for_releases(self) -> Self:
        for texts in (self.sql, self.names):
            for release in texts if isinstance(texts, Mapping) else ():
                if not re.fullmatch(RELEASE, release):
                    raise ValueError(f"{release!r} is not a release; write one such as 12.1")
        if isinstance(self.sql, Mapping) and not self.sql:
            raise ValueError("sql has no text")
        values = [band.value for band in self.bands]
        if values != sorted(set(values)):
            raise ValueError("bands must ascend, each from its value to the next one's")
        return self

    @property
    def scale(self) -> str:
        """How to read the number, with its bands in words."""
        return " ".join((self.reading, *_spelled(self.bands)))

    @property
    def since(self) -> str | None:
        """The lowest release that has a text. None if one text is for all."""
        return min(self.sql, key=parts) if isinstance(self.sql, Mapping) else None

    def text(self, release: str | None) -> str | None:
        """The text for a release; the oldest if the release is unknown. None if every text is for a newer one."""
        return _text(self.sql, release)

    def naming(self, release: str | None) -> str | None:
        """The text that names what is counted. None if the release has none."""
        return None if self.names is None else _text(self.names, release)

    def variants(self) -> dict[str | None, str]:
        """Lowest release → text, in order. None stands for all releases."""
        if isinstance(self.sql, str):
            return {None: as_sent(self.sql)}
        return {floor: as_sent(self.sql[floor]) for floor in sorted(self.sql, key=parts)}

    def views(self, release: str | None) -> tuple[str, ...]:
        """The views that the texts for a release read."""
        text = f"{self.text(release) or ''} {self.naming(release) or ''}".lower()
        return tuple(view for view in self.reads if re.search(rf"(?<![\w$#]){re.escape(view)}(?![\w$#])", text))

    def lasts(self, release: str | None) -> bool:
        """Whether the number still counts for a time that is over, as one of sequences does and one of sessions does not."""
        views = self.views(release)
        return all(view.startswith(LASTING) for view in views) and not PASSING.search(self.text(release) or "")

    def sees_all(self, release: str | None, con_id: int | None) -> bool:
        """Whether the number covers everything when the query runs in a container.

        Inside a PDB the query sees only the PDB, and DBA_ views show one container from anywhere. In an unknown
        container the number does not count as complete.
        """
        if release is not None and parts(release) < parts(CONTAINERS_SINCE):
            return True
        views = self.views(release)
        if con_id == 0 or all(view in INSTANCE_WIDE for view in views):
            return True
        return con_id == 1 and all(view.startswith(("cdb_", "v$")) for view in views)


def _spelled(bands: Sequence[Band]) -> Iterator[str]:
    """The bands as one sentence: "Below 500: ordinary; from 500 on: seen healthy." """
    if bands:
        first, *rest = bands
        start = f"below {rest[0].value:,g}" if rest and not first.value else f"from {first.value:,g} on"
        readings = [f"{start}: {first.meaning}", *(f"from {band.value:,g} on: {band.meaning}" for band in rest)]
        words = "; ".join(readings)
        yield f"{words[:1].upper()}{words[1:]}."


def _text(texts: Texts, release: str | None) -> str | None:
    return as_sent(texts) if isinstance(texts, str) else text_for(texts, release)


class Confirmation(Frozen):
    """The confirming query of a finding and, once somebody ran it, its result."""

    sql: str
    names_sql: str | None = Field(None, description="up to five rows that name what is counted")
    reading: str = ""
    bands: tuple[Band, ...] = Field((), description="the scale of the number, where one is known")
    obstacle: str | None = Field(
        None, description="why it cannot run here, and the way out; null if nothing prevents it"
    )
    needs: str | None = Field(None, description="the number that confirms the cause; null without a known bound")
    result: float | None = None
    asked_at: datetime | None = Field(None, description="when it ran; null if unknown")
    seen: str | None = Field(None, description="the container the query ran in, and how much it saw from there")
    names: tuple[Mapping[str, str | float | None], ...] = Field((), description="what was counted: column → cell")
    unnamed: str | None = Field(None, description="why the names are missing")
    confirms: bool | None = Field(
        None, description="null without a bound, and if a number that misses it does not cover all containers"
    )
