"""Sign-in with a token, and sign-out. Without configured tokens there is nothing to sign in to."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from service.config.audit import Audit
from service.web.access import SESSION, SESSION_SECONDS, Access
from service.web.pages.forms import form_of
from service.web.pages.layout import page

WRONG = "No token of auth.tokens_file matches. Tokens are case-sensitive; send the token itself, not its sha256."


def sign_in_pages(access: Access, audit: Audit) -> APIRouter:
    """GET and POST /sign-in, POST /sign-out."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/sign-in")
    def ask(request: Request, to: str = "/") -> Response:
        if not access.by_token:
            return RedirectResponse("/", 303)
        return page(request, "sign_in.html", to=_local(to), wrong=None)

    @router.post("/sign-in", dependencies=[Depends(access.own_page)])
    def sign_in(request: Request, form: Annotated[Mapping[str, str], Depends(form_of)]) -> Response:
        known = access.sign_in(form.get("token", ""))
        if known is None:
            audit.record("somebody", "sign in", "pages", "refused: no such token")
            return page(request, "sign_in.html", 401, to=_local(form.get("to", "")), wrong=WRONG)
        caller, cookie = known
        audit.record(caller.name, "sign in", "pages", "done")
        answer = RedirectResponse(_local(form.get("to", "")), 303)
        secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
        answer.set_cookie(SESSION, cookie, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
        return answer

    @router.post("/sign-out", dependencies=[Depends(access.own_page)])
    def sign_out() -> Response:
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(SESSION, httponly=True, samesite="strict")
        return answer

    return router


def _local(to: str) -> str:
    """An address of ours. Any other becomes the fleet."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() else "/"
