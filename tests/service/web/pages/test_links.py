"""The numbers of the chain in words."""

from service.web.pages.links import spelled, whole
from service.web.pages.words import TIED


def test_ratios_are_percent_up_to_ten_and_times_beyond() -> None:
    """A ratio a little above one is said as its bound is; one of hundreds would be unreadable in percent."""
    told = {value: spelled(value, "ratio") for value in (0.319, 1.0, 1.085, 2.0, 9.99, 10.0, 10.1, 11_364.7)}
    assert told == {
        0.319: (f"31.9{TIED}%", ""),
        1.0: (f"100{TIED}%", ""),
        1.085: (f"108.5{TIED}%", ""),
        2.0: (f"200.0{TIED}%", ""),
        9.99: (f"999.0{TIED}%", ""),
        10.0: (f"1000.0{TIED}%", ""),
        10.1: ("10.1×", ""),
        11_364.7: ("11,400×", ""),
    }


def test_units_stand_behind_the_number() -> None:
    assert spelled(None, "ratio") == ("not known", "") and spelled(57, "s") == (f"57{TIED}s", "")
    assert spelled(14_600, "entries") == ("14,600", "entries") and whole(14_600, "entries") == f"14,600{TIED}entries"
    assert spelled(205, "logons per second") == ("205", "logons a second")
    assert spelled(0.001, "sleeps per miss") == ("1 in 1,000", "")
