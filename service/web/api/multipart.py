"""Files of a multipart request, read within limits and only after the sender is admitted.

The framework reads the whole request before it checks the sender, so this module reads the body itself, piece by piece.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from service.intake.archives import label, mib
from service.intake.uploads import MOST_FILES, File

MEDIA = "multipart/form-data"
PART = "file"
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            MEDIA: {
                "schema": {
                    "type": "object",
                    "required": [PART],
                    "properties": {
                        PART: {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MOST_FILES,
                            "items": {"type": "string", "contentMediaType": "application/octet-stream"},
                            "description": "reports, script output, captures, or archives of them",
                        }
                    },
                }
            }
        },
    }
}
"""The description of such a request in the OpenAPI document."""


class UploadRefused(Exception):
    """A refused request: the status and one line that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def receive(request: Request, max_bytes: int) -> Sequence[File]:
    """The files of the request, none larger than `max_bytes`. Raises UploadRefused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA:
        raise UploadRefused(415, f"send {MEDIA} with parts named {PART}, such as curl -F {PART}=@awr.html")
    form = await _form(request, MOST_FILES * (max_bytes + 4096))
    try:
        files = [part for part in form.getlist(PART) if isinstance(part, UploadFile) and part.filename]
        if not files:
            raise UploadRefused(422, f"no file came; send parts named {PART}, such as curl -F {PART}=@awr.html")
        for file in files:
            if (file.size or 0) > max_bytes:
                named = f"{label(file.filename or PART)} has {mib(file.size or 0)} MiB"
                raise UploadRefused(413, f"{named}; reports.max_bytes is {mib(max_bytes)} MiB; nothing was kept")
        return [File(file.filename or PART, await file.read()) for file in files]
    finally:
        await form.close()


async def _form(request: Request, most: int) -> FormData:
    async with aclosing(_bounded(request, most)) as stream:
        parser = MultiPartParser(request.headers, stream, max_files=MOST_FILES, max_fields=MOST_FILES)
        try:
            return await parser.parse()
        except MultiPartException as error:
            raise UploadRefused(422, error.message) from None


async def _bounded(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The body as it comes. One that is or claims to be too large is refused before its end."""
    claimed = request.headers.get("content-length", "")
    received = int(claimed) if claimed.isdigit() else 0
    if received <= most:
        received = 0
        async for piece in request.stream():
            received += len(piece)
            if received > most:
                break
            yield piece
    if received > most:
        raise UploadRefused(413, f"the request is more than {mib(most)} MiB; send at most {MOST_FILES} files")
