"""How pages write amounts: no figure that a tired reader has to decode."""

from rules.base import Bound
from rules.formatting import percent
from service.web.pages import words


def test_sessions_are_told_as_a_person_writes_and_what_lasts_is_rounded_down() -> None:
    said = {value: words.sessions(value) for value in (None, 0.0, 0.00007, 0.004, 0.02, 9.93)}
    assert list(said.values()) == [words.NOT_KNOWN, "0", "< 0.01", "< 0.01", "0.02", "9.9"]
    lasted = {seconds: words.lasted(seconds).replace(words.TIED, " ") for seconds in (18.65, 119.9, 179.0, 7_259.0)}
    assert lasted == {18.65: "18 s", 119.9: "119 s", 179.0: "2 min", 7_259.0: "2 h"}
    assert words.lasted(None) == words.NOT_KNOWN


def test_ratios_are_percent_up_to_ten_and_times_beyond() -> None:
    """A ratio slightly above one has the form of its bound; hundreds would be unreadable in percent."""
    told = {value: words.spelled(value, "ratio") for value in (0.319, 1.0, 1.085, 2.0, 9.99, 10.0, 10.1, 11_364.7)}
    percents = (f"{number}{words.TIED}%" for number in ("31.9", "100", "108.5", "200.0", "999.0", "1000.0"))
    assert list(told.values()) == [(said, "") for said in (*percents, "10.1×", "11,400×")]
    assert words.bound(Bound(operator=">=", value=2.0), "ratio", 43.0) == "at least 2×"
    assert words.bound(Bound(operator=">=", value=2.0), "ratio", 3.0).replace(words.TIED, " ") == "at least 200 %"


def test_share_close_to_all_has_one_form_in_the_chain_and_in_the_evidence() -> None:
    for value in (10_336 / 10_338, 0.99998, 0.996, 0.5):
        assert words.share(value).replace(words.TIED, " ") == percent(value)
    assert words.share(10_336 / 10_338) == f"99.981{words.TIED}%"


def test_units_stand_behind_the_number() -> None:
    assert words.spelled(None, "ratio") == ("not known", "") and words.spelled(57, "s") == (f"57{words.TIED}s", "")
    assert words.spelled(14_600, "entries") == ("14,600", "entries")
    assert words.whole(14_600, "entries") == f"14,600{words.TIED}entries"
    assert words.spelled(205, "logons per second") == ("205", "logons a second")
    assert words.spelled(0.001, "sleeps per miss") == ("1 in 1,000", "")
