"""Writes the synthetic reports: `python -m tests.recordings.reports.make`."""

from tests.paths import INCIDENT_FOLDER, REPORTS

from . import compare, stories
from .as_html import page
from .as_text import awr, statspack
from .interval import Interval
from .ordinary import slim

UNDO_HTML = ("10.2.0.4.0", "11.2.0.3.0", "11.2.0.4.0", "12.1.0.2.0")
USERS_HTML = ("12.2.0.1.0", "18.0.0.0.0", "19.0.0.0.0", "21.0.0.0.0", "23.0.0.0.0")


IN_FULL = (
    "awr-11.2.0.4.0-undo-storm.html", "awr-19.0.0.0.0-cluster-users-mutex.html", "awr-11.2.0.4.0-undo-storm.txt",
    "awr-12.1.0.2.0-parse-storm.txt", "awr-12.1.0.2.0-healthy.txt", "statspack-9.2.0.6.0-undo-storm.txt",
    "statspack-11.2.0.3.0-undo-storm-level-10.txt", "awr-11.2.0.4.0-cluster-sequence.html",
)  # fmt: skip
"""Files with all rows of every section. The others have only a few of the rows that do not matter."""


def told() -> dict[str, Interval]:
    """The origin of each file of a single interval, by file name."""
    return {name: one if name in IN_FULL else slim(one) for name, one in _told().items()}


def _told() -> dict[str, Interval]:
    undo, users = stories.undo_storm(), stories.users_mutex()
    files = {f"awr-{release}-undo-storm.html": undo.on(release) for release in UNDO_HTML}
    files |= {f"awr-{release}-users-mutex.html": users.on(release) for release in USERS_HTML}
    files["awr-19.0.0.0.0-cluster-users-mutex.html"] = users.on("19.0.0.0.0", cluster=True, container=True)
    files |= {f"awr-{release}-undo-storm.txt": undo.on(release) for release in ("10.2.0.4.0", "11.2.0.4.0")}
    files |= {f"awr-{release}-users-mutex.txt": users.on(release) for release in ("12.2.0.1.0", "19.0.0.0.0")}
    files["statspack-9.2.0.6.0-undo-storm.txt"] = stories.undo_storm_on_9i()
    for release in ("10.2.0.4.0", "11.2.0.3.0", "12.1.0.2.0"):
        files[f"statspack-{release}-undo-storm.txt"] = undo.on(release)
    files["statspack-11.2.0.3.0-undo-storm-level-10.txt"] = stories.undo_storm_with_children().on("11.2.0.3.0")
    files["statspack-19.0.0.0.0-users-mutex.txt"] = users
    files["awr-11.2.0.4.0-cluster-sequence.html"] = stories.sequence().on("11.2.0.4.0", cluster=True)
    files["awr-12.1.0.2.0-parse-storm.txt"] = stories.parse_storm()
    files["awr-12.1.0.2.0-healthy.txt"] = stories.healthy()
    files["awr-19.0.0.0.0-idle.html"] = stories.idle()
    files["awr-11.2.0.4.0-restart.txt"] = stories.restart()
    files["statspack-11.2.0.3.0-restart.txt"] = stories.restart().on("11.2.0.3.0")
    files |= {f"day-{hour}.txt": one for hour, one in enumerate(stories.day(), 1)}
    return files


def written() -> dict[str, str]:
    """Every file's text by its name."""
    files = {name: rendered(name, one) for name, one in told().items()}
    files["awrdd-11.2.0.4.0-before-and-during.html"] = compare.page(*compared())
    return files


def compared() -> tuple[Interval, Interval]:
    """The two hours of the compare report: the last quiet one and the first of the storm."""
    hours = stories.day()
    return hours[1], hours[2]


def rendered(name: str, one: Interval) -> str:
    """An interval in the format of the file's extension."""
    if name.endswith(".html"):
        return page(one)
    return statspack(one) if name.startswith("statspack") else awr(one)


OF_THE_INCIDENT = INCIDENT_FOLDER / "awr_ORDERS1_0900-1000.html", "awr-11.2.0.4.0-cluster-sequence.html"
"""The report of the staged incident, and the one that it is."""


def main() -> None:
    """Writes the files into examples/reports, and the one of examples/incident."""
    files = written()
    for name, text in files.items():
        (REPORTS / name).write_text(text, encoding="utf-8", newline="")
    path, name = OF_THE_INCIDENT
    path.write_text(files[name], encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
