"""The same instance as readers see it who look at different things, and the draw of instances that all of them get."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from collectors.model import Snapshot
from tests.recordings.reports.as_html import page
from tests.recordings.reports.as_text import awr, statspack
from tests.recordings.reports.interval import Interval
from tests.truth.generate import Case
from tests.truth.plan import DEGRADED, SEEDS_EACH, settings
from tests.truth.printed import interval
from tests.truth.recording import Sight, less
from tests.truth.truth import Truth

Kind = Literal["samples", "views", "awr", "statspack", "less"]
KINDS: dict[Kind, str] = {
    "samples": "two polls, with samples of sessions",
    "views": "two polls, nobody sampled",
    "awr": "an AWR report",
    "statspack": "a Statspack report",
    "less": "two polls, something missing",
}
INTERVALS = (900.0, 1800.0, 3600.0)
"""Seconds that reports are made over."""
SOME: dict[str, int] = {"pair": 6, "hang": 6, "healthy": 12}
"""Instances of these kinds in a draw, beside one of each cause and of each look-alike."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An instance as one reader sees it: two snapshots; or the text of a report, with the figures that it prints."""

    begin: Snapshot
    end: Snapshot
    text: str = ""
    prints: Interval | None = None


def drawn(seed: int, times: int = 1) -> list[int]:
    """Seeds of the generator for a draw: the same for the same seed. `times`: so many draws of one seed together."""
    dice = Random(seed)
    return [SEEDS_EACH * number + dice.randrange(SEEDS_EACH) for _ in range(times) for number in _settings(dice)]


def _settings(dice: Random) -> Iterator[int]:
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, setting in enumerate(settings()):
        group = setting.causes if setting.kind in ("single", "look-alike") else ()
        if group or setting.kind in SOME:
            alike.setdefault((setting.kind, *group), []).append(number)
    for (kind, *_), numbers in alike.items():
        yield from dice.sample(numbers, SOME.get(kind, 1))


def seen(made: Case, dice: Random) -> Iterator[tuple[Kind, Seen]]:
    """The instance as each reader sees it. The case is that of a reader who sees everything."""
    begin, end = made.begin, made.end
    yield "samples", Seen(begin, end)
    yield "views", Seen(*less(begin, end, Sight(unsampled=True)))
    yield "awr", report(begin, end, dice.choice(("awr-html", "awr-text")))
    yield "statspack", report(begin, end, "statspack")
    yield "less", Seen(*less(begin, end, dice.choice(_hidden(made.truth))))


def _hidden(truth: Truth) -> list[Sight]:
    """What may be hidden of an instance: something that its release has, and that its cause shows in."""
    return [
        one.sight
        for one in DEGRADED
        if not one.sight.unsampled
        and truth.release.startswith(one.releases)
        and (not one.causes or set(one.causes) & set(truth.causes))
    ]


FORMS = {"awr-html": page, "awr-text": awr, "statspack": statspack}


def report(begin: Snapshot, end: Snapshot, form: str, release: str | None = None) -> Seen:
    """The interval as a report in one of the forms. `release` is printed instead of the instance's own."""
    figures = interval(begin, end, release)
    return Seen(begin, end, FORMS[form](figures), figures)
