"""`latchscope script` from its options to the diagnosis of what it spooled, with a stand-in for SQL*Plus in between."""

import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from collectors.demo.scenarios import scenarios
from rules.cause import catalogue
from rules.hangs.words import EMERGENCY_PAGE
from rules.model import Diagnosis
from service.cli.main import cli
from service.cli.scripts import questions
from tests.collectors.sqlplus.sqlplus_standin import SqlPlus
from tests.paths import ROOT


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def spool(script: str, folder: Path) -> Path:
    program = SqlPlus(scenarios()["undo-storm"], 60.0)
    spooled = program.run(script)
    path = folder / program.file
    path.write_text(spooled, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--seconds", "20", "--samples", "0"),
        ("--confirm", "all", "--samples", "5"),
        ("--exit", "--confirm", "logon-storm,undo-segments"),
    ],
)
def test_script_output_is_diagnosed(options: tuple[str, ...], tmp_path: Path) -> None:
    made = run("script", *options)
    assert (made.exit_code, made.stderr) == (0, "")
    told = run("diagnose", str(spool(made.stdout, tmp_path)), "--format", "json")
    assert told.exit_code == 0, told.output
    diagnosis = Diagnosis.model_validate_json(told.stdout)
    first = diagnosis.findings[0]
    assert (first.cause, first.cache, first.confidence.value) == ("undo-segments", "dc_rollback_segments", "high")
    assert diagnosis.basis is not None and diagnosis.basis.seconds == (20 if "--seconds" in options else 30)
    assert first.confirm is not None
    assert first.confirm.result == (14838 if "--confirm" in options else None)


def test_script_confirm_includes_only_the_named_queries() -> None:
    text = run("script", "--confirm", "undo-segments, logon-storm").stdout
    assert text.count("latchscope confirm") == 2 + 1 and "{ls|confirm|undo-segments" in text


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (
            "undo-segmnets",
            "latchscope: --confirm: there is no cause 'undo-segmnets'; `latchscope causes list` names them",
        ),
        ("undo-segments,x", "there is no cause 'x'"),
        ("NONE", "has no confirming query; leave it out"),
    ],
)
def test_script_confirm_refuses_an_id_without_a_query_in_one_line(ids: str, said: str) -> None:
    without = next(one.id for one in catalogue().values() if one.confirm is None)
    made = run("script", "--confirm", ids.replace("NONE", without))
    assert (made.exit_code, made.stdout) == (2, "")
    assert said in made.stderr and made.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--hang",)])
def test_script_prints_the_file_of_examples_and_names_the_views_of_oracle_that_it_reads(
    options: tuple[str, ...],
) -> None:
    shipped = ROOT / "examples" / "sqlplus" / f"latchscope{'-hang' if options else ''}.sql"
    text = run("script", *options).stdout
    assert text == shipped.read_text(encoding="utf-8")
    head, _, body = text.partition("\n\n")
    told = head.partition("What it reads  ")[2].partition("What it costs")[0]
    read = set(re.findall(r"\b(?:from|join|,) +(?:sys\.)?([vx]_?\$\w+|latchscope_kqrst)", body))
    assert {name.strip("- \n") for name in told.split(",")} == read
    if options:
        assert read == {"v$instance", "v$rowcache", "v$rowcache_parent", "v$session"}
        page = (ROOT / EMERGENCY_PAGE).read_text(encoding="utf-8")
        assert f"has {text.count(chr(10))} lines: it reads {len(read)} views of Oracle" in page


def test_script_samples_at_most_once_a_second() -> None:
    assert run("script", "--seconds", "10", "--samples", "60").stdout.count("print ls_look") == 10


@pytest.mark.parametrize(
    "options", [("--seconds", "5"), ("--seconds", "601"), ("--samples", "61"), ("--samples", "-1")]
)
def test_script_options_have_bounds(options: tuple[str, ...]) -> None:
    assert run("script", *options).exit_code == 2


def test_questions_include_a_query_shared_by_causes_once() -> None:
    asked = list(questions(catalogue().values()))
    assert len({(one.texts, one.since, one.until) for one in asked}) == len(asked)
    assert sorted(id for one in asked for id in one.ids) == sorted(
        one.id for one in catalogue().values() if one.confirm
    )
