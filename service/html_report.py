"""Diagnoses as one HTML page that can be mailed: its style and pictures within it, no script, nothing fetched."""

import base64
import hashlib

from markupsafe import Markup

from rules.catalogue import catalogue
from service.figures import figures
from service.inputs import Diagnosed, Outcome
from service.summary import HEADINGS, Group, groups, lines
from service.web import charts
from service.web.charts import Span
from service.web.layout import HERE, Shown, shown, templates

FIRST_BAD = "the first bad interval"


def as_html(outcome: Outcome) -> str:
    """The page. Every text in it is escaped; its policy allows its own style, by its digest, and nothing else."""
    css = (HERE / "static" / "latchscope.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return templates.env.get_template("mailed.html").render(
        css=Markup(css),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'",
        headings=HEADINGS,
        lines=lines(outcome.told),
        groups=[(one, _series_charts(one), [_shown(each) for each in one.told]) for one in groups(outcome.told)],
        unread=[str(one) for one in outcome.errors] + outcome.skipped,
        causes=catalogue(),
    )


def _shown(one: Diagnosed) -> Shown:
    return shown(one.name, one.diagnosis, figures(one.change))


def _series_charts(group: Group) -> list[Markup]:
    """What the intervals cost, one after the other, where there is more than one."""
    if group.series is None:
        return []
    placed = [(one, one.begin, one.end) for one in group.series.points if one.begin is not None and one.end is not None]
    first_bad = group.series.first_bad
    shares = [
        Span(begin, end, None if one.share_of_db_time is None else one.share_of_db_time * 100, one.name == first_bad)
        for one, begin, end in placed
    ]
    sleeps = [Span(begin, end, one.sleeps_per_second, one.name == first_bad) for one, begin, end in placed]
    if not placed:
        return []
    return [
        charts.spans(shares, "DB time lost in row cache waits", "%", FIRST_BAD),
        charts.spans(sleeps, "Row cache sleeps", "per second", FIRST_BAD),
    ]
