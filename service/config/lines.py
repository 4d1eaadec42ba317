"""The line of each setting in a YAML file, and what is wrong with a file that is not YAML."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Names and indexes that lead to a setting: `("databases", 0, "dsn")`."""
_COMMENT = re.compile(r"[ \t](#+[^\s#]\S*)")
"""One blank and a # with a word right behind it, as in `c ##latchscope`; people put more room around a comment."""

_IN_PLAIN_WORDS: Mapping[str, str] = {
    "that cannot start any token": "no value can start with this character; indent with spaces, and put text that starts with "
    "a sign such as @ or % in quotes",
    "mapping values are not allowed": "a colon too many, or a line that is indented more than the one above; put text with `: ` "
    "in it in quotes",
    "could not find expected ':'": "a name without a colon, or a text without its end",
    "expected <block end>": "a line with another indentation than its neighbours; members of one group start in the same column",
    "expected ',' or ']'": "a list that is not closed; end it with ]",
    "expected ',' or '}'": "a group that is not closed; end it with }",
    "while scanning a quoted scalar": "a quote that is not closed",
    "but found '<stream end>'": "the file ends too early",
    "undefined alias": "YAML reads this * as an alias; put the text in quotes",
}
"""What PyYAML says → what the reader can do."""


class NotYaml(Exception):
    """A text that is not YAML: one line with the place, the mistake and the way out."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(f"is not valid YAML: {why}")
        self.line = line


@dataclass(frozen=True, slots=True)
class CutValue:
    """A value without quotes, and the word right behind it that YAML took for the begin of a comment."""

    place: Place
    line: int
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class YamlText:
    """The content of a YAML text, and its places."""

    members: Any
    lines: Mapping[Place, int]
    repeated: tuple[tuple[Place, int, int], ...]
    """Names that occur twice in one group, with both lines. YAML itself would silently use the last one."""
    cut: tuple[CutValue, ...]
    """Values that end at a comment which may have been meant as part of them."""

    def line_of(self, place: Place) -> int | None:
        """The line of a setting. If it is missing, the line of its group."""
        return next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None)


def yaml_text(text: str) -> YamlText:
    """A text with the line of each value. Raises NotYaml."""
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        members = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _not_yaml(error) from None
    except (TypeError, ValueError):
        raise NotYaml(None, "a value or a name in it cannot be read; put it in quotes") from None
    lines: dict[Place, int] = {}
    repeated: list[tuple[Place, int, int]] = []
    cut: list[CutValue] = []
    for place, line, node in _places(root, ()) if root is not None else ():
        if place in lines:
            repeated.append((place, lines[place], line))
        lines[place] = line
        if isinstance(node, yaml.ScalarNode) and not node.style and node.value:
            found = _COMMENT.match(text, node.end_mark.index)
            cut += [CutValue(place, line, node.value, found[1])] if found else []
    return YamlText(members, lines, tuple(each for each in repeated if isinstance(each[0][-1], str)), tuple(cut))


def _places(node: yaml.Node, place: Place) -> Iterator[tuple[Place, int, yaml.Node]]:
    """Every member of a node by its place, with its line."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*place, str(key.value))
            yield below, key.start_mark.line + 1, value
            yield from _places(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, index), value.start_mark.line + 1, value
            yield from _places(value, (*place, index))


def _not_yaml(error: yaml.YAMLError) -> NotYaml:
    if not isinstance(error, yaml.MarkedYAMLError):
        return NotYaml(None, "it has a character that YAML does not allow; save it as UTF-8")
    mark = error.problem_mark or error.context_mark
    said = f"{error.context or ''} {error.problem or ''}"
    if r"'\t'" in said:
        why = "a tab; YAML is indented with spaces"
    else:
        why = next((plain for words, plain in _IN_PLAIN_WORDS.items() if words in said), "")
    where = f"column {mark.column + 1}: " if mark else ""
    return NotYaml(mark.line + 1 if mark else None, f"{where}{why or 'something here breaks its rules'}")
