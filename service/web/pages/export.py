"""Diagnoses as one HTML page that you can mail: style and pictures are included, there is no script, and it loads nothing."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from markupsafe import Markup

from collectors.model import Delta
from rules.model import worst
from rules.trends import ReportSeries
from service.intake.inputs import DiagnosedInput, InputResults
from service.intake.report_figures import figures
from service.render.diagnosis import common_notes
from service.render.several import causes_shown
from service.render.summary import SummaryGroup, groups, lines, period, short_names
from service.web.charts import svg
from service.web.charts.svg import ChartSpan
from service.web.pages.diagnosis import DiagnosisView, diagnosis_view
from service.web.pages.layout import HERE, templates

HEADINGS = ("file", "database", "period", "release", "state", "DB time lost", "headline")
FIRST_BAD = "the first bad interval"
MOST_NAMED = 3
"""Most databases in the title."""


def as_html(outcome: InputResults, made: datetime | None = None) -> str:
    """The page. Every text in it is escaped. Its policy allows only its own style, by its digest.

    The worst database and interval come first. `made` is the time of the page, default now.
    """
    diagnosed = short_names(outcome.diagnosed)
    found = sorted(
        groups(diagnosed), key=lambda group: -worst(each.diagnosis.severity for each in group.diagnosed).rank
    )
    at, shared = made or datetime.now(UTC), common_notes(diagnosed)
    css = (HERE / "static" / "latchscope.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return templates.env.get_template("mailed.html").render(
        css=Markup(css),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'",
        title=_title(found),
        made=f"{at:%Y-%m-%d %H:%M} UTC",
        version=version("latchscope"),
        headings=HEADINGS,
        lines=lines(diagnosed),
        first_bad={_turn(group.series): group.database for group in found if group.series},
        in_full={shown.worst.name for group in found for shown in causes_shown(group.diagnosed)},
        groups=[(group, _series_charts(group), _worst_first(group, shared, at)) for group in found],
        shared=shared,
        unread=[str(error) for error in outcome.errors] + outcome.skipped,
    )


def _turn(found: ReportSeries) -> str | None:
    """The interval with which the trouble begins; None where it was there from the first one on."""
    return found.first_bad if found.points[0].name != found.first_bad else None


def _title(found: Sequence[SummaryGroup]) -> str:
    """The databases, and the time from begin to end."""
    names = [group.database for group in found]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    known = [entry.diagnosis.basis for group in found for entry in group.diagnosed if entry.diagnosis.basis]
    begins = sorted((basis.begin for basis in known if basis.begin), key=lambda begin: begin.replace(tzinfo=None))
    ends = sorted((basis.end for basis in known if basis.end), key=lambda end: end.replace(tzinfo=None))
    span = f", {period(known[0].model_copy(update={'begin': begins[0], 'end': ends[-1]}))}" if begins and ends else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}{span}"


def _worst_first(
    group: SummaryGroup, shared: Sequence[str], at: datetime
) -> list[tuple[DiagnosisView, list[tuple[str, str]]]]:
    ordered = sorted(group.diagnosed, key=lambda entry: -entry.diagnosis.severity.rank)
    return [
        (
            diagnosis_view(entry.name, entry.diagnosis, entry.source, figures(entry.change), at, shared=shared),
            list(_whose(entry)),
        )
        for entry in ordered
    ]


def _whose(diagnosed: DiagnosedInput) -> list[tuple[str, str]]:
    """Host, instance and DB Id, if the input has them."""
    row = next(iter(diagnosed.change.rows("v$instance")), {}) if isinstance(diagnosed.change, Delta) else {}
    owner = {"Host": row.get("host_name"), "Instance": row.get("instance_name"), "DB Id": diagnosed.change.dbid}
    return [(name, str(value)) for name, value in owner.items() if value is not None]


def _series_charts(group: SummaryGroup) -> list[Markup]:
    """The cost of the intervals in order, if there are several."""
    if group.series is None:
        return []
    placed = [
        (point, point.begin, point.end)
        for point in group.series.points
        if point.begin is not None and point.end is not None
    ]
    bad = group.series.first_bad
    shares = [
        ChartSpan(
            begin,
            end,
            None if point.share_of_db_time is None else point.share_of_db_time * 100,
            point.name == bad,
            point.severity,
        )
        for point, begin, end in placed
    ]
    sleeps = [
        ChartSpan(begin, end, point.sleeps_per_second, point.name == bad, point.severity)
        for point, begin, end in placed
    ]
    if not placed:
        return []
    return [
        svg.spans(shares, "DB time lost", "%", FIRST_BAD),
        svg.spans(sleeps, "Row cache sleeps", "per second", FIRST_BAD),
    ]
