"""Every setting with its default and its reason, from which `make docs` writes the table of docs/configuration.md."""

import ipaddress
import socket
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from service.config.dsn import plain_dsn
from service.config.groups import AuthSettings, ReplicaSettings, ReportSettings, SpoolSettings, Strict
from service.config.notifications import NotificationSettings
from service.config.receivers import checked
from service.config.telemetry import TelemetrySettings
from service.config.units import Seconds, Switch
from service.config.webhooks import WebhookSettings

DEMO = "demo:"
"""A dsn of this scheme names a scripted database instead of a real one."""
SHORTEST_REAL_INTERVAL = 10.0
_DAY = 86400.0


class BadSettings(Exception):
    """A configuration that cannot be used: one line with the setting, what is wrong and the way out."""


class OracleSettings(Strict):
    """How this process speaks to Oracle; one mode per process, because thick mode is process-wide."""

    mode: Literal["thin", "thick"] = "thin"
    """`thin` needs no Oracle client and reaches 12.1 and later. `thick` needs an Instant Client and reaches 11.2.
    One mode per process, because the driver allows no other; run a second process for a mixed fleet."""
    client_dir: Path | None = None
    """Folder of the Instant Client for thick mode, where it is not on the library path."""
    connect_timeout: Seconds = Field(15.0, gt=0)
    """For the whole login, because a listener that accepts and says nothing would be waited for without end."""
    statements: Literal["grouped", "single"] = "grouped"
    """`grouped` asks for most views together, so that a poll takes three round trips in place of fourteen; `single` asks for each
    view by a statement of its own. A group that is refused, fails or is slow is asked for view by view for an hour."""
    statement_timeout: Seconds = Field(5.0, gt=0)
    """A statement that takes longer is cancelled; its session is kept where it answers a ping, else replaced."""


class Defaults(Strict):
    """What holds for every database that does not say otherwise."""

    interval: Seconds = Field(15.0, gt=0)
    """Time between polls of a database that has no `interval` of its own. Often enough to see a storm begin,
    seldom enough to cost next to nothing. At least 10 s."""
    confirm: Literal["on_request", "once_per_episode"] = "on_request"
    """When a confirming query runs: `on_request` only through REST, `once_per_episode` also once as a trouble
    begins. It gives one number without names, and has the deadline of every statement."""
    look_for_blocker: Switch = "on"
    """Whether latchscope looks for the session that holds what others hang on: one statement at v$rowcache_parent in a hang,
    no more than once a minute, in the audit log. Nothing is ever killed."""
    blocker_look_timeout: Seconds = Field(3.0, gt=0)
    """Deadline of each statement of that look, shorter than that of a poll because it walks through what hangs. One that
    takes longer is cancelled, the diagnosis says so, and the polls go on over the same session."""
    budget: float = Field(0.01, gt=0, le=1)
    """Share of the interval for which a poll may keep the database at work, the way there and back not counted. Where
    polls take more, they come less often."""


class HistorySettings(Strict):
    """How long each tier of the history is kept."""

    snapshots: Seconds = Field(2 * _DAY, ge=3600)
    """Whole polls, which can be diagnosed again. The largest tier beside the next."""
    polls: Seconds = Field(2 * _DAY, ge=7200)
    """What changed with every poll. At least 2 h."""
    five_minutes: Seconds = Field(14 * _DAY, ge=_DAY)
    """Roll-ups of five minutes. Not shorter than `history.polls`."""
    hourly: Seconds = Field(400 * _DAY, ge=_DAY)
    """Roll-ups of an hour, so that this month can be held against the same of last year. Not shorter than
    `history.five_minutes`."""
    diagnoses: Seconds = Field(90 * _DAY, ge=3600)
    """Diagnoses, kept when the verdict changes and every five minutes while it does not."""
    episodes: Seconds = Field(730 * _DAY, ge=_DAY)
    """Episodes that ended, marks, results of confirming queries, who was told."""

    @model_validator(mode="after")
    def _coarser_for_longer(self) -> "HistorySettings":
        if not self.polls <= self.five_minutes <= self.hourly:
            raise ValueError("the coarser must be kept at least as long: polls, then five_minutes, then hourly")
        return self


class FleetSettings(Strict):
    """An engine that holds the metrics of many cells: Prometheus, VictoriaMetrics, Mimir, Thanos. See docs/scale.md."""

    prometheus: str | None = Field(None, pattern=r"^https?://[!-?A-~]+$")
    """Its address, below which `/api/v1/query` lies. With it `/fleet` and `GET /api/v1/fleet` show every database
    that it knows."""
    token_file: Path | None = None
    """File with a bearer token for it."""
    timeout: Seconds = Field(5.0, gt=0, le=60)
    """For all questions of one page together."""


