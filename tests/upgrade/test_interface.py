"""What was stable in the last release is still there, or docs/upgrade.md names it."""

from pathlib import Path

import pytest

from docs.interface import KINDS, Interface, Name, counted, interface, lost, read, written

ROOT = Path(__file__).parents[2]
LAST, LISTED = max(
    ((path.parent.name, path) for path in Path(__file__).parent.glob("*/interface.txt")),
    key=lambda found: [int(part) for part in found[0].split(".")],
)
"""The last release, and the names that it had."""
HEADING = f"## From {LAST} to the next release\n"
DIAGNOSIS = "GET /databases/{db}/diagnosis"
OLD: Interface = {
    Name("metric", "", "latchscope_up"): "gauge",
    Name("label", "latchscope_up", "db"): "",
    Name("path", "", DIAGNOSIS): "",
    Name("parameter", DIAGNOSIS, "at"): "",
    Name("field", DIAGNOSIS, "findings"): "array",
    Name("field", DIAGNOSIS, "findings[].cause"): "string",
    Name("field", DIAGNOSIS, "findings[].value"): "null|number",
    Name("field", "GET /reports/{id}", "findings[].cause"): "string",
    Name("command", "", "latchscope check"): "",
    Name("option", "latchscope check", "--for"): "",
    Name("exit code", "", "3"): "",
    Name("setting", "", "oracle.mode"): "",
    Name("capture column", "v$latch", "gets"): "",
}


def without(*gone: Name) -> Interface:
    return {name: type for name, type in OLD.items() if name not in gone}


def said(now: Interface, *lines: str, heading: str = HEADING) -> list[str]:
    return lost(OLD, now, LAST, f"# Upgrade\n\n{heading}\n" + "\n".join(lines) + "\n\n## Later\n- `nothing`\n")


def test_stable_names_of_the_last_release_are_there_or_on_the_page() -> None:
    page = (ROOT / "docs" / "upgrade.md").read_text(encoding="utf-8")
    assert HEADING in page, "the page has no section for the next upgrade"
    assert lost(read(LISTED.read_text(encoding="utf-8")), interface(), LAST, page) == []


def test_list_of_the_last_release_has_every_kind_and_is_read_as_it_was_written() -> None:
    text = LISTED.read_text(encoding="utf-8")
    assert written(read(text)) == text
    assert all(counted(read(text))[kind] for kind in KINDS)


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        (
            Name("metric", "", "latchscope_up"),
            "the metric latchscope_up, stable since {0}, is gone; bring it back, or name `latchscope_up` on a line of "
            'docs/upgrade.md below "From {0} to the next release", with what to use instead',
        ),
        (
            Name("field", DIAGNOSIS, "findings[].value"),
            "the field findings[].value of GET /databases/{{db}}/diagnosis, stable since {0}, is gone; bring it back, or name "
            '`value` and `/databases/{{db}}/diagnosis` on a line of docs/upgrade.md below "From {0} to the next release", with '
            "what to use instead",
        ),
        (
            Name("exit code", "", "3"),
            "the exit code 3, stable since {0}, is gone; bring it back, or name `exit code 3` on a line of docs/upgrade.md "
            'below "From {0} to the next release", with what to use instead',
        ),
    ],
)
def test_planted_removal_gives_its_sentence_and_a_line_below_the_heading_answers_it(gone: Name, sentence: str) -> None:
    assert said(without(gone)) == [sentence.format(LAST)]
    place = f"`{gone.place.removeprefix('GET ')}` " if gone.place else ""
    line = f"- {place}no longer has `{gone.leaf}`"
    assert said(without(gone), line) == []
    assert said(without(gone), line.replace("` no", "` no\n  ")) == [], "a line may wrap"
    assert said(without(gone), line.replace("`", "")) != [], "a word of ordinary text names nothing"
    assert said(without(gone), line, heading="## From 0.0.1 to 0.0.2\n") != [], "another upgrade answers nothing"


def test_each_kind_of_name_is_missed() -> None:
    assert [name for name in OLD if not said(without(name))] == []


def test_member_is_missed_once_for_all_answers_and_not_beside_what_held_it() -> None:
    causes = [name for name in OLD if name.name.endswith("cause")]
    (sentence,) = said(without(*causes))
    assert f"of {DIAGNOSIS} and of 1 more," in sentence
    (sentence,) = said(without(*(name for name in OLD if name.place == DIAGNOSIS or name.name == DIAGNOSIS)))
    assert f"the path {DIAGNOSIS}, " in sentence
    assert len(said(without(*(name for name in OLD if name.place == DIAGNOSIS)))) == 2, "its parameter and its findings"


def test_other_type_is_missed_and_a_narrower_one_is_not() -> None:
    value, cause = (Name("field", DIAGNOSIS, f"findings[].{member}") for member in ("value", "cause"))
    (sentence,) = said({**OLD, cause: "null|string"})
    assert "findings[].cause" in sentence and "was string and is null|string" in sentence
    (sentence,) = said({**OLD, Name("metric", "", "latchscope_up"): "counter"})
    assert "was gauge and is counter" in sentence
    assert said({**OLD, value: "number", Name("metric", "", "latchscope_new"): "gauge"}) == []


@pytest.mark.slow
def test_interface_of_this_checkout_misses_what_is_taken_out_of_a_copy() -> None:
    now = interface()
    metric, field, code = (
        next(name for name in now if name.kind == kind and name.name == known)
        for kind, known in (("metric", "latchscope_severity"), ("field", "findings[].confidence"), ("exit code", "3"))
    )
    fewer = {name: type for name, type in now.items() if name not in (metric, code) and name.name != field.name}
    told = lost(now, fewer, LAST, "")
    assert [one.partition(",")[0].partition(" of ")[0] for one in told] == [
        "the metric latchscope_severity",
        "the field findings[].confidence",
        "the exit code 3",
    ]
