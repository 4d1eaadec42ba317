"""The common part of all pages: templates with their filters, the frame that blocks foreign content, and refusals."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.responses import Response

from collectors.release import text_for
from rules.context import section_of
from rules.explain.blockers import (
    ACTION,
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
from rules.explain.headline import number_of
from rules.formatting import count, measured, percent
from rules.formatting import number as spelled
from rules.model import Figure
from rules.remedy import OF_MISSES, PLATFORMS, Texts, where
from service.characters import visible
from service.render.parts import OF_A_FINDING
from service.render.remedy import of_each_instance, on_platform
from service.state.window import PRESETS, iso
from service.web.access import SESSION
from service.web.api.http import squeezed
from service.web.pages import words

HERE = Path(__file__).parents[1]
FRAME = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

LEVEL = 4
"""Level of gzip. A higher one takes twice the time for a tenth less."""
SECTIONS = (("Fleet", "/"), ("Reports", "/reports"), ("Causes", "/causes"), ("Runbooks", "/runbooks"))
"""The links in the head of every page."""
GUIDES = (
    (re.compile(r"/db/[^/]+/history$"), "history.html"),
    (re.compile(r"/db/[^/]+/compare$"), "before-after.html"),
    (re.compile(r"/db/[^/]+/whatif$"), "before-after.html#what-if"),
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
    """A statement in which the names that a reader must replace are marked."""
    if not names:
        return escape(statement)
    parts = re.split(f"({'|'.join(re.escape(name) for name in sorted(names, key=len, reverse=True))})", statement)
    return Markup("").join(Markup("<mark>{}</mark>").format(part) if part in names else escape(part) for part in parts)


def for_release(statement: Texts | None, release: str | None) -> str:
    """The text of a statement for a release: the nearest lower one. The newest if the release is unknown."""
    if statement is None or isinstance(statement, str):
        return statement or ""
    return (text_for(statement, release) if release else None) or next(reversed(list(statement.values())), "")


def _measured(figure: Figure) -> str:
    return measured(figure.value, figure.unit)


def _seen(value: object) -> object:
    """A value for a page with visible characters. A page has lines, and keeps a number with its unit."""
    if not isinstance(value, str):
        return value
    shown = visible(
        str(value), keep=f"\n{words.TIED}"
    )  # a plain string: what Markup does to its own escapes every part
    return Markup(shown) if isinstance(value, Markup) else shown


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "measured": _measured,
    "percent": percent,
    "section": section_of,
    "spelled": spelled,
    "number_of": number_of,
    "ticked": ticked,
    "breakable": breakable,
    "filled_in": filled_in,
    "for_release": for_release,
    "on_platform": on_platform,
    "where": where,
    "chain_heading": heading,
    "to_find": to_find,
    "why_no_command": why_no_command,
    "length_of": words.length,
    "lasted": words.lasted,
    "of_each_instance": of_each_instance,
    "clock": words.clock,
    "iso": iso,
    "share": words.share,
    "sessions": words.sessions,
    "amount": words.amount,
    "plural": words.plural,
    "state_of": words.state_of,
    "state_key": words.state_word,
}
templates.env.filters |= FILTERS
templates.env.filters |= {
    "tree": tree,
    "entry_of": entry_of,
    "remarks": remarks,
    "queries": queries,
    "shown_chains": shown_first,
    "not_shown": not_shown,
}
templates.env.finalize = _seen
templates.env.globals |= {
    "CHAIN_ACTION": ACTION,
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
    answer = HTMLResponse(body, status, headers)
    answer.headers["Content-Security-Policy"] = FRAME
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer


def address_at(db: str, moment: datetime) -> str:
    """The address of a database's page as it was at a moment."""
    return f"/db/{quote(db)}?at={quote(iso(moment))}"


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


def _section(path: str) -> str:
    """The part of the head that a page belongs to. Databases belong to the fleet."""
    found = next((link for _, link in SECTIONS[1:] if path == link or path.startswith(f"{link}/")), None)
    return found or ("/" if path == "/" or path.startswith(("/db/", "/fleet")) else "")
