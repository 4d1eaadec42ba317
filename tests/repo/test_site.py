"""The documentation site builds without a broken link, asks nobody outside, and shows the pages of the tree."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.site import BROUGHT, MADE, linked, on_page_content, on_page_markdown, pages_that_left
from service.successors import Successors, successors
from service.web.pages.docs import Documentation, frame_of
from service.web.pages.layout import GUIDES, problems_pages
from tests.service.stage import Client

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.name for path in (ROOT / "docs").glob("*.md")} | set(BROUGHT.values()) | set(MADE)
QUIET = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
LEADS = re.compile(r"(?<=[\"'`])/docs/[\w.-]+(?:/[\w-]+)?(?=[\"'`#])")
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?(?:https?:)?//[^>]*>")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(site)]
    return subprocess.run(command, capture_output=True, text=True, env=QUIET, check=False)


@pytest.fixture(scope="module", params=[pytest.param("built", marks=pytest.mark.slow)])
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once with strict links."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def test_site_has_every_page_of_docs_and_what_is_brought_in(site: Path) -> None:
    assert [page for page in PAGES if not (site / page).with_suffix(".html").exists()] == []
    assert not [path for path in site.rglob("*") if path.suffix in (".py", ".pyc") or path.name == "__pycache__"]


def links_of_the_service() -> set[str]:
    """The addresses below /docs/ that templates, code and the list of guides name."""
    texts = [*(ROOT / "service").glob("web/**/*.html"), *(ROOT / "service").glob("**/*.py")]
    links = {link for path in texts for link in LEADS.findall(path.read_text(encoding="utf-8"))}
    links |= {f"/docs/{guide}" for _, guide in GUIDES} | {"/docs/"}
    assert {"/docs/reading.html", "/docs/problems"} <= links
    return links


def test_links_of_the_service_lead_to_pages_of_today() -> None:
    pages = {f"/docs/{Path(page).with_suffix('.html')}" for page in PAGES} | {"/docs/", "/docs/problems"}
    assert {link.partition("#")[0] for link in links_of_the_service()} <= pages


def test_links_of_the_service_into_its_documentation_lead_somewhere(site: Path) -> None:
    app = FastAPI()
    app.include_router(problems_pages())
    app.mount("/docs", Documentation(site))
    client = Client(app)
    status = {link: client.get(link).status_code for link in links_of_the_service()}
    assert {link: code for link, code in status.items() if code != 200} == {}
    assert client.get("/docs/nowhere.html").status_code == 404


def policy_of(page: Path) -> str:
    """What a browser may do on a page of the site."""
    answer = Documentation(page.parent).file_response(page, page.stat(), {"type": "http", "headers": []})
    return answer.headers["Content-Security-Policy"]


def digests(page: Path) -> set[str]:
    """The digests of the scripts that stand in a page."""
    scripts = re.findall(rb"<script>(.*?)</script>", page.read_bytes(), re.S)
    return {base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts}


def test_browser_may_run_what_stands_in_the_page_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>a</p><script>one()</script><script>two()\n</script>", encoding="utf-8")
    assert len(digests(page)) == 2
    assert set(re.findall(r"'sha256-([^']+)'", policy_of(page))) == digests(page) and "unsafe" not in policy_of(page)


def test_pages_of_the_site_hold_nothing_that_a_browser_may_not_run(site: Path) -> None:
    for name in ("index.html", "runbooks/RowCacheHang.html"):
        assert digests(site / name) and digests(site / name) == set(
            re.findall(r"'sha256-([^']+)'", policy_of(site / name))
        )
    blocked = re.compile(r"<style|<[^>]+\sstyle=|<[^>]+\son\w+=")
    assert [path.name for path in site.rglob("*.html") if blocked.search(path.read_text(encoding="utf-8"))] == []


def test_service_without_the_site_says_how_to_build_it(tmp_path: Path) -> None:
    app = FastAPI()
    app.mount("/docs", Documentation(tmp_path / "none"))
    answer = Client(app).get("/docs/faq.html")
    assert answer.status_code == 404 and "make site" in answer.text


def test_site_navigation_has_every_page_of_docs() -> None:
    named = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - named == set()


def test_site_fetches_nothing_from_outside(site: Path) -> None:
    fetched = {tag for page in site.rglob("*.html") for tag in FETCHED.findall(page.read_text(encoding="utf-8"))}
    assert fetched == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)


def test_links_of_pages_from_elsewhere_hold_in_the_site() -> None:
    assert linked("[a](docs/faq.md#x)", "README.md", "index.md") == "[a](faq.md#x)"
    assert linked("[a](../../docs/faq.md)", "rules/causes/README.md", "causes.md") == "[a](faq.md)"
    assert linked("[a](../README.md)", "docs/faq.md", "faq.md") == "[a](index.md)"
    assert linked("[a](../../docs/faq.md)", "dashboards/runbooks/X.md", "runbooks/X.md") == "[a](../faq.md)"
    assert linked("[a](../collectors/groups)", "docs/faq.md", "faq.md") == "a"
    assert linked("[a](https://example.com/)", "docs/faq.md", "faq.md") == "[a](https://example.com/)"


def test_page_of_a_running_service_is_a_link_in_the_site() -> None:
    assert linked("at `/docs/sql.html`", "docs/faq.md", "faq.md") == "at [`/docs/sql.html`](sql.md)"
    assert linked("at `/docs/sql.html`", "dashboards/runbooks/X.md", "runbooks/X.md").endswith("(../sql.md)")


def anchors(page: Path) -> list[str]:
    return re.findall(r' id="([^"]+)"', page.with_suffix(".html").read_text(encoding="utf-8"))


def test_each_old_name_of_a_document_is_no_name_of_today_and_leads_to_one() -> None:
    assert successors().documents
    for old, new in successors().documents.items():
        place, _, anchor = old.partition("#")
        assert (place in PAGES) == bool(anchor), f"{old}: a page that left has one successor, whatever the anchor"
        assert new.partition("#")[0] in PAGES, f"{old} → {new}"


def test_each_old_name_of_a_document_is_in_the_site_and_leads_to_an_anchor(site: Path) -> None:
    for old, new in successors().documents.items():
        place, _, heading = new.partition("#")
        assert not heading or heading in anchors(site / place), f"{old} → {new}"
        place, _, anchor = old.partition("#")
        assert (site / place).with_suffix(".html").is_file(), old
        assert not anchor or anchors(site / place).count(anchor) == 1, f"{old}: no heading of today has this anchor"


def test_old_names_lead_to_another_page_the_end_of_a_page_or_a_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = {"gone.md": "faq.md#a", "faq.md#left": "logs.md#the-end", "faq.md#old": "faq.md#new"}
    monkeypatch.setattr("docs.site.successors", lambda: Successors(documents=documents))
    ((place, leads),) = pages_that_left().items()
    assert place == "gone.html" and '<meta http-equiv="refresh" content="0; url=faq.html#a">' in leads
    assert '<a href="faq.html#a">' in leads and "'sha256-" not in frame_of(leads.encode()), "no script needs leave"
    config = MkDocsConfig()
    page = Page(None, File("faq.md", "docs", "site", use_directory_urls=False), config)
    told = on_page_markdown("# Questions", page, config, Files([]))
    assert told == '# Questions\n\n<a id="left"></a>Moved: [Left](logs.md#the-end)'
    assert on_page_content('<h2 id="new">N</h2>', page, config, Files([])) == '<a id="old"></a><h2 id="new">N</h2>'


@pytest.mark.slow
def test_demo_starts_without_pages_that_cannot_be_built(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    run = tmp_path / "run"
    run.write_text(
        '#!/bin/sh\nif [ "$1" = mkdocs ]; then echo Traceback; echo "no CHANGELOG.md"; exit 1; fi\necho "runs $*"\n'
    )
    run.chmod(0o755)
    made = subprocess.run(
        ["make", "-C", tmp_path, "-o", ".venv/.user", "demo", f"RUN={run}", "PORT=8123"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert "runs latchscope demo --port 8123" in made.stdout
    said = "make demo: starts without /docs/, which could not be built: no CHANGELOG.md; 'make site' says more\n"
    assert made.stderr == said, "one line, no traceback"
