"""Where settings come from: latchscope.yaml, overridden by LATCHSCOPE_…__… in the environment, or the demo."""

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsError

from collectors.demo.scenarios import scenarios
from service.config.lines import NotYaml, YamlText, yaml_text
from service.config.mistakes import PREFIX, ConfigMistake, mistakes_of, own_mistakes
from service.config.settings import DEMO, BadSettings, DatabaseSettings, Settings


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
        line = "" if first.line is None else f":{first.line}"
        more = f" (and {len(others)} more: `latchscope config validate {path}`)" if others else ""
        raise BadSettings(f"{path}{line}: {first}{more}")
    return found.settings


def checked(path: Path) -> CheckedFile:
    """The settings of a YAML file, or all its mistakes. Raises BadSettings if it cannot be read as a file."""
    try:
        text = yaml_text(path.read_text(encoding="utf-8"))
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
    chosen, mistakes = None, list(own_mistakes(text))
    try:
        chosen = Settings(**{str(name): value for name, value in members.items()})
    except SettingsError as error:
        name = re.search(r'field "(\w+)"', str(error))
        variable = f"{PREFIX}{name[1].upper()}" if name else f"a variable {PREFIX}…"
        mistakes.append(
            ConfigMistake(None, "", f"{variable} in the environment is not JSON; write it as JSON, or unset it")
        )
    except ValidationError as error:
        mistakes += mistakes_of(error.errors(), text)
    return CheckedFile(chosen, tuple(sorted(mistakes, key=lambda mistake: mistake.line or 0)), text)


class _Demo(Settings):
    """Settings that ignore the environment."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the given values."""
        return (init_settings,)


def demo(names: list[str], port: int, store: str, interval: float) -> Settings:
    """Settings that serve scripted databases on loopback, each in the cluster of its script."""
    clusters = {name: scenario.cluster for name, scenario in scenarios().items()}
    databases = [
        DatabaseSettings(name=name, dsn=f"{DEMO}{name}", cluster=clusters.get(name), interval=interval)
        for name in names
    ]
    return _Demo(listen=f"127.0.0.1:{port}", store=store, databases=databases)
