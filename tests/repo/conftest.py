"""Fixtures that tests of the repository share with those of the service."""

from tests.service.conftest import incident, stage

__all__ = ["incident", "stage"]
