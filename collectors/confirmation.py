"""ConfirmationResult: the number that a confirming query gave, or why it was refused, and the container it ran in."""

from collections.abc import Mapping
from dataclasses import dataclass

NamedRow = Mapping[str, str | float | None]
"""One row of names: column → cell."""


@dataclass(frozen=True, slots=True)
class ConfirmationResult:
    """The number of a confirming query, and up to five rows that say what it counted."""

    value: float | None
    """None if it was refused."""
    container: str | None = None
    """Name of the container it ran in. None without containers, or if the query did not ask."""
    con_id: int | None = None
    """0 no CDB, 1 CDB$ROOT, above 2 a PDB. None before 12.1, or if the query did not ask."""
    names: tuple[NamedRow, ...] = ()
    unnamed: str | None = None
    """Why the rows of names are missing."""
    refused: tuple[str, ...] = ()
    """Views that the user may not read, so the query gave no number."""
    at: float | None = None
    """When the query ran, as Unix time. None if that was not kept."""
