"""Reads a configuration: its settings, or every mistake with its line and the probable name; and the passwords it names."""

import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from collectors.demo.scenarios import scenarios
from collectors.errors import SetupError
from service.config.logs import unwritable
from service.config.settings import (
    DEMO,
    EXAMPLES,
    PASSWORDS,
    BadSettings,
    DatabaseSettings,
    Settings,
    holds_password,
    seconds,
)
from service.successors import successors

# The line of each setting in a YAML file, and what is wrong with a file that is not YAML.

Place = tuple[str | int, ...]
"""Names and indexes that lead to a setting: `("databases", 0, "dsn")`."""
MOST_REPEATED = 100_000
"""Values that aliases may repeat. A configuration of 2,000 databases that share ten settings repeats 20,000."""
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
        places = list(_bounded(_places(root, ()))) if root is not None else []
        members = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _not_yaml(error) from None
    except (TypeError, ValueError):
        raise NotYaml(None, "a value or a name in it cannot be read; put it in quotes") from None
    except RecursionError:
        raise NotYaml(None, "its groups are nested too deeply, or an alias is part of itself; write it flat") from None
    lines: dict[Place, int] = {}
    repeated: list[tuple[Place, int, int]] = []
    cut: list[CutValue] = []
    for place, line, node in places:
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


def _bounded(places: Iterable[tuple[Place, int, yaml.Node]]) -> Iterator[tuple[Place, int, yaml.Node]]:
    """The places, unless aliases repeat too much: a few lines of aliases of aliases are billions of values. Raises NotYaml."""
    seen, again = set[int](), 0
    for place, line, node in places:
        again += id(node) in seen
        seen.add(id(node))
        if again > MOST_REPEATED:
            raise NotYaml(line, f"aliases repeat more than {MOST_REPEATED:,} values here; write out what is needed")
        yield place, line, node


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
    file: Path | None = None
    """The file of `databases_dir` that has it. None: the configuration itself."""

    def place(self, config: Path) -> str:
        """The file and the line, with a colon between."""
        return f"{self.file or config}{'' if self.line is None else f':{self.line}'}"

    def __str__(self) -> str:
        """Setting and sentence. The line goes after the file name instead."""
        return f"{self.where}: {self.what}" if self.where else self.what


def mistakes_of(errors: Iterable[ErrorDetails], text: YamlText) -> Iterator[ConfigMistake]:
    """What the model of the settings refused, in our own words."""
    refused = [(error, _place(error)) for error in errors]
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
            first_one = f", the first on line {named[name]}" if named[name] else ""
            what = f"two databases are named {name}{first_one}; names are labels and must differ"
            yield ConfigMistake(line, f"databases[{index}].name", what)
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
            if name not in named:
                where = (kind, index, "databases", at)
                what = f"{name} is not under `databases`{meant(str(name), named)}"
                yield ConfigMistake(text.line_of(where), _dotted(where), what)


