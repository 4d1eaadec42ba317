"""The fields of small forms that pages send."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from fastapi import Request


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a small form. Any other body has none."""
    try:
        fields = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}
