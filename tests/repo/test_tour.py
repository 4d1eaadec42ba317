"""The first pages for a newcomer are true: how often the demo's storm comes, its port, its buttons, and what is unproven."""

import re
from pathlib import Path

import pytest
from PIL import Image

from collectors.demo.scenarios import HEALTHY, UNDO_STORM
from docs.page_pictures import FILM, IN_THE_STORM, MOST_BYTES, VERIFIED
from docs.screenshots import DRAWN

ROOT = Path(__file__).parents[2]


def document(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_tour_tells_the_times_of_the_scripted_storm() -> None:
    (row,) = (line for line in document("docs/first-incident.md").splitlines() if line.startswith("| `undo-storm`"))
    calm = next(seconds for seconds, load in UNDO_STORM.loop if load == HEALTHY)
    ((eased, _),) = UNDO_STORM.marks
    period = sum(seconds for seconds, _ in UNDO_STORM.loop)
    told = re.findall(r"after (\d+) s .* lasts (\d+) s, .* repeats every (\d+) s", row)
    assert told == [(f"{calm:.0f}", f"{eased - calm:.0f}", f"{period:.0f}")]
    assert 2 * (eased - calm) < period, "the tour says that the storm is over for more than half of the time"
    others = [page.name for page in (ROOT / "docs").glob("*.md") if re.search(r"every 200\s+s\b", page.read_text())]
    assert not others


def test_first_pages_name_another_port_and_what_is_unproven() -> None:
    target = "make demo PORT=8123"
    assert target in document("README.md")
    assert target in document("docs/first-incident.md")
    first_part = document("README.md").partition("\n## ")[0]
    assert "docs/unproven.md" in first_part and "make test-live DSN=" in first_part


def test_button_that_the_first_incident_names_is_on_the_page() -> None:
    named = re.findall(r'the button "([^"]+)"', " ".join(document("docs/first-incident.md").split()))
    buttons = " ".join(
        re.findall(r"<button[^>]*>(.*?)</button>", " ".join(document("service/web/templates/_remedy.html").split()))
    )
    assert named
    for name in named:
        assert f'"{name}"' in buttons


def shown_on(page: str) -> list[Path]:
    """The pictures of a page."""
    return [(ROOT / page).parent / target for target in re.findall(r"!\[[^\]]+\]\(([^)#]+)\)", document(page))]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("first-incident", "reading", "connect", "before-after", "integrations", "dashboards")
        ),
    ],
)
def test_page_where_people_look_has_a_picture_that_can_be_renewed(page: str) -> None:
    renewed = {f"{shot.name}.png" for shot in (*IN_THE_STORM, *VERIFIED)} | {FILM, *DRAWN}
    pictures = shown_on(page)
    assert pictures and all(one.is_file() for one in pictures)
    assert {one.name for one in pictures} <= renewed


def test_every_picture_is_shown_somewhere() -> None:
    shown = {one.name for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) for one in shown_on(str(path))}
    assert {path.name for path in (ROOT / "docs/images").iterdir()} == shown


def test_moving_picture_lasts_twenty_seconds_and_is_small() -> None:
    film = ROOT / "docs/images" / FILM
    assert film.stat().st_size <= MOST_BYTES
    with Image.open(film) as moving:
        lengths = []
        for number in range(moving.n_frames):  # type: ignore[attr-defined]  # a file of several frames
            moving.seek(number)
            moving.load()
            lengths.append(moving.info["duration"])
    assert sum(lengths) == 20_000 and len(lengths) >= 6
