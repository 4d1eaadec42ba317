"""Sub-commands whose modules are imported on first use: `latchscope --version` needs none of them."""

import gc
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command, get_group

from service.cli.group import OneLineGroup


class LazyCommands(MutableMapping[str, Any]):
    """Command by name. Each is made from `module:name` of a function or a Typer on first look-up."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, *self._places[name].split(":"))
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._places[name], self._made[name] = "", command

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _made(name: str, module: str, attribute: str) -> Any:
    # Imported modules live as long as the process. Garbage collection during import would take a fifth of the start.
    gc.disable()
    try:
        found = getattr(import_module(module), attribute)
    finally:
        gc.enable()
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        command = get_command(alone)
    command.name = name
    return command


class LazyGroup(OneLineGroup):
    """A group with its own class of commands. `places` says where each one is."""

    places: Mapping[str, str] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands = LazyCommands(self.places)

    def list_commands(self, ctx: Any) -> list[str]:
        """Only the names, which import nothing."""
        return list(self.commands)
