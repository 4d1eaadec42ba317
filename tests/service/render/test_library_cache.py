"""Who waits in the library cache, in every form of a diagnosis."""

import html
import json
from dataclasses import replace

import pytest

from rules.engine import diagnose
from rules.model import OtherWait
from service.intake.inputs import DiagnosedInput, InputResults
from service.render.text import as_markdown, as_text
from service.web.pages.export import as_html
from tests.rules.contexts import SICK, delta_of
from tests.rules.staged import staged
from tests.rules.test_library_cache import HANDLE, waiting

WORDS = "90 logons of APP1 from web07 wait for one account"


def test_heading_says_elsewhere_where_the_library_cache_has_most_of_db_time() -> None:
    one = told(sick=False)
    other = OtherWait(event="library cache lock", share_of_db_time=0.918, together_share_of_db_time=0.93)
    most = replace(one, diagnosis=one.diagnosis.model_copy(update={"state": "Elsewhere", "other_wait": other}))
    assert "\nELSEWHERE: " in as_text([most]) and "**elsewhere**: " in as_markdown([most])
    assert "ELSEWHERE" not in as_text([one])


def test_text_of_a_trouble_elsewhere_says_what_to_do_about_the_cause_that_is_seen() -> None:
    delta = staged("N2")
    text = " ".join(as_text([DiagnosedInput("erp", delta, diagnose(delta))]).split())
    assert "Seen: Each logon writes its time into the user's row (last-login-update), confidence high. Use a" in text
    assert "`latchscope causes show last-login-update` shows how." in text and text.count("Seen: ") == 1


def told(user: str = "APP1", sessions: int = 90, sick: bool = True) -> DiagnosedInput:
    rows = waiting(sessions, username=user, machine="web07")
    views = {**SICK, "library_cache_sessions": rows} if sick else {"library_cache_sessions": rows}
    delta = delta_of(views, release="19.0.0.0.0")
    return DiagnosedInput("erp", delta, diagnose(delta))


@pytest.mark.parametrize("sick", [True, False])
def test_text_says_who_waits_also_where_the_row_cache_is_quiet(sick: bool) -> None:
    text = " ".join(as_text([told(sick=sick)]).split())
    assert (
        text.count("Library cache waits: ") == 1
        and f"Library cache waits: At the poll 90 sessions wait in the library cache: {WORDS} (library" in text
    )


def test_whole_text_markdown_and_html_have_the_queries_and_what_they_touch() -> None:
    one = told()
    text = " ".join(as_text([one], verbose=True).split())
    markdown, page = as_markdown([one]), html.unescape(as_html(InputResults([one], [], [], 1)))
    for form in (text, markdown, page):
        assert WORDS in form and "it may walk through the whole library cache" in form
    assert HANDLE in text and HANDLE in page
    assert '<h2 id="lc' in page


def test_json_has_the_group() -> None:
    (group,) = json.loads(told().diagnosis.model_dump_json())["library_cache"]["groups"]
    assert (group["namespace"], group["sessions"], group["handle"]) == (127, 90, HANDLE)
    assert group["username"] == {"name": "APP1", "sessions": 90}


def test_name_that_is_html_or_markdown_stays_text() -> None:
    hostile = told("<b>|x")
    assert "<b>|x" not in as_html(InputResults([hostile], [], [], 1))
    assert "of &lt;b>" in as_markdown([hostile]) and "<b>|x" not in as_markdown([hostile])


def test_few_short_waits_stay_in_the_json() -> None:
    few = told(sessions=2)
    assert "Library cache waits" not in as_text([few], verbose=True)
    assert 'id="lc' not in as_html(InputResults([few], [], [], 1))
