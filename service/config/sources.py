"""Where settings come from: latchscope.yaml, overridden by LATCHSCOPE_…__… in the environment, or the demo."""

from pathlib import Path

import yaml
from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsError

from collectors.scenarios import scenarios
from service.config.settings import DEMO, BadSettings, DatabaseSettings, Settings


def read(path: Path) -> Settings:
    """The settings of a YAML file. Raises BadSettings."""
    if not path.exists():
        raise BadSettings(f"{path} does not exist; write one after docs/configuration.md, or run `latchscope demo`")
    try:
        members = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        if not isinstance(members, dict):
            raise BadSettings(f"{path} must hold settings by name, such as `listen: 127.0.0.1:8000`")
        return Settings(**members)
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, TypeError) as error:
        raise BadSettings(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    except SettingsError as error:
        raise BadSettings(f"the environment holds a setting that cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        known = " (no such setting)" if first["type"] == "extra_forbidden" else ""
        raise BadSettings(f"{path}: {where}{known}: {said}" if where else f"{path}: {said}") from None


class _Demo(Settings):
    """Settings that nothing in the environment changes."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed."""
        return (init_settings,)


def demo(names: list[str], port: int, store: str, interval: float) -> Settings:
    """Settings that serve scripted databases, each in the cluster of its script, on loopback."""
    clusters = {name: one.cluster for name, one in scenarios().items()}
    databases = [
        DatabaseSettings(name=name, dsn=f"{DEMO}{name}", cluster=clusters.get(name), interval=interval)
        for name in names
    ]
    return _Demo(listen=f"127.0.0.1:{port}", store=store, databases=databases)
