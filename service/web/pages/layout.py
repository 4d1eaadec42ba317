"""The common part of all pages: templates with their filters, the frame that blocks foreign content, and refusals.

Also the pages of no other subject: errors, the types of problem in REST, sign-in and sign-out.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.responses import Response

from collectors.release import text_for
from rules import changes
from rules.cause import catalogue
from rules.confirmation import number_of
from rules.explain.library_cache import MOST_GROUPS, noticeable
from rules.explain.library_cache import heading as library_cache_heading
from rules.explain.library_cache import in_words as library_cache_words
from rules.explain.story import LABELS, founded
from rules.formatting import count, measured, percent, sentence, within
from rules.formatting import number as spelled
from rules.gaps import section_of
from rules.hangs.words import (
    ACTION,
    CHECK,
    NO_COMMAND_NOW,
    ONLY_IF,
    entry_of,
    heading,
    not_shown,
    queries,
    remarks,
    shown_first,
    to_find,
    tree,
    why_no_command,
)
from rules.remedy import OF_MISSES, PLATFORMS, Texts, where
from service.config.logs import Audit
from service.escape import pasted, visible
from service.history.month import hours
from service.render.parts import CLOSE, OF_A_FINDING, of_each_instance, on_platform
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import in_words
from service.state.time_window import PRESETS, BadWindow, iso
from service.store.engine import DATABASE_ERROR
from service.web.access import SESSION, Access, AccessRule
from service.web.api.common import TYPES
from service.web.charts import sparklines
from service.web.http import squeezed
from service.web.pages import words
from service.web.sessions import SESSION_SECONDS

HERE = Path(__file__).parents[1]

LEVEL = 4
"""Level of gzip. A higher one takes twice the time for a tenth less."""
SECTIONS = (("Fleet", "/"), ("Reports", "/reports"), ("Causes", "/causes"), ("Runbooks", "/runbooks"))
"""The links in the head of every page."""
GUIDES = (
    (re.compile(r"/db/[^/]+/history$"), "history.html"),
    (re.compile(r"/db/[^/]+/compare$"), "before-after.html"),
    (re.compile(r"/db/"), "reading.html"),
    (re.compile(r"/reports"), "reports.html"),
    (re.compile(r"/causes"), "causes.html"),
    (re.compile(r"/runbooks"), "dashboards.html#alerts"),
    (re.compile(r"/sign-in"), "security.html"),
    (re.compile(r"/"), "first-incident.html"),
)
"""The page of the documentation for a page: the first whose pattern matches its address."""

GONE = "the store does not answer, so there is no history; /readyz says why"

templates = Jinja2Templates(HERE / "templates")
_TICKED = re.compile("`([^`]+)`")


def ticked(words: str) -> Markup:
    """Words with `code` in backticks, escaped, with the code as such."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(words))))


def breakable(name: str) -> Markup:
    """A long name that a narrow column breaks after an underscore or a plus, and nowhere else."""
    return Markup(re.sub(r"([_+])", r"\1<wbr>", str(escape(name))))


def filled_in(statement: str, names: Sequence[str] = ()) -> Markup:
    """A statement as it is pasted, in which the names that a reader must replace are marked."""
    statement = pasted(statement)
    if not names:
        return escape(statement)
    parts = re.split(f"({'|'.join(re.escape(name) for name in sorted(names, key=len, reverse=True))})", statement)
    return Markup("").join(Markup("<mark>{}</mark>").format(part) if part in names else escape(part) for part in parts)


def for_release(statement: Texts | None, release: str | None) -> str:
    """The text of a statement for a release: the nearest lower one. The newest if the release is unknown."""
    if statement is None or isinstance(statement, str):
        return statement or ""
    return (text_for(statement, release) if release else None) or next(reversed(list(statement.values())), "")


def _seen(value: object) -> object:
    """A value for a page with visible characters. A page has lines, and keeps a number with its unit."""
    if not isinstance(value, str):
        return value
    shown = visible(
        str(value), keep=f"\n{words.TIED}"
    )  # a plain string: what Markup does to its own escapes every part
    return Markup(shown) if isinstance(value, Markup) else shown


