"""Loading the knowledge base: what a good entry is, and one clear line for each way to get it wrong."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.catalogue import HOME, BadCause, catalogue, conditions, load, read
from rules.cause import Cause
from rules.query import Band, Query
from rules.remedy import RemedyStep
from rules.signals import SIGNALS
from tests.each import each

GOOD = yaml.safe_load((HOME / "undo-segments.yaml").read_text(encoding="utf-8"))


def written(folder: Path, changes: dict[str, Any], name: str = "undo-segments") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **changes}), encoding="utf-8")
    return path


def test_read_accepts_a_good_entry(tmp_path: Path) -> None:
    assert read(written(tmp_path, {})) == catalogue()["undo-segments"]


FIRST = GOOD["when"][0]
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown signal": (
        {"when": [{**FIRST, "signal": "gut_feeling"}]},
        r"asks for the signal gut_feeling; the signals are ",
    ),
    "unknown signal among alternatives": (
        {"when": [{"any_of": [FIRST, {**FIRST, "signal": "gut_feeling"}]}]},
        r"asks for the signal gut_feeling; the signals are ",
    ),
    "unknown field": ({"colour": "red"}, r"colour: Extra inputs are not permitted"),
    "missing field": ({"remedy_steps": None}, r"remedy_steps: Input should be a valid tuple"),
    "bad comparison": ({"when": [{**FIRST, "needs": "about 3"}]}, r"when\.0\.\S*needs: String should match pattern"),
    "unknown role": ({"when": [{**FIRST, "role": "nice to have"}]}, r"when\.0\.\S*role: Input should be "),
    "no condition": ({"when": []}, r"has conditions under `when`, or is a handbook entry without any"),
    "one alternative": ({"when": [{"any_of": [FIRST]}]}, r"when\.0\.\S*: "),
    "bad cap": ({"cap": "panic"}, r"cap: Input should be 'info'"),
    "a handbook entry with conditions": ({"handbook": True}, r"not both, not neither"),
    "bad release": ({"releases": {"since": "12c"}}, r"releases\.since: String should match pattern"),
    "no surface": ({"surfaces": []}, r"surfaces: Tuple should have at least 1 item"),
    "bad surface": (
        {"surfaces": ["spell"]},
        r"surfaces\.0: Input should be 'latch', 'mutex', 'lock' or 'result-cache'",
    ),
    "bad id": ({"id": "Undo Segments"}, r"id: String should match pattern"),
    "another id": ({"id": "undo-other"}, r"has the cause undo-other; name the file undo-other.yaml"),
}


@pytest.mark.parametrize("what", WRONG)
def test_read_reports_a_wrong_entry_in_one_line(what: str, tmp_path: Path) -> None:
    changes, line = WRONG[what]
    with pytest.raises(BadCause, match=line) as caught:
        read(written(tmp_path, changes))
    assert str(caught.value).startswith("undo-segments.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["id: [unclosed", "id: a\n\tkb: b", "- just\n- a list", "", "id: \x00"])
def test_read_reports_what_is_not_a_yaml_object_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "undo-segments.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadCause, match=r"^undo-segments\.yaml") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_read_reports_a_file_that_is_not_text_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "undo-segments.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(BadCause, match=r"^undo-segments\.yaml"):
        read(path)


def test_load_skips_cases_files_and_keeps_the_knowledge_base_order(tmp_path: Path) -> None:
    written(tmp_path, {"id": "second", "kb": "KB-02"}, "second")
    written(tmp_path, {"id": "first", "kb": "KB-03"}, "first")
    (tmp_path / "second.cases.yaml").write_text("[]", encoding="utf-8")
    assert list(load(tmp_path)) == ["second", "first"]


CAUSES = catalogue().values()


@each("cause", CAUSES)
def test_entry_is_complete(cause: Cause) -> None:
    words = (
        cause.name,
        cause.title,
        cause.explanation,
        cause.remedy,
        cause.risk,
        cause.expected_effect,
        cause.false_positives,
    )
    assert all(words)
    assert cause.references
    assert not cause.title.endswith(".")
    for condition in conditions(cause):
        assert condition.signal in SIGNALS
        assert condition.because


@each("cause", CAUSES)
def test_confirming_query_is_one_select_that_its_releases_can_run(cause: Cause) -> None:
    if cause.confirm is None:
        assert cause.cap == "info" or cause.handbook, "what is found and not harmless needs a confirmation"
        return
    naming = {floor: cause.confirm.naming(floor) for floor in cause.confirm.variants()}
    for floor, text in [*cause.confirm.variants().items(), *naming.items()]:
        sql = (text or "select ").lower()
        assert sql.startswith("select ") and not sql.endswith(";")
        assert not re.search(r"fetch first|\binsert\b|\bupdate\b|\bdelete\b|for update", sql)
        assert "con_id" not in sql or floor != "11.2"
    assert cause.confirm.reading.endswith(".")


@each("cause", CAUSES)
def test_entry_words_carry_their_required_cautions(cause: Cause) -> None:
    text = " ".join((cause.explanation, cause.remedy, *(one.title for one in cause.references)))
    if re.search(r"(?<![a-z0-9])_[a-z]+_[a-z_]+", cause.remedy):
        assert "under Oracle Support guidance" in cause.remedy
    for reference in cause.references:
        if re.search(r"\b(Bug|MOS note) \d", reference.title) and reference.url is None:
            assert "verify on My Oracle Support" in reference.title
    assert "_spin_count" not in text


@each("cause", [one for one in CAUSES if one.handbook])
def test_handbook_entry_begins_with_the_question_it_answers(cause: Cause) -> None:
    assert re.match(r"[A-Z][^.?]+\? \w", cause.explanation)


COUNTERS = r"\bexecutions\b|\bsum\((value|sleeps|total_waits|time_waited\w*)\)"
"""Totals that grow with the age of the instance. A share of two such totals does not."""


@each("cause", CAUSES)
def test_confirming_query_sets_no_bound_on_what_grows_with_the_age_of_the_instance(cause: Cause) -> None:
    if cause.confirm and any(re.search(COUNTERS, text) for text in cause.confirm.variants().values()):
        assert cause.confirm.needs is None, "any instance that is up for a month meets it"
        assert re.search(r"twice|Ask again", cause.confirm.reading)


NAMED = {
    "row-cache-library-deadlock": "nenadnoveljic.com",
    "cluster-lock-process": "34609.1",
    "failed-logon-delay": "1309738.1",
    "logon-cursor-mutex": "2625815.1",
    "throttled-holder": "Unproven",
    "sequence-dynamic-cache": "no field case",
    "realtime-statistics": "No field case",
}
"""Causes that were missing before, and their sources."""


@each(("cause", "source"), NAMED.items())
def test_entry_names_what_it_rests_on(cause: str, source: str) -> None:
    assert cause in catalogue()
    assert any(source in f"{one.title} {one.url}" for one in catalogue()[cause].references)


def test_catalogue_contains_the_causes_that_people_rely_on() -> None:
    wanted = (
        "undo-segments undo-online-storm hard-parse-storm histogram-hard-parse sequence-nocache database-properties"
    )
    assert set(f"{wanted} starved-host benign-internal spin-only".split()) <= set(catalogue())
    assert {one.id for one in CAUSES if one.look_alike} >= {"hard-parse-storm", "starved-host"}
    assert {one.id for one in CAUSES if one.cap == "info"} >= {"benign-internal", "spin-only"}


def test_readme_lists_every_signal_as_it_is() -> None:
    text = (HOME / "README.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| `(\w+)` \| ([^|]+) \| ((?:v\$|waiting_sessions|row_cache_blockers)[^|]*) \| ([^|]+) \|$",
        text,
        re.MULTILINE,
    )
    assert {row[0]: row[1:] for row in listed} == {one.name: (one.unit, one.of, one.about) for one in SIGNALS.values()}


def test_readme_mentions_every_field() -> None:
    text = (HOME / "README.md").read_text(encoding="utf-8")
    condition = next(conditions(catalogue()["undo-segments"]))
    inner = {*type(condition).model_fields, "any_of", *Query.model_fields, *Band.model_fields, *RemedyStep.model_fields}
    fields = {*Cause.model_fields, *inner}
    assert {field for field in fields if f"`{field}`" not in text} == set()
