"""The names that programs of others rest on: metrics, REST, settings, the command line, exit codes, captures.

`python -m docs.interface` prints those of this checkout. Each release keeps its own in tests/upgrade, and `lost` says which of
them are gone since without a word in docs/upgrade.md.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fastapi import FastAPI
from prometheus_client import Metric
from typer.main import get_command

from collectors.registry import collectors
from service.app import create_app
from service.cli.help import EXIT_CODES
from service.cli.main import cli
from service.config.settings import Settings, WebhookSettings, every_setting
from service.metrics.families import FAMILIES

PREFIX = "/api/v1"
KINDS = (
    "metric",
    "label",
    "path",
    "parameter",
    "field",
    "setting",
    "command",
    "option",
    "exit code",
    "capture column",
)


class Name(NamedTuple):
    """One name, and where it is: of a label its metric, of a field the path of its answer, else nothing."""

    kind: str
    place: str
    name: str

    @property
    def leaf(self) -> str:
        """What a page calls it: of a field the member alone."""
        return (
            f"exit code {self.name}"
            if self.kind == "exit code"
            else self.name.rpartition(".")[2]
            if self.kind == "field"
            else self.name
        )

    @property
    def whole(self) -> str:
        """How a sentence calls it."""
        return " ".join(filter(None, (self.kind, self.name, self.place and f"of {self.place}")))


Interface = Mapping[Name, str]
"""Name → type. Only metrics and fields have one."""


def interface() -> dict[Name, str]:
    """Every name of this checkout."""
    with whole_service() as app:
        document = app.openapi()
        own = {f"{one.name}_total" if one.type == "counter" else one.name: one.type for one in _own(app)}
    families = {one.name: one.type for one in FAMILIES.values()}
    return {
        **{Name("metric", "", name): type for name, type in (own | families).items()},
        **{Name("label", one.name, label): "" for one in FAMILIES.values() for label in ("db", *one.labels)},
        **rest(document),
        **{Name("setting", "", name): "" for name, _ in every_setting()},
        **dict.fromkeys(_commands(get_command(cli), "latchscope"), ""),
        **{Name("exit code", "", str(code)): "" for code, _, _ in EXIT_CODES},
        **{
            Name("capture column", one.view, column.name): ""
            for one in collectors().values()
            for column in one.columns
            if column.unit != "date"
        },
    }


def _own(app: FastAPI) -> Iterator[Metric]:
    """The metrics of the process that are ours, not those of the library."""
    return (one for one in app.state.registry.collect() if one.name.startswith("latchscope_"))


@contextmanager
def whole_service() -> Iterator[FastAPI]:
    """A service with every part, and no database."""
    with TemporaryDirectory() as folder:
        hook = WebhookSettings(name="chat", url="http://127.0.0.1:9/")
        app = create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=[], webhooks=[hook]))
        yield app
        app.state.close()


def rest(document: Mapping[str, Any]) -> dict[Name, str]:
    """Paths, their parameters, and every member of their good answers, from an OpenAPI document."""
    schemas = document["components"]["schemas"]
    found: dict[Name, str] = {}

    def members(place: str, before: str, schema: Mapping[str, Any], inside: frozenset[str]) -> None:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in inside:  # a schema that holds itself is listed once
                members(place, before, schemas[name], inside | {name})
            return
        for either in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            members(place, before, either, inside)
        if "items" in schema:
            members(place, f"{before}[]", schema["items"], inside)
        for member, of in schema.get("properties", {}).items():
            name = f"{before}.{member}".removeprefix(".")
            found[Name("field", place, name)] = "|".join(sorted(types(of)))
            members(place, name, of, inside)

    def types(schema: Mapping[str, Any]) -> set[str]:
        if "$ref" in schema:
            return types(schemas[schema["$ref"].rpartition("/")[2]])
        either = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
        return {each for one in either for each in types(one)} or {schema.get("type", "any")}

    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            place = f"{verb.upper()} {path.removeprefix(PREFIX)}"
            found[Name("path", "", place)] = ""
            for given in operation.get("parameters", ()):
                found[Name("parameter", place, given["name"])] = ""
            for status, answer in operation["responses"].items():
                for content in answer.get("content", {}).values() if status.startswith("2") else ():
                    members(place, "", content.get("schema", {}), frozenset())
    return found


def _commands(command: Any, path: str) -> Iterator[Name]:
    """Commands and their options, the long form of each."""
    for parameter in command.params:
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            if option.startswith("--") and not option.endswith("-completion"):  # those are the library's
                yield Name("option", path, option)
    for name in getattr(command, "commands", {}):
        yield Name("command", "", f"{path} {name}")
        yield from _commands(command.get_command(None, name), f"{path} {name}")


def written(names: Interface) -> str:
    """An interface as text, a name on each line."""
    return "".join("\t".join((*name, type)).rstrip() + "\n" for name, type in sorted(names.items()))


def read(text: str) -> dict[Name, str]:
    """What `written` wrote."""
    cells = ([*line.split("\t"), ""][:4] for line in text.splitlines())
    return {Name(kind, place, name): type for kind, place, name, type in cells}


def lost(before: Interface, now: Interface, release: str, page: str) -> list[str]:
    """A sentence for each name of a release that is gone or has another type, unless the page of upgrades names it.

    Only the outermost of what is gone is named, and a member that many answers share once.
    """
    heading = f"From {release} to the next release"
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [" ".join(line.split()) for line in re.split(r"\n(?=[-|*]|\s*\n)", section)]
    alike: dict[tuple[str, ...], list[tuple[Name, str]]] = defaultdict(list)
    for name, fault in _faults(before, now):
        key = (name.kind, *name.name.split(".")[-2:], fault) if name.kind == "field" else (*name, fault)
        alike[key].append((name, fault))
    return [
        _sentence(each, release, heading)
        for each in alike.values()
        if not any(_names(line, name) for line in lines for name, _ in each)
    ]


def _faults(before: Interface, now: Interface) -> Iterator[tuple[Name, str]]:
    gone = set(before) - set(now)
    for name, type in before.items():
        if name in gone:
            if not any(outer in gone for outer in _outer(name)):
                yield name, "is gone"
        elif not set(now[name].split("|")) <= set(type.split("|")):
            yield name, f"was {type} and is {now[name]}"


def _outer(name: Name) -> Iterator[Name]:
    """What holds a name: of a field its answer and each member around it, of an option its command, of a label its metric."""
    yield from (Name("path", "", name.place), Name("command", "", name.place), Name("metric", "", name.place))
    parts = name.name.split(".")
    yield from (Name(name.kind, name.place, ".".join(parts[:many]).removesuffix("[]")) for many in range(1, len(parts)))


def _names(line: str, name: Name) -> bool:
    """Whether a line of a page names it, and where it is, as code."""
    place = name.place.rpartition(" ")[2] if name.kind in ("field", "parameter") else name.place
    leaf = name.leaf.rpartition(" ")[2] if name.kind == "path" else name.leaf
    return all(f"`{word}`" in line for word in (leaf, place) if word)


def _sentence(each: list[tuple[Name, str]], release: str, heading: str) -> str:
    name, fault = each[0]
    more = f" and of {len(each) - 1} more" if len(each) > 1 else ""
    words = " and ".join(f"`{word}`" for word in (name.leaf, name.place.rpartition(" ")[2]) if word)
    return (
        f"the {name.whole}{more}, stable since {release}, {fault}; bring it back, or name {words} on a line of docs/upgrade.md "
        f'below "{heading}", with what to use instead'
    )


def counted(names: Iterable[Name]) -> dict[str, int]:
    """Kind → how many."""
    found = dict.fromkeys(KINDS, 0)
    for name in names:
        found[name.kind] += 1
    return found


if __name__ == "__main__":
    sys.stdout.write(written(interface()))
