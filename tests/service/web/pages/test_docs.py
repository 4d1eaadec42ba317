"""The page of the API, served only by us, with its own policy, and the pages of problems: each type and what to do."""

from fastapi import FastAPI

from service.web.api.common import TYPES
from service.web.http import FRAME
from service.web.pages.layout import problems_pages
from tests.service.stage import Client, Stage


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


def test_each_problem_has_a_page_and_the_list_leads_to_all() -> None:
    app = FastAPI()
    app.include_router(problems_pages())
    client = Client(app)
    listed = client.get("/docs/problems").text
    for name, kind in TYPES.items():
        page = client.get(f"/docs/problems/{name}").text
        assert f'href="/docs/problems/{name}"' in listed and f"<h1>{kind.title}</h1>" in page and "What to do:" in page
    assert client.get("/docs/problems/<script>").status_code == 404
