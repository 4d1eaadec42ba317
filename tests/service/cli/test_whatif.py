"""`latchscope whatif`: a file or a database of the store. A refusal is one line and exit 2."""

import json

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import cli
from tests.paths import PROBES

STORM = str(PROBES / "P00_undo_storm.json")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["whatif", *arguments])


def test_text_says_the_sentence_the_figures_and_what_they_rest_on() -> None:
    told = run(STORM, "--cache", "dc_rollback_segments", "--gets", "0.5")
    assert told.exit_code == 0, told.output
    rest = told.stdout.splitlines()
    first = " ".join(told.stdout.split("calibrated")[0].split())
    assert "child 1 (dc_rollback_segments): misses 25.0 % → " in first and "work × " in first
    assert any(line.startswith("misses per get") for line in rest)
    assert "sleeps 4,700 a second, and a fall is not certain (at most 6," in first  # was: "4,700 → at most 6,260"
    assert "low confidence: it is based on 1 of the 3 intervals" in told.stdout


def test_json_is_one_object() -> None:
    found = json.loads(run(STORM, "--children", "4", "--json").stdout)
    assert found["child"] == 1 and found["miss_ratio"]["low"] < found["miss_ratio"]["value"] < 0.25


@pytest.mark.parametrize("nothing", [("--children", "1"), ("--processes", "1x"), ("--gets", "100%"), ("--batch", "1")])
def test_change_of_nothing_gives_back_the_figures_of_now(nothing: tuple[str, str]) -> None:
    found = json.loads(run(STORM, *nothing, "--json").stdout)
    for name in ("work", "miss_ratio", "misses", "sleeps_per_second"):
        figure = found[name]
        assert figure["now"] == figure["value"] == figure["low"] == figure["high"], name


def test_percent_is_a_factor_and_a_posted_latch_may_have_its_timer_beside() -> None:
    plain, percent = (run(STORM, "--gets", factor, "--json").stdout for factor in ("0.5", "50%"))
    assert plain == percent
    beside = json.loads(run(STORM, "--gets", "0.5", "--timer", "1ms", "--json").stdout)
    assert beside["miss_ratio"] == json.loads(plain)["miss_ratio"]
    assert "a standard exclusive latch is posted" in beside["notes"][-1]


def test_lines_fit_a_terminal_and_spinning_is_told() -> None:
    told = run(STORM, "--processes", "2x").stdout
    assert max(map(len, told.splitlines())) <= 100
    assert "Spinning costs 0.222 [0.189..0.265] processors now" in " ".join(told.split())
    assert "number of processors is unknown" in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((STORM,), "name a change: --gets, --children, --batch, --hold, --processes or --timer"),
        *(
            ((STORM, "--gets", bad), f"--gets {bad} is not a factor above 0")
            for bad in ("0", "abc", "inf", "nan", "-1")
        ),
        ((STORM, "--hold", "abc"), "--hold abc is not a factor above 0, such as 0.5 or 50%"),
        *(((STORM, "--children", bad), "is not a whole number from 1") for bad in ("2.5", "0", "many", "99999")),
        ((STORM, "--children", "1000"), "beyond ×16, the most that was tested"),
        ((STORM, "--batch", "0.5"), "1 or more"),
        ((STORM, "--batch", "8"), "give the factor as hold, such as `--hold 1.3`"),
        ((STORM, "--processes", "40"), "write 2x for twice as many"),
        (
            (STORM, "--cache", "dc_users", "--gets", "0.5"),
            "P00_undo_storm.json, child 8 (dc_users): 30 misses are too few",
        ),
        ((str(PROBES / "P02_wrapped.json"), "--gets", "0.5"), "the sleeps of child 1 are missing"),
        ((STORM, "--gets", "0.05"), "beyond ×5"),
        ((STORM, "--processes", "many"), "--processes many is not a factor of the sessions"),
        ((STORM, "--timer", "soon"), "--timer soon is not a time, such as 1ms"),
        ((STORM, "--timer", "1ms", "--timer-now", "10ms", "--gets", "0.5"), "is tried alone"),
        ((STORM, "--timer-now", "10ms"), "give the new timer"),
        ((STORM, "--cache", "nothing", "--gets", "0.5"), "no child latch is known to guard nothing; the caches are: "),
        ((STORM, "--gets", "0.5", "--window", "5m"), "--window chooses from the store"),
        ((str(PROBES / "P10_idle.json"), "--gets", "0.5"), "no collisions to model"),
        ((str(PROBES / "P27_since_startup.json"), "--gets", "0.5"), "take an interval"),
        (("nowhere", "--gets", "0.5"), "nowhere is not a file"),
    ],
)
def test_what_cannot_be_said_is_one_line(arguments: tuple[str, ...], why: str) -> None:
    told = run(*arguments)
    assert told.exit_code == 2 and told.stdout == ""
    assert why in told.stderr and len(told.stderr.splitlines()) == 1