def address_at(db: str, moment: datetime) -> str:
    """The address of a database's page as it was at a moment."""
    return f"/db/{quote(db)}?at={quote(iso(moment))}"


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "cause_name": lambda cause: known.name if (known := catalogue().get(cause)) else cause,
    "founded": founded,
    "measured": lambda figure: measured(figure.value, figure.unit),
    "percent": percent,
    "section": section_of,
    "spelled": spelled,
    "number_of": number_of,
    "sentence": sentence,
    "ticked": ticked,
    "address_at": address_at,
    "breakable": breakable,
    "filled_in": filled_in,
    "for_release": for_release,
    "on_platform": on_platform,
    "where": where,
    "why_verdict": lambda verdict: in_words(verdict)[1],
    "within": within,
    "chain_heading": heading,
    "library_cache_heading": library_cache_heading,
    "library_cache_words": library_cache_words,
    "to_find": to_find,
    "why_no_command": why_no_command,
    "length_of": words.length,
    "lasted": words.lasted,
    "of_each_instance": of_each_instance,
    "clock": words.clock,
    "change_clock": changes.clock,
    "change_order": changes.order,
    "iso": iso,
    "share": words.share,
    "hbar": sparklines.bar,
    "hours": hours,
    "sessions": words.sessions,
    "amount": words.amount,
    "outcome": words.outcome,
    "plural": words.plural,
    "state_of": words.state_of,
    "state_key": words.state_word,
}
templates.env.filters |= FILTERS
templates.env.filters |= {
    "against": words.against,
    "tree": tree,
    "entry_of": entry_of,
    "remarks": remarks,
    "queries": queries,
    "shown_chains": shown_first,
    "not_shown": not_shown,
    "noticeable": noticeable,
}
templates.env.finalize = _seen
templates.env.globals |= {
    "CHAIN_ACTION": ACTION,
    "CHANGES": words.CHANGES,
    "CLOSE": CLOSE,
    "CHAIN_CHECK": CHECK,
    "CHAIN_OLD": NO_COMMAND_NOW,
    "CHAIN_ONLY_IF": ONLY_IF,
    "LABELS": LABELS,
    "MOST_LIBRARY_CACHE_GROUPS": MOST_GROUPS,
    "OF_A_FINDING": OF_A_FINDING,
    "PLATFORMS": PLATFORMS,
    "OF_MISSES": OF_MISSES,
    "SECTIONS": SECTIONS,
    "SESSION": SESSION,
    "STATES": words.STATES,
    "VERSION": version("latchscope"),
}
templates.env.trim_blocks = templates.env.lstrip_blocks = True


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """A page in its frame; `status` is the HTTP status."""
    path = request.url.path
    guide = next(guide for pattern, guide in GUIDES if pattern.match(path))
    shown: dict[str, object] = {
        "now": datetime.now(UTC),
        "section": _section(path),
        "guide": guide,
        "scripted_until": getattr(request.app.state, "scripted_until", None),
    }
    text = templates.env.get_template(template).render(shown | values | {"request": request})
    body, headers = squeezed(text.encode(), request, LEVEL)
    return HTMLResponse(body, status, headers)


