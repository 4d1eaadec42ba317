"""Pages, docstrings and sentences of the code are in plain English: no phrase that the style page rejects."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "DECISIONS.md",
    ROOT / "SECURITY.md",
    ROOT / "rules" / "causes" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "dashboards" / "runbooks").glob("*.md")),
)
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
    r"(?:is|are|was|were|be|been|being|stays?) told",
    r"told (?:of|by|from)",
    r"tells? of",
    r"(?:is|are|be) said",
    r"anew",
    r"needs? (?:it|them) not",
    r"to be had|be had as",
    r"stands? in(?! for)(?! no counter)",
    r"by what is",
    r"of which no(?:body)?",
    r"who comes",
    r"told (?:apart|as|elsewhere)",
    r"whoever",
    r"(?:to|of|from) whom",
    r"whom to",
    r"stands? (?:on line|beside|behind|by itself|twice|more than once|alone|together)",
    r"(?:for|after) so (?:long|many)",
    r"what (?:became|came|comes) of",
    r"(?:is|are|was|were) held against",
    r"lets? go of",
    r"lays? down",
    r"as ever",
    r"has not got",
    r"for want of",
    r"met (?:nobody|waiting)",
    r"nobody (?:asks|asked|looked|waited|slept)",
    r"(?<!there )is no (?:number|time|text|address|file|report|release|setting|claim|window|whole number)",
    r"asked (?:together|one by one)",
    r"none of ours",
    r"reckon\w*",
    r"heed\w*",
    r"(?:is|are|be|been) taken for",
    r"where (?:it|that|they) (?:is|are) not known",
    r"the dearest",
    r"likeness of",
)
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


def test_pages_are_in_plain_english() -> None:
    assert {page.name: said for page in PAGES if (said := found(page.read_text(encoding="utf-8")))} == {}


def test_pages_use_the_words_of_the_reader() -> None:
    assert {page.name: said for page in PAGES if (said := found(page.read_text(encoding="utf-8"), RENAMED))} == {}


def test_comments_and_descriptions_are_in_plain_english() -> None:
    texts = {str(path.relative_to(ROOT)): prose_of(path.read_text(encoding="utf-8")) for path in FILES}
    assert {name: said for name, text in texts.items() if (said := found(text) + found(text, RENAMED))} == {}
    assert "is down, cannot be scraped" in texts["dashboards/prometheus/alerts.yml"]
    assert "the service on 127.0.0.1" in texts["Makefile"] and "Passwords are generated" in texts["docker-compose.yml"]


def test_what_pages_and_causes_show_is_in_plain_english() -> None:
    texts = {path.name: MARKUP.sub("", path.read_text(encoding="utf-8")) for path in SHOWN}
    assert {name: said for name, text in texts.items() if (said := found(text))} == {} and len(texts) > 60


def test_texts_of_the_code_are_in_plain_english() -> None:
    """Docstrings, and every text of three words or more: errors, help, sentences of a diagnosis."""
    paths = [path for folder in ("collectors", "rules", "service") for path in sorted((ROOT / folder).rglob("*.py"))]
    said = {
        str(path.relative_to(ROOT)): [
            line
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= 3
            for line in found(node.value)
        ]
        for path in paths
        if "site" not in path.parts
    }
    assert {path: lines for path, lines in said.items() if lines} == {} and len(said) > 250


def shown_by(path: Path) -> list[str]:
    """Every text of three words or more that a module shows: no docstring but those of REST and its schemas."""
    tree, rest = ast.parse(path.read_text(encoding="utf-8")), {"api", "schemas.py"} & set(path.parts)
    silent = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr) and not (rest and getattr(node, "decorator_list", ()))
    }
    beside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= 3
        if id(node) not in silent and (id(node) not in beside or rest)
    ]


def test_texts_that_the_program_shows_use_the_words_of_the_reader() -> None:
    paths = [path for folder in ("collectors", "rules", "service") for path in sorted((ROOT / folder).rglob("*.py"))]
    said = {str(path.relative_to(ROOT)): shown_by(path) for path in paths if "site" not in path.parts}
    said |= {path.name: [MARKUP.sub("", KEYS.sub("", path.read_text(encoding="utf-8")))] for path in SHOWN}
    words = {name: [line for text in texts for line in found(text, RENAMED)] for name, texts in said.items()}
    assert {name: lines for name, lines in words.items() if lines} == {}
    assert sum(map(len, said.values())) > 3_000


def test_examples_of_the_style_page_are_what_is_looked_for() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| before | after |\n|---|---|\n")[2].partition("\n\n")[0]
    pairs = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert len(pairs) == 20
    assert sum(bool(found(before)) for before, _ in pairs) >= 15
    assert [after for _, after in pairs if found(after)] == []


def test_code_is_not_prose() -> None:
    assert found("```\nit is told\n```\n`is told`\n") == []
    assert len(found("it is told\n")) == 1
