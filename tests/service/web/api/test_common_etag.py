"""Diagnoses carry an ETag of their content: a client that has it already gets a few bytes."""

import pytest

from tests.service.stage import Client, Stage

PATH = "/api/v1/databases/undo-storm/diagnosis"


@pytest.fixture
def app(stage: Stage) -> Client:
    stage.poll_all(40, 42)
    return stage.app()


def test_etag_of_an_answer_spares_the_next(app: Client) -> None:
    first = app.get(PATH)
    tag = first.headers["etag"]
    assert tag.startswith('W/"') and first.headers["cache-control"] == "no-cache"
    again = app.get(PATH, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert (again.headers["etag"], again.headers["cache-control"]) == (tag, "no-cache")


@pytest.mark.parametrize(
    ("asked", "status"), [("*", 304), ('"other", {tag}', 304), ('"other"', 200), ("nonsense", 200)]
)
def test_if_none_match_may_be_a_list_of_tags(app: Client, asked: str, status: int) -> None:
    tag = app.get(PATH).headers["etag"]
    assert app.get(PATH, headers={"if-none-match": asked.replace("{tag}", tag)}).status_code == status


def test_if_none_match_takes_a_strong_tag_of_the_same_content(app: Client) -> None:
    tag = app.get(PATH).headers["etag"].removeprefix("W/")
    assert app.get(PATH, headers={"if-none-match": tag}).status_code == 304


def test_etag_changes_with_the_next_poll(app: Client, stage: Stage) -> None:
    tag = app.get(PATH).headers["etag"]
    stage.poll("undo-storm", 44)
    answer = app.get(PATH, headers={"if-none-match": tag})
    assert answer.status_code == 200
    assert answer.headers["etag"] != tag


def test_etag_of_a_diagnosis_without_a_basis_is_another_one(app: Client, stage: Stage) -> None:
    tag = app.get(PATH).headers["etag"]
    stage.at = 4000  # the last poll is too old by then
    answer = app.get(PATH, headers={"if-none-match": tag})
    assert (answer.status_code, answer.json()["basis"]) == (200, None)
    assert app.get(PATH, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
