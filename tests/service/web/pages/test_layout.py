"""The pages of problems: each type with its title, what it means and what to do."""

from fastapi import FastAPI

from service.web.api.common import TYPES
from service.web.pages.layout import problems_pages
from tests.service.stage import Client


def test_each_problem_has_a_page_and_the_list_leads_to_all() -> None:
    app = FastAPI()
    app.include_router(problems_pages())
    client = Client(app)
    listed = client.get("/docs/problems").text
    for name, kind in TYPES.items():
        page = client.get(f"/docs/problems/{name}").text
        assert f'href="/docs/problems/{name}"' in listed and f"<h1>{kind.title}</h1>" in page and "What to do:" in page
    assert client.get("/docs/problems/<script>").status_code == 404
