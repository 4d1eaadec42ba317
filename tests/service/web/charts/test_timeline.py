"""The timeline as SVG: lanes, names beside small episodes, links that zoom, text that stays text."""

from service.state.window import Window
from service.web.charts.overview import Gap
from service.web.charts.timeline import LANE, Event, events
from tests.service.web.charts.drawings import AXIS, HOSTILE, at, drawn, x


def test_overlapping_episodes_have_lanes_and_marks_the_topmost() -> None:
    told = [
        Event(at(0), at(50), "critical", "one", "/1", "one"),
        Event(at(40), at(90), "warning", "two", "/2", "two"),
        Event(at(70), at(99), "notice", "three", "/3", "three"),
        Event(at(45), None, "mark", "mark", "/m", ""),
    ]
    bands = drawn(events(told, AXIS)).findall(".//rect[@class='lane']")
    assert [one.get("y") for one in bands] == [str(3 + LANE), str(3 + 2 * LANE), str(3 + LANE)]
    assert [one.get("x") for one in bands] == [x(0), x(40), x(70)]


def test_small_episode_has_its_name_beside_it_unless_there_are_many() -> None:
    small = [Event(at(90), at(91), "critical", "storm", "/1", "storm")]
    (label,) = [one for one in drawn(events(small, AXIS)).iter("text") if one.get("class") == "beside"]
    assert (label.text, label.get("text-anchor")) == ("storm", "end")
    assert "beside" not in events(small * 13, AXIS)


def test_zoom_link_between_two_ticks_leads_to_that_time() -> None:
    links = [one for one in drawn(events([], AXIS, zoom="/db/x/history")).iter("a") if one.get("class") == "zoom"]
    assert next(one.get("href") for one in links) == f"/db/x/history?{Window(at(0), at(30)).query}"


def test_timeline_text_is_escaped() -> None:
    event = Event(at(0), at(90), f'critical" onload="{HOSTILE}', HOSTILE, f"/db/x?{HOSTILE}", HOSTILE)
    markup = events([event], AXIS, [Gap(at(0), at(9), HOSTILE)])
    assert "<script" not in markup
    assert not any("onload" in one.attrib for one in drawn(markup).iter())
