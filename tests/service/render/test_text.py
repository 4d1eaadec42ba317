"""A Diagnosis in words: the numbers of the model incident, each with its derivation, and no rate where there is none."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.model import NotComparable
from rules import engine
from rules.cause import catalogue
from rules.model import Diagnosis
from service.intake.inputs import DiagnosedInput, diagnose_all, diagnose_data
from service.render.parts import OF_A_FINDING
from service.render.summary import HEADINGS
from service.render.text import as_markdown, as_text, cause_as_text
from tests.paths import REPORTS
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


SHOWN = (
    "child 1 of latch# 270",
    "99.998 % of the sleeps",
    "24,241,645 of 24,242,220",
    "cache# 3 dc_rollback_segments, parent only",
    "310,995,555 gets = 78.5 % of 395,935,656",
    "85.03 %",
    "10.74 %",
    "4.24 %",
    "24,241,589",
    "kqrpre: find obj",
    "kqreqd: reget",
    "about 11,400 × as often as one of other caches",
    "dba_rollback_segs",
    "14,838",
    "matches the symptom of bug 5749075",
    "reported for releases older",
    "ORA-30013",
    "ORA-01555",
    "ORA-01552",
    "Large but partial",
)


@pytest.mark.parametrize("words", SHOWN)
def test_model_incident_is_rendered_with_its_numbers(told: list[DiagnosedInput], words: str) -> None:
    assert words.lower() in unwrapped(as_text(told, verbose=True)).lower()
    assert words.lower() in as_markdown(told).lower()


def test_rates_are_absent_without_an_interval(told: list[DiagnosedInput]) -> None:
    for text in (as_text(told), as_markdown(told)):
        assert not re.search(r"per second|/s\b|sessions wait(ing)? on average", text)
        assert "totals since an unknown instance start" in text


def test_text_of_the_model_incident_is_frozen(
    judged_then: list[DiagnosedInput], golden: Callable[[str, str], None]
) -> None:
    golden("incident-2010.txt", as_text(judged_then))


def test_json_of_the_model_incident_is_frozen(
    judged_then: list[DiagnosedInput], golden: Callable[[str, str], None]
) -> None:
    golden("incident-2010.json", judged_then[0].diagnosis.model_dump_json(indent=2) + "\n")


def test_json_has_the_fields_of_the_contract(told: list[DiagnosedInput]) -> None:
    document = json.loads(told[0].diagnosis.model_dump_json())
    assert {
        "database",
        "release",
        "mechanism",
        "basis",
        "severity",
        "headline",
        "impact",
        "steps",
        "findings",
        "ruled_out",
        "undetermined",
    } <= set(document)
    assert document["impact"] is None
    finding = document["findings"][0]
    assert {
        "cause",
        "severity",
        "confidence",
        "child",
        "cache",
        "caches",
        "location",
        "evidence",
        "confirm",
        "remedy",
        "risk",
        "expected_effect",
        "references",
    } <= set(finding)
    assert finding["confirm"]["result"] == 14838
    assert finding["caches"] == [
        {"cache_id": 3, "parameter": "dc_rollback_segments", "type": "PARENT", "subordinate": None}
    ]
    assert Diagnosis.model_validate(document) == told[0].diagnosis


def test_text_tells_of_the_confirming_query_of_every_finding_once(told: list[DiagnosedInput]) -> None:
    first = told[0].diagnosis.findings[0]
    assert first.confirm is not None
    done = first.confirm.model_copy(update={"result": 37.0, "seen": "in PDB ERP1 only", "confirms": None})
    closed = first.confirm.model_copy(update={"result": None, "obstacle": "needs select on cdb_users; so"})
    findings = (first, *(first.model_copy(update={"confirm": query}) for query in (done, closed)))
    changed = told[0].diagnosis.model_copy(update={"findings": findings})
    text = " ".join(as_text([replace(told[0], diagnosis=changed)], verbose=True).split())
    assert text.count("Confirm: select count(*) from dba_rollback_segs; the record has 14,838.") == 1
    assert "dba_rollback_segs; the record has 37 (in PDB ERP1 only); that it misses the bound proves nothing" in text
    assert "It cannot run here: needs select on cdb_users; so" in text


def test_cause_is_told_with_the_text_of_each_release() -> None:
    text = cause_as_text(catalogue()["sequence-nocache"])
    assert "Confirm: \n  from 9.2 on: select count(*) from dba_sequences" in text
    assert "\n  from 12.1 on: select con_id, sequence_owner" in text
    assert "Confirm: select count(*) from v$datafile\n" in cause_as_text(catalogue()["file-checks"])


@pytest.mark.parametrize(
    ("cause", "releases"),
    [
        ("undo-segments", "releases: up to 12.1"),
        ("dc-users-mutex-bug", "releases: 19 to 19.7"),
        ("sequence-nocache", "releases: all"),
        ("sequence-conflicts", "releases: up to 12.1"),
    ],
)
def test_a_cause_has_the_releases_where_its_surface_exists(cause: str, releases: str) -> None:
    text = " ".join(cause_as_text(catalogue()[cause]).split())
    assert releases in text
    assert max(len(line) for line in cause_as_text(catalogue()[cause]).splitlines() if "select" not in line) <= 100


def test_the_usual_place_of_mutex_sleeps_is_marked_apart_from_the_evidence() -> None:
    found = diagnose_data((REPORTS / "awr-19.0.0.0.0-users-mutex.txt").read_bytes(), "users").diagnosed
    text = as_text(found, verbose=True)
    assert "  fits: share_of_mutex_sleeps " in text and "+ share_of_mutex_sleeps" not in text
    assert "such cases, generated" in " ".join(text.split())
    assert "; the cause rests on one source; costs" in as_markdown(found)


def test_markdown_has_the_same_steps_as_the_diagnosis(told: list[DiagnosedInput]) -> None:
    text = as_markdown(told)
    steps = [one.step for one in told[0].diagnosis.steps]
    assert re.findall(r"^\d+\. \*\*(.+?)\*\*:", text, re.M) == [one for one in steps if one not in OF_A_FINDING]
    assert text.index("**Do**: Switch to a new undo tablespace.") < text.index("**hot child**"), (
        "the way out comes first"
    )
    for line in (one for one in text.splitlines() if one.startswith("|")):
        assert line.endswith("|"), line


def test_diagnosis_without_a_basis_says_it_cannot_tell(stage: Stage) -> None:
    one = [polled(stage)]
    for text in (as_text(one), as_markdown(one)):
        assert "Cannot tell yet: the first poll has nothing to compare with" in text
        assert "there are no figures" in text
        assert text.count("Cannot tell") == 1 and "Nothing could be judged: the first poll" in text
        assert "wait for the next poll" in text
        assert "Found" not in text


def polled(stage: Stage) -> DiagnosedInput:
    diagnosis = stage.poll("undo-storm", at=1).diagnosis
    return DiagnosedInput("poll", NotComparable("undo-storm", None, "", ""), diagnosis)


def test_several_inputs_are_a_table_then_each_cause_then_what_was_not_judged(
    told: list[DiagnosedInput], stage: Stage
) -> None:
    several = [polled(stage), *told]
    text, markdown = as_text(several), as_markdown(several)
    assert re.findall(r"^## (\S+) \((.+)\)$", markdown, re.M) == [("undo-segments", NAME)], "was: every input"
    assert text.count("figures are of") == 1
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
    told = diagnose_all([str(Path(DAYS[0]).with_name(f"day-{day}.txt")) for day in (1, 3, 4, 5)]).diagnosed
    text, markdown = as_text(told), as_markdown(told)
    assert text.count("Switch to a new undo tablespace.") == 1, "was 3"
    assert markdown.count("ORA-30013") == 1 and text.count("figures are of") == 1
    said = "The same cause, confidence low, in 2 other inputs: day-4.txt, day-5.txt."
    assert said in unwrapped(text) and said in markdown
    assert as_text(told, verbose=True).count("figures are of") == 4
    assert "Confidence is low, because the report has no child latches of row cache objects." in unwrapped(text)


def test_what_could_not_be_judged_is_called_so_in_every_form() -> None:
    told = diagnose_all([str(Path(DAYS[0]).with_name("awr-11.2.0.4.0-restart.txt"))]).diagnosed
    assert "\nUNKNOWN: Cannot tell: the instance restarted" in as_text(told), "was INFO"
    assert "**unknown**: Cannot tell: the instance restarted" in as_markdown(told), "was info"


def test_markdown_table_escapes_a_bar_in_a_name(told: list[DiagnosedInput]) -> None:
    hostile = [replace(one, name="a|b") for one in (*told, *told)]
    assert "| a\\|b | Warning |" in as_markdown(hostile)


DAYS = [str(REPORTS / f"day-{day}.txt") for day in (1, 2, 3)]


def test_ruled_out_is_one_line_with_the_nearest_unless_verbose(incident: Path) -> None:
    told = diagnose_all(DAYS[:1]).diagnosed
    brief, whole = as_text(told), as_text(told, verbose=True)
    out = [one for one in told[0].diagnosis.ruled_out if one.signal not in ("release", "mechanism")]
    (line,) = [one for one in brief.splitlines() if one.startswith("Ruled out")]
    assert line.startswith(f"Ruled out: {len(out)} causes, nearest far longer waits for the library cache, which")
    assert "(downstream-of-library-cache)" in unwrapped(brief), "the id is for `latchscope causes show`"
    assert "parsing_waits_to_row_cache_waits is 1.485 where it would need >= 2; close to its bound" in unwrapped(whole)
    assert whole.count("Ruled out: ") == len(out) and "Not on this instance" in whole
    assert not [one for one in whole.splitlines() if one.startswith("Ruled out") and ("e-0" in one or " ratio" in one)]


def test_notes_shared_by_all_inputs_appear_once_at_the_end() -> None:
    told = diagnose_all(DAYS).diagnosed
    for text in (as_text(told), as_markdown(told)):
        assert text.count("judged from a printed report") == 1
        last = max(text.rfind("### Found"), text.rfind("What: "))
        assert text.index("judged from a printed report") > last > 0
    assert as_text(told[:1], verbose=True).count("Note: judged from a printed report") == 1


def test_report_across_a_restart_is_told_in_one_sentence() -> None:
    told = diagnose_all([str(Path(DAYS[0]).with_name("awr-11.2.0.4.0-restart.txt"))]).diagnosed
    for text in (as_text(told), as_markdown(told)):
        assert "yet" not in text and "undo-segments" not in text
        assert "Nothing could be judged: the instance restarted between the two snapshots" in unwrapped(text)


def test_report_across_a_restart_is_told_once_beside_others() -> None:
    restart = str(Path(DAYS[0]).with_name("awr-11.2.0.4.0-restart.txt"))
    text = unwrapped(as_text(diagnose_all([*DAYS, restart]).diagnosed))
    assert "Could not be judged: awr-11.2.0.4.0-restart.txt: the instance restarted" in text
    assert text.count("the instance restarted") == 1
