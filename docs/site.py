"""What the documentation site has beside docs/: README.md as its first page, the runbooks, the pages of the root, and pages that
are made from code.

mkdocs reads one folder. A page from elsewhere is brought in here, and its links are rewritten to where the pages stand in the
site. A link to a folder of the code has no page; its words stay and the link goes. An old name of a page or a heading leads to
what has its subject now.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs import licences
from service.cli.scripts import as_markdown
from service.sql_list import statements
from service.successors import successors

ROOT = Path(__file__).resolve().parents[1]
RUNBOOKS = "dashboards/runbooks"
BROUGHT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "DECISIONS.md": "decisions.md",
    "SECURITY.md": "reporting.md",
    "rules/causes/README.md": "causes.md",
    **{f"{RUNBOOKS}/{path.name}": f"runbooks/{path.name}" for path in (ROOT / RUNBOOKS).glob("*.md")},
}
"""Path in the tree → path in the site."""
LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
SERVED = re.compile(r"`/docs/([\w-]+)\.html`")
"""A page of a running service, which the tree names where it has no file for it."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that live outside docs/, those that are made, and those that left. Raises Abort if one is not there."""
    for source, target in BROUGHT.items():
        path = ROOT / source
        if not path.is_file():
            # Abort puts its sentence on the last line, which `make demo` repeats.
            raise Abort(f"{source} is not there, and {target} is made from it; 'git checkout {source}' brings it back")
        files.append(File.generated(config, target, content=path.read_text(encoding="utf-8")))
    for target, content in {**{target: make() for target, make in MADE.items()}, **pages_that_left()}.items():
        files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the tree become links as they are in the site; what moved to another page is told at the end."""
    place = page.file.src_uri
    source = next((path for path, target in BROUGHT.items() if target == place), f"docs/{place}")
    elsewhere = (
        f'\n\n<a id="{anchor}"></a>Moved: [{anchor.replace("-", " ").capitalize()}]({_relative(new, place)})'
        for anchor, new in _moved(place)
        if new.partition("#")[0] != place
    )
    return linked(markdown, source, place) + "".join(elsewhere)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """An old anchor whose subject has another heading of the same page leads to that heading."""
    for anchor, new in _moved(page.file.src_uri):
        target, _, heading = new.partition("#")
        if target == page.file.src_uri:
            html = re.sub(rf'<h\d id="{heading}"', rf'<a id="{anchor}"></a>\g<0>', html)
    return html


def linked(markdown: str, source: str, place: str) -> str:
    """The text of the file `source` of the tree, with links that hold where it stands in the site."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        inside = BROUGHT.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        return words if inside is None else f"[{words}]({_relative(inside, place)}{anchor})"

    markdown = LINK.sub(link, markdown)
    return SERVED.sub(lambda found: f"[{found[0]}]({_relative(found[1], place)}.md)", markdown)


def _relative(page: str, place: str) -> str:
    return posixpath.relpath(page, posixpath.dirname(place) or ".")


def _moved(place: str) -> Iterator[tuple[str, str]]:
    """The anchors that left a page, each with the page, or the page and anchor, that has its subject now."""
    for old, new in successors().documents.items():
        page, _, anchor = old.partition("#")
        if anchor and page == place:
            yield anchor, new


def pages_that_left() -> dict[str, str]:
    """Path in the site → a page that leads to where its subject is now."""
    left = {old: new for old, new in successors().documents.items() if "#" not in old}
    return {
        old.replace(".md", ".html"): MOVED.replace("PAGE", new.replace(".md", ".html")) for old, new in left.items()
    }


MOVED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=PAGE">
<title>This page moved</title>
<p>This page moved to <a href="PAGE">PAGE</a>.</p>
</html>
"""
"""It has no script and no style, so that the policy of the service's pages lets all of it through."""


def _runbooks() -> str:
    names = sorted(path.stem for path in (ROOT / RUNBOOKS).glob("*.md"))
    lines = "\n".join(f"- [{name}](runbooks/{name}.md)" for name in names)
    return f"# Runbooks\n\nEach alert has one. A running service shows the same pages at `/runbooks`.\n\n{lines}\n"


MADE: Mapping[str, Callable[[], str]] = {
    "runbooks.md": _runbooks,
    "sql.md": lambda: as_markdown(statements()),
    "licences.md": licences.as_markdown,
}
"""Path in the site → what makes the page. The tree has no file for it."""
