"""The page of the API, served only by us, with its own policy, and the pages of problems: each type and what to do."""

from service.web.http import FRAME
from tests.service.stage import Stage


def test_api_page_is_ours_and_only_its_styles_are_let_in(still: Stage) -> None:
    app = still.app()
    answer = app.get("/api")
    assert answer.status_code == 200 and "/api/v1/openapi.json" in answer.text
    assert answer.headers["content-security-policy"] == FRAME.replace(
        "'self'; script", "'self' 'unsafe-inline'; script"
    )
    assert "//" not in answer.text.replace("http://www.w3.org/", ""), "nothing from outside"
    for name, kind in (("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")):
        file = app.get(f"/swagger/{name}")
        assert file.status_code == 200 and file.headers["content-type"].startswith(kind) and len(file.content) > 100_000
        assert f"/swagger/{name}" in answer.text
    assert app.get("/swagger/redoc.standalone.js").status_code == 404
    assert app.get("/swagger/..%2Fcore.py").status_code == 404
    assert '<a href="/api">API</a>' in app.get("/").text, "the foot of every page links there"
