"""Pages, docstrings and sentences of the code are in plain English: no phrase that the style page rejects."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.paths import ROOT
from tests.repo import ceilings

PAGES = [
    path
    for pattern in ("*.md", "rules/causes/README.md", "docs/*.md", "dashboards/runbooks/*.md")
    for path in sorted(ROOT.glob(pattern))
]
FILES = (
    ROOT / "Makefile",
    ROOT / "Dockerfile",
    ROOT / "docker-compose.yml",
    *sorted(path for end in ("*.yml", "*.yaml") for path in (ROOT / "dashboards").rglob(end)),
)
"""Files whose comments and descriptions people read."""
SHOWN = (
    *sorted((ROOT / "service" / "web" / "templates").glob("*.html")),
    *sorted(path for path in (ROOT / "rules" / "causes").glob("*.yaml") if ".cases." not in path.name),
)
PHRASES = (
    r"(?:is|are|was|were|be|been|being|stays?) told", r"told (?:of|by|from)", r"tells? of", r"(?:is|are|be) said",
    r"anew", r"needs? (?:it|them) not", r"to be had|be had as", r"stands? in(?! for)(?! no counter)", r"by what is",
    r"of which no(?:body)?", r"who comes", r"told (?:apart|as|elsewhere)", r"whoever", r"(?:to|of|from) whom",
    r"whom to", r"stands? (?:on line|beside|behind|by itself|twice|more than once|alone|together)",
    r"(?:for|after) so (?:long|many)", r"what (?:became|came|comes) of", r"(?:is|are|was|were) held against",
    r"lets? go of", r"lays? down", r"as ever", r"has not got", r"for want of", r"met (?:nobody|waiting)",
    r"nobody (?:asks|asked|looked(?! at the sessions)|waited|slept)",
    r"(?<!there )is no (?:number|time|text|address|file|report|release|setting|claim|window|whole number)",
    r"asked (?:together|one by one)", r"none of ours", r"reckon\w*", r"heed\w*", r"(?:is|are|be|been) taken for",
    r"where (?:it|that|they) (?:is|are) not known", r"the dearest", r"likeness of",
)  # fmt: skip
RENAMED = re.compile(r"\b(?:troubles?|easing|surfaces?)\b", re.IGNORECASE)
"""Names of the code and of JSON for what documents call a problem, recovering and a kind of wait."""
PLAIN = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
KEYS = re.compile(r"^surfaces: .*$", re.MULTILINE)
MARKUP = re.compile(r"<[^>]+>|\{[{%#].*?[}%#]\}", re.DOTALL)
EXAMPLES = re.compile(r"^\| before \| after \|\n.*?\n\n", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"<!-- made:.*?<!-- end -->|^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def found(text: str, phrases: re.Pattern[str] = PLAIN) -> list[str]:
    """Each phrase with its line. Code and generated parts are left out."""
    prose = NOT_PROSE.sub(lambda part: "\n" * part[0].count("\n"), EXAMPLES.sub("", text))
    return [f"{match[0]!r} in: {line.strip()[:120]}" for line in prose.splitlines() for match in phrases.finditer(line)]


def prose_of(text: str) -> str:
    """The comments, help and sentences of a Makefile, Dockerfile or YAML: what is neither a key nor an expression."""
    lines = MARKUP.sub("", text).splitlines()
    comments = [line.partition("#")[2].lstrip("#") for line in lines if re.search(r"(?:^|\s)#", line)]
    sentences = [
        line for line in lines if re.match(r"\s+\w[^=:#]* [^=]*$", line) and not re.search(r"\w_\w|\w:\w", line)
    ]
    return "\n".join([*comments, *sentences])


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """Pages of the root, of docs and of the runbooks, and what else is read: comments of configuration, alerts and Makefile."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    files = {str(path.relative_to(ROOT)): prose_of(path.read_text(encoding="utf-8")) for path in FILES}
    assert "is down, cannot be scraped" in files["dashboards/prometheus/alerts.yml"]
    assert "the service on 127.0.0.1" in files["Makefile"] and "Passwords are generated" in files["docker-compose.yml"]
    return texts | files


@pytest.fixture(scope="module")
def shown() -> Mapping[str, str]:
    """Templates and causes without their marks."""
    return {path.name: MARKUP.sub("", KEYS.sub("", path.read_text(encoding="utf-8"))) for path in SHOWN}


@pytest.fixture(scope="module")
def modules() -> Mapping[str, list[tuple[str, bool]]]:
    """Module → its texts of three words or more, and whether somebody sees them: a docstring only if REST shows it."""
    found = {
        str(path.relative_to(ROOT)): [*texts_of(every, {"api", "schemas.py"} & set(path.parts))]
        for (path, _), every in zip(ceilings.trees(), ceilings.nodes(), strict=True)
    }
    assert sum(len(texts) for texts in found.values()) > 4_000
    return found


def texts_of(every: Sequence[ast.AST], rest: set[str]) -> Iterator[tuple[str, bool]]:
    beside = {id(node.value) for node in every if isinstance(node, ast.Expr)}
    silent = {
        id(node.body[0].value)
        for node in every
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr) and not (rest and getattr(node, "decorator_list", ()))
    }
    for node in every:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= 3:
            yield node.value, id(node) not in silent and (id(node) not in beside or bool(rest))


def test_everything_that_is_read_is_in_plain_english(
    pages: Mapping[str, str], shown: Mapping[str, str], modules: Mapping[str, list[tuple[str, bool]]]
) -> None:
    wrong = {name: said for name, text in (pages | shown).items() if (said := found(text))}
    wrong |= {name: said for name, texts in modules.items() if (said := [s for text, _ in texts for s in found(text)])}
    assert wrong == {}


def test_what_people_see_uses_the_words_of_the_reader(
    pages: Mapping[str, str], shown: Mapping[str, str], modules: Mapping[str, list[tuple[str, bool]]]
) -> None:
    wrong = {name: said for name, text in (pages | shown).items() if (said := found(text, RENAMED))}
    wrong |= {
        name: said
        for name, texts in modules.items()
        if (said := [line for text, seen in texts if seen for line in found(text, RENAMED)])
    }
    assert wrong == {}


def test_examples_of_the_style_page_are_what_is_looked_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| before | after |\n|---|---|\n")[2].partition("\n\n")[0]
    pairs = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert len(pairs) == 20
    assert sum(bool(found(before)) for before, _ in pairs) >= 15
    assert [after for _, after in pairs if found(after)] == []
    assert found("```\nit is told\n```\n`is told`\n") == [], "code is not prose"
