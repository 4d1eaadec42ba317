"""What is wrong with a configuration: every mistake with its line, in our own words, with the probable name."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from collectors.demo.scenarios import scenarios
from service.config.lines import Place, YamlText
from service.config.receivers import TOLD_WITH_LINE
from service.config.settings import DEMO, Settings
from service.config.units import EXAMPLES, seconds

PREFIX = "LATCHSCOPE_"
NO_DATABASES = "no databases; list them under `databases`, or let `latchscope init` write a file"
_NOT_HERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("password", "passwd", "pwd"),
        "no password is ever written into this file; name a file of it as password_file, a variable of the environment as "
        "password_env, or a command that prints it as password_command",
    ),
    **dict.fromkeys(
        ("pdb", "pdbs", "container"),
        "no such setting, as latchscope watches an instance with all its PDBs; let `dsn` name the service of the root, or of a "
        "PDB where you cannot reach the root, which shows less; see docs/oracle.md",
    ),
}
"""What people look for and no setting takes."""
_CHOICE = re.compile(r"'([^']*)'")
_NAME = r"^[A-Za-z0-9]"
_LIMITS: Mapping[str, str] = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_SHAPES: Mapping[str, str] = {
    "list": "a list: one entry per line, each with `- ` before it",
    "model": "a group of settings, each on a line of its own below it",
    "dict": "a group of settings, each on a line of its own below it",
    "string": "text; put it in quotes",
    "path": "the path of a file or folder",
}


@dataclass(frozen=True, slots=True)
class ConfigMistake:
    """One thing to correct: the line, the setting, and what."""

    line: int | None
    where: str
    what: str

    def __str__(self) -> str:
        """Setting and sentence. The line goes after the file name instead."""
        return f"{self.where}: {self.what}" if self.where else self.what


def mistakes_of(errors: Iterable[ErrorDetails], text: YamlText) -> Iterator[ConfigMistake]:
    """What the model of the settings refused, in our own words."""
    refused = [(error, _place(error["loc"])) for error in errors if error["type"] != TOLD_WITH_LINE]
    misspelt = {
        (*place[:-1], name)
        for error, place in refused
        if error["type"] == "extra_forbidden" and not _NOT_HERE.get(str(place[-1]).lower())
        for name in _near(place)[:1]
    }
    for error, place in refused:
        if error["type"] != "missing" or place not in misspelt:  # the misspelt name is the one thing to correct
            yield ConfigMistake(
                None if _variable(place, text) else text.line_of(place), _where(place, text), _sentence(error, place)
            )


def own_mistakes(text: YamlText) -> Iterator[ConfigMistake]:
    """Mistakes that the model misses: names that occur twice, and names of things that do not exist."""
    for place, first, again in text.repeated:
        yield ConfigMistake(again, _dotted(place), f"is on line {first} already; keep one")
    named: dict[str, int | None] = {}
    for index, entry in _entries(text, "databases"):
        name, dsn, line = entry.get("name"), entry.get("dsn"), text.line_of(("databases", index, "name"))
        if isinstance(name, str) and name in named:
            yield ConfigMistake(
                line,
                f"databases[{index}].name",
                f"two databases are named {name}, the first on line {named[name]}; names are labels and must differ",
            )
        elif isinstance(name, str):
            named[name] = line
        if isinstance(dsn, str) and dsn.startswith(DEMO) and dsn.removeprefix(DEMO) not in scenarios():
            known = list(scenarios())
            what = f"there is no scripted database {dsn.removeprefix(DEMO)}{meant(dsn.removeprefix(DEMO), known)}"
            yield ConfigMistake(text.line_of(("databases", index, "dsn")), f"databases[{index}].dsn", what)
    entries = [(kind, *each) for kind in ("webhooks", "notifications") for each in _entries(text, kind)]
    for kind, index, entry in entries:
        names = entry.get("databases")
        for at, name in enumerate(names if isinstance(names, list) else ()):
            if name not in named and not variable_of("databases"):
                where = (kind, index, "databases", at)
                what = f"{name} is not under `databases`{meant(str(name), named)}"
                yield ConfigMistake(text.line_of(where), _dotted(where), what)


def _entries(text: YamlText, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a list setting, if they are groups."""
    entries = text.members.get(name) if isinstance(text.members, dict) else None
    yield from (
        (index, entry)
        for index, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    )


def meant(word: str, names: Iterable[str]) -> str:
    """'; did you mean X?' if a name is similar, else the list of names."""
    every = list(names)
    close = get_close_matches(word.lower(), every, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; the names are: {', '.join(every) or 'none'}"


def settings_below(place: Place) -> Mapping[str, Any]:
    """The settings of the group, or of the entries of the list, at a place."""
    model: type[BaseModel] | None = Settings
    for part in place:
        if model is None:
            return {}
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation) if part in model.model_fields else None
    return model.model_fields if model is not None else {}


