"""The files of a directory that are read: its own, or where it holds directories alone, theirs."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from service.intake.archives import label

DEEPEST = 3
"""The levels of directories below the named one that are looked through for files."""
MOST = 1000
"""The most files that are read of directories below the named one."""


@dataclass(slots=True)
class FolderFiles:
    """The paths of its files, why others were passed over, and what was read where that is not the directory itself."""

    files: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    note: str | None = None


def files_of(folder: str) -> FolderFiles:
    """Its files. Hidden ones are left out. Raises OSError if the directory cannot be read."""
    found = FolderFiles()
    homes = [home for home in _homes(folder, found, 0) if home]
    every = [path for home in homes for path in home]
    if not homes or os.path.dirname(homes[0][0]) == folder.rstrip(os.sep):
        found.files = every
        return found
    found.files = every[:MOST]
    if len(every) > MOST:
        found.passed.append(
            f"only the first {MOST:,} files below {label(folder)} are read; name its directories one by one"
        )
    files = "1 file" if len(found.files) == 1 else f"{len(found.files):,} files"
    places = "1 directory" if len(homes) == 1 else f"{len(homes):,} directories"
    looked = f"looked at {files} in {places} below it"
    found.note = f"{label(folder)} holds directories alone: {looked}"
    return found


def _homes(folder: str, found: FolderFiles, depth: int) -> Iterator[list[str]]:
    """The files of each directory that has some: this one, else those below it."""
    entries = sorted(
        (entry for entry in os.scandir(folder) if not entry.name.startswith(".")), key=lambda each: each.name
    )
    files = [entry.path for entry in entries if entry.is_file()]
    yield files
    for entry in entries:
        if entry.is_dir() and not files and depth < DEEPEST:
            try:
                yield from _homes(entry.path, found, depth + 1)
            except OSError as error:
                found.passed.append(f"{label(entry.path)} cannot be read: {error.strerror}")
        elif not entry.is_file():
            found.passed.append(_passed_over(entry))


def _passed_over(entry: os.DirEntry[str]) -> str:
    if entry.is_dir():
        return f"{label(entry.path)} is a folder within a folder; name it to have its files read"
    return f"{label(entry.path)} is neither a file nor a folder"
