"""`latchscope study`: text, JSON and HTML of five studies. Unreadable input is one line and exit 2."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli
from tests.service.web.pages.test_export import self_contained

SCALING = "processes,throughput,gets,misses,sleeps\n1,100,1000,0,0\n2,190,2000,300,1\n"
PARALLEL = "workers,before,after\n2,100,60\n8,100,20\n"
PARTITIONS = "partitions,batch,tps\n1,1,100\n1,8,180\n4,1,150\n4,8,260\n"
PERF = "  2,000,000 cycles\n  1,000,000 instructions\n"
TIMER = ("--granularity", "1ms", "--need", "1ms", "--before", "10ms")


def run(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["study", *arguments], input=text)


@pytest.fixture
def arguments(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """A study with its own table."""
    kind: str = request.param
    if kind == "timer":
        return [kind, *TIMER]
    text = {"scaling": SCALING, "parallel": PARALLEL, "partitions": PARTITIONS, "cpu": PERF}[kind]
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    return [kind, str(tmp_path / "table.csv")]


EVERY = pytest.mark.parametrize("arguments", ["scaling", "parallel", "partitions", "cpu", "timer"], indirect=True)


@EVERY
def test_text_is_plain_and_narrow_where_it_is_piped(arguments: list[str]) -> None:
    told = run(*arguments)
    assert told.exit_code == 0, told.output
    assert "\x1b" not in told.stdout and told.stderr == ""
    assert max(map(len, told.stdout.splitlines())) <= 100
    assert "Limits" in told.stdout


@EVERY
def test_json_names_its_study_and_html_is_a_page_that_loads_nothing(arguments: list[str]) -> None:
    found = json.loads(run(*arguments, "--format", "json").stdout)
    assert found["study"] == arguments[0]
    page = run(*arguments, "--format", "html").stdout
    self_contained(page)
    assert page.startswith("<!doctype html>") and "<table" in page and "Limits" in page


def test_answer_is_bold_on_a_terminal_only() -> None:
    told = CliRunner().invoke(cli, ["study", "timer", *TIMER], color=True)
    assert told.stdout.startswith("\x1b[1mA waiter that sleeps on a timer")


def test_table_comes_from_standard_input_too() -> None:
    told = run("parallel", "-", text=PARALLEL)
    assert told.exit_code == 0 and told.stdout.startswith("Speed-ups of 1.67 to 5.00")
    assert "standard input has no column for before" in run("parallel", "-", text=SCALING).stderr


def test_columns_are_chosen_by_name() -> None:
    text = "cores,old,new\n2,100,60\n8,100,20\n"
    chosen = ("--column", "workers=cores", "--column", "before=OLD", "--column", "after=new")
    assert run("parallel", "-", *chosen, text=text).stdout.startswith("Speed-ups of 1.67 to 5.00")


def test_settings_and_claims_are_asked_for_by_options() -> None:
    told = run("partitions", "-", "--ask", "2:4", "--ask", "2:9", "--processes", "30", text=PARTITIONS).stdout
    assert "Asked: 2 partitions with a batch of 4" in told and "Refused: 2 partitions with a batch of 9" in told
    text = SCALING + "4,360,4000,2000,4\n"
    assert "mixed two rows" in run("scaling", "-", "--claim", "2:50.00:0.20", text=text).stdout


def test_counters_are_held_against_others_and_told_to_be_the_holders(tmp_path: Path) -> None:
    clocked = PERF + "  1.00 msec task-clock\n"
    for name, text in (("a", clocked), ("b", clocked.replace("2,000,000", "1,000,000"))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    told = run("cpu", str(tmp_path / "a"), "--against", str(tmp_path / "b"), "--holder").stdout
    assert "The hold is 1.00 times" in told and "Warning" not in told


@pytest.mark.parametrize(
    ("arguments", "text", "told"),
    [
        (("scaling", "gone.csv"), None, "there is no file gone.csv; name a table"),
        (("scaling", "/"), None, "/ is a directory; name a file within it"),
        (("scaling", "-"), b"\xff\xfe\x00", "- is not text in UTF-8; save it as CSV in UTF-8"),
        (("scaling", "-"), "", "standard input is empty; give a CSV file"),
        (
            ("scaling", "-"),
            b"n,misses\n" + b"1" * 9 * 2**20,
            "- is larger than 8 MiB; give the measurements, not a log",
        ),
        (("scaling", "-", "--claim", "eight"), SCALING, "'eight' is not a claim; write PROCESSES:MISSES:SLEEPS"),
        (("scaling", "-", "--column", "gets"), SCALING, "'gets' has no column; write FIELD=NAME"),
        (("partitions", "-", "--ask", "8"), PARTITIONS, "'8' is not a setting; write PARTITIONS:BATCH"),
        (("cpu", "-"), "nothing", "standard input holds no counters of perf stat"),
        (
            ("timer", "--granularity", "fast", "--need", "1ms"),
            None,
            "--granularity 'fast' is not a time; write 100us, 1ms or 2s",
        ),
        (("timer", "--granularity", "0ms", "--need", "1ms"), None, "the granularity must be more than 0"),
    ],
)
def test_bad_input_is_one_line_and_exit_two(arguments: tuple[str, ...], text: str | bytes | None, told: str) -> None:
    done = run(*arguments, text=text)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"latchscope: {told}") and done.stderr.count("\n") == 1
    assert done.stdout == ""