def alone(template: str, at: datetime, **values: object) -> str:
    """A page that needs nothing beside it, made at a time: its style is in it, and its policy allows that alone."""
    css = (HERE / "static" / "latchscope.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    shown = {"css": Markup(css), "policy": policy, "made": f"{at:%Y-%m-%d %H:%M} UTC", "version": version("latchscope")}
    return templates.env.get_template(template).render(shown | values)


def missing(request: Request, what: str, names: Mapping[str, str], back: tuple[str, str], asked: str = "") -> Response:
    """The page for a missing thing: those of `names` (words → address) that are most similar to `asked`."""
    close = get_close_matches(asked.casefold(), {name.casefold(): name for name in names}, n=3, cutoff=0.5)
    near = [(name, address) for name, address in names.items() if name.casefold() in close]
    words, address = back
    return page(request, "missing.html", 404, title="Not found", what=what, near=near, back=address, back_words=words)


def no_database(request: Request, db: str, watched: Sequence[str]) -> Response:
    """The page of a database that is not watched."""
    addresses = {name: f"/db/{quote(name)}" for name in watched}
    return missing(request, f"No database named {db} is watched.", addresses, ("All databases", "/"), db)


def refused(request: Request, db: str, status: int, why: str) -> Response:
    """The page for a request that cannot be answered, with links to go on."""
    return page(request, "refused.html", status, db=db, why=why, presets=PRESETS)


class NoDatabase(Exception):
    """A page asks for a database that is not watched."""

    def __init__(self, watched: Sequence[str]) -> None:
        super().__init__()
        self.watched = watched


def watched_in(board: Board, db: str) -> MonitoredDatabase:
    """The database of that name, as it is now. Raises NoDatabase."""
    if (watched := board.refreshed(db)) is None:
        raise NoDatabase([known.name for known in board])
    return watched


class PageRoute(APIRoute):
    """The route of a page, with the pages of what any of them may meet: no such database, a wrong time, a store that is away."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The answer of the route, or one of those."""
        answer = super().get_route_handler()

        async def answer_or_refuse(request: Request) -> Response:
            db = request.path_params.get("db", "")
            try:
                return await answer(request)
            except NoDatabase as error:
                return no_database(request, db, error.watched)
            except BadWindow as error:
                return refused(request, db, 422, str(error))
            except DATABASE_ERROR:
                return refused(request, db, 503, GONE)

        return answer_or_refuse


def page_router(*rules: AccessRule) -> APIRouter:
    """A router for pages, whose readers are held to these rules."""
    return APIRouter(
        include_in_schema=False,
        default_response_class=HTMLResponse,
        route_class=PageRoute,
        dependencies=[Depends(rule) for rule in rules],
    )


def _section(path: str) -> str:
    """The part of the head that a page belongs to. Databases belong to the fleet."""
    found = next((link for _, link in SECTIONS[1:] if path == link or path.startswith(f"{link}/")), None)
    return found or ("/" if path == "/" or path.startswith("/db/") else "")


# Errors as pages, for browsers. Programs get JSON.

PROGRAMS = ("/api/", "/metrics", "/probe", "/healthz", "/readyz", "/static/")
"""Addresses for programs, whatever they say they accept."""


def error_pages(board: Board) -> Callable[[Request, int, str, str], Response | None]:
    """Builds the page of an error: status, title and detail. None if a problem in JSON is wanted."""

    def error_page(request: Request, status: int, title: str, detail: str) -> Response | None:
        path = request.url.path
        if path.startswith(PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
            return None
        if status == 401:
            return RedirectResponse(f"/sign-in?to={quote(path)}", 303)
        if status == 404:
            return missing(request, f"There is no page {path[:80]}.", _addresses(board), ("All databases", "/"), path)
        return page(
            request,
            "missing.html",
            status,
            title=title,
            what=f"{sentence(detail).rstrip('.')}.",
            near=(),
            back="/",
            back_words="All databases",
        )

    return error_page


def _addresses(board: Board) -> Mapping[str, str]:
    """Similar pages, by their address."""
    links = [*(link for _, link in SECTIONS), *(f"/db/{watched.name}" for watched in board)]
    return {link: link for link in links}


# The fields of small forms that pages send.


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a small form. Any other body has none."""
    try:
        fields = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}


# A page for each type of problem in REST. The `type` of a problem is its address.


def problems_pages() -> APIRouter:
    """GET /docs/problems and /docs/problems/{name}. They contain nothing about any database, so nobody needs a token."""
    router = page_router()

    @router.get("/docs/problems")
    def every_problem(request: Request) -> Response:
        return page(request, "problems.html", title="Problems", kinds=TYPES)

    @router.get("/docs/problems/{name}")
    def one_problem(request: Request, name: str) -> Response:
        if name not in TYPES:
            names = {title: f"/docs/problems/{kind}" for kind, (title, _) in TYPES.items()}
            return missing(
                request, f"There is no problem {name[:60]}.", names, ("All problems", "/docs/problems"), name
            )
        return page(request, "problems.html", title=TYPES[name][0], kinds={name: TYPES[name]})

    return router


# Sign-in with a token, and sign-out. Without configured tokens there is nothing to sign in to.

WRONG = "No token of auth.tokens_file matches. Tokens are case-sensitive; send the token itself, not its sha256."


def sign_in_pages(access: Access, audit: Audit) -> APIRouter:
    router = page_router()

    @router.get("/sign-in")
    def ask(request: Request, to: str = "/") -> Response:
        if not access.by_token:
            return RedirectResponse("/", 303)
        return page(request, "sign_in.html", to=_local(to), wrong=None)

    @router.post("/sign-in", dependencies=[Depends(access.own_page)])
    def sign_in(request: Request, form: Annotated[Mapping[str, str], Depends(form_of)]) -> Response:
        known = access.sign_in(request, form.get("token", ""))
        if known is None:
            return page(request, "sign_in.html", 401, to=_local(form.get("to", "")), wrong=WRONG)
        caller, cookie = known
        audit.record(caller.name, "sign in", "pages", "done")
        answer = RedirectResponse(_local(form.get("to", "")), 303)
        secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
        answer.set_cookie(SESSION, cookie, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
        return answer

    @router.post("/sign-out", dependencies=[Depends(access.own_page)])
    def sign_out(request: Request) -> Response:
        if (caller := access.sign_out(request)) is not None:
            audit.record(caller.name, "sign out", "pages", "done")
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(SESSION, httponly=True, samesite="strict")
        return answer

    return router


def _local(to: str) -> str:
    """An address of ours. Any other becomes the fleet."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() else "/"
