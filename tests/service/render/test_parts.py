"""Parts of a Diagnosis in words: lines that fit, costs by surface, and causes that another one explains."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rules.base import bound_of
from rules.cause import catalogue
from rules.model import Confidence, RuledOut
from rules.remedy import RemedyStep
from service.escape import inline, row, visible
from service.intake.inputs import DiagnosedInput, diagnose_data
from service.render.parts import (
    COLUMNS,
    QUERY_NAMES,
    after_the_steps,
    against,
    asides,
    before_the_steps,
    cost,
    cost_beside,
    in_markdown,
    in_text,
    steps_of,
    steps_of_every_release,
    variants,
    wrapped,
)
from tests.paths import PROBES

UNDO = catalogue()["undo-segments"].remedy_steps
KEYED = RemedyStep(
    do="Switch it off.",
    sql={"12.1": "alter session set a = false", "12.2": "alter session set b = false"},
    acts_on="this session",
)
POOL = RemedyStep(do="Fix the pool.", setting="least = POOL_SIZE\nmost = POOL_SIZE", fill_in=("POOL_SIZE",))


def test_lines_tell_each_step_its_statement_and_its_risk() -> None:
    lines = list(in_text(steps_of(UNDO, "11.2.0.4.0")))
    assert [line[2] for line in lines if line[2:5].strip().endswith(".") and line[2].isdigit()] == list("123456")
    assert "     alter system set undo_tablespace = UNDO_NEW;" in [line[2:] for line in lines]
    text = " ".join(" ".join(lines).split())
    for step in UNDO:
        for words in filter(None, (step.do, step.reading, step.risk, step.way_back, *step.texts())):
            assert " ".join(words.split()) in text, words


def test_a_step_in_a_cluster_says_so() -> None:
    text = " ".join(" ".join(in_text(steps_of(UNDO, "11.2.0.4.0"))).split())
    assert "Fill in: UNDO_NEW, 8g, 32767m." in text, "a statement that does not run as it is says so"
    assert "In a cluster: end it with `sid = 'INSTANCE_NAME'`, once per instance" in text
    single = " ".join(" ".join(in_text(steps_of([step.on(False) for step in UNDO], "11.2.0.4.0"))).split())
    assert "In a cluster: end" not in single and "INSTANCE_NAME" not in single


def test_statement_is_that_of_the_release() -> None:
    for release, name in (("12.1.0.2.0", "a"), ("19.0.0.0.0", "b"), (None, "a")):
        assert f"alter session set {name} = false" in " ".join(in_text(steps_of((KEYED,), release)))
    assert not any("alter" in line for line in in_text(steps_of((KEYED,), "11.2.0.4.0")))
    of_every = list(in_text(steps_of_every_release((KEYED,))))
    assert [line.strip() for line in of_every if "From" in line] == ["From 12.1 on:", "From 12.2 on:"]
    assert variants(None) == [] and variants("select 1 from dual") == [(None, "select 1 from dual")]


def test_what_no_source_tells_of_a_change_is_not_known() -> None:
    assert dict(asides(POOL)) == {"Fill in": "POOL_SIZE.", "Risk": "not known.", "To reverse it": "not known."}
    look = RemedyStep(do="Look.", sql="select count(*) from v$latch", online=True)
    assert dict(asides(look)) == {}, "a step that only reads needs neither"
    assert dict(asides(RemedyStep(do="Move it.", online=False))) == {"Online": "no, plan a window."}


def test_each_statement_says_in_which_container_to_run_it() -> None:
    here = "Run in: CDB$ROOT if undo is shared, else its container."
    with_sql = sum(1 for step in UNDO if step.sql and step.run_in == "undo")
    assert with_sql >= 4
    for release, said in (("11.2.0.4.0", 0), ("19.0.0.0.0", with_sql)):
        for form in (in_text, in_markdown):
            said_so = " ".join(" ".join(form(steps_of(UNDO, release))).split()).replace("**", "")
            assert said_so.count(here) == said
    assert " ".join(" ".join(in_text(steps_of_every_release(UNDO))).split()).count(here) == with_sql
    assert (
        dict(asides(KEYED, "19.0.0.0.0"))["Run in"]
        == "the database. It changes only the session that runs it, so yours helps no application."
    )


def test_a_platform_is_shown_with_its_own_step_and_the_catalogue_with_all() -> None:
    steps = catalogue()["shared-pool-shrink"].remedy_steps
    group = "Set shared_pool_size in the DB parameter group of the instance"
    whole = " ".join(" ".join(in_text(steps_of_every_release(steps))).split())
    assert f"On Amazon RDS: {group}" in whole and "On Autonomous Database: not possible. This is memory" in whole
    for form in (in_text, in_markdown):
        rds, autonomous, other = (
            " ".join(" ".join(form(steps_of([step.at(name) for step in steps], "19.0.0.0.0"))).split()).replace(
                "**", ""
            )
            for name in ("rds", "autonomous", None)
        )
        assert group in rds and "alter system" not in rds
        assert (
            "Not possible here: This is memory of the whole instance" in autonomous and "alter system" not in autonomous
        )
        assert "alter system set shared_pool_size = POOL_SIZE" in other and "Amazon RDS" not in other
        assert "Run in: CDB$ROOT" in other and "CDB$ROOT, in a container database" not in rds


def test_markdown_has_a_list_with_blocks_of_code() -> None:
    text = "\n".join(in_markdown(steps_of((*UNDO, POOL), "11.2.0.4.0")))
    assert (
        "1. Count the undo segment numbers in use.\n\n   ```sql\n   select count(*) as slots, "
        "sum(case when status$ <> 1 then 1 end) as in_use, max(us#) from sys.undo$;\n   ```" in text
    )
    assert (
        "7. Fix the pool.\n   - **Set**:\n\n      ```\n      least = POOL_SIZE\n      most = POOL_SIZE\n      ```\n"
        in text
    )
    assert text.count("```") % 2 == 0 and "   - **To reverse it**: Not possible. Dropped undo is gone." in text


def test_every_cause_of_the_catalogue_is_told_whole() -> None:
    for cause in catalogue().values():
        text = " ".join(" ".join(in_text(steps_of_every_release(cause.remedy_steps))).split())
        for step in cause.remedy_steps:
            assert all(" ".join(words.split()) in text for words in (step.do, *step.texts(), step.setting or "")), (
                cause.id
            )


def test_wrapped_breaks_no_word_and_keeps_a_number_beside_its_unit() -> None:
    path = "x" * 130
    assert wrapped(f"see {path}") == ["see", f"    {path}"]
    for width in range(60, 110):
        lines = wrapped("a" * width + " of 12 % and 30 s", "  ")
        assert all(len(line) <= COLUMNS or line.split() == ["a" * width] for line in lines)
        assert not [line for line in lines if line.split()[0] in ("%", "s")]
    assert wrapped("") == []


def incident_of(path: Path) -> DiagnosedInput:
    return diagnose_data(path.read_bytes(), path.name).diagnosed[0]


def test_cost_is_the_part_of_the_finding_or_that_of_its_surface_or_unknown(incident: Path) -> None:
    totals = incident_of(incident)
    assert cost(totals, totals.diagnosis.findings[0]) == "cost unknown"
    storm = incident_of(PROBES / "P00_undo_storm.json")
    (finding,) = storm.diagnosis.findings
    assert cost(storm, finding) == "costs 46.7 % of DB time"
    two = incident_of(PROBES / "P01_two_troubles.json")
    assert [cost(two, each) for each in two.diagnosis.findings] == [
        f"costs {part} % of DB time" for part in (28.1, 23.9)
    ]
    other = finding.model_copy(update={"surface": "lock", "impact": None})
    assert cost(storm, other) != cost(storm, finding)
    assert cost_beside(storm, finding, [finding]) == "costs the same 46.7 % of DB time"
    assert cost_beside(storm, finding, [other]) == cost(storm, finding)


def test_what_is_little_sure_is_confirmed_before_all_else(incident: Path) -> None:
    (finding,) = incident_of(incident).diagnosis.findings
    assert [name for name, *_ in before_the_steps(finding)] == ["Do now", "Later", "Check first", "Do not"]
    assert [name for name, *_ in after_the_steps(finding)] == ["Confirm", QUERY_NAMES, "Expected effect"]
    unsure = finding.model_copy(update={"confidence": Confidence.LOW})
    assert [name for name, *_ in before_the_steps(unsure)] == [
        "Confirm first",
        QUERY_NAMES,
        "Do now",
        "Later",
        "Check first",
        "Do not",
    ]
    assert [name for name, *_ in after_the_steps(unsure)] == ["Expected effect"]
    assert finding.confirm is not None
    asked = finding.confirm.model_copy(update={"names": ({"tablespace_name": "UNDO_OLD", "segments": 14_838.0},)})
    assert QUERY_NAMES not in [each.name for each in after_the_steps(finding.model_copy(update={"confirm": asked}))], (
        "they are there already"
    )


def test_finding_of_an_older_release_tells_its_paragraphs(incident: Path) -> None:
    (finding,) = incident_of(incident).diagnosis.findings
    old = finding.model_copy(update={"do_now": "", "then": None, "check_first": None, "do_not": "", "remedy_steps": ()})
    assert [each[:2] for each in before_the_steps(old)] == [("Do now", finding.remedy), ("Risk", finding.risk)]


def test_against_names_the_cause_that_explains_it_instead() -> None:
    other = RuledOut(
        cause="a",
        signal="s",
        value=120.0,
        needs="not >= 100",
        because="Parse storm explains these waits (b)",
        explained_by="b",
    )
    assert against(other) == "Parse storm explains these waits (b)"
    far = RuledOut(cause="c", signal="sleeps", value=1.0, needs=">= 100", bound=bound_of(">= 100"))
    assert against(far) == "sleeps is 1 where it would need >= 100"


READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = (
    "<script>alert(1)</script>", "<!--", "-->", "<b", "![p](http://x/y.png)", "[a](javascript:b)", "[r]: http://x",
    "|", "\\", "`", "``", "```\n", "~~", "~~~", "*b*", "**", "_", "__c__", "\n# h", "\n- i", "\n1. x", "1. ", "# ", "> ",
    "&lt;", "&#60;", "\x1b[2J", "\u202e", "\r", "===", "---", " ", "a", "B7", "v$latch", "count(*)", "<http://x>", "\t",
)  # fmt: skip
WORDS = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=4)), max_size=8).map("".join)
ONLY_WORDS = {"text", "code_inline", "softbreak", "text_special"}


def pieces(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens if token.type == "inline" for child in token.children or ()]


def said(tokens: list[Token]) -> str:
    """What a reader shows, without the marks of code."""
    return "".join(token.content for token in tokens).replace("`", "")


def words_of(text: str) -> str:
    return " ".join(visible(" ".join(text.split("\n"))).replace("`", "").split())


@given(WORDS)
def test_words_in_a_line_stay_words(text: str) -> None:
    tokens = READER.parse(f"- **Why**: {inline(text)}")
    kinds = {token.type for token in tokens}
    assert kinds <= {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close",
        "bullet_list_close",
    }  # fmt: skip
    found = pieces(tokens)
    assert {token.type for token in found} <= ONLY_WORDS | {"strong_open", "strong_close"}
    assert [token.type for token in found].count("strong_open") == 1
    assert " ".join(said(found).split()) == f"Why: {words_of(text)}".strip()


@given(WORDS)
def test_words_at_the_beginning_of_a_line_stay_a_paragraph(text: str) -> None:
    tokens = READER.parse(inline(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert {token.type for token in pieces(tokens)} <= ONLY_WORDS
    assert " ".join(said(pieces(tokens)).split()) == words_of(text)


@given(WORDS, WORDS)
def test_words_in_a_table_stay_in_their_cell(left: str, right: str) -> None:
    tokens = READER.parse(f"| a | b |\n|---|---|\n{row((left, right))}\n")
    cells = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 2
    for cell, text in zip(cells, (left, right), strict=True):
        assert {token.type for token in cell.children or ()} <= ONLY_WORDS
        assert " ".join(said(cell.children or []).split()) == words_of(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("latch: row cache objects < 0.01 %", "latch: row cache objects < 0.01 %"),
        ("`select count(*) from v$x` twice", "`select count(*) from v$x` twice"),
        ("dc_rollback_segments and _x", "dc_rollback_segments and \\_x"),
        ("12.34 sessions", "12.34 sessions"),
        ("<script>", "&lt;script>"),
    ],
)
def test_our_own_words_stay_readable_as_they_are(text: str, written: str) -> None:
    assert inline(text) == written
