"""The documentation site: it builds without a broken link, asks nobody outside, and shows the pages of the tree."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from docs.site import BROUGHT, linked

ROOT = Path(__file__).resolve().parents[2]
QUIET = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?(?:https?:)?//[^>]*>")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(site)]
    return subprocess.run(command, capture_output=True, text=True, env=QUIET, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once with strict links."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def test_site_has_every_page_of_docs_and_what_is_brought_in(site: Path) -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} | set(BROUGHT.values())
    assert [page for page in pages if not (site / page).with_suffix(".html").exists()] == []
    assert not list(site.rglob("*.py"))


def test_site_navigation_has_every_page_of_docs() -> None:
    named = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - named == set()


def test_site_fetches_nothing_from_outside(site: Path) -> None:
    fetched = {tag for page in site.rglob("*.html") for tag in FETCHED.findall(page.read_text(encoding="utf-8"))}
    assert fetched == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)


def test_site_with_a_broken_link_is_not_built(tmp_path: Path) -> None:
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "index.md"
    config = {"site_name": "x", "theme": {"name": "mkdocs"}, "plugins": []}
    config |= {name: ours[name] for name in ("strict", "validation")}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    page.write_text("# A\n\n[here](#a)\n", encoding="utf-8")
    assert build(tmp_path / "mkdocs.yml", tmp_path / "site").returncode == 0
    for link in ("missing.md", "#nowhere"):
        page.write_text(f"# A\n\n[there]({link})\n", encoding="utf-8")
        done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
        assert done.returncode != 0 and link in done.stderr


def test_links_of_pages_from_elsewhere_hold_in_the_site() -> None:
    assert linked("[a](docs/faq.md#x)", "README.md", "index.md") == "[a](faq.md#x)"
    assert linked("[a](../../docs/faq.md)", "rules/causes/README.md", "causes.md") == "[a](faq.md)"
    assert linked("[a](../README.md)", "docs/faq.md", "faq.md") == "[a](index.md)"
    assert linked("[a](../../docs/faq.md)", "dashboards/runbooks/X.md", "runbooks/X.md") == "[a](../faq.md)"
    assert linked("[a](../collectors/groups)", "docs/faq.md", "faq.md") == "a"
    assert linked("[a](https://example.com/)", "docs/faq.md", "faq.md") == "[a](https://example.com/)"
