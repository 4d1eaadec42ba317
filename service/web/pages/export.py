"""A diagnosis as a file: one HTML page that you can mail, and Markdown. The month is such a page too."""

from collections.abc import Sequence
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from collectors.model import Delta
from service.escape import in_header
from service.history.month import Month, month_named
from service.history.month import month as month_of
from service.intake.incident import incident
from service.intake.inputs import DiagnosedInput, InputResults, figures, short_names
from service.render.incident import incident_view
from service.render.summary import SummaryGroup, groups, lines, period
from service.render.text import as_markdown, causes_shown, common_notes
from service.state.board import Board
from service.store.repository import Repository
from service.web import presenters
from service.web.access import Access
from service.web.pages.diagnosis import DiagnosisView, diagnosis_view
from service.web.pages.layout import alone, page, page_router, refused, watched_in

# Diagnoses as one HTML page that you can mail: style and pictures are included, there is no script, and it loads
# nothing.

HEADINGS = ("file", "database", "period", "release", "state", "DB time lost", "headline")
MOST_NAMED = 3
"""Most databases in the title."""


def as_html(outcome: InputResults, made: datetime | None = None) -> str:
    """The page. Every text in it is escaped. Its policy allows only its own style, by its digest.

    The worst database and interval come first. `made` is the time of the page, default now.
    """
    diagnosed = short_names(outcome.diagnosed)
    found = groups(diagnosed)
    at, shared = made or datetime.now(UTC), common_notes(diagnosed)
    return alone(
        "mailed.html",
        at,
        title=_title(found),
        incident=incident_view(incident(diagnosed)),
        headings=HEADINGS,
        lines=lines(diagnosed),
        in_full={shown.worst.name for group in found for shown in causes_shown(group.diagnosed)},
        groups=[(group, _worst_first(group, shared, at)) for group in found],
        shared=shared,
        unread=[str(error) for error in outcome.errors] + outcome.skipped,
    )


def month_as_html(told: Month) -> str:
    """The month as one page to print or mail, with its own policy as that of diagnoses."""
    return alone("month.html", datetime.now(UTC), title=told.title, month=told, frame="alone.html")


def _title(found: Sequence[SummaryGroup]) -> str:
    """The databases, and the time from begin to end."""
    names = [group.database for group in found]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    bases = [entry.diagnosis.basis for group in found for entry in group.diagnosed if entry.diagnosis.basis]
    begins = sorted((basis.begin for basis in bases if basis.begin), key=lambda begin: begin.replace(tzinfo=None))
    ends = sorted((basis.end for basis in bases if basis.end), key=lambda end: end.replace(tzinfo=None))
    span = f", {period(bases[0].model_copy(update={'begin': begins[0], 'end': ends[-1]}))}" if begins and ends else ""
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


def export_pages(board: Board, store: Repository, access: Access) -> APIRouter:
    """GET /db/{db}/export.html and …/export.md, and /month."""
    router = page_router(access.reader)

    @router.get("/db/{db}/export.{form}")
    def export(request: Request, db: str, form: str) -> Response:
        watched = watched_in(board, db)
        if form not in ("html", "md") or watched.current is None or watched.current.delta is None:
            return refused(request, db, 404, f"there is no diagnosis of {db} to export yet; wait for the next poll")
        told = presenters.with_timeline(presenters.diagnosis_of(watched), watched, watched.episodes.open)
        diagnosed = DiagnosedInput(watched.name, watched.current.delta, told.without_commands())
        if form == "md":
            return kept_file(as_markdown([diagnosed]), "text/markdown", watched.name, form)
        return kept_file(as_html(InputResults([diagnosed], [], [], 1)), "text/html", watched.name, form)

    @router.get("/month")
    def printed(request: Request, month: str = "this") -> Response:
        told = month_of(store, month_named(month, datetime.now(UTC)))
        return page(request, "month.html", month=told, frame="base.html")

    return router


def kept_file(text: str, kind: str, database: str, ending: str) -> Response:
    """A file to keep, named after database and time."""
    name = f"latchscope-{in_header(database)}-{datetime.now(UTC):%Y%m%dT%H%MZ}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)
