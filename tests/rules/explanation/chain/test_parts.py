"""What links have in common: values summed by name, and bars that always show what is spoken of."""

from rules.explanation.chain.parts import bars_of, summed


def test_values_are_summed_by_name_the_largest_first() -> None:
    assert list(summed([("a", 1.0), ("b", 5.0), ("a", 3.0)]).items()) == [("b", 5.0), ("a", 4.0)]


def test_bars_show_the_hot_one_even_where_others_are_larger_and_none_that_is_empty() -> None:
    values = {"a": 40.0, "b": 30.0, "c": 20.0, "d": 9.0, "e": 1.0, "f": 0.0}
    bars = bars_of(values, 100.0, ["e"])
    assert [(bar.label, bar.value, bar.hot) for bar in bars] == [
        ("a", 0.4, False),
        ("b", 0.3, False),
        ("c", 0.2, False),
        ("e", 0.01, True),
    ]
    assert bars_of({"a": 1.0, "f": 0.0}, 1.0, ["a"]) == bars_of({"a": 1.0}, 1.0, ["a"])
    assert bars_of(values, 0.0, ["a"]) == ()
