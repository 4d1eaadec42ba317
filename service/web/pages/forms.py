"""The fields of small forms that pages send."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from fastapi import HTTPException, Request

MOST_BODY = 8192


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a small form. Any other body has none. 413 if it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY:
            raise HTTPException(413, f"a form is at most {MOST_BODY} bytes")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}
