"""The router of routes below /api/v1 that read the store: who may call them, and their answer when it is down."""

from typing import Any

from fastapi import APIRouter, Depends

from service.web.access import Access
from service.web.api.databases import operation_id
from service.web.api.problems import REFUSED
from service.web.schemas import Problem

STORE: dict[int | str, dict[str, Any]] = {503: {"model": Problem, "description": "The store does not answer."}}
INVALID: dict[int | str, dict[str, Any]] = {422: {"model": Problem, "description": "Not understood."}}


def store_router(access: Access) -> APIRouter:
    """A router for readers, whose routes need the store."""
    return APIRouter(
        prefix="/api/v1",
        tags=["history"],
        generate_unique_id_function=operation_id,
        dependencies=[Depends(access.reader)],
        responses=REFUSED | STORE | INVALID,
    )
