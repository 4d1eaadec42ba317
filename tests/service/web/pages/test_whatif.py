"""The what-if page: unmoved sliders ask nothing, a change gives figures, a refusal says why. All of it is escaped."""

import pytest

from tests.service.stage import Client, Stage
from tests.service.web.pages.test_database import no_inline


@pytest.fixture(scope="module")
def app(still: Stage) -> Client:
    """The app after a while of the storm."""
    still.poll_all(*range(40, 60, 2))
    return still.app()


def test_page_starts_from_what_is_and_shows_what_a_change_is_worth(app: Client) -> None:
    start = app.get("/db/undo-storm/whatif")
    assert start.status_code == 200 and no_inline(start.text)
    assert "Move a slider, then predict." in start.text
    text = app.get("/db/undo-storm/whatif?gets=50&children=1&batch=1&hold=100&processes=100").text
    assert 'name="gets" min="5" max="300" step="5" value="50"' in " ".join(text.split())
    told = "Gets that miss" in text or "No prediction." in text
    assert told, "a figure with its interval, or the reason why there is none"


def test_refusal_and_nonsense_say_what_to_do(app: Client) -> None:
    assert "No prediction." in app.get("/db/users-mutex/whatif?gets=50").text
    text = app.get("/db/undo-storm/whatif?gets=%3Cscript%3E&hold=1e9&cache=%3Cscript%3E").text
    assert "<script>" not in text.replace('<script src="/static/latchscope.js" defer></script>', "")
    assert "Move a slider, then predict." in text
    assert app.get("/db/nobody/whatif").status_code == 404
