"""Tables that people write: what the study reads, and one sentence for everything that it cannot read."""

import pytest

from rules.studies.table import MOST_ROWS, BadStudy, StudyColumn, rows

COLUMNS = (
    StudyColumn("processes", ("n",), least=1),
    StudyColumn("misses", ("latch_misses",)),
    StudyColumn("wait_us", optional=True),
)


def test_columns_are_found_by_any_of_their_names_in_any_order_and_writing() -> None:
    found = rows("# measured in May\nLatch Misses;N;host\n\n5;1;a\n70;2;b\n", "t.csv", COLUMNS)
    assert [row.numbers for row in found] == [
        {"processes": 1, "misses": 5, "wait_us": None},
        {"processes": 2, "misses": 70, "wait_us": None},
    ]
    assert [row.line for row in found] == [4, 5]
    assert found[1].label(("host", "release")) == "b"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_seen_in_the_header_and_a_byte_order_mark_is_nothing(delimiter: str) -> None:
    text = "\ufeff" + "\n".join(delimiter.join(cells) for cells in (("n", "misses"), ("1", "2"), ("2", "3e2")))
    assert [row.need("misses") for row in rows(text, "t.csv", COLUMNS)] == [2, 300]


def test_chosen_column_wins_over_a_name_that_is_known() -> None:
    text = "n,misses,other\n1,2,3\n2,4,6\n"
    assert [row.need("misses") for row in rows(text, "t.csv", COLUMNS, {"misses": "other"})] == [3, 6]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv is empty; give a CSV file with a header and a row for each measurement"),
        ("# only a remark\n", "t.csv is empty"),
        ("1,2\n3,4\n", "t.csv line 1 has numbers; the first line must name the columns"),
        ("n,n\n1,2\n", "t.csv names the column n twice; rename one of them"),
        (
            "n,sleeps\n1,2\n2,3\n",
            "t.csv has no column for misses: name it misses or latch_misses, or say --column misses=NAME; it has n, sleeps",
        ),
        ("n,misses\n", "t.csv has no row; a study needs at least 2: measure at more settings"),
        ("n,misses\n1,2\n", "t.csv has one row; a study needs at least 2: measure at more settings"),
        ("n,misses\n1,2\n2\n", "t.csv line 3 has 1 values, the header 2; complete the line"),
        (
            "n,misses\n1,2\n\n2,many\n",
            "t.csv line 4, misses: 'many' is not a number; write a plain number such as 1234.5",
        ),
        ("n,misses\n1,2\n2,\n", "t.csv line 3, misses: the value is missing; write a plain number such as 1234.5"),
        ("n,misses\n1,2\n2,nan\n", "t.csv line 3, misses: 'nan' is not a number"),
        ("n,misses\n1,2\n2,inf\n", "t.csv line 3, misses: 'inf' is not a number"),
        ("n,misses\n1,2\n2,-3\n", "t.csv line 3, misses: -3 is less than 0, which is impossible; correct the line"),
        (
            "n,misses\n1,2\n2,1e16\n",
            "t.csv line 3, misses: 1e16 is more than 1e+15, which no study takes; correct the line",
        ),
        ("n,misses\n0,2\n2,3\n", "t.csv line 2, processes: 0 is less than 1, which is impossible; correct the line"),
        ('n,misses\n1,"2\n2,3\n', "t.csv line 2 is not a line of CSV; close every quote and write one row per line"),
        ("n,misses,wait us\n1,2,\n2,3,x\n", "t.csv line 3, wait_us: 'x' is not a number"),
        (
            "n,misses\n" + "1,2\n" * (MOST_ROWS + 1),
            "t.csv has 10,001 rows, more than 10,000; give the measurements, not a log",
        ),
    ],
)
def test_table_that_cannot_be_read_is_one_sentence_with_the_place(text: str, told: str) -> None:
    with pytest.raises(BadStudy) as refused:
        rows(text, "t.csv", COLUMNS)
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"speed": "n"}, "this study has no speed; it reads processes, misses, wait_us"),
        ({"misses": "gone"}, "t.csv has no column gone; it has n, misses"),
    ],
)
def test_chosen_column_must_be_there(chosen: dict[str, str], told: str) -> None:
    with pytest.raises(BadStudy) as refused:
        rows("n,misses\n1,2\n2,3\n", "t.csv", COLUMNS, chosen)
    assert str(refused.value) == told
