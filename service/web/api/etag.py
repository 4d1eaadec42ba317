"""Answers with a tag of their content. A repeated request gets a few bytes if nothing changed."""

import hashlib
import re
from typing import Any

from fastapi import Request
from fastapi.responses import Response

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as the tag of If-None-Match says."}}


def tagged(request: Request, body: str) -> Response:
    """JSON with a weak tag. 304 without a body if the caller has it already."""
    tag = f'W/"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if _named(tag, request.headers.getlist("if-none-match")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _named(tag: str, asked: list[str]) -> bool:
    """Whether a list of tags has this one; strength does not matter when reading (RFC 9110, 13.1.2)."""
    listed = ", ".join(asked)
    return listed.strip() == "*" or tag.removeprefix("W/") in re.findall(r'"[^"]*"', listed)
