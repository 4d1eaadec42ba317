"""Numbers as reports print them, and texts that are not numbers."""

import pytest

from collectors.reports.header import moment_in, month_of
from collectors.reports.tables import count, decimals, is_overflow, micro, real


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1,234", 1234), (".5", 0.5), ("-4,018,470,645", -4_018_470_645), ("20.1K", 20_100), ("3M", 3_000_000), ("0", 0),
     ("", None), ("N/A", None), ("#####", None), (".", None), ("-", None), ("12 monkeys", None), ("1" * 99, None),
     ("nan", None), ("inf", None)],
)  # fmt: skip
def test_count_reads_printed_counts(cell: str, value: float | None) -> None:
    assert count(cell) == value


def test_count_keeps_whole_numbers_whole_and_real_gives_floats() -> None:
    assert isinstance(count("1,000"), int)
    assert isinstance(real("1,000"), float)


@pytest.mark.parametrize(
    ("cell", "unit", "value"),
    [
        ("109.72us", "ms", 110),
        ("2.98ms", "s", 2_980),
        ("17.74 s", "ms", 17_740_000),
        ("900ns", "s", 1),
        ("13", "s", 13_000_000),
        ("1.2K", "s", 1_200_000_000),
        ("5", "ms", 5_000),
        ("", "s", None),
        ("5 apples", "s", None),
    ],
)
def test_micro_reads_printed_times(cell: str, unit: str, value: int | None) -> None:
    assert micro(cell, unit) == value


def test_is_overflow_recognises_hashes_for_a_number_that_does_not_fit() -> None:
    assert is_overflow("######") and not is_overflow("") and not is_overflow("#1")


def test_decimals_gives_the_printed_precision() -> None:
    assert [decimals(cell) for cell in ("9.23", "26", ".5", "N/A", "")] == [2, 0, 1, None, None]


@pytest.mark.parametrize(
    ("name", "month"),
    [("Jan", 1), ("janv", 1), ("MAI", 5), ("Mär", 3), ("juin", 6), ("juil", 7), ("Dez", 12), ("4月", 4), ("xyz", None)],
)
def test_month_of_knows_the_languages_of_sessions(name: str, month: int | None) -> None:
    assert month_of(name) == month


def test_moment_in_reads_printed_moments() -> None:
    assert str(moment_in("23-Apr-14 18:30:05 (Wed)")) == "2014-04-23 18:30:05"
    assert moment_in("31-Feb-14 18:30:05") is None
    assert moment_in("soon") is None
