"""ConfirmationResult: what a confirming query gave, or that it was refused, and the container it ran in."""

from collections.abc import Mapping
from dataclasses import dataclass

NamedRow = Mapping[str, str | float | None]
"""One row of names: column → cell."""


@dataclass(frozen=True, slots=True)
class ConfirmationResult:
    """The number of a confirming query, and up to five rows that say what it counted."""

    value: float | None
    """None where it was refused."""
    container: str | None = None
    """Name of the container it ran in; None where there is none, or nobody asked."""
    con_id: int | None = None
    """0 no CDB, 1 CDB$ROOT, above 2 a PDB; None before 12.1, or where nobody asked."""
    names: tuple[NamedRow, ...] = ()
    unnamed: str | None = None
    """Why the names that were asked for did not come."""
    refused: tuple[str, ...] = ()
    at: float | None = None
    """When it was asked, as Unix time; None where that was not kept."""
    """Views of which the user may not read at least one, so that there is no number."""
