"""A Diagnosis in words: the numbers of the model incident, each with its derivation, and no rate where there is none."""

import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from collectors.model import NotComparable
from rules import engine
from rules.cause import catalogue
from rules.engine import diagnose
from rules.model import Confidence, Diagnosis
from service.cli.main import cli
from service.intake import inputs
from service.intake.inputs import DiagnosedInput, InputResults, diagnose_all, diagnose_data
from service.render.summary import HEADINGS
from service.render.text import as_markdown, as_text, cause_as_text, causes_shown, explained_elsewhere
from service.web.pages.export import as_html
from tests.paths import REPORTS, STORM
from tests.rules.contexts import SICK, delta_of
from tests.rules.printed import scripted
from tests.rules.staged import staged
from tests.rules.test_library_cache import HANDLE, waiting
from tests.service.stage import Stage

NAME = "incident-2010.json"
GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def told(incident: Path) -> list[DiagnosedInput]:
    return diagnose_data(incident.read_bytes(), NAME).diagnosed


@pytest.fixture
def judged_then(
    incident: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> list[DiagnosedInput]:
    """The incident, judged by the causes of the time when its golden file was written: a new cause changes no old one."""
    if not request.config.getoption("--renew-golden", default=False):
        frozen = json.loads((GOLDEN / NAME).read_text(encoding="utf-8"))
        then = {
            one["cause"] for part in ("findings", "ruled_out", "undetermined", "candidates") for one in frozen[part]
        }
        kept = {name: cause for name, cause in catalogue().items() if name in then}
        monkeypatch.setattr(engine, "catalogue", lambda: kept)
    return diagnose_data(incident.read_bytes(), NAME).diagnosed


def unwrapped(text: str) -> str:
    """A text without its line ends."""
    return " ".join(text.split())


def test_model_incident_is_frozen_in_every_form(
    judged_then: list[DiagnosedInput], golden: Callable[[str, str], None]
) -> None:
    golden("incident-2010.txt", as_text(judged_then))
    golden("incident-2010-verbose.txt", as_text(judged_then, verbose=True))
    golden("incident-2010.md", as_markdown(judged_then))
    golden("incident-2010.json", judged_then[0].diagnosis.model_dump_json(indent=2) + "\n")
    document = json.loads(judged_then[0].diagnosis.model_dump_json())
    assert Diagnosis.model_validate(document) == judged_then[0].diagnosis


def test_text_tells_of_the_confirming_query_of_every_finding_once(told: list[DiagnosedInput]) -> None:
    first = told[0].diagnosis.findings[0]
    assert first.confirm is not None
    done = first.confirm.model_copy(update={"result": 37.0, "seen": "in PDB ERP1 only", "confirms": None})
    closed = first.confirm.model_copy(update={"result": None, "obstacle": "needs select on cdb_users; so"})
    findings = (first, *(first.model_copy(update={"confirm": query}) for query in (done, closed)))
    changed = told[0].diagnosis.model_copy(update={"findings": findings})
    text = " ".join(as_text([replace(told[0], diagnosis=changed)], verbose=True).split())
    assert text.count("Confirm: The record has 14,838. Undo segments of all tablespaces") == 1
    assert "Confirm: The record has 37 (in PDB ERP1 only); that it misses the bound proves nothing" in text
    assert "It cannot run here: needs select on cdb_users; so" in text


def test_a_cause_is_told_with_its_releases_and_the_text_of_each() -> None:
    for cause, words in {
        "undo-segments": ["releases: up to 12.1"],
        "dc-users-mutex-bug": ["releases: 19 to 19.7"],
        "sequence-conflicts": ["releases: up to 12.1"],
        "sequence-nocache": [
            "releases: all",
            "Confirm: from 9.2 on: select count(*) from dba_sequences",
            " from 12.1 on: select con_id, sequence_owner",
        ],
        "file-checks": ["Confirm: select count(*) from v$datafile"],
    }.items():
        text = cause_as_text(catalogue()[cause])
        assert [each for each in words if each not in unwrapped(text)] == [], cause
        assert max(len(line) for line in text.splitlines() if "select" not in line) <= 100


def polled(stage: Stage) -> DiagnosedInput:
    diagnosis = stage.poll("undo-storm", at=1).diagnosis
    return DiagnosedInput("poll", NotComparable("undo-storm", None, "", ""), diagnosis)


def test_several_inputs_are_a_table_then_each_cause_then_what_was_not_judged(
    told: list[DiagnosedInput], stage: Stage
) -> None:
    several = [polled(stage), *told]
    text, markdown = as_text(several), as_markdown(several)
    assert re.findall(r"^## (\S+) \((.+)\)$", markdown, re.M) == [("undo-segments", NAME)], "was: every input"
    assert text.count("-v shows") == 1
    tally, empty, head, first, second, after = text.splitlines()[:6]
    assert (tally, empty, after) == ("2 inputs: 1 warning, 1 cannot be judged.", "", "")
    assert re.split(r"\s{2,}", head) == list(HEADINGS)
    assert re.split(r"\s{2,}", first)[:6] == [
        NAME, "Warning", "unknown", "undo-segments", "dc_rollback_segments", "high",
    ]  # fmt: skip
    assert re.split(r"\s{2,}", second)[:3] == ["poll", "Cannot tell", "unknown"]
    assert re.search(r" Could not be judged: poll: .+ Way out: ", unwrapped(text))
    assert "| file | state | DB time lost | cause | cache | confidence | period | database |\n|---|" in markdown


def test_a_cause_is_told_once_of_the_worst_input_with_the_names_of_the_others() -> None:
    told = diagnose_all([str(REPORTS / f"day-{day}.txt") for day in (1, 3, 4, 5)]).diagnosed
    text, markdown = as_text(told), as_markdown(told)
    assert text.count("switch to a new undo tablespace.") == 1, "was 3"
    assert markdown.count("ORA-30013") == 1 and text.count("-v shows") == 1
    said = "The same cause, confidence low, in 2 other inputs: day-4.txt, day-5.txt."
    assert said in unwrapped(text) and said in markdown
    assert as_text(told, verbose=True).count("figures are of") == 4
    assert "likely cause: too many undo segments" in text and "1 unknown (the report has no child latches" in markdown


def test_markdown_table_escapes_a_bar_in_a_name(told: list[DiagnosedInput]) -> None:
    hostile = [replace(one, name="a|b") for one in (*told, *told)]
    assert "| a\\|b | Warning |" in as_markdown(hostile)


DAYS = [str(REPORTS / f"day-{day}.txt") for day in (1, 2, 3)]


def test_notes_shared_by_all_inputs_appear_once_at_the_end() -> None:
    told = diagnose_all(DAYS).diagnosed
    for text in (as_text(told), as_markdown(told)):
        assert text.count("judged from a printed report") == 1
        last = max(text.rfind("### Found"), text.rfind("Do now: "))
        assert text.index("judged from a printed report") > last > 0
    assert as_text(told[:1], verbose=True).count("Note: judged from a printed report") == 1


def test_report_across_a_restart_is_told_in_one_sentence_also_beside_others() -> None:
    restart = str(REPORTS / "awr-11.2.0.4.0-restart.txt")
    told = diagnose_all([restart]).diagnosed
    assert "\nCannot tell: the instance restarted" in as_text(told)
    assert "**unknown**: Cannot tell: the instance restarted" in as_markdown(told)
    for text in (as_text(told), as_markdown(told)):
        assert "yet" not in text and "undo-segments" not in text
        assert "the instance restarted between the two snapshots" in unwrapped(text)
    text = unwrapped(as_text(diagnose_all([*DAYS, restart]).diagnosed))
    assert "Could not be judged: awr-11.2.0.4.0-restart.txt: the instance restarted" in text
    assert text.count("the instance restarted") == 1


# Several inputs: one answer for equal advice


def test_an_input_without_a_cause_is_told_in_one_line_beside_one_of_its_interval_that_has_it() -> None:
    storm = scripted("undo-storm", 60.0)
    full = DiagnosedInput("full", storm, diagnose(storm))
    less = replace(full, name="less", diagnosis=full.diagnosis.model_copy(update={"findings": ()}))
    assert [shown.worst.name for shown in causes_shown([less, full])] == ["full"], "was: less, printed in full, too"
    assert [*explained_elsewhere([less, full])] == [
        "less has no cause of its own, because it holds less; read full instead: it has the same interval and names "
        "undo-segments"
    ]
    assert [shown.worst.name for shown in causes_shown([less])] == ["less"] and not [*explained_elsewhere([less])]


def test_certain_advice_does_not_speak_for_inputs_that_are_uncertain() -> None:
    low = [REPORTS / f"{name}.txt" for name in ("day-3", "statspack-11.2.0.3.0-undo-storm-level-10")]
    told = diagnose_all([str(STORM), *map(str, low)]).diagnosed
    assert [each.diagnosis.findings[0].confidence for each in told] == ["high", "low", "low"]
    text, markdown = " ".join(as_text(told).split()), as_markdown(told)
    certain, doubtful = (part.partition("-v shows")[0] for part in text.split("Critical waits; ")[1:])
    assert "confidence high" in certain and "First run" not in certain and "other input" not in certain
    assert "confidence low" in doubtful
    assert "Do now: First run the confirming query." in doubtful and "from dba_rollback_segs;" in doubtful
    also = (
        "The same cause, confidence low, in 1 other input: statspack-11.2.0.3.0-undo-storm-level-10.txt (here because "
    )
    assert also in text, "another reason for the doubt is told beside the name"
    assert markdown.count("### Found: ") == 2 and markdown.count("**Confirm first**") == 1


def test_inputs_whose_advice_differs_do_not_share_an_answer() -> None:
    storm = scripted("undo-storm", 60.0)
    one = DiagnosedInput("one", storm, diagnose(storm))
    (finding,) = one.diagnosis.findings
    assert finding.confirm is not None
    on_each_instance = tuple(step.model_copy(update={"in_cluster": "sid='a'"}) for step in finding.remedy_steps)
    refuted = finding.confirm.model_copy(update={"result": 20.0, "confirms": False})
    for changed in (
        finding.model_copy(update={"confidence": Confidence.MEDIUM}),
        finding.model_copy(update={"identity": "candidate"}),
        finding.model_copy(update={"confirm": refuted}),
        finding.model_copy(update={"do_now": "Ask first."}),
        finding.model_copy(update={"remedy_steps": finding.remedy_steps[1:]}),
        finding.model_copy(update={"remedy_steps": on_each_instance}),
    ):
        other = replace(one, name="other", diagnosis=one.diagnosis.model_copy(update={"findings": (changed,)}))
        assert [shown.others for shown in causes_shown([one, other])] == [(), ()], changed
    newer = replace(one, name="newer", diagnosis=one.diagnosis.model_copy(update={"release": "12.1.0.2.0"}))
    assert len(causes_shown([one, newer])) == 2, "the newer one has containers, and other statements"
    (both,) = causes_shown([one, replace(one, name="twin")])
    assert both.beside == "The same cause, confidence high, in 1 other input: twin."


# Who waits in the library cache

WORDS = "90 logons of APP1 from web07 wait for one account"


def test_text_of_a_trouble_elsewhere_says_what_to_do_about_the_cause_that_is_seen() -> None:
    delta = staged("N2")
    text = " ".join(as_text([DiagnosedInput("erp", delta, diagnose(delta))]).split())
    assert (
        "Do now: Find the" in text and "Found too: Each logon writes its time into the user's row (last-login" in text
    )


def library(user: str = "APP1", sessions: int = 90, sick: bool = True) -> DiagnosedInput:
    rows = waiting(sessions, username=user, machine="web07")
    views = {**SICK, "library_cache_sessions": rows} if sick else {"library_cache_sessions": rows}
    delta = delta_of(views, release="19.0.0.0.0")
    return DiagnosedInput("erp", delta, diagnose(delta))


@pytest.mark.parametrize("sick", [True, False])
def test_text_says_who_waits_also_where_the_row_cache_is_quiet(sick: bool) -> None:
    text = " ".join(as_text([library(sick=sick)], verbose=sick).split())
    assert (
        text.count("Library cache waits: ") == 1
        and f"Library cache waits: At the poll 90 sessions wait in the library cache: {WORDS} (library" in text
    )


def test_whole_text_markdown_and_html_have_the_queries_and_what_they_touch() -> None:
    one = library()
    text = " ".join(as_text([one], verbose=True).split())
    markdown, page = as_markdown([one]), html.unescape(as_html(InputResults([one], [], [], 1)))
    for form in (text, markdown, page):
        assert WORDS in form and "it may walk through the whole library cache" in form
    assert HANDLE in text and HANDLE in page
    assert '<h2 id="lc' in page


def test_few_short_waits_stay_in_the_json() -> None:
    few = library(sessions=2)
    assert "Library cache waits" not in as_text([few], verbose=True)
    assert 'id="lc' not in as_html(InputResults([few], [], [], 1))


# Every known figure of the anonymised reports is, to the digit, in what `latchscope diagnose` prints of them

FORMS = ("text", "markdown", "html")
Verdict = dict[str, Any]


def many(number: str, unit: str) -> str:
    """A printed count with its unit; a single thing is in the singular."""
    single = {"misses": "miss", "entries": "entry", "waiter sleeps": "waiter sleep", "spin gets": "spin get"}
    return f"{number} {single.get(unit, unit[:-1]) if number == '1' else unit}"


def printed(path: Path, form: str) -> str:
    told = CliRunner().invoke(cli, ["diagnose", str(path), "--format", form, "--verbose"])
    assert told.exit_code == 0, told.output
    return {"html": html.unescape(told.stdout), "text": " ".join(told.stdout.split())}.get(form, told.stdout)


@pytest.fixture(scope="module", autouse=True)
def _each_report_is_read_once() -> Iterator[None]:
    """The forms of one diagnosis."""
    known: dict[tuple[str, ...], InputResults] = {}

    def once(names: Sequence[str], *_: object) -> InputResults:
        if tuple(names) not in known:
            known[tuple(names)] = diagnose_all(names)
        return known[tuple(names)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "diagnose_all", once)
        yield


@pytest.fixture(scope="module")
def verdicts(anonymised_reports: Path) -> list[Verdict]:
    found: list[Verdict] = json.loads((anonymised_reports / "verdicts.json").read_text(encoding="utf-8"))
    with_figures = [one for one in found if "db_time_s" in one]
    assert len(with_figures) == 14
    return with_figures


def cells(one: Verdict, begin: str, by: str) -> list[list[str]]:
    """The figures of a verdict, one list for each subject."""
    (told,) = [value for key, value in one.items() if key.startswith(begin)]
    return [[cell.strip() for cell in re.split(by, part)] for part in told.split("; ") if part]


def wanted(one: Verdict) -> Iterator[str]:
    """The words that must accompany each figure of a verdict."""
    yield one["release"]
    yield f"interval of {one['elapsed_s']:,}"
    for event, waits, seconds, _, share in (
        re.split("[=/]", "=".join(row)) for row in cells(one, "row_cache_events", "=")
    ):
        told = f"{share} %" if float(share) else "< 0.01 %" if float(waits.replace(",", "")) else "0 %"
        yield f"{event} {many(waits, 'waits')}, {seconds} s ({told} of DB time)"
    ((latch, gets, _, _, seconds, *_),) = cells(one, "latch_activity", r"\|")
    yield f"atch {latch} {many(gets, 'gets')}"
    exact = cells(one, "latch_sleep_breakdown", r"\|")
    for _, gets, misses, sleeps, spins in exact:
        parts = ((gets, "gets"), (misses, "misses"), (sleeps, "sleeps"), (spins, "spin gets"))
        yield f"{', '.join(many(*one) for one in parts)}, {seconds} s."
    for place, _, sleeps, waiters in cells(one, "miss_sources", "/"):
        yield f"{place} {many(sleeps, 'sleeps')}, {many(waiters, 'waiter sleeps')}"
    for _, place, sleeps, milliseconds in cells(one, "row_cache_mutexes", "/"):
        yield f"{place} {many(f'{int(sleeps):,}', 'sleeps')}, {int(milliseconds):,} ms"
    for name, gets, _, changes, entries in cells(one, "dictionary_top4", "/"):
        yield f"{name} {many(gets, 'gets')}, {many(changes, 'modifications')}, {many(entries, 'entries')}"


@pytest.mark.parametrize("form", FORMS)
def test_figures_of_the_anonymised_reports_are_all_printed(
    anonymised_reports: Path, verdicts: list[Verdict], form: str
) -> None:
    for one in verdicts:
        text = printed(anonymised_reports / one["file"], form)
        lacking = [words for words in wanted(one) if words not in text]
        assert lacking == [], one["file"]


def test_json_has_db_time_period_and_figures(anonymised_reports: Path, verdicts: list[Verdict]) -> None:
    for one in verdicts:
        told = json.loads(printed(anonymised_reports / one["file"], "json"))
        begin, end = (datetime.strptime(one[key], "%d-%b-%y %H:%M:%S") for key in ("begin", "end"))  # noqa: DTZ007
        assert (told["basis"]["begin"], told["basis"]["end"]) == (begin.isoformat(), end.isoformat()), one["file"]
        (step,) = [step for step in told["steps"] if step["step"] == "as printed"]
        figures = {figure["name"]: figure["value"] for figure in step["figures"]}
        assert abs(figures["DB time"] - one["db_time_s"]) <= 0.9, "one is from the head, the other from the time model"
        assert f"DB time {figures['DB time']:,.1f} s." in step["statement"]
        for name, gets, _, changes, entries in cells(one, "dictionary_top4", "/"):
            had = [figures[f"{name}: {what}"] for what in ("gets", "modifications", "entries")]
            assert [f"{value:,}" for value in had] == [gets, changes, entries], one["file"]


def test_text_of_the_same_snapshots_prints_the_same_figures(anonymised_reports: Path, verdicts: list[Verdict]) -> None:
    names = ("awr-11.2.0.4-rac-idle", "awr-11.2.0.3-io-bound")
    for name in names:
        (one,) = [one for one in verdicts if one["file"] == f"{name}.html"]
        text = printed(anonymised_reports / f"{name}.txt", "text")
        assert [words for words in wanted(one) if words not in text and "% of DB time" not in words] == [], name


def test_text_of_the_idle_cluster_gives_the_cost_in_its_report(anonymised_reports: Path) -> None:
    text = printed(anonymised_reports / "awr-11.2.0.4-rac-idle.html", "text")
    assert "row cache waits cost 1.5 % of the 1.9 s of DB time of an idle instance" in text
