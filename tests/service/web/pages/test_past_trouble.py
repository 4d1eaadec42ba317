"""A page that is fine right after a storm links to that storm."""

import re

from service.web.pages.past_trouble import past_trouble
from tests.service.stage import Stage


def test_page_that_is_fine_again_leads_to_the_trouble_that_just_ended(stage: Stage) -> None:
    for moment in (40, 42, 44, 160, 180, 200, 220):
        stage.poll("undo-storm", moment)
    watched = stage["undo-storm"]
    (ended,) = watched.episodes.all
    assert ended.end is not None
    app = stage.app()
    text = app.get("/db/undo-storm").text.replace("\N{NO-BREAK SPACE}", " ")
    line = re.search(r'<p class="callout" data-live="past">(.*?)</p>', text)
    assert line is not None, "the page does not mention the storm of a moment ago"
    said = re.sub(r"<[^>]+>", "", line[1])
    assert re.fullmatch(
        rf"Until {ended.end:%H:%M:%S} UTC: too many undo segments, at most [\d.]+ % of DB time\. Look at it as it was",
        said,
    )
    link = re.search(r'href="([^"]+)"', line[1])
    assert link is not None
    past = app.get(link[1]).text
    assert "Too many undo segments make every transaction queue" in past
    assert 'data-live="past"' not in past
    stage.poll("undo-storm", 220 + 3600)
    assert past_trouble(watched) is None, "an hour later it is history"


def test_page_in_trouble_and_one_without_any_tell_of_none(stage: Stage) -> None:
    for moment in (40, 42, 44):
        stage.poll("undo-storm", moment)
        stage.poll("healthy-19c", moment)
    app = stage.app()
    assert all('data-live="past"' not in app.get(f"/db/{name}").text for name in ("undo-storm", "healthy-19c"))
