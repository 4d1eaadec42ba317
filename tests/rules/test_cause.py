"""A cause as a value: comparisons, releases, and which fields fit together."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.base import meets
from rules.cause import (
    CACHE,
    HOLDER,
    HOME,
    WHY_LEFT,
    BadCause,
    Cause,
    Releases,
    catalogue,
    conditions,
    filled,
    hedged,
    in_slot,
    load,
    read,
    text_spans,
    views_asked,
)
from rules.formatting import slots
from rules.model import Confidence
from rules.remedy import Band, Query, RemedyStep
from rules.signals import SIGNALS

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
    "two kinds of relation": (
        {"relations": [{"explains": "a", "shares": "b", "because": "c"}]},
        r"relations\.0: Value error, a relation is one of explains, shares and drags",
    ),
    "relation without a reason": (
        {"relations": [{"explains": "a"}]},
        r"relations\.0: Value error, say why under because",
    ),
    "alter session for the application": (
        {"remedy_steps": [{"do": "Set it.", "run_in": "container", "sql": "alter session set a = 1"}]},
        r"step 1 changes a setting; say under acts_on of what: this session, ",
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


@pytest.mark.parametrize(
    "text", [b"id: [unclosed", b"id: a\n\tkb: b", b"- just\n- a list", b"", b"id: \x00", b"\xff\xfe\x00\x01"]
)
def test_read_reports_what_is_not_a_yaml_object_in_one_line(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "undo-segments.yaml"
    path.write_bytes(text)
    with pytest.raises(BadCause, match=r"^undo-segments\.yaml") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_load_skips_cases_files_and_keeps_the_knowledge_base_order(tmp_path: Path) -> None:
    written(tmp_path, {"id": "second", "kb": "KB-02", "relations": []}, "second")
    written(tmp_path, {"id": "first", "kb": "KB-03", "relations": []}, "first")
    (tmp_path / "second.cases.yaml").write_text("[]", encoding="utf-8")
    assert list(load(tmp_path)) == ["second", "first"]


@pytest.mark.parametrize(
    ("of_one", "of_other", "line"),
    [
        ({"explains": "third"}, {}, r"^one\.yaml explains third, which is not a cause; the causes are one, other$"),
        ({"explains": "other"}, {"explains": "one"}, r"^one\.yaml explains other, which leads back to one"),
        ({"shares": "one"}, {}, r"^one\.yaml shares one, which leads back to one"),
        ({"shares": "other"}, {"surfaces": ["lock"]}, r"^one\.yaml shares other, which never shows on latch$"),
    ],
)
def test_load_refuses_a_relation_that_cannot_be(
    of_one: dict[str, Any], of_other: dict[str, Any], line: str, tmp_path: Path
) -> None:
    for name, changes in (("one", of_one), ("other", of_other)):
        relations = [{**changes, "because": "b"}] if changes.keys() & {"explains", "shares"} else []
        surfaces = changes.get("surfaces", ["latch"])
        written(tmp_path, {"id": name, "kb": f"KB-{name}", "relations": relations, "surfaces": surfaces}, name)
    with pytest.raises(BadCause, match=line):
        load(tmp_path)


CAUSES = catalogue().values()


@pytest.mark.parametrize("cause", CAUSES)
def test_entry_is_complete_and_its_query_is_one_select_that_its_releases_can_run(cause: Cause) -> None:
    words = ("name", "title", "explanation", "remedy", "risk", "expected_effect", "false_positives")
    assert [word for word in words if not getattr(cause, word)] == []
    assert cause.references
    assert not cause.handbook or re.match(r"[A-Z][^.?]+\? \w", cause.explanation), "it begins with a question"
    assert not cause.title.endswith(".")
    for condition in conditions(cause):
        assert condition.signal in SIGNALS
        assert condition.because
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


COUNTERS = r"\bexecutions\b|\bsum\((value|sleeps|total_waits|time_waited\w*)\)"
"""Totals that grow with the age of the instance. A share of two such totals does not."""


def test_confirming_query_sets_no_bound_on_what_grows_with_the_age_of_the_instance() -> None:
    for cause in CAUSES:
        if cause.confirm and any(re.search(COUNTERS, text) for text in cause.confirm.variants().values()):
            assert cause.confirm.unbounded == "twice", f"{cause.id}: any instance that is up for a month meets a bound"


def test_confirming_query_with_a_bound_asks_for_more_than_its_signs_have_read() -> None:
    """v$session holds many things that no sign is about."""
    for cause in CAUSES:
        if cause.confirm and cause.confirm.needs:
            read = {view for one in conditions(cause) for view in SIGNALS[one.signal].of.split(", ")}
            assert set(cause.confirm.reads) - read or "v$session" in cause.confirm.reads, cause.id


DICTIONARY = re.compile(r"(?:dba|cdb)_(?:arguments|objects|tab_col_statistics|tab_partitions|tables)\b")
"""Views that have millions of rows in a large application."""


def test_count_of_what_may_be_millions_ends_at_a_row_limit_or_an_age() -> None:
    texts = {(cause.id, text) for cause in CAUSES if cause.confirm for text in cause.confirm.variants().values()}
    large = [(name, text) for name, text in texts if DICTIONARY.search(text)]
    assert len(large) > 15
    assert [name for name, text in large if not re.search(r"rownum <= \d+|> sysdate - ", text)] == []


def test_readme_lists_every_signal_as_it_is() -> None:
    text = (HOME / "README.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| `(\w+)` \| ([^|]+) \| "
        r"((?:v\$|waiting_sessions|row_cache_blockers|library_cache_sessions|opatch)[^|]*) \| ([^|]+) \|$",
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


PLAIN, MEASURED = (
    "Applications log on all the time",
    "Applications log on too often: {logons_per_second} times a second",
)


def test_slots_are_the_names_in_braces() -> None:
    assert slots(MEASURED, None, "{cache} and {cache}") == {"logons_per_second", "cache"}
    assert slots(PLAIN) == frozenset()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"logons_per_second": "112"}, "Applications log on too often: 112 times a second"),
        ({}, PLAIN),
        ({"commits_per_second": "4"}, PLAIN),
    ],
)
def test_filled_takes_the_plain_form_where_a_slot_is_not_known(values: dict[str, str], words: str) -> None:
    assert filled(MEASURED, PLAIN, values) == words


def test_filled_without_a_measured_form_is_the_plain_one() -> None:
    assert filled(None, PLAIN, {"logons_per_second": "112"}) == PLAIN


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (111.61, "per second", "112"),
        (14_838, "entries", "14,800"),
        (0.319, "ratio", "31.9 %"),
        (0.319, "share of DB time", "31.9 %"),
        (63.24, "ms", "63.2 ms"),
        (18.65, "s", "18 seconds"),
        (0, "per second", "0"),
    ],
)
def test_value_in_a_slot_has_three_digits_and_the_unit_that_the_words_do_not_say(
    value: float, unit: str, words: str
) -> None:
    assert in_slot(value, unit) == words


@pytest.mark.parametrize(
    ("confidence", "against", "after", "words"),
    [
        (Confidence.HIGH, False, "Applications", "Applications log on too often: 112 times a second"),
        (Confidence.MEDIUM, False, "Applications", "Applications log on too often: 112 times a second"),
        (Confidence.LOW, False, "Applications", "Applications probably log on too often: 112 times a second"),
        (Confidence.LOW, False, None, "Perhaps applications log on too often: 112 times a second"),
        (Confidence.LOW, False, "App", "Perhaps applications log on too often: 112 times a second"),
        (Confidence.MEDIUM, True, "Applications", "Perhaps applications log on too often: 112 times a second"),
    ],
)
def test_hedged_says_how_sure_a_title_is(confidence: Confidence, against: bool, after: str | None, words: str) -> None:
    assert hedged("Applications log on too often: 112 times a second", after, confidence, against) == words


SENTENCES = {"title": 12, "lede": 25, "do_now": 15, "then": 20, "do_not": 18}
"""Text of a cause → its maximum of words, also where it is measured; a slot counts as one."""


@pytest.mark.parametrize(("kind", "most"), SENTENCES.items())
def test_sentences_of_causes_are_as_short_as_a_page_needs_them(kind: str, most: int) -> None:
    texts = {(one.id, name): getattr(one, name, "") or "" for one in CAUSES for name in (kind, f"measured_{kind}")}
    assert {place: text for place, text in texts.items() if len(text.split()) > most} == {}


def test_titles_are_one_sentence_without_a_full_stop_and_other_texts_end_with_one() -> None:
    for one in catalogue().values():
        for title in filter(None, (one.title, one.measured_title)):
            assert re.fullmatch(r"[A-Z{][^;]*[^.;,:]", title) and ". " not in title, f"{one.id}: {title}"
        for text in filter(
            None, (one.lede, one.measured_lede, one.do_now, one.measured_do_now, one.then, one.check_first, one.do_not)
        ):
            assert re.fullmatch(r"[A-Z{].*\.", text) and ";" not in text, f"{one.id}: {text}"


def test_what_not_to_do_stands_in_one_place() -> None:
    """A reader with seconds reads one line for what to do and one for what not to do. So neither hides in the other."""
    hidden = re.compile(r"\b([Dd]o not|[Nn]ever)\b|Leave the row cache alone")
    for one in catalogue().values():
        assert not hidden.search(f"{one.do_now} {one.then or ''} {one.check_first or ''}"), one.id
        for text in filter(None, (one.do_not, one.measured_do_not)):
            assert text.startswith("Do not "), f"{one.id}: {text}"


def test_what_to_look_at_first_is_not_said_again_by_the_first_step() -> None:
    """Both stand on the first screen: the step is how to look or act, the other sentence what is at risk."""
    for one in (one for one in catalogue().values() if one.check_first and one.remedy_steps):
        look, step = (
            set(re.findall(r"[a-z_]{4,}", text.lower())) for text in (one.check_first, one.remedy_steps[0].do)
        )
        assert len(look & step) <= 0.6 * min(len(look), len(step)), one.id


def test_first_aid_takes_no_developer_and_no_quiet_hour() -> None:
    """What takes longer than five minutes of a DBA at night stands under `then`."""
    later = re.compile(
        r"(?i)bind variable|connection pool|pool of fixed|\bpatch|release update|upgrade|statement cache|quiet"
    )
    watches = [one for one in catalogue().values() if one.do_now.startswith("Nothing tonight: ")]
    assert [one.id for one in catalogue().values() if later.search(f"{one.do_now} {one.measured_do_now}")] == []
    assert [one.id for one in watches if not re.match("Nothing tonight: watch ", one.do_now)] == []
    assert [one.id for one in watches if one.then is None] == ["spin-only", "result-cache-spin-only"]


def test_title_is_no_name_and_can_be_doubted() -> None:
    for one in catalogue().values():
        assert one.title != one.name, one.id
        assert one.hedge_after is None or one.title.startswith(f"{one.hedge_after} "), one.id
        for title in filter(None, (one.title, one.measured_title)):
            said = hedged(title, one.hedge_after, Confidence.LOW, against=False)
            assert re.search(r"^Perhaps [a-z]|^Perhaps [A-Z]{2}| probably ", said), f"{one.id}: {said}"
            assert "probably" not in title.lower() and "perhaps" not in title.lower(), one.id


def test_slots_of_causes_name_signals_and_read_well_without() -> None:
    for one in catalogue().values():
        assert slots(*one.sentences) <= {*SIGNALS, CACHE, HOLDER, WHY_LEFT}, one.id
        assert all(slots(text) for text in one.sentences), (
            f"{one.id}: a measured form without a slot is a second plain one"
        )
        assert not slots(one.title, one.lede, one.do_now, one.check_first, one.do_not), one.id


@pytest.mark.parametrize(
    ("cause", "spans"),
    [
        ("sequence-nocache", [("9.2", "12.1", None, "dba_sequences"), ("12.1", None, None, "cdb_sequences")]),
        ("sequence-conflicts", [("9.2", "12.1", None, "dba_sequences"), ("12.1", None, "12.1", "cdb_sequences")]),
        ("undo-creation-slow", [("10.2.0.4", None, "11.1.0.7", "dba_rollback_segs")]),
        ("undo-online-storm", [("10.2", "12.1", None, "dba_rollback_segs"), ("12.1", None, None, "cdb_rollback_segs")]),
        ("constraint-creation", [("12.2", None, None, "cdb_objects")]),
        ("spin-only", []),
    ],
)
def test_text_spans_are_the_releases_of_each_text(
    cause: str, spans: list[tuple[str, str | None, str | None, str]]
) -> None:
    found = [(span.since, span.before, span.until, *span.views) for span in text_spans(catalogue()[cause])]
    assert found == spans


def test_views_before_containers_are_never_those_of_containers() -> None:
    views = views_asked(CAUSES, containers=False)
    assert not [view for view in views if view.startswith(("cdb_", "v$pdbs", "audit_"))]
    assert views["dba_sequences"] == ("sequence-conflicts", "sequence-nocache")
    assert "vpd-policy-check" in views["dba_policies"] and "failed-logons" in views["v$session"]


def test_views_since_containers_are_never_those_of_one_container() -> None:
    views = views_asked(CAUSES, containers=True)
    assert not [view for view in views if view.startswith("dba_")]
    assert set(views["cdb_rollback_segs"]) == {"undo-segments", "undo-online-storm", "undo-segment-floor"}
    assert "vpd-policy-check" not in views.get("dba_policies", ()), "it ends with 11.2.0.3"
    assert "vpd-child-cursors" in views["v$sqlstats"], "it ends with 12.1"


def test_every_cause_with_a_query_stands_beside_a_view() -> None:
    every = {**views_asked(CAUSES, containers=False), **views_asked(CAUSES, containers=True)}
    beside = {
        cause for causes in (*views_asked(CAUSES, containers=False).values(), *every.values()) for cause in causes
    }
    assert beside == {cause.id for cause in CAUSES if cause.confirm}


@pytest.mark.parametrize(
    ("since", "until", "release", "included"),
    [
        (None, None, "9.2.0.1.0", True),
        ("12.1", "12.1", "12.1.0.2.0", True),
        ("12.1", "12.1", "12.2.0.1.0", False),
        ("12.1", "12.1", "11.2.0.4.0", False),
        ("12.2", None, "19.0.0.0.0", True),
        ("12.2", None, "12.1.0.2.0", False),
        (None, "11.2.0.3", "11.2.0.3.0", True),
        (None, "11.2.0.3", "11.2.0.4.0", False),
        (None, "19.7", "19.7.0.0.0", True),
        (None, "19.7", "19.8.0.0.0", False),
        (None, "9.2", "11.2.0.4.0", False),
    ],
)
def test_releases_include_both_ends_at_their_written_precision(
    since: str | None, until: str | None, release: str, included: bool
) -> None:
    assert Releases(since=since, until=until).include(release) is included


@pytest.mark.parametrize("told", ["11", "11.2", "11.2.0"])
def test_releases_include_a_partial_release_that_may_match(told: str) -> None:
    assert Releases(since="11.2.0.1", until="11.2.0.3").include(told)
    assert Releases(since="11.2.0.4").include(told)
    assert not Releases(since="12.1").include(told)
    assert not Releases(until="10.2").include(told)


def test_usual_values_never_meet_the_condition_they_stand_beside() -> None:
    usual = [
        (cause.id, one, end) for cause in catalogue().values() for one in conditions(cause) for end in one.usual or ()
    ]
    assert len(usual) >= 20
    wrong = [(name, one.signal) for name, one, end in usual if end is not None and meets(end, one.needs)]
    assert wrong == []
