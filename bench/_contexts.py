"""A plugin of pytest that tells coverage which test runs: `-p bench._contexts`, below `coverage run`. See bench/mutants.py."""

import os
from collections.abc import Generator

import coverage
import pytest

VARIABLE = "LATCHSCOPE_TEST_CONTEXT"
"""Processes that a test starts read their context from it: see CONFIGURATION."""
CONFIGURATION = f"""\
[run]
data_file = .coverage.contexts/data
parallel = true
source = collectors, rules, service
patch = subprocess
context = ${{{VARIABLE}-}}
"""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """What runs from now on, fixtures included, runs for this test."""
    os.environ[VARIABLE] = item.nodeid
    if (running := coverage.Coverage.current()) is not None:
        running.switch_context(item.nodeid)
    return (yield)