def _entries(text: YamlText, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a list setting, in the environment or else in the text, if they are groups."""
    entries = text.members.get(name) if isinstance(text.members, dict) else None
    if variable := variable_of(name):
        with suppress(ValueError):
            entries = json.loads(os.environ[variable])
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


def _place(error: ErrorDetails) -> Place:
    """Its location without the model's additions: names of the alternatives of a union. A name that is none is the file's."""
    ours = error["loc"][-1:] if error["type"] == "extra_forbidden" else ()
    above = error["loc"][:-1] if ours else error["loc"]
    return (*(part for part in above if isinstance(part, int) or re.fullmatch(r"[^\[(]+", part)), *ours)


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


def _sentence(error: ErrorDetails, place: Place) -> str:
    kind, given, about = error["type"], error["input"], error.get("ctx", {})
    if own := str(about.get("error", "")) if kind == "value_error" else "":
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
    if kind == "string_pattern_mismatch" and str(about["pattern"]).startswith(_NAME):
        return f"{given!r} cannot be a name; use letters, digits, `_`, `.` and `-`, at most 63, the first a letter or digit"
    if kind == "string_pattern_mismatch":  # an address may contain a secret, so only names are repeated
        return "is not an address; write http://host or https://host, without spaces"
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


# What `serve` refuses although each setting by itself is right; `config validate` says the same in the same words.

PASSWORD_IN_STORE = (
    "store has a password in clear text; leave it out, and write it into ~/.pgpass of the account of latchscope, or name "
    "a file of that form as ?passfile=FILE"
)


def refusals(chosen: Settings, *, insecure: bool = False) -> Iterator[ConfigMistake]:
    """What must be put right before these settings can be served."""
    if not chosen.databases and not chosen.left:  # what left may have been all that was shown; the service starts
        yield ConfigMistake(None, "", NO_DATABASES)
    tls = chosen.tls
    if (tls.certificate is None) != (tls.key is None) or (tls.client_ca and not tls.key):
        yield ConfigMistake(None, "tls", "takes certificate and key together, and client_ca only with them")
    for number, database in enumerate(chosen.databases):
        if database.scripted is None and not any(getattr(database, each) for each in PASSWORDS):
            yield ConfigMistake(None, f"databases[{number}]", f"{database.name} has {NO_PASSWORD}")
    if not chosen.loopback and chosen.auth.tokens_file is None and not insecure:
        what = f"others can reach {chosen.listen}: set auth.tokens_file, or use --insecure"
        yield ConfigMistake(None, "listen", what)


def warnings(chosen: Settings) -> Iterator[str]:
    """What is served, and ought to be otherwise. In the environment a password of the store is as good as anywhere there."""
    yield from chosen.left
    for variable in (name for name in os.environ if name.upper().startswith(PREFIX)):
        name = variable[len(PREFIX) :].lower().partition("__")[0]
        # Kubernetes sets LATCHSCOPE_PORT and the like, so only what is nearly a setting is taken for one.
        close = get_close_matches(name, list(Settings.model_fields), n=1, cutoff=0.8)
        if close and close[0] != name:
            yield f"{variable} in the environment sets nothing; did you mean {PREFIX}{close[0].upper()}?"
    audit_file = chosen.auth.audit_file
    if audit_file is not None and (why := unwritable(audit_file)):
        yield f"auth.audit_file {audit_file} cannot be written: {why}; until then only the log has the actions"
    if holds_password(chosen.store) and variable_of("store") is None:
        yield PASSWORD_IN_STORE


# Settings that latchscope has no longer. The service starts without them, and says what does their job.


def _left(text: YamlText) -> Iterator[str]:
    """A sentence for each line of the file and each variable of the environment that sets one."""
    for name, successor in successors().settings.items():
        place = tuple(name.split("."))
        places = [f"line {text.lines[place]}"] if place in text.lines else []
        places += [f"{each} in the environment" for each, value in os.environ.items() if _sets(each, value, place)]
        for where in places:
            yield f"{where}: {name} has left latchscope and does nothing. {successor}"


def _sets(variable: str, value: str, place: Place) -> bool:
    """Whether a variable of the environment sets this setting, a part of it, or a group that has it, as JSON."""
    if not variable.upper().startswith(PREFIX):
        return False
    named = tuple(variable[len(PREFIX) :].lower().split("__"))
    if named[: len(place)] == place:
        return True
    try:
        members = json.loads(value) if named == place[: len(named)] else None
    except ValueError:
        return False
    for part in place[len(named) :]:
        members = members.get(part) if isinstance(members, dict) else None
    return members is not None


# Where settings come from: latchscope.yaml, overridden by LATCHSCOPE_…__… in the environment, or the demo.


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The content of a configuration, and all its mistakes, in the order of its lines."""

    settings: Settings | None
    mistakes: tuple[ConfigMistake, ...]
    text: YamlText


def read(path: Path) -> Settings:
    """The settings of a YAML file. Raises BadSettings with its first mistake."""
    found = checked(path)
    if found.settings is None or found.mistakes:
        first, *others = found.mistakes
        more = f" (and {len(others)} more: `latchscope config validate {path}`)" if others else ""
        raise BadSettings(f"{first.place(path)}: {first}{more}")
    return found.settings


def checked(path: Path) -> CheckedFile:
    """The settings of a YAML file, or all its mistakes. Raises BadSettings if it cannot be read as a file."""
    try:
        alone = not path.exists() and variable_of("databases")  # all of it is in the environment
        text = yaml_text("" if alone else path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadSettings(
            f"{path} does not exist; `latchscope init` writes one, `latchscope demo` needs none"
        ) from None
    except UnicodeDecodeError:
        raise BadSettings(f"{path} is not valid YAML: it is not text; save it as UTF-8") from None
    except OSError as error:
        raise BadSettings(
            f"{path} cannot be read: {error.strerror}; give the right to read it, or name a file"
        ) from None
    except NotYaml as error:
        return CheckedFile(None, (ConfigMistake(error.line, "", str(error)),), YamlText({}, {}, (), ()))
    members = {} if text.members is None else text.members
    if not isinstance(members, dict):
        what = "has no settings, such as `listen: 127.0.0.1:8000`"
        return CheckedFile(None, (ConfigMistake(1, "", what),), text)
    text, mistakes, files = replace(text, members=members), list[ConfigMistake](), list[Path]()
    try:
        text, files = _with_folder(text)
    except BadSettings as error:
        mistakes.append(ConfigMistake(text.line_of(("databases_dir",)), "databases_dir", str(error)))
    chosen = None
    mistakes += own_mistakes(text)
    try:
        chosen = Settings(**{str(name): value for name, value in text.members.items()})
        chosen._left = tuple(_left(text))
    except SettingsError as error:
        name = re.search(r'field "(\w+)"', str(error))
        variable = f"{PREFIX}{name[1].upper()}" if name else f"a variable {PREFIX}…"
        mistakes.append(
            ConfigMistake(None, "", f"{variable} in the environment is not JSON; write it as JSON, or unset it")
        )
    except ValidationError as error:
        mistakes += mistakes_of(error.errors(), text)
    own = len(text.members.get("databases") or ()) - len(files) if files else MOST_REPEATED
    for number, mistake in enumerate(mistakes):
        if (found := _ENTRY.match(mistake.where)) and int(found[1]) >= own:
            mistakes[number] = replace(mistake, file=files[int(found[1]) - own])
    mistakes.sort(key=lambda mistake: (str(mistake.file or ""), mistake.line or 0))
    return CheckedFile(chosen, tuple(mistakes), text)


_ENTRY = re.compile(r"databases\[(\d+)\]")


def _with_folder(text: YamlText) -> tuple[YamlText, list[Path]]:
    """The text with the entries of `databases_dir` behind its own, and the file of each. Raises BadSettings."""
    set_here = [value for name, value in os.environ.items() if name == variable_of("databases_dir")]
    folder = set_here[0] if set_here else text.members.get("databases_dir")
    entries = text.members.get("databases") or []
    if not isinstance(folder, str) or not isinstance(entries, list):
        return text, []
    if not Path(folder).is_dir():
        raise BadSettings(f"{folder} is no folder; create it, or correct the path")
    entries, files, lines, repeated, cut = list(entries), [], dict(text.lines), list(text.repeated), list(text.cut)
    for file in sorted(Path(folder).glob("*.yaml")):
        try:
            more = yaml_text(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, NotYaml) as error:
            line = f" line {error.line}" if isinstance(error, NotYaml) and error.line else ""
            raise BadSettings(f"{file}{line} {error if line else 'cannot be read as YAML'}") from None
        first, alone = len(entries), not isinstance(more.members, list)
        entries += [] if more.members is None else [more.members] if alone else more.members
        files += [file] * (len(entries) - first)

        def moved(place: Place, first: int = first, alone: bool = alone) -> Place:
            return ("databases", first, *place) if alone else ("databases", first + int(place[0]), *place[1:])

        lines |= {moved(place): line for place, line in more.lines.items()}
        repeated += [(moved(place), first_line, again) for place, first_line, again in more.repeated]
        cut += [replace(each, place=moved(each.place)) for each in more.cut]
    return YamlText({**text.members, "databases": entries}, lines, tuple(repeated), tuple(cut)), files


def demo(names: list[str], port: int, store: str, interval: float) -> Settings:
    """Settings that serve scripted databases on loopback, each in the cluster of its script."""
    clusters = {name: scenario.cluster for name, scenario in scenarios().items()}
    databases = [
        DatabaseSettings(name=name, dsn=f"{DEMO}{name}", cluster=clusters.get(name), interval=interval)
        for name in names
    ]
    return Settings(_env_prefix="NO_VARIABLE_", listen=f"127.0.0.1:{port}", store=store, databases=databases)


# Where passwords come from: a file, the environment or a command. They are read at each login and kept nowhere.

COMMAND_SECONDS = 10.0
MOST_SECRET = 64 * 1024
"""Bytes of a file with a secret, or with the tokens of all."""
NO_PASSWORD = "no password; set password_file, password_env or password_command"
_BY_HAND = "run it by hand as the account of latchscope; it prints the password and nothing else"


def password_of(database: DatabaseSettings) -> str:
    """The current password. Raises SetupError, which never contains any of it."""
    if database.password_file is not None:
        return read_secret(database.password_file, f"{database.name}: password_file")
    if database.password_env is not None:
        if database.password_env not in os.environ:
            way_out = "set it where latchscope starts, or set password_file"
            raise SetupError(f"{database.name}: the environment has no {place_of(database.password_env)}; {way_out}")
        return os.environ[database.password_env]
    if database.password_command is not None:
        return _printed(database.name, database.password_command)
    raise SetupError(f"{database.name}: {NO_PASSWORD}")


def account(user: str) -> str:
    """A user as Oracle reads it: in capitals unless it is quoted, and of `proxy[client]` the one that logs in."""
    return user[1:].partition('"')[0] if user.startswith('"') else user.partition("[")[0].strip().upper()


def fingerprint(user: str, password: str) -> str:
    """A mark that distinguishes credentials without keeping one. However a user is spelt, an account has one key."""
    return hashlib.sha256(f"{account(user)}\0{password}".encode()).hexdigest()


def read_secret(path: Path, what: str) -> str:
    """The content of a secret file without its line end. Raises SetupError, also of what may never end: a pipe, a device."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            content = file.read(MOST_SECRET + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        if content is None or len(content) > MOST_SECRET:
            raise OSError(0, f"it is not a file of at most {MOST_SECRET // 1024} KiB")
        return content.decode().rstrip("\r\n")
    except (OSError, ValueError) as error:  # of an impossible name, or of content that is not UTF-8
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SetupError(
            f"{what} {place_of(path)} cannot be read: {why}; correct the path, or give the right to read it"
        ) from None


_A_NAME = re.compile(r"(?:/[\w.-]+){2,}|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""A path from the root on, or a variable."""


def place_of(secret: Path | str) -> str:
    """Where a secret is, for people. What is no path and no variable may be the secret itself, and is not repeated."""
    there = os.path.exists(secret) or (os.path.dirname(secret) and os.path.isdir(os.path.dirname(secret)))
    return str(secret) if there or _A_NAME.fullmatch(str(secret)) else "(not repeated, as it may be the secret itself)"


def _printed(name: str, command: list[str]) -> str:
    """What a password command prints."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=COMMAND_SECONDS, check=True, text=True)
    except subprocess.CalledProcessError as error:
        raise SetupError(f"{name}: password_command ended with exit code {error.returncode}; {_BY_HAND}") from None
    except subprocess.TimeoutExpired:
        raise SetupError(f"{name}: password_command took longer than {COMMAND_SECONDS:g} s; {_BY_HAND}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its words or its output are not text"
        raise SetupError(f"{name}: password_command cannot be run: {why}; {_BY_HAND}") from None
    return done.stdout.rstrip("\r\n")
