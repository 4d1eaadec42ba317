"""Every setting with its default and its reason. `make docs` writes the table of docs/configuration.md from it."""

import ipaddress
import socket
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from service.config.dsn import plain_dsn
from service.config.groups import AuthSettings, ReplicaSettings, ReportSettings, SpoolSettings, Strict
from service.config.notifications import NotificationSettings
from service.config.receivers import checked, refused_with_line
from service.config.store_url import plain_store
from service.config.telemetry import TelemetrySettings
from service.config.units import Seconds, Switch
from service.config.webhooks import WebhookSettings

DEMO = "demo:"
"""A dsn of this scheme names a scripted database instead of a real one."""
SHORTEST_REAL_INTERVAL = 10.0
_DAY = 86400.0


class BadSettings(Exception):
    """An unusable configuration: one line with the setting, the mistake and the way out."""


class OracleSettings(Strict):
    """How this process talks to Oracle. One mode per process, because thick mode is process-wide."""

    mode: Literal["thin", "thick"] = "thin"
    """`thin` needs no Oracle client and reaches 12.1 and later. `thick` needs an Instant Client and reaches 11.2.
    One mode per process, because the driver allows no other. Run a second process for a mixed fleet."""
    client_dir: Path | None = None
    """Folder of the Instant Client for thick mode, if it is not on the library path."""
    connect_timeout: Seconds = Field(15.0, gt=0)
    """Limit for the whole login. A listener that accepts and says nothing would block it forever."""
    statements: Literal["grouped", "single"] = "grouped"
    """`grouped` reads most views together, so that a poll takes three round trips instead of fourteen. `single` reads each
    view by its own statement. A group that is refused, fails or is slow is read view by view for an hour."""
    statement_timeout: Seconds = Field(5.0, gt=0)
    """A statement that takes longer is cancelled. Its session is kept if it answers a ping, else replaced."""


class Defaults(Strict):
    """Values for every database without its own."""

    interval: Seconds = Field(15.0, gt=0)
    """Time between polls of a database without its own `interval`. Often enough to see a storm begin,
    rarely enough to cost next to nothing. At least 10 s."""
    confirm: Literal["on_request", "once_per_episode"] = "on_request"
    """When a confirming query runs: `on_request` only through REST, `once_per_episode` also once when a trouble
    begins. It gives one number, and no names of what it counted. Its deadline is that of every statement."""
    look_for_blocker: Switch = "on"
    """Whether latchscope looks for the session that holds what others hang on: one statement at v$rowcache_parent in a hang,
    at most once a minute, with an entry in the audit log. latchscope never kills a session."""
    wait_chains: Switch = "off"
    """Whether that look reads Oracle's own analysis too: v$wait_chains, v$hang_info, v$hang_session_info. No page that we
    found says whether they need a licensed pack, so it is off. Ask for your licence before you turn it on."""
    blocker_look_timeout: Seconds = Field(3.0, gt=0)
    """Deadline of each statement of that look. It is shorter than that of a poll, because the look reads what hangs. A statement
    that takes longer is cancelled, the diagnosis says so, and the polls go on over the same session."""
    budget: float = Field(0.01, gt=0, le=1)
    """The part of the interval that a poll may take on the database, without the network. If polls take more, they run
    less often."""


class HistorySettings(Strict):
    """How long each tier of the history is kept."""

    snapshots: Seconds = Field(2 * _DAY, ge=3600)
    """Whole polls, which can be diagnosed again. This tier and the next one take the most space."""
    polls: Seconds = Field(2 * _DAY, ge=7200)
    """The changes between polls. At least 2 h."""
    five_minutes: Seconds = Field(14 * _DAY, ge=_DAY)
    """Roll-ups of five minutes. Not shorter than `history.polls`."""
    hourly: Seconds = Field(400 * _DAY, ge=_DAY)
    """Hourly roll-ups, so that you can compare this month with the same month of last year. Not shorter than
    `history.five_minutes`."""
    diagnoses: Seconds = Field(90 * _DAY, ge=3600)
    """Diagnoses, kept when the verdict changes and every five minutes while it does not."""
    episodes: Seconds = Field(730 * _DAY, ge=_DAY)
    """Ended episodes, marks, results of confirming queries, deliveries."""

    @model_validator(mode="after")
    def _coarser_for_longer(self) -> "HistorySettings":
        if not self.polls <= self.five_minutes <= self.hourly:
            raise ValueError("keep each coarser tier at least as long: polls, then five_minutes, then hourly")
        return self


class FleetSettings(Strict):
    """An engine with the metrics of many cells: Prometheus, VictoriaMetrics, Mimir, Thanos. See docs/scale.md."""

    prometheus: str | None = Field(None, pattern=r"^https?://[!-?A-~]+$")
    """Address of an engine that speaks PromQL, without `/api/v1/query`. With it `/fleet` and
    `GET /api/v1/fleet` show every database in the engine."""
    token_file: Path | None = None
    """File with a bearer token for that engine."""
    timeout: Seconds = Field(5.0, gt=0, le=60)
    """Limit for all queries of one page together."""


