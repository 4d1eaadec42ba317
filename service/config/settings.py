"""Every setting with its default and its reason: latchscope.yaml, overridden by LATCHSCOPE_…__… in the environment."""

import ipaddress
import socket
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from collectors.scenarios import scenarios
from service.config.units import Bytes, Seconds
from service.config.webhooks import WebhookSettings, checked

DEMO = "demo:"
"""A dsn of this scheme names a scripted database instead of a real one."""
SHORTEST_REAL_INTERVAL = 10.0
_DAY = 86400.0


class BadSettings(Exception):
    """A configuration that cannot be used: one line with the setting, what is wrong and the way out."""


class Strict(BaseModel):
    """A group of settings; a misspelt name is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid")


class OracleSettings(Strict):
    """How this process speaks to Oracle; one mode per process, because thick mode is process-wide."""

    mode: Literal["thin", "thick"] = Field("thin", description="thin needs no client and reaches 12.1+; thick, 11.2")
    client_dir: Path | None = Field(None, description="Instant Client of thick mode, where not on the library path")
    connect_timeout: Seconds = Field(15.0, gt=0, description="for the whole login, which the driver would never end")
    statement_timeout: Seconds = Field(5.0, gt=0, description="after it a statement is cancelled, the session replaced")


class Defaults(Strict):
    """What holds for every database that does not say otherwise."""

    interval: Seconds = Field(15.0, gt=0, description="time between polls: cheap for them, quick enough for us")
    confirm: Literal["on_request", "once_per_episode"] = Field(
        "on_request", description="when a confirming query runs: only when asked, or once as a trouble begins"
    )
    budget: float = Field(0.01, gt=0, le=1, description="share of the interval a poll may take before polls slow down")


class AuthSettings(Strict):
    """Who may do what. Without tokens only loopback is served, and everybody there may do everything."""

    tokens_file: Path | None = Field(None, description="lines of name, role (read or operate), sha256 of the token")
    audit_file: Path | None = Field(None, description="where actions are recorded, beside the log")


class ReportSettings(Strict):
    """What may be uploaded."""

    max_bytes: Bytes = Field(16 * 2**20, gt=0, le=64 * 2**20, description="of one uploaded file, as it is sent")


class HistorySettings(Strict):
    """How long each tier of the history is kept."""

    snapshots: Seconds = Field(2 * _DAY, ge=3600, description="whole polls, to be diagnosed again")
    polls: Seconds = Field(2 * _DAY, ge=7200, description="what changed with every poll")
    five_minutes: Seconds = Field(14 * _DAY, ge=_DAY, description="roll-ups of five minutes")
    hourly: Seconds = Field(400 * _DAY, ge=_DAY, description="roll-ups of an hour, and a frame of rows per day")
    diagnoses: Seconds = Field(90 * _DAY, ge=3600, description="diagnoses, whenever the verdict changed")
    episodes: Seconds = Field(730 * _DAY, ge=_DAY, description="episodes, marks, confirmations, who was told")

    @model_validator(mode="after")
    def _coarser_for_longer(self) -> "HistorySettings":
        if not self.polls <= self.five_minutes <= self.hourly:
            raise ValueError("polls, five_minutes and hourly must not be kept shorter the coarser they are")
        return self


class SpoolSettings(Strict):
    """Where polls wait on disk while the store cannot take them."""

    directory: Path | None = Field(None, description="a folder; next to a SQLite store when not set")
    max_bytes: Bytes = Field(256 * 2**20, ge=2**20, description="the oldest polls are dropped, loudly, beyond it")


class ReplicaSettings(Strict):
    """Which of several processes this one is; they share the databases of one PostgreSQL store, see docs/scale.md."""

    name: str | None = Field(None, min_length=1, description="how the others know it; host:port when not set")
    url: str | None = Field(None, description="where people reach it")


class DatabaseSettings(Strict):
    """One database to watch: one instance, one connection."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$", description="the label `db` and the path in URLs")
    dsn: str = Field(
        min_length=1, description="host:port/service, a TNS descriptor, or demo:NAME for a scripted database"
    )
    cluster: str | None = Field(None, description="groups the instances of one cluster")
    user: str = Field("LATCHSCOPE", description="a user with the grants of `latchscope grants`")
    password_file: Path | None = Field(None, description="file that holds the password, and nothing else")
    password_env: str | None = Field(None, description="environment variable that holds the password")
    password_command: list[str] | None = Field(None, min_length=1, description="command printing it; no shell")
    config_dir: Path | None = Field(None, description="folder of tnsnames.ora, for a dsn that is an alias")
    wallet_dir: Path | None = Field(None, description="folder of the wallet, for TCPS")
    wallet_password_file: Path | None = Field(None, description="file that holds the wallet's password")
    interval: Seconds | None = Field(None, gt=0, description="time between polls of this database")

    @property
    def scripted(self) -> str | None:
        """Name of the scenario, when this is a scripted database."""
        return self.dsn.removeprefix(DEMO) if self.dsn.startswith(DEMO) else None

    @model_validator(mode="after")
    def _one_password(self) -> "DatabaseSettings":
        sources = ("password_file", "password_env", "password_command")
        given = [name for name in sources if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{self.name} has {' and '.join(given)}; keep one")
        return self

    @model_validator(mode="after")
    def _gentle(self) -> "DatabaseSettings":
        if self.interval is not None and self.interval < SHORTEST_REAL_INTERVAL and not self.scripted:
            raise ValueError(
                f"interval of {self.name} is {self.interval:g} s; a real database is polled every 10 s at most"
            )
        return self


class Settings(BaseSettings):
    """The whole configuration. See docs/configuration.md."""

    model_config = SettingsConfigDict(env_prefix="LATCHSCOPE_", env_nested_delimiter="__", extra="forbid")

    listen: str = Field("127.0.0.1:8000", description="address and port; loopback unless access is controlled")
    store: str = Field("sqlite:///latchscope.db", description="SQLAlchemy URL of the store")
    oracle: OracleSettings = OracleSettings()
    defaults: Defaults = Defaults()
    auth: AuthSettings = AuthSettings()
    reports: ReportSettings = ReportSettings()
    history: HistorySettings = HistorySettings()
    spool: SpoolSettings = SpoolSettings()
    public_url: str | None = Field(None, pattern=r"^https?://[!-~]+$", description="where people reach the pages")
    webhooks: list[WebhookSettings] = []
    replica: ReplicaSettings = ReplicaSettings()
    databases: list[DatabaseSettings] = []

    @field_validator("databases")
    @classmethod
    def _distinct(cls, databases: list[DatabaseSettings]) -> list[DatabaseSettings]:
        names = [database.name for database in databases]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two databases are named {name}; names are labels and must differ")
        return databases

    @model_validator(mode="after")
    def _webhooks(self) -> "Settings":
        checked(self.webhooks, [database.name for database in self.databases])
        return self

    @property
    def host(self) -> str:
        """The address of `listen`."""
        return self.listen.rsplit(":", 1)[0].strip("[]")

    @property
    def port(self) -> int:
        """The port of `listen`."""
        return int(self.listen.rsplit(":", 1)[1])

    @field_validator("defaults")
    @classmethod
    def _gentle_by_default(cls, defaults: Defaults) -> Defaults:
        if defaults.interval < SHORTEST_REAL_INTERVAL:
            raise ValueError(f"interval is {defaults.interval:g} s; a real database is polled every 10 s at most")
        return defaults

    @property
    def replica_name(self) -> str:
        """How other processes know this one."""
        return self.replica.name or f"{socket.gethostname()}:{self.port}"

    @property
    def shortest_interval(self) -> float:
        """Seconds between the polls of the quickest database."""
        return min((self.interval_of(database) for database in self.databases), default=self.defaults.interval)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach us."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    @field_validator("listen")
    @classmethod
    def _address(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        try:
            if host.strip("[]") != "localhost":
                ipaddress.ip_address(host.strip("[]"))
            if not 0 <= int(port) <= 65535:
                raise ValueError
        except ValueError:
            raise ValueError(f"{listen!r} is no address; write 127.0.0.1:8000") from None
        return listen

    def interval_of(self, database: DatabaseSettings) -> float:
        """Seconds between polls of a database."""
        return database.interval or self.defaults.interval

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over file; the file arrives as `init_settings`."""
        return env_settings, init_settings


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
    clusters = {name: scenario.cluster for name, scenario in scenarios().items()}
    databases = [
        DatabaseSettings(name=name, dsn=f"{DEMO}{name}", cluster=clusters.get(name), interval=interval)
        for name in names
    ]
    return _Demo(listen=f"127.0.0.1:{port}", store=store, databases=databases)
