"""Fixtures of all tests, which tests `make test` leaves to `make test-all`, and the rules against skips and against cost."""

import gc
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import settings

from collectors.capture import Capture, load
from tests import skips
from tests.paths import INCIDENT, ROOT

if TYPE_CHECKING:
    from tests.service.stores import Postgres


# No deadline: a test must not fail because the machine is busy for a moment.
settings.register_profile("house", deadline=None, max_examples=15)
settings.register_profile("soak", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

# Until collection ends, nothing becomes garbage. Afterwards tests create far more objects than servers do.
gc.disable()
BETWEEN_COLLECTIONS = (50_000, 20, 100)
# promtool and Prometheus live for seconds, in which Go's garbage collector is wasted work.
os.environ.setdefault("GOGC", "400")
# As in the service: threads of numpy's BLAS would spin beside the test workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

WAITING = (
    "tests/service/test_replicas.py", "tests/service/test_crash.py", "tests/service/test_stories.py",
    "tests/live/test_alerting.py", "tests/collectors/test_oracle.py", "tests/service/test_fault_matrix.py",
    "tests/collectors/test_oracle_standin.py",
    "tests/service/test_end_to_end.py", "tests/live/load/test_run.py",
    "tests/service/config/test_secrets_stay_hidden.py", "tests/repo/test_prometheus.py",
    "tests/repo/grafana/test_live.py", "tests/service/store/test_writer.py", "tests/service/store/test_topics.py",
)  # fmt: skip
"""Files that mostly wait, for servers, processes and deadlines, the longest first. They begin while others still compute."""

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# What `make test` runs. `make test-all` (`pytest --all`) also runs what is marked `slow`, and files whose `pytestmark` is that.

KEPT: Mapping[str, str] = {
    "tests/service/test_end_to_end.py::test_demo_serves_its_verdicts_and_ends_on_sigterm": "the demo by HTTP, in a process",
    "tests/service/cli/test_top.py::test_each_key_through_a_terminal": "the only run of the loop of top",
}
"""Tests marked `slow` that `make test` runs all the same → why: what nothing cheaper proves. At most MOST_KEPT."""
MOST_KEPT = 12
SLOW_FILE = re.compile(r"^pytestmark = .*pytest\.mark\.slow", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all`: the tests that are marked `slow` too; `--renew-golden`: golden files as they would be now."""
    parser.addoption("--all", action="store_true", help="the tests marked `slow` too, as `make test-all` does")
    parser.addoption("--renew-golden", action="store_true", help="write the files of tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a frozen file of tests/golden."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--renew-golden", default=False):
            path.write_text(text, encoding="utf-8")
        way_out = f"run `.venv/bin/pytest {request.path.relative_to(ROOT)} --renew-golden` and read the difference"
        assert path.is_file(), f"tests/golden/{name} is not there; {way_out}"
        kept = path.read_text(encoding="utf-8")
        assert text == kept, f"tests/golden/{name} changed; if it should, {way_out}"

    return compare


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which every test is slow is not even imported, unless it is named or `--all` is given."""
    if config.getoption("--all") or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    named = any(Path(argument.partition("::")[0]).resolve() == collection_path for argument in config.args)
    return True if not named and SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) else None


# What a test may cost: seconds of processor, its child processes included, so that a machine that is only busy fails nobody.

MOST_SECONDS = 2.0
UNIT_SECONDS = 0.016
"""What `_unit` takes on the machine that MOST_SECONDS is meant for. A slower machine allows more."""


def _unit() -> float:
    """Seconds of processor that a fixed piece of work takes here and now."""
    began, total = time.process_time(), 0
    for number in range(400_000):
        total += number % 7
    return time.process_time() - began


def _processor() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that costs more than MOST_SECONDS and is not marked `slow` fails, although it passed."""
    began = _processor()
    yield
    spent = _processor() - began
    if spent > MOST_SECONDS and item.get_closest_marker("slow") is None and item.get_closest_marker("soak") is None:
        allowed = MOST_SECONDS * max(1.0, _unit() / UNIT_SECONDS)
        if spent > allowed:
            pytest.fail(
                f"it took {spent:.1f} s of processor, more than {allowed:.1f}: make it smaller, or mark it `slow`",
                pytrace=False,
            )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one worker per core of this process (`taskset` and containers may give fewer), and one more for waiting."""
    usable = getattr(os, "sched_getaffinity", None)
    return (len(usable(0)) if usable else os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests go, unless kept. Files that mostly wait come first, so that none runs alone at the end."""
    if not config.getoption("--all"):
        named = {argument for argument in config.args if ".py" in argument}
        left = [one for one in items if _slow(one) and one.nodeid not in KEPT and not _named(one, named)]
        config.hook.pytest_deselected(items=left)
        items[:] = [one for one in items if one not in set(left)]
    if hasattr(
        config, "workerinput"
    ):  # one process has nothing to begin early, and keeps the order that it was asked for
        order = {ROOT / name: place for place, name in enumerate(WAITING)}
        items.sort(key=lambda item: order.get(item.path, len(order)))


def _slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _named(item: pytest.Item, arguments: set[str]) -> bool:
    """Whether its file, or the test itself, was asked for by name."""
    return any(item.nodeid == one or item.nodeid.startswith((f"{one}::", f"{one}[")) for one in arguments)


def pytest_collection_finish() -> None:
    """Imported modules and collected tests live to the end. The garbage collector need not visit them again and again."""
    gc.freeze()
    gc.set_threshold(*BETWEEN_COLLECTIONS)
    gc.enable()


def pytest_unconfigure() -> None:
    """The process that forks others ends with the session; see tests.started."""
    if started := sys.modules.get("tests.started"):
        started.end()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """What was skipped for want of which program, after pytest's own list of skips; see tests.skips."""
    yield
    skipped = terminalreporter.getreports("skipped")
    for line in skips.lines(one.longrepr[2] for one in skipped if isinstance(one.longrepr, tuple | list)):
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that skips itself; see no_skip."""
    return no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that skips itself; see no_skip."""
    return no_skip((yield))


def no_skip(report: Report) -> Report:
    """With LATCHSCOPE_REQUIRE_ALL=1 a skip is a failure: CI must have what is missing."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("LATCHSCOPE_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, and LATCHSCOPE_REQUIRE_ALL=1 allows no skip: {report.longrepr}"
    return report


def found_reports(folder: str = "reports") -> Path | None:
    """Real AWR and Statspack reports with other names, and verdicts.json on them; None where they are not beside the checkout.

    The project may not carry them. `folder` is "reports" or "reports-3". Nothing else that tests read is outside the checkout.
    """
    found = ROOT.parent / "shared" / "data" / folder
    return found if found.is_dir() else None


def wanted_reports(folder: str) -> Path:
    """The same folder. The test skips where it is missing."""
    return found_reports(folder) or pytest.skip(skips.REPORTS)


@pytest.fixture(scope="session")
def anonymised_reports() -> Path:
    """The folder of the real reports; see found_reports."""
    return wanted_reports("reports")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Postgres"]:
    """One PostgreSQL server for the session. Tests skip by name where its wheel is missing.

    Services of this process that use it, with no spool folder set, share none with those of another test worker.
    """
    from tests.service.stores import Postgres  # most processes that load this file never need it

    server = Postgres()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.store.build.SPOOL", tmp_path_factory.mktemp("spool"))
        yield server
    server.stop()


@pytest.fixture(scope="session")
def incident() -> Capture:
    """Our recording of the incident published in 2010."""
    return load(INCIDENT.read_bytes(), INCIDENT.name)
