"""What the documentation site has beside docs/: README.md as its first page, the runbooks, and the pages of the root.

mkdocs reads one folder. A page from elsewhere is brought in here, and its links are rewritten to where the pages stand in the
site. A link to a folder of the code has no page; its words stay and the link goes.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that live outside docs/, and the list of runbooks. Raises Abort if one is not there."""
    for source, target in BROUGHT.items():
        path = ROOT / source
        if not path.is_file():
            # Abort puts its sentence on the last line, which `make demo` repeats.
            raise Abort(f"{source} is not there, and {target} is made from it; 'git checkout {source}' brings it back")
        files.append(File.generated(config, target, content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, "runbooks.md", content=_runbooks()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the tree become links as they are in the site."""
    place = page.file.src_uri
    source = next((path for path, target in BROUGHT.items() if target == place), f"docs/{place}")
    return linked(markdown, source, place)


def linked(markdown: str, source: str, place: str) -> str:
    """The text of the file `source` of the tree, with links that hold where it stands in the site."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        inside = BROUGHT.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if inside is None:
            return words
        return f"[{words}]({posixpath.relpath(inside, posixpath.dirname(place) or '.')}{anchor})"

    return LINK.sub(link, markdown)


def _runbooks() -> str:
    names = sorted(path.stem for path in (ROOT / RUNBOOKS).glob("*.md"))
    lines = "\n".join(f"- [{name}](runbooks/{name}.md)" for name in names)
    return f"# Runbooks\n\nEach alert has one. A running service shows the same pages at `/runbooks`.\n\n{lines}\n"
