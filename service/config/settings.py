"""Every setting with its default and its reason. `make docs` writes the table of docs/configuration.md from it."""

import hashlib
import ipaddress
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from rules.model import Severity
from service.successors import successors

# The form of a dsn. A mistake is reported before any connect, in clearer words than the driver's.

DSN_FORMS = "write host:port/service, an alias of tnsnames.ora, or a descriptor (DESCRIPTION=…)"
_SID = re.compile(r"([\w.-]+):(\d+):(\w+)")
_PORT = re.compile(r":(\d+)")
_ALIAS = re.compile(r"[A-Za-z][\w.$#-]*")


def plain_dsn(dsn: str) -> str:
    """The dsn unchanged. Raises ValueError if no driver could use it. A password in it is not repeated."""
    text = dsn.strip()
    if not text:
        raise ValueError(f"is empty; {DSN_FORMS}")
    if text.startswith("("):
        if text.count("(") != text.count(")"):
            raise ValueError("is a descriptor whose parentheses do not match; copy it whole from tnsnames.ora")
        return dsn
    if text.lower().startswith("jdbc:"):
        raise ValueError("is an address for JDBC; leave out everything up to the @ and write host:port/service")
    if "@" in text:
        raise ValueError(
            "has a user or a password in it; set `user` and `password_file`, and write host:port/service here"
        )
    if re.search(r"\s", text):
        raise ValueError(f"holds a space; {DSN_FORMS}")
    if found := _SID.fullmatch(text):
        raise ValueError(
            f"{text!r} names a SID, as host:port:sid; write host:port/service, or a descriptor with (SID={found[3]})"
        )
    if re.fullmatch(r"[\w.-]+:\d+", text):
        raise ValueError(f"{text!r} names no service; write {text}/service")
    for port in _PORT.findall(text.partition("/")[0] if "://" not in text else ""):
        if not 0 < int(port) < 65536:
            raise ValueError(f"{text!r} has the port {port}; ports go up to 65535")
    return dsn


def is_alias(dsn: str) -> bool:
    """Whether it is a name that needs a tnsnames.ora."""
    return _ALIAS.fullmatch(dsn.strip()) is not None


# Durations and sizes as people write them in a configuration.

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$")
_SIZE = re.compile(r"^(\d+)\s*(KiB|MiB)?$")
_SIZES = {"KiB": 2**10, "MiB": 2**20, None: 1}
EXAMPLES = "write 500ms, 15s, 2m, 1h or 90d"
_WORD = re.compile(r"^(\d+(?:\.\d+)?)\s*([a-z]+)\.?$", re.IGNORECASE)
_WORDS = {"d": "days", "h": "hours hrs", "ms": "milliseconds msecs millis", "m": "minutes mins", "s": "seconds secs"}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


LONGEST_DURATION = 1000 * 365 * 86400.0
"""Seconds. No clock waits longer, nor for infinity or no number."""


def seconds(value: object) -> object:
    """'15s', '500ms', '2m', '90d' or a plain number, as seconds."""
    found = value
    if isinstance(value, str):
        match = _DURATION.match(value.strip())
        if match is None:
            raise ValueError(f"{value!r} is not a duration; {_written(value)}")
        found = float(match[1]) * _UNITS[match[2]]
    if isinstance(found, float) and not abs(found) <= LONGEST_DURATION:
        raise ValueError(f"{value!r} is not a duration that can pass; {EXAMPLES}")
    return found


def _written(value: str) -> str:
    """How to write a duration, with the unit that a word means."""
    word = _WORD.match(value.strip())
    names = {name: unit for unit, words in _WORDS.items() for name in (unit, *words.split())}
    unit = word and next((names[name] for name in (word[2].lower(), f"{word[2].lower()}s") if name in names), None)
    return f"did you mean {word[1]}{unit}?" if word and unit else EXAMPLES