class DatabaseSettings(Strict):
    """One database to watch: one instance, one connection."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The label `db` of metrics and the name in addresses: letters, digits, `_`, `.`, `-`, at most 63. Each name must be
    unique."""
    dsn: str = Field(min_length=1)
    """`host:port/service`, a TNS alias or descriptor, or `demo:NAME` for a scripted database."""
    cluster: str | None = None
    """Groups the instances of one cluster; their metrics have it as the label `rac`."""
    user: str = "LATCHSCOPE"
    """The Oracle user. `latchscope grants` prints the script that creates a user who can only read."""
    password_file: Path | None = None
    """File with the password and nothing else. Read at each login, so a changed password needs no restart.
    One of the three password settings, except for scripted databases."""
    password_env: str | None = None
    """Name of the environment variable with the password."""
    password_command: list[str] | None = Field(None, min_length=1)
    """Command that prints the password, as a list. No shell is used."""
    config_dir: Path | None = None
    """Folder of `tnsnames.ora`, for a `dsn` that is an alias."""
    wallet_dir: Path | None = None
    """Folder of the wallet, for TCPS."""
    wallet_password_file: Path | None = None
    """File with the wallet's password."""
    interval: Seconds | None = Field(None, gt=0)
    """Time between polls of this database. At least 10 s, except for scripted databases. Default:
    `defaults.interval`."""

    @field_validator("dsn")
    @classmethod
    def _usable(cls, dsn: str) -> str:
        return dsn if dsn.startswith(DEMO) else plain_dsn(dsn)

    @field_validator("user")
    @classmethod
    def _without_blanks(cls, user: str) -> str:
        if any(sign.isspace() for sign in user) and not user.startswith('"'):
            raise ValueError(f"{user!r} has a blank; write the name of an Oracle user, such as C##LATCHSCOPE")
        return user

    @property
    def scripted(self) -> str | None:
        """Name of the scenario, if this is a scripted database."""
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
                f"interval of {info.data.get('name')} is {interval:g} s; a real database is polled no more often than every 10 s"
            )
        return interval


class Settings(BaseSettings):
    """The whole configuration. See docs/configuration.md."""

    model_config = SettingsConfigDict(
        env_prefix="LATCHSCOPE_", env_nested_delimiter="__", extra="forbid", use_attribute_docstrings=True
    )

    listen: str = "127.0.0.1:8000"
    """Address and port, the address as numbers or `localhost`. The default is loopback, because without tokens everybody who
    reaches the port may read."""
    store: str = "sqlite:///latchscope.db"
    """SQLAlchemy URL of the store of the history. SQLite needs nothing else; the first start creates its
    file. PostgreSQL: `postgresql://user@host/database`, or `postgresql+psycopg://…`, which is the same."""
    oracle: OracleSettings = OracleSettings()
    defaults: Defaults = Defaults()
    auth: AuthSettings = AuthSettings()
    reports: ReportSettings = ReportSettings()
    history: HistorySettings = HistorySettings()
    spool: SpoolSettings = SpoolSettings()
    public_url: str | None = Field(None, pattern=r"^https?://[!-~]+$")
    """Where people reach the pages, for links in messages."""
    webhooks: list[WebhookSettings] = []
    """Receivers of an episode's begin, worsening or end by webhook, one entry each. See [below](#webhooks)."""
    notifications: list[NotificationSettings] = []
    """Receivers of episodes by chat, pager or mail, one entry each. See [integrations.md](integrations.md#notifications)."""
    telemetry: TelemetrySettings = TelemetrySettings()
    replica: ReplicaSettings = ReplicaSettings()
    fleet: FleetSettings = FleetSettings()
    databases: list[DatabaseSettings] = []
    """The databases to watch, one entry per instance."""

    @field_validator("store")
    @classmethod
    def _openable(cls, store: str) -> str:
        return plain_store(store)

    @field_validator("databases")
    @classmethod
    def _distinct(cls, databases: list[DatabaseSettings]) -> list[DatabaseSettings]:
        names = [database.name for database in databases]
        for name in names:
            if names.count(name) > 1:
                raise refused_with_line(f"two databases are named {name}; names are labels and must differ")
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
            raise ValueError(
                f"interval is {defaults.interval:g} s; a real database is polled no more often than every 10 s"
            )
        return defaults

    @property
    def watches_something(self) -> bool:
        """Whether there is anything to show: its own databases, or those of other cells."""
        return bool(self.databases) or self.fleet.prometheus is not None

    @property
    def replica_name(self) -> str:
        """The name of this process for others."""
        return self.replica.name or f"{socket.gethostname()}:{self.port}"

    @property
    def shortest_interval(self) -> float:
        """Seconds between the polls of the database with the shortest interval."""
        return min((self.interval_of(database) for database in self.databases), default=self.defaults.interval)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
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
            raise ValueError(f"{listen!r} is not an address; write 127.0.0.1:8000") from None
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
        """The environment overrides the file. The file arrives as `init_settings`."""
        return env_settings, init_settings
