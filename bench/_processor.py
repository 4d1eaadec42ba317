"""Processor time of this process and its PostgreSQL. A busy machine hardly changes it."""

import time
from pathlib import Path


def spent(server: int | None) -> float:
    """Seconds of this process, and of a PostgreSQL by the id of its first process."""
    return time.process_time() + (0.0 if server is None else sum(map(spent_by, _family(server))))


def _family(first: int) -> list[int]:
    """A process and all its children."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    family = [first]
    for member in family:
        family.extend(children.get(member, []))
    return family


def spent_by(process: int) -> float:
    """Seconds of all threads of another process. Zero of one that has ended."""
    try:
        threads = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/schedstat")]
    except OSError:
        return 0.0
    return sum(int(each.split()[0]) for each in threads) / 1e9