def _model_in(kind: Any) -> type[BaseModel] | None:
    """The model of a setting that is a group, or a list of groups."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next((found for each in get_args(kind) if (found := _model_in(each)) is not None), None)


def _place(location: tuple[int | str, ...]) -> Place:
    """A location without the model's additions: names of the alternatives of a union."""
    return tuple(part for part in location if isinstance(part, int) or re.fullmatch(r"[^\[(]+", part))


def _variable(place: Place, text: YamlText) -> str | None:
    """The environment variable of a setting, if it came from one."""
    for length in range(len(place), 0, -1):
        found = variable_of(*place[:length])
        if found is not None and (length == 1 or place not in text.lines):
            return found
    return None


def variable_of(*place: str | int) -> str | None:
    """The variable of the environment that a setting would come from, where it is set."""
    name = PREFIX + "__".join(str(part) for part in place).upper()
    return next((each for each in os.environ if each.upper() == name), None)


def _where(place: Place, text: YamlText) -> str:
    variable = _variable(place, text)
    return f"{_dotted(place)} (from {variable} in the environment)" if variable else _dotted(place)


def _dotted(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _own_words(error: ErrorDetails) -> str:
    return str(error.get("ctx", {}).get("error", "")) if error["type"] == "value_error" else ""


def _sentence(error: ErrorDetails, place: Place) -> str:
    kind, given, about = error["type"], error["input"], error.get("ctx", {})
    if own := _own_words(error):
        return own.replace(EXAMPLES, "write 90d, 48h or 120m") if place[:1] == ("history",) else own
    if kind == "extra_forbidden":
        return _NOT_HERE.get(str(place[-1]).lower(), f"no such setting{_name_meant(place)}")
    if kind == "missing":
        return f"is missing; every entry of `{place[0]}` needs it"
    if kind in ("literal_error", "enum"):
        return f"{given!r} is not a choice{meant(str(given), _CHOICE.findall(about['expected']))}"
    unit = _unit(place)
    if limits := [f"{words} {about[name]:g}{unit}" for name, words in _LIMITS.items() if name in about]:
        shown = f"{given:g} s" if unit and isinstance(given, int | float) else repr(given)
        return f"{shown} is out of range; it is {' and '.join(limits)}"
    if kind == "string_pattern_mismatch":
        return _form(str(about["pattern"]), given)
    if kind.endswith("too_short"):
        return "is empty; give a value, or leave out the setting"
    if kind.startswith(("int_", "float_")):
        return f"{given!r} is not a number"
    shape = next((words for name, words in _SHAPES.items() if kind.startswith(name)), None)
    return f"must be {shape}" if shape else "cannot be used; docs/configuration.md says what it takes"


def _unit(place: Place) -> str:
    """The unit of a setting that is a duration. None for others."""
    setting = settings_below(place[:-1]).get(str(place[-1]))
    if setting is None:
        return ""
    inner = (mark for kind in get_args(setting.annotation) for mark in getattr(kind, "__metadata__", ()))
    return " s" if any(getattr(mark, "func", None) is seconds for mark in (*setting.metadata, *inner)) else ""


def _form(pattern: str, given: object) -> str:
    """The required form of a setting. An address may contain a secret, so only names are repeated."""
    if pattern.startswith(_NAME):
        return f"{given!r} cannot be a name; use letters, digits, `_`, `.` and `-`, at most 63, the first a letter or digit"
    return "is not an address; write http://host or https://host, without spaces"


def _near(place: Place) -> list[str]:
    """The settings of the same group with a similar name."""
    word, group = str(place[-1]), settings_below(place[:-1])
    close = get_close_matches(word.lower().replace("-", "_"), list(group), n=1, cutoff=0.6)
    return close or [name for name in group if name.startswith(f"{word}_")]


def _name_meant(place: Place) -> str:
    """The setting that a misspelt or misplaced one stands for."""
    word = str(place[-1])
    if close := _near(place):
        return f"; did you mean {' or '.join(close)}?"
    homes = [
        f"{name}[]" if name in ("databases", "webhooks", "notifications") else name
        for name in Settings.model_fields
        if word in settings_below((name,))
    ]
    if homes:
        return f" here; did you mean {' or '.join(f'{home}.{word}' for home in homes)}?"
    if word in Settings.model_fields:
        return f" here; `{word}` is at the top level, without indentation"
    return "; docs/configuration.md has them all"
