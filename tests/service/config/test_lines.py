"""Lines of a YAML text: where each setting is, and where the text breaks."""

import pytest

from service.config.lines import NotYaml, yaml_text


def test_each_member_has_its_line() -> None:
    text = yaml_text("a: 1\nb:\n  - c: 2\n    d: 3\n  - e\n")
    assert text.members == {"a": 1, "b": [{"c": 2, "d": 3}, "e"]}
    assert text.lines == {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 0, "d"): 4, ("b", 1): 5}
    assert text.line_of(("b", 0, "missing")) == 3 and text.line_of(("nothing",)) is None


def test_name_that_stands_twice_is_kept_with_both_lines() -> None:
    assert yaml_text("a: 1\nb: 2\na: 3\n").repeated == ((("a",), 1, 3),)
    assert yaml_text("a: [1, 1]\n").repeated == ()
    assert yaml_text("").members is None


def test_value_that_a_comment_may_have_cut_is_kept_with_the_comment() -> None:
    text = yaml_text("a: c ##latchscope\nb:\n  - d #was e\n  - 'f' #g\nh: i  #j\nk: l # m\nn: #o\np: q#r\n")
    assert [(each.place, each.line, each.value, each.comment) for each in text.cut] == [
        (("a",), 1, "c", "##latchscope"),
        (("b", 0), 3, "d", "#was"),
    ]


def test_text_that_is_no_yaml_names_line_and_column() -> None:
    for text, line, said in (
        ("a: [1", 1, "not closed"),
        ("a:\n\t- b", 2, "a tab"),
        ("a: @b", 1, "column 4"),
        ("\x00", None, "UTF-8"),
    ):
        with pytest.raises(NotYaml, match="is not valid YAML") as error:
            yaml_text(text)
        assert (error.value.line, said in str(error.value)) == (line, True), (text, str(error.value))
