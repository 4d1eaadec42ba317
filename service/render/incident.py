"""An incident as text for a terminal, as Markdown and as cells for a page: its moments in order, then what they say together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rules.explain.story import LABELS, as_sure
from rules.model import Confidence
from service.escape import inline, row, visible
from service.intake.incident import Incident, Moment
from service.render.parts import columns, wrapped

HEADINGS = ("when", "where", "what")
CLOCKS = {"host": "the host's clock", "UTC": "the databases' clock, in UTC"}


def incident_as_text(incident: Incident) -> str:
    """The story, with an empty line behind it."""
    return "\n".join(map(visible, _text(incident)))


def incident_as_markdown(incident: Incident) -> str:
    """The same as Markdown: a heading, a table of moments, then what they say together."""
    return "\n".join(_markdown(incident))


@dataclass(frozen=True, slots=True)
class IncidentView:
    """The same as cells for a page."""

    headline: str
    advice: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    moments: tuple[tuple[str, str, str], ...]
    clock: str
    together: tuple[tuple[str, str], ...]


def incident_view(incident: Incident | None) -> IncidentView | None:
    """For a page. None where the inputs one by one say all."""
    if incident is None or not incident.mixed:
        return None
    return IncidentView(
        incident.headline,
        tuple(incident_advice(incident)),
        HEADINGS,
        tuple(_cells(incident)),
        f"Times are by {CLOCKS[incident.clock]}.",
        tuple(together(incident)),
    )


def _cells(incident: Incident) -> Iterator[tuple[str, str, str]]:
    yield from ((when(each, incident.begin), where(each), what(each)) for each in incident.moments)


def when(moment: Moment, day: datetime | None) -> str:
    """Its time without the date if that is the day of the incident; an interval or a run of lines from begin to end."""
    if moment.at is None:
        return "no time"
    begin, end = _clock(moment.at, day), moment.until
    return begin if end is None else f"{begin} to {_clock(end, moment.at)}"


def _clock(at: datetime, day: datetime | None) -> str:
    return f"{at:%H:%M:%S}" if day is not None and at.date() == day.date() else f"{at:%Y-%m-%d %H:%M:%S}"


def where(moment: Moment) -> str:
    """The input and the line."""
    return moment.file if moment.line is None else f"{moment.file}:{moment.line}"


def what(moment: Moment) -> str:
    return moment.text if moment.times == 1 else f"{moment.text} ({moment.times:,} times)"


def incident_advice(incident: Incident) -> Iterator[tuple[str, str]]:
    """What to do and what not, as the surest input says; first of all to confirm it, unless it is sure."""
    if incident.do_now and incident.confidence is not None:
        yield LABELS["do"], as_sure(incident.do_now, unsure=incident.confidence is not Confidence.HIGH, asked=True)
    if incident.do_not:
        yield LABELS["do not"], incident.do_not.removeprefix("Do not ")


def together(incident: Incident) -> Iterator[tuple[str, str]]:
    """What the moments say together: a label and a sentence for each."""
    yield from (("They agree", each) for each in incident.agreements)
    yield from (("They disagree", each) for each in incident.disagreements)
    if incident.bring:
        yield "Bring next", f"{', '.join(incident.bring)}, which the log names"
    if incident.left_out:
        yield "Left out", f"{incident.left_out:,} more moments; `--story` has the files, the logs have every line"
    yield from (("Not of it", each) for each in incident.apart)
    yield from (("Note", each) for each in incident.notes)


def _text(incident: Incident) -> Iterator[str]:
    yield from wrapped(f"Incident: {incident.headline}.")
    yield from (line for label, words in incident_advice(incident) for line in wrapped(f"{label}: {words}"))
    yield from wrapped(f"{len(incident.files)} inputs; times are by {CLOCKS[incident.clock]}.")
    yield ""
    yield from (f"  {line}" for line in columns(list(_cells(incident))))
    yield ""
    for label, words in together(incident):
        yield from wrapped(f"{label}: {words}.")
    yield ""


def _markdown(incident: Incident) -> Iterator[str]:
    yield f"## Incident\n\n{inline(incident.headline)}.\n"
    yield from (f"**{label}:** {inline(words)}\n" for label, words in incident_advice(incident))
    yield row(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    yield from map(row, _cells(incident))
    yield f"\nTimes are by {CLOCKS[incident.clock]}.\n"
    yield from (f"- {label}: {inline(words)}" for label, words in together(incident))
    yield ""
