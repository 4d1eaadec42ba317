"""The first card: what it says not to do begins with the words that the page sets in bold."""

from datetime import UTC, datetime, timedelta

import pytest

from rules.base import Bound, LastingTrouble
from rules.cause import catalogue
from rules.cost import TIME_SPENT
from rules.engine import diagnose
from rules.explain.story import founded, screen, sureness, tell
from rules.formatting import percent
from rules.model import Confidence, Finding, OtherWait, WaiterTotals
from service.web.pages import verdict, words
from service.web.pages.diagnosis import waiters_totals
from tests.rules.printed import scripted
from tests.rules.test_demo_verdicts import SICK_AT, diagnosed

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_fine_says_that_hardly_any_session_waits_where_some_do() -> None:
    some = diagnose(scripted("undo-storm", 1.0, 15.0))
    assert some.impact is not None and some.findings == ()
    waited = some.model_copy(update={"impact": some.impact.model_copy(update={"waiting_sessions": 0.03})})
    none = some.model_copy(
        update={"impact": some.impact.model_copy(update={"waiting_sessions": 0.0, "share_of_db_time": 0.0})}
    )
    spent = next(step.statement for step in some.steps if step.step == TIME_SPENT)
    assert verdict.verdict(waited, NOW).lede == f"{screen('hardly any').lede} {spent}"
    assert verdict.verdict(none, NOW).lede == f"{screen('nothing').lede} {spent}"


def test_card_names_the_wait_that_has_most_of_db_time_and_is_not_green() -> None:
    quiet = diagnose(scripted("undo-storm", 1.0, 15.0))
    other = OtherWait(event="library cache lock", share_of_db_time=0.918, together_share_of_db_time=0.93)
    card = verdict.verdict(quiet.model_copy(update={"state": "Elsewhere", "other_wait": other}), NOW)
    assert (card.state, card.state_words) == (
        "elsewhere",
        "Elsewhere: library cache lock has 91.8\N{NO-BREAK SPACE}% of DB time",
    )
    assert card.title == "Most of DB time is library cache lock" and "library cache lock" in card.do
    less = verdict.verdict(quiet.model_copy(update={"other_wait": other}), NOW)
    assert (less.state, less.state_words) == ("fine", "Fine")


def test_a_past_moment_counts_from_the_start_of_the_longest_wait() -> None:
    hang = diagnosed("ddl-hang", SICK_AT["ddl-hang"])
    assert hang.basis is not None and hang.basis.end is not None
    longest = max(group.longest_seconds for group in hang.waiting)
    begun = LastingTrouble.model_construct(begin=hang.basis.end - timedelta(seconds=5))  # type: ignore[call-arg]
    card = verdict.verdict(hang.model_copy(update={"episodes": (begun,)}), NOW)
    assert card.since == hang.basis.end - timedelta(seconds=longest)
    assert words.lasted(longest) in [number.value for number in card.numbers]


def test_waiters_that_nobody_met_block_nobody() -> None:
    got = diagnosed("parse-storm", 30.0)
    nobody = WaiterTotals(looks=2, waiters=0, by_sql_id=(), by_module=())
    empty = waiters_totals(got.model_copy(update={"who_totals": nobody, "who": ()}))
    assert empty is not None and empty.blocked == "" and empty.groups == []
    met = waiters_totals(diagnosed("users-mutex", 30.0))
    assert met is not None and met.blocked == "No session was seen to block another."


@pytest.fixture(scope="module")
def medium() -> Finding:
    top = diagnosed("nocache-sequence-1", 30.0).findings[0]
    assert top.identity == "sampled" and top.unknown == ()
    return top.model_copy(update={"confidence": Confidence.MEDIUM})


def test_confidence_says_what_it_is_founded_on_and_what_would_raise_it(medium: Finding) -> None:
    assert sureness(medium).startswith("Medium confidence in the cause: all ")
    assert tell("high needs the query") in sureness(medium)
    assert tell("high needs a name") in sureness(medium.model_copy(update={"identity": "candidate"}))
    plain = tuple(sign.model_copy(update={"role": "required"}) for sign in medium.evidence)
    assert tell("high needs a sign") in sureness(medium.model_copy(update={"evidence": plain}))
    query = medium.confirm
    assert query is not None
    refused = query.model_copy(update={"obstacle": "no grant"})
    assert "For high" not in sureness(medium.model_copy(update={"confirm": refused}))
    assert medium.status == catalogue()[medium.cause].status == "tested"
    assert founded(medium).endswith("What is known of this cause fits published figures.")
    assert "What is known" not in founded(medium.model_copy(update={"status": None})), "an older release stored it"
    assert "For high" not in sureness(diagnosed("undo-storm", 60.0).findings[0])
    top = diagnosed("users-mutex", 30.0).findings[0]
    assert top.sign("share_of_mutex_sleeps") is not None and len(top.evidence) == 4
    assert "all 3 signs met, and the place of the sleeps fits" in sureness(top)


# How pages write amounts: no figure that a tired reader has to decode


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