def size(value: object) -> object:
    """'16MiB', '500KiB' or a plain number, as bytes."""
    match = _SIZE.match(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise ValueError(f"{value!r} is not a size; write 16MiB or 500KiB")
    return int(match[1]) * _SIZES[match[2]] if match else value


Seconds = Annotated[float, BeforeValidator(seconds)]
Bytes = Annotated[int, BeforeValidator(size)]


def on_or_off(value: object) -> object:
    """`on` and `off` as people write them. YAML reads them as true and false."""
    return ("on" if value else "off") if isinstance(value, bool) else value


Switch = Annotated[Literal["on", "off"], BeforeValidator(on_or_off)]


# Groups of settings that belong to the configuration as a whole: access, uploads, the spool, the name of a replica.


class Strict(BaseModel):
    """A group of settings. A misspelt name is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class AuthSettings(Strict):
    """Who may do what. Without tokens only loopback is served, and everybody there may do everything."""

    tokens_file: Path | None = None
    """Lines of name, role (`read` or `operate`) and sha256 of a token. Without it every reader is admitted, and an
    address that others can reach is refused unless you give `serve --insecure`."""
    audit_file: Path | None = None
    """File of JSON lines for actions that change state or load a database. The log has them in any case."""


class TlsSettings(Strict):
    """TLS of latchscope's own port. A reload reads renewed files of the same names."""

    certificate: Path | None = None
    """PEM file with the certificate and its chain. With it the port speaks HTTPS only."""
    key: Path | None = None
    """PEM file with the key, which only latchscope's account can read."""
    client_ca: Path | None = None
    """PEM file with authorities. With it only clients with a certificate of one of them are served; tokens are needed as well."""


class ReportSettings(Strict):
    """Limits for uploads."""

    max_bytes: Bytes = Field(16 * 2**20, gt=0, le=64 * 2**20)
    """Largest uploaded file, as sent; at most 64 MiB. An AWR report is one or two MiB. An archive may
    unpack to eight times this in total, each of its files to four times, 64 MiB at most, and have 200 files."""


class SpoolSettings(Strict):
    """Where polls wait on disk while the store does not take them."""

    directory: Path | None = None
    """Folder for polls while the store does not take them. Default: next to a SQLite store, else
    `latchscope-spool` where latchscope runs."""
    max_bytes: Bytes = Field(256 * 2**20, ge=2**20)
    """Largest size of the spool. Beyond it the oldest polls are dropped, and the log says so. The default is four days of one
    busy database, or six minutes of a thousand."""


class ReplicaSettings(Strict):
    """Which of several processes this one is. They share the databases of one PostgreSQL store, see docs/scale.md."""

    name: str | None = Field(None, min_length=1)
    """The name of this process for others on the same PostgreSQL; default: host and port. See
    [scale.md](scale.md)."""
    url: str | None = None
    """Where people reach this process, for readers of the table `replicas`."""


# The common part of webhooks and notifications: names, databases and the word `on`.


class Receiver(Strict):
    """A receiver of changes: its name in log, metrics and store, and its databases (all if none is named)."""

    kind: ClassVar[str]
    """Webhook or notification."""
    name: str | None
    databases: list[str] = []
    """Names of the databases to report. Default: all."""

    @property
    def target(self) -> str:
        """Its name. An address is a secret."""
        return self.name or ""

    @model_validator(mode="before")
    @classmethod
    def _on_is_a_word(cls, members: Any) -> Any:
        """YAML 1.1 reads the bare key `on` as true. Here it is a word."""
        if isinstance(members, dict) and True in members:
            return {("on" if name is True else name): value for name, value in members.items()}
        return members


# The settings of notifications: who gets which episodes by Slack, Teams, PagerDuty, e-mail and the like.

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


class NotificationSettings(Receiver):
    """One receiver and what it gets. Its address is in a file of its own, because it nearly always includes a secret."""

    kind = "notification"
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The name of the receiver in log, metrics and store. Its address is a secret."""
    url_file: Path
    """File with one address in the form of [Apprise](https://appriseit.com/services/), such as `slack://…`,
    `msteams://…`, `pagerduty://…` or `mailtos://…`. Lines that start with `#` are skipped. Read at each attempt, so a changed
    address needs no restart."""
    on: list[Literal["begin", "worse", "end", "outage"]] = Field(["begin", "worse", "end", "outage"], min_length=1)
    """Which changes are sent. `worse` is a rise to a higher severity, once each. Without it an episode that reaches
    `min_severity` after its begin is sent then, once. `outage` is a database that has not answered, or let latchscope log in, for
    three polls and at least two minutes, and that it is back. It counts as `warning`."""
    min_severity: Severity = Severity.WARNING
    """Episodes with a lower peak are not sent."""
    group: Seconds = Field(30.0, ge=0, le=3600)
    """How long a change waits for others, so that one incident is one message. `0s` sends each separately. Receivers that
    resolve an incident by its title, such as PagerDuty, need that."""
    quiet_hours: str | None = None
    """Hours in which changes below `quiet_below` wait for the end, such as `22:00-07:00`."""
    quiet_zone: str = "UTC"
    """The time zone of `quiet_hours`, such as `Europe/Berlin`."""
    quiet_below: Severity = Severity.CRITICAL
    """Episodes with at least this peak are sent in quiet hours too."""

    @field_validator("quiet_hours")
    @classmethod
    def _two_times(cls, hours: str | None) -> str | None:
        match = _HOURS.fullmatch(hours or "")
        if hours is not None and (match is None or match[1] + match[2] == match[3] + match[4]):
            raise ValueError(f"{hours!r} is not a span of a day; write two different times, such as 22:00-07:00")
        return hours

    @field_validator("quiet_zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise ValueError(f"{zone!r} is not a time zone of this machine; write one such as Europe/Berlin") from None
        return zone

    def held_until(self, at: datetime, peak: Severity) -> datetime:
        """When a change of `at` (UTC) may be sent: at once, or at the end of its quiet hours."""
        match = _HOURS.fullmatch(self.quiet_hours or "")
        if match is None or peak.rank >= self.quiet_below.rank:
            return at
        begin, end = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
        local = at.astimezone(ZoneInfo(self.quiet_zone))
        now, over_midnight = local.time(), begin > end
        if not ((now >= begin or now < end) if over_midnight else begin <= now < end):
            return at
        day = local.date() + timedelta(days=1 if over_midnight and now >= begin else 0)
        return datetime.combine(day, end, local.tzinfo).astimezone(UTC)


# The settings of webhooks: who receives which changes of episodes.


class WebhookSettings(Receiver):
    """One receiver and what it gets. The URL is never logged or stored, because it is often a secret."""

    kind = "webhook"
    url: str
    """Address to post to, `http` or `https`. It is often a secret, so it is neither logged nor stored."""
    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The name of the receiver in log, metrics and store. Default: the host and a mark. Set one before you change the
    address, so that waiting messages still find the receiver."""
    secret_file: Path | None = None
    """File with the key of the signature. Read at each attempt, so a changed key needs no restart. Without
    it messages have no signature."""
    on: list[Literal["begin", "worse", "end", "outage"]] = Field(["begin", "worse", "end"], min_length=1)
    """Which changes are sent. `outage`: that a database does not answer, and `back` when it does."""
    min_severity: Severity = Severity.NOTICE
    """Episodes with a lower peak are not sent. The peak counts, so that a receiver of a begin also receives
    the end."""

    @field_validator("url")
    @classmethod
    def _can_be_posted_to(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable or not re.fullmatch(r"[!-~]+", url):
            raise ValueError("is not an address to post to; write https://host/path, other characters as %XX")
        if "@" in parts.netloc:
            raise ValueError(
                "has a user or a password in it; the receiver identifies latchscope by the signature, see secret_file"
            )
        return url

    @property
    def target(self) -> str:
        """Its name, or its host with a mark that distinguishes two on the same host."""
        host = urlsplit(self.url).hostname or ""
        return self.name or f"{host[:50]}-{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"


# The form of `store`. An address that no store could be opened by is named before anybody connects.

STORE_FORMS = "write sqlite:///FILE or postgresql://user@host/database"
_SCHEMES = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")
_AFTER_PASSWORD = re.compile(r"(?:[^@]*@)?(?:\[[^/?]+\]|[^/:?]*)(?::(?P<port>[^/?]*))?")
_PASSWORD = re.compile(r"[^:/]*:[^@]+@|.*[?&]password=[^&]", re.DOTALL)


def plain_store(url: str) -> str:
    """The address as it is. Raises ValueError where none of our stores has it; a password in it is not repeated."""
    scheme, found, rest = url.partition("://")
    if not found:
        raise ValueError(f"is not the address of a store; {STORE_FORMS}")
    if scheme == "postgres":
        raise ValueError("begins with postgres://, which no driver answers to; write postgresql://user@host/database")
    if scheme not in _SCHEMES:
        raise ValueError(f"{scheme!r} is not a kind of store; {STORE_FORMS}")
    port = (_AFTER_PASSWORD.match(rest) or {"port": None})["port"]
    if scheme.startswith("sqlite") and rest and not rest.startswith("/"):
        raise ValueError("has too few slashes; write sqlite:///FILE, and sqlite:////FILE for a path from the root")
    if scheme.startswith("postgresql") and port and not port.isdecimal():
        raise ValueError("has a port that is not a number; write special characters of a password as %XX")
    return url


def holds_password(url: str) -> bool:
    """Whether the address has a password, in front of the host or among its options."""
    scheme, _, rest = url.partition("://")
    return scheme.startswith("postgresql") and _PASSWORD.match(rest) is not None


# The settings of latchscope's own telemetry: the form of its log.


class TelemetrySettings(Strict):
    """What latchscope says of itself."""

    log_format: Literal["text", "json"] = "text"
    """`json` writes each line of the log as an object with `at`, `level`, `logger`, `message`, and where they apply `db`, `kind`
    and `event`, for log collectors."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is logged: lines of this level and above."""


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


def plain_user(user: str) -> str:
    """The user unchanged. Raises ValueError if it holds more than a name."""
    if not user.startswith('"') and (found := re.search(r"[\s/]", user)):
        has = "a password behind a /" if found[0] == "/" else "a blank"
        raise ValueError(f"has {has}; write the name of an Oracle user alone, such as C##LATCHSCOPE")
    return user


OracleUser = Annotated[str, AfterValidator(plain_user)]


class Defaults(Strict):
    """Values for every database without its own."""

    user: OracleUser = "LATCHSCOPE"
    """The Oracle user of a database without its own `user`."""
    password_file: str | None = None
    """The password file of a database without a password setting of its own. `{name}` in it is the name of the database, as in
    `/etc/latchscope/passwords/{name}`."""
    interval: Seconds = Field(15.0, gt=0)
    """Time between polls of a database without its own `interval`. Often enough to see a storm begin,
    rarely enough to cost next to nothing. At least 10 s."""
    confirm: Literal["on_request", "once_per_episode"] = "on_request"
    """When a confirming query runs: `on_request` only through REST, `once_per_episode` also once when a trouble
    begins. It gives one number, and no names of what it counted. Its deadline is that of every statement."""
    look_for_blocker: Switch = "on"
    """Whether latchscope looks for the session that holds what others hang on: one statement at v$rowcache_parent when a
    hang begins, when one of its waits ends and every five minutes, with an entry in the audit log. latchscope never kills a
    session."""
    look_for_changes: Switch = "on"
    """Whether latchscope reads what changed lately: DDL, statistics, jobs, windows, opened containers, patches. Up to seven
    statements once an hour and when a problem begins, never while sessions hang, with an entry in the audit log. The store keeps
    the names of objects and jobs."""
    wait_chains: Switch = "off"
    """Whether that look reads Oracle's own analysis too: v$wait_chains, v$hang_info, v$hang_session_info. No page that we
    found says whether they need a licensed pack, so it is off. Ask for your licence before you turn it on."""
    blocker_look_timeout: Seconds = Field(3.0, gt=0)
    """Deadline of each statement of that look. It is shorter than that of a poll, because the look reads what hangs. A statement
    that takes longer is cancelled, the diagnosis says so, and the polls go on over the same session."""
    judge: Literal["when_it_changes", "each_poll"] = "when_it_changes"
    """`when_it_changes` judges the causes again when a cost moves by half or to another grade, a session hangs, a row or a view
    comes or goes, or a mark is set; at least once a minute while a problem lasts, and every five minutes while nothing costs
    anything. Costs, severity, and who waits and holds are those of each poll all the same. `each_poll` judges all causes at
    each."""
    budget: float = Field(0.01, gt=0, le=1)
    """The part of the interval that a poll may take on the database, without the network. If polls take more, they run
    less often."""


class HistorySettings(Strict):
    """How long each part of the history is kept."""

    snapshots: Seconds = Field(2 * _DAY, ge=3600)
    """Whole polls: one a minute, and each poll of a problem. If you set more than 2 days, every poll keeps its own."""
    polls: Seconds = Field(14 * _DAY, ge=7200)
    """The figures of each poll, for curves. At least 2 h. If you do not set it: 14 days, or `history.five_minutes` if that is
    shorter."""
    five_minutes: Seconds = Field(14 * _DAY, ge=_DAY)
    """The last whole poll of each five minutes. Not shorter than `history.polls`."""
    hourly: Seconds = Field(400 * _DAY, ge=_DAY)
    """The figures of each hour, and its last whole poll, so that you can compare this month with the same month of last year.
    Not shorter than `history.five_minutes`."""
    diagnoses: Seconds = Field(90 * _DAY, ge=3600)
    """Diagnoses, kept when the verdict changes, and every hour."""
    episodes: Seconds = Field(730 * _DAY, ge=_DAY)
    """Ended episodes, marks, changes, results of confirming queries, deliveries."""

    @model_validator(mode="after")
    def _coarser_for_longer(self) -> "HistorySettings":
        if "polls" not in self.model_fields_set:
            object.__setattr__(self, "polls", min(self.polls, self.five_minutes))
        if not self.polls <= self.five_minutes <= self.hourly:
            raise ValueError("keep each coarser tier at least as long: polls, then five_minutes, then hourly")
        return self


OUR_LABELS = re.compile(
    "action|cache|cache_id|cause|check|child|collector|confidence|db|do_not|event|instance|job|latch|location|mechanism|"
    "outcome|rac|reason|release|severity|side|subordinate|surface|title|type"
)
"""Labels that our metrics have, or Prometheus sets."""
PASSWORDS = {"password_file", "password_env", "password_command"}


class DatabaseSettings(Strict):
    """One database to watch: one instance, one connection."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    """The label `db` of metrics and the name in addresses: letters, digits, `_`, `.`, `-`, at most 63. Each name must be
    unique."""
    dsn: Annotated[str, AfterValidator(lambda dsn: dsn if dsn.startswith(DEMO) else plain_dsn(dsn))] = Field(
        min_length=1
    )
    """`host:port/service`, a TNS alias or descriptor, or `demo:NAME` for a scripted database."""
    enabled: bool = True
    """`false` pauses it: latchscope logs out, ends its episodes, and keeps its history."""
    labels: dict[str, str] = {}
    """Labels of its metrics, messages and rows, such as `{env: prod, region: eu}`. Our rules and dashboards keep `cluster`, `env`
    and `region`; for others build them from the mixin. A target in Prometheus must not set the same label."""
    cluster: str | None = None
    """Groups the instances of one cluster; their metrics have it as the label `rac`."""
    user: OracleUser = "LATCHSCOPE"
    """The Oracle user, else `defaults.user`. `latchscope grants` prints the script that creates a user who can only read."""
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

    @field_validator("labels")
    @classmethod
    def _free(cls, labels: dict[str, str]) -> dict[str, str]:
        for name in labels:
            if OUR_LABELS.fullmatch(name) or not re.fullmatch(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*", name):
                raise ValueError(f"{name!r} cannot be a label: it is ours, or not a name of letters, digits and _")
        return labels

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
            raise ValueError(f"interval is {interval:g} s; a real database is polled no more often than every 10 s")
        return interval


def _without(members: Any, place: Sequence[str]) -> Any:
    """A group of settings without the one at this place. The group stays as it is where it has none."""
    first, *below = place
    if not isinstance(members, dict) or first not in members:
        return members
    if below:
        return members | {first: _without(members[first], below)}
    return {name: value for name, value in members.items() if name != first}


class Settings(BaseSettings):
    """The whole configuration. See docs/configuration.md."""

    model_config = SettingsConfigDict(
        env_prefix="LATCHSCOPE_", env_nested_delimiter="__", extra="forbid", use_attribute_docstrings=True
    )

    listen: str = "127.0.0.1:8000"
    """Address and port, the address as numbers or `localhost`. The default is loopback, because without tokens everybody who
    reaches the port may read."""
    store: Annotated[str, AfterValidator(plain_store)] = "sqlite:///latchscope.db"
    """SQLAlchemy URL of the store of the history. SQLite needs nothing else; the first start creates its
    file. PostgreSQL: `postgresql://user@host/database`, or `postgresql+psycopg://…`, which is the same."""
    oracle: OracleSettings = OracleSettings()
    defaults: Defaults = Defaults()
    auth: AuthSettings = AuthSettings()
    tls: TlsSettings = TlsSettings()
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
    databases: list[DatabaseSettings] = []
    """The databases to watch, one entry per instance."""
    databases_dir: Path | None = None
    """Folder of files `*.yaml` with more entries of `databases`: each file has one, or a list. For many databases."""
    _left: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[str, ...]:
        """What was set although latchscope has it no longer, and what does its job now: a sentence each."""
        return self._left

    @model_validator(mode="before")
    @classmethod
    def _without_what_left(cls, members: Any) -> Any:
        for name in successors().settings:
            members = _without(members, name.split("."))
        return members

    @field_validator("public_url")
    @classmethod
    def _without_path(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).path.strip("/"):
            raise ValueError(
                "has a path, and the pages work only at the root of a host; give latchscope a name of its own"
            )
        return url

    @model_validator(mode="after")
    def _complete(self) -> "Settings":
        """Give each database what `defaults` has for it, and hold receivers to names of their own. load.py checks the rest."""
        for database in self.databases:
            if "user" not in database.model_fields_set and "user" in self.defaults.model_fields_set:
                database.user = self.defaults.user
            if self.defaults.password_file and database.scripted is None and not database.model_fields_set & PASSWORDS:
                database.password_file = Path(self.defaults.password_file.replace("{name}", database.name))
        receivers: list[Receiver] = [*self.webhooks, *self.notifications]
        for name, times in Counter(receiver.target for receiver in receivers).items():
            if times > 1:
                kinds = sorted({f"{each.kind}s" for each in receivers if each.target == name})
                raise ValueError(f"two {' or '.join(kinds)} are named {name}; give each a name of its own")
        return self

    @property
    def watched(self) -> list[DatabaseSettings]:
        """The databases that are not paused."""
        return [database for database in self.databases if database.enabled]

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


ENTRIES: Mapping[str, type[BaseModel]] = {
    "databases": DatabaseSettings,
    "webhooks": WebhookSettings,
    "notifications": NotificationSettings,
}
"""What each entry of a setting that is a list holds."""


def every_setting(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Each setting by its full name, a group's and a list's after it, as they are declared."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from every_setting(kind, f"{prefix}{name}.")
            continue
        yield f"{prefix}{name}", field
        if not prefix and name in ENTRIES:
            yield from every_setting(ENTRIES[name], f"{name}[].")
