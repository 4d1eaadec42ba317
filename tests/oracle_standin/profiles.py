"""The release that the listener imitates. The server's capabilities decide the dialect of everything after them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One release of the database, as far as the wire shows it.

    `field_version` decides the layout of requests and answers, `net_version` the layout of packets. `long_strings` means
    VARCHAR2 up to 32,767 bytes; binds longer than the limit come after all others. `marks_errors` means that a break marker
    announces an error, as in servers that could not yet flag the end of an answer.
    """

    name: str
    release: tuple[int, int, int, int, int]
    net_version: int
    field_version: int
    long_strings: bool
    fast_login: bool = False
    ends_answers: bool = False
    marks_errors: bool = True
    longest_name: int = 128

    @property
    def banner(self) -> bytes:
        """The release in words."""
        return f"Oracle stand-in {self.name}".encode()

    @property
    def longest_string(self) -> int:
        """Bytes that a VARCHAR2 bind may have before it counts as LONG."""
        return 32767 if self.long_strings else 4000

    @property
    def packed_release(self) -> int:
        """The release in one integer, whose layout changed with 18c."""
        major, minor, update, patch, port = self.release
        if self.field_version >= 11:
            return major << 24 | minor << 16 | update << 12 | patch << 4 | port
        return major << 24 | minor << 20 | update << 12 | patch << 8 | port


ORACLE_12_1 = Profile("12.1", (12, 1, 0, 2, 0), net_version=315, field_version=7, long_strings=False, longest_name=30)
ORACLE_19C = Profile("19c", (19, 21, 0, 0, 0), net_version=318, field_version=12, long_strings=True)
ORACLE_23AI = Profile(
    "23ai",
    (23, 4, 0, 24, 5),
    net_version=319,
    field_version=24,
    long_strings=True,
    fast_login=True,
    ends_answers=True,
    marks_errors=False,
)
PROFILES = {profile.name: profile for profile in (ORACLE_12_1, ORACLE_19C, ORACLE_23AI)}
