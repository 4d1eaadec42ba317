"""Archives: they unpack to what went in, names are labels, and no archive exceeds the limits, whatever it claims."""

import gzip
import io
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.errors import InputError
from service.intake.archives import MIB, Limits, TooLarge, gunzipped, label, members, unread_kind

ROOT = Path(__file__).parents[3]
SMALL = Limits(per_input=MIB, total=2 * MIB, members=10, ratio=50, unasked=64 * 1024)


def zipped(*files: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED, level: int = 1) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", how, compresslevel=level) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return held.getvalue()


def lying(claimed: int, real: bytes) -> bytes:
    """An archive with one member that claims a wrong size in both of its headers."""
    data = bytearray(zipped(("report.txt", real)))
    struct.pack_into("<I", data, 22, claimed)
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, claimed)
    return bytes(data)


def tar(how: str = "", data: bytes = b"some") -> bytes:
    """A tar archive of one file."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=f"w:{how}") as archive:  # type: ignore[call-overload]
        one = tarfile.TarInfo("report.txt")
        one.size = len(data)
        archive.addfile(one, io.BytesIO(data))
    return held.getvalue()


def encrypted() -> bytes:
    data = bytearray(zipped(("report.txt", b"some")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def test_members_are_returned_unchanged_and_hidden_ones_are_left_out() -> None:
    data = zipped(("a.txt", b"one"), ("folder/b.txt", b"two"), (".c", b"x"), ("__MACOSX/a.txt", b"x"), ("d/.e/f", b"x"))
    assert [(one.label, one.data) for one in members(data, "x.zip")] == [
        ("x.zip!a.txt", b"one"),
        ("x.zip!folder/b.txt", b"two"),
    ]


def test_gunzipped_joins_a_file_of_several_members() -> None:
    assert gunzipped(gzip.compress(b"one") + gzip.compress(b"two"), "x.gz") == b"onetwo"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "C:\\x", "a\nb", "\x1b[31mred", "n" * 9000])
def test_member_names_become_one_line_labels_and_never_paths(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (one,) = members(zipped((name, b"some")), "x.zip")
    assert one.data == b"some"
    assert one.label.isprintable() and len(one.label) <= 300
    assert list(tmp_path.iterdir()) == [], "nothing is unpacked to a folder"


def test_label_replaces_what_no_terminal_should_get() -> None:
    assert label("a\x1b]0;x\x07\udcff\u202e") == "a?]0;x???"


REFUSED = {
    "more than its limit in one member": (
        zipped(("a", bytes(1_100_000)), how=zipfile.ZIP_STORED),
        "is 1 MiB; an input",
    ),
    "more than the limit together": (
        zipped(*((str(i), bytes(900_000)) for i in range(3)), how=0),
        "unpacks to 2.6 MiB",
    ),
    "too many": (zipped(*((str(i), b"") for i in range(11))), "more than 10 members"),
    "a bomb": (zipped(("a", bytes(MIB))), "more than 50 times its size"),
    "encrypted": (encrypted(), "x.zip!report.txt is encrypted"),
    "bzip2, which nothing would bound": (zipped(("a", b"some"), how=zipfile.ZIP_BZIP2), "other than deflate"),
    "lzma, likewise": (zipped(("a", b"some"), how=zipfile.ZIP_LZMA), "other than deflate"),
    "a member that claims too little": (lying(10, b"x" * 5000), "is damaged"),
    "cut off": (zipped(("a", b"some" * 99))[:-30], "damaged zip archive"),
    "a beginning and nothing else": (b"PK\x03\x04", "damaged zip archive"),
}


def refusals(data: bytes) -> list[str]:
    """Why the archive or its members stayed packed."""
    try:
        return [str(one.data) for one in members(data, "x.zip", SMALL) if isinstance(one.data, InputError)]
    except InputError as error:
        return [str(error)]


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED)
def test_archive_refusal_is_one_line(data: bytes, said: str) -> None:
    (why,) = refusals(data)
    assert said in why and "x.zip" in why and "\n" not in why


@pytest.mark.parametrize(
    ("data", "said", "kind"),
    [
        (gzip.compress(bytes(2 * MIB)), "50 times", TooLarge),
        (gzip.compress(zlib.compress(bytes(9), 0) * 200_000, 0), "more than 1 MiB", TooLarge),
        (gzip.compress(b"some" * 99)[:-9], "is damaged", InputError),
        (gzip.compress(b"some")[:-8] + bytes(8), "is damaged", InputError),
        (b"\x1f\x8bnonsense", "is damaged", InputError),
    ],
    ids=["bomb", "bomb in a bomb", "cut", "wrong length", "nonsense"],
)
def test_gunzipped_refuses_bad_data_in_one_line(data: bytes, said: str, kind: type[InputError]) -> None:
    with pytest.raises(kind, match=said) as refused:
        gunzipped(data, "x.gz", SMALL)
    assert "\n" not in str(refused.value)


def test_archive_with_random_damage_raises_only_an_input_error() -> None:
    whole = zipped(("a.txt", b"some words " * 40), ("b.txt", b"others " * 40))
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xA5
        assert not any("\n" in why for why in refusals(bytes(damaged)))


def flat() -> bytes:
    """A few KB whose members unpack to 240 MiB."""
    return zipped(*((f"{i}.txt", bytes(60 * MIB)) for i in range(4)), level=9)


def nested() -> bytes:
    """A few KB of archives in archives, five deep, which would unpack to petabytes."""
    inner = flat()
    for _ in range(5):
        inner = zipped(*((f"{i}.zip", inner) for i in range(8)), level=9)
    return inner


def lying_bomb() -> bytes:
    """160 MiB that claim to be 1,000 bytes."""
    return lying(1000, bytes(160 * MIB))


def million() -> bytes:
    """More entries than anybody has reports, all empty."""
    local = b"PK\x03\x04".ljust(30, b"\0")
    entries = b"PK\x01\x02".ljust(46, b"\0") * 1_000_000
    return local + entries + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(entries), len(local), 0)


def gzip_bomb() -> bytes:
    """160 MiB in one."""
    pack = zlib.compressobj(1, wbits=31)
    return b"".join([*(pack.compress(bytes(MIB)) for _ in range(160)), pack.flush()])


MEASURE = """
import sys
from pathlib import Path
from service.intake import inputs

def highest() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))

before = highest()
outcome = inputs.diagnose_all(sys.argv[1:])
print(len(outcome.diagnosed), len(outcome.errors), before, highest())
print(outcome.errors[0])
"""


SOAKED = [pytest.param(make, marks=pytest.mark.soak) for make in (flat, nested, million)]


@pytest.mark.slow
@pytest.mark.parametrize("make", [lying_bomb, gzip_bomb, *SOAKED])
def test_archive_bomb_costs_little_memory(make: Callable[[], bytes], tmp_path: Path) -> None:
    """In a separate process, because only a process has a peak of memory. The bound is generous; a bomb is not."""
    path = tmp_path / "bomb"
    path.write_bytes(make())
    command = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    figures, said = done.stdout.splitlines()
    told, errors, before, after = map(int, figures.split())
    size = f"{path.stat().st_size:,} bytes"
    sys.stdout.write(f"{make.__name__}, {size}: {before} MiB before, {after} MiB at most; {said}\n")
    assert (told, errors) == (0, 1)
    assert after - before < 110


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (tar("bz2"), "bzip2"),
        (tar("xz"), "xz"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (b"report", None),
        (b"", None),
    ],
)
def test_unread_kind_knows_unsupported_archives_by_how_they_begin(data: bytes, kind: str | None) -> None:
    assert unread_kind(data) == kind
