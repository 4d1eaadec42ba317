"""Foreign text in Markdown: a Markdown reader shows it unchanged, as plain words."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from service.characters import visible
from service.render.markdown import inline, row
from tests.each import each

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


@each(
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