class DatabaseSettings(Strict):
    """One database to watch: one instance, one connection."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The label `db` of metrics and the name in addresses: letters, digits, `_`, `.`, `-`, at most 63. Names must
    differ."""
    dsn: str = Field(min_length=1)
    """`host:port/service`, a TNS alias or descriptor, or `demo:NAME` for a scripted database."""
    cluster: str | None = None
    """Groups the instances of one cluster; becomes the label `cluster`."""
    user: str = "LATCHSCOPE"
    """The Oracle user. `latchscope grants` prints the script that makes one who can only read."""
    password_file: Path | None = None
    """File that holds the password and nothing else. Read at each login, so a changed password needs no restart.
    One of the three password settings, except for scripted databases."""
    password_env: str | None = None
    """Name of the environment variable that holds the password."""
    password_command: list[str] | None = Field(None, min_length=1)
    """Command that prints the password, as a list; no shell takes part."""
    config_dir: Path | None = None
    """Folder of `tnsnames.ora`, for a `dsn` that is an alias."""
    wallet_dir: Path | None = None
    """Folder of the wallet, for TCPS."""
    wallet_password_file: Path | None = None
    """File that holds the wallet's password."""
    interval: Seconds | None = Field(None, gt=0)
    """Time between polls of this database. At least 10 s, but for scripted databases. Where there is none,
    `defaults.interval` holds."""

    @field_validator("dsn")
    @classmethod
    def _usable(cls, dsn: str) -> str:
        return dsn if dsn.startswith(DEMO) else plain_dsn(dsn)

    @property
    def scripted(self) -> str | None:
        """Name of the scenario, when this is a scripted database."""
        return self.dsn.removeprefix(DEMO) if self.dsn.startswith(DEMO) else None

    @field_validator("password_env", "password_command")
    @classmethod
    def _one_password(cls, value: str | list[str] | None, info: ValidationInfo) -> str | list[str] | None:
        earlier = [name for name in ("password_file", "password_env") if info.data.get(name) is not None]
        if value is not None and earlier:
            raise ValueError(f"{info.data.get('name')} has {' and '.join([*earlier, str(info.field_name)])}; keep one")
        return value

    @field_validator("interval")
    @classmethod
    def _gentle(cls, interval: float | None, info: ValidationInfo) -> float | None:
        scripted = str(info.data.get("dsn")).startswith(DEMO)
        if interval is not None and interval < SHORTEST_REAL_INTERVAL and not scripted:
            raise ValueError(
                f"interval of {info.data.get('name')} is {interval:g} s; a real database is polled every 10 s at most"
            )
        return interval


class Settings(BaseSettings):
    """The whole configuration. See docs/configuration.md."""

    model_config = SettingsConfigDict(
        env_prefix="LATCHSCOPE_", env_nested_delimiter="__", extra="forbid", use_attribute_docstrings=True
    )

    listen: str = "127.0.0.1:8000"
    """Address and port, the address as numbers or `localhost`. Loopback, because without tokens whoever reaches
    the port may read."""
    store: str = "sqlite:///latchscope.db"
    """SQLAlchemy URL of the store of the history. SQLite needs nothing else to run; its file is made at the first
    start. PostgreSQL: `postgresql+psycopg://user@host/database`."""
    oracle: OracleSettings = OracleSettings()
    defaults: Defaults = Defaults()
    auth: AuthSettings = AuthSettings()
    reports: ReportSettings = ReportSettings()
    history: HistorySettings = HistorySettings()
    spool: SpoolSettings = SpoolSettings()
    public_url: str | None = Field(None, pattern=r"^https?://[!-~]+$")
    """Where people reach the pages, for links in what is sent to them."""
    webhooks: list[WebhookSettings] = []
    """Who is told when an episode begins, grows worse or ends, one entry per receiver. See [below](#webhooks)."""
    notifications: list[NotificationSettings] = []
    """Who is told of episodes by chat, pager or mail, one entry per receiver. See [notifications.md](notifications.md)."""
    telemetry: TelemetrySettings = TelemetrySettings()
    replica: ReplicaSettings = ReplicaSettings()
    fleet: FleetSettings = FleetSettings()
    databases: list[DatabaseSettings] = []
    """The databases to watch, one entry per instance."""

    @field_validator("databases")
    @classmethod
    def _distinct(cls, databases: list[DatabaseSettings]) -> list[DatabaseSettings]:
        names = [database.name for database in databases]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two databases are named {name}; names are labels and must differ")
        return databases

    @model_validator(mode="after")
    def _receivers(self) -> "Settings":
        checked([*self.webhooks, *self.notifications], [database.name for database in self.databases])
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
    def watches_something(self) -> bool:
        """Whether there is anything to show: databases of its own, or those of other cells."""
        return bool(self.databases) or self.fleet.prometheus is not None

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
