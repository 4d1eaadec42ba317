"""Any input in place of a report gives one line of complaint, or a Delta that names what is missing. It never crashes."""

import random
import re
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import InputError
from collectors.model import Changes, Delta, Missing, NotComparable
from collectors.reports.read import read
from rules.engine import cannot_tell, diagnose
from tests.paths import REPORTS, ROOT

ONE_OF_EACH = (
    "awr-10.2.0.4.0-undo-storm.html",
    "awr-11.2.0.4.0-undo-storm.html",
    "awr-19.0.0.0.0-cluster-users-mutex.html",
    "awr-10.2.0.4.0-undo-storm.txt",
    "awr-12.2.0.1.0-users-mutex.txt",
    "statspack-9.2.0.6.0-undo-storm.txt",
    "statspack-11.2.0.3.0-undo-storm-level-10.txt",
)
COMPARED = "awrdd-11.2.0.4.0-before-and-during.html"
BOUNDARY = {".html": re.compile(rb"<h3|<table"), ".txt": re.compile(rb"^.*(?:DB/Inst: | for DB: )", re.MULTILINE)}
SECTIONS = {
    "v$sys_time_model": ("Time Model Statistics",),
    "v$osstat": ("Operating System Statistics", "OS Statistics"),
    "v$latch": ("Latch Activity", "Latch Sleep Breakdown"),
    "v$system_event": ("Foreground Wait Events", "Background Wait Events", "Wait Events"),
    "v$rowcache": ("Dictionary Cache Stats (RAC)",),
}
"""Views that come from several sections, so the remaining sections may still give them."""
MOST_MEGABYTES = 600
"""More memory than a reader of 64 MiB files may ever hold at once."""


@cache
def kept(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


def survives(data: bytes, name: str = "case") -> tuple[Delta | NotComparable, ...]:
    """The inputs that were read, each diagnosed. Empty if one line explains why not."""
    try:
        found = read(data, name)
    except InputError as error:
        line = str(error)
        assert line.startswith(name) and "\n" not in line and len(line) < 300, line
        return ()
    for one in found:
        told = cannot_tell(one) if isinstance(one, NotComparable) else diagnose(one)
        assert told.headline and "\n" not in told.headline
        if isinstance(one, Delta):
            assert [
                view for view, reading in one.readings.items() if isinstance(reading, Missing) and not reading.why
            ] == []
    return found


def boundaries(name: str) -> list[int]:
    return [match.start() for match in BOUNDARY[name[name.rindex(".") :]].finditer(kept(name))]


@cache
def whole(name: str) -> Delta:
    (delta,) = read(kept(name), "case")
    assert isinstance(delta, Delta)
    return delta


def check_cut(name: str, length: int) -> None:
    """A report that is cut off gives the same views as the whole one, or its notes say that the file ends early."""
    for one in survives(kept(name)[:length]):
        assert isinstance(one, Delta)
        differing = [
            view
            for view, reading in one.readings.items()
            if isinstance(reading, Changes) and reading != whole(name).read(view)
        ]
        said = ("the file ends inside", "does not have", "beyond the cut")
        told = " ".join(note for note in one.notes if any(words in note for words in said))
        assert [view for view in differing if not any(title in told for title in SECTIONS.get(view, ()))] == [], told


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_reader_survives_a_cut_at_every_section(name: str) -> None:
    assert len(boundaries(name)) > 12
    for place in boundaries(name):
        check_cut(name, place)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_reader_survives_a_cut_inside_a_section(name: str) -> None:
    chance = random.Random(f"cut {name}")
    for _ in range(6):
        check_cut(name, chance.randrange(len(kept(name))))


def test_report_reader_survives_a_cut_compare_report() -> None:
    for place in boundaries(COMPARED):
        survives(kept(COMPARED)[:place])


@pytest.mark.soak
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_reader_survives_a_cut_anywhere(name: str) -> None:
    for length in range(0, len(kept(name)), 37):
        check_cut(name, length)


def flipped(data: bytes, chance: random.Random, most: int) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, most)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("name", [*ONE_OF_EACH, COMPARED])
def test_report_reader_survives_flipped_bytes(name: str) -> None:
    chance = random.Random(f"flip {name}")
    for _ in range(6):
        survives(flipped(kept(name), chance, 400))


@pytest.mark.soak
@pytest.mark.parametrize("name", [*ONE_OF_EACH, COMPARED])
def test_report_reader_survives_flipped_bytes_over_many_rounds(name: str) -> None:
    chance = random.Random(f"soak {name}")
    for _ in range(800):
        survives(flipped(kept(name), chance, 4_000))


@pytest.mark.parametrize("repeated", [b"--- ---\n", b"<table><tr><td>1"])
def test_report_reader_rejects_too_many_tables_in_one_clear_line(repeated: bytes) -> None:
    with pytest.raises(InputError, match=r"^case has more than 5,000 tables; give one report at a time$"):
        read(b"STATSPACK report for\n" + repeated * 6_000, "case")


def shuffled(data: bytes, chance: random.Random) -> bytes:
    """The lines of a report in another order, some twice, some missing."""
    lines = data.split(b"\n")
    return b"\n".join(chance.choices(lines, k=len(lines)))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_reader_survives_shuffled_lines(name: str) -> None:
    chance = random.Random(f"lines {name}")
    for _ in range(2):
        survives(lines_of_head(kept(name)) + shuffled(kept(name), chance))


def lines_of_head(data: bytes) -> bytes:
    return b"\n".join(data.split(b"\n")[:30]) + b"\n"


def html(body: str, before: str = "") -> bytes:
    return f"{before}<html><title>AWR Report for DB: A</title><body>WORKLOAD REPOSITORY report for {body}</body></html>".encode()


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol" * 9}">' for n in range(12))
STRANGE = {
    "script": html("<script>while(1);document.write('<table>')</script><table><tr><td>1"),
    "billion laughs": html("<table><tr><td>&l11;</td></tr></table>", f"<!DOCTYPE lol [{LAUGHS}]>"),
    "outside entity": html("<h3>&x;</h3>", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'),
    "number entities": html("<table><tr><th>&#0;&#x110000;&#99999999999;</th></tr></table>"),
    "tables in tables": html("<table><tr><td>" * 10_000 + "</td></tr></table>" * 10_000),
    "some tables in tables": html("<table><tr><td>" * 2_000 + "</td></tr></table>" * 2_000),
    "open tags": html("<" * 200_000),
    "open comments": html("<!--" * 100_000),
    "open quotes": html('<td a="' * 50_000),
    "half attributes": html("<a b='c" * 50_000 + ">" * 50_000),
    "many columns": html("<table><tr>" + "<th>x</th>" * 30_000 + "</tr><tr>" + "<td>1</td>" * 30_000 + "</tr></table>"),
    "one long cell": html("<table><tr><td>" + "9" * 3_000_000 + "</td></tr></table>"),
    "one long line": b"STATSPACK report for\n" + b"-" * 3_000_000,
    "rulers only": b"WORKLOAD REPOSITORY report for\n" + b"--- --- ---\n" * 60_000,
    "headings only": b"WORKLOAD REPOSITORY report for\n" + b"Latch Activity  DB/Inst: A/A  Snaps: 1-2\n" * 40_000,
    "form feeds only": b"STATSPACK report for\n" + b"\f" * 100_000,
    "tabs only": b"STATSPACK report for\n" + b"\t" * 300_000,
    "null bytes": b"WORKLOAD REPOSITORY report for\n" + b"\0" * 1_000,
    "half a mark": b"\xff\xfeW\0O",
    "nothing": b"",
    "blanks": b" \n" * 1_000,
    "not Oracle's": b"Dear Sir,\nplease find the report attached.\n",
}


@pytest.mark.parametrize("what", STRANGE)
def test_report_reader_survives_strange_input(what: str) -> None:
    survives(STRANGE[what])


@pytest.mark.parametrize("what", ["script", "billion laughs", "outside entity", "some tables in tables"])
def test_report_reader_ignores_strange_input_before_a_good_report(what: str) -> None:
    name = "awr-11.2.0.4.0-undo-storm.html"
    strange = STRANGE[what].replace(b"<title>AWR Report for DB: A</title>", b"").replace(b"WORKLOAD", b"")
    good = kept(name)
    at = good.index(b'<a class="awr" name="top">')
    (delta,) = survives(good[:at] + strange + b"</script>" + good[at:])
    assert isinstance(delta, Delta)
    assert delta.rows("v$latch") == whole(name).rows("v$latch")
    assert delta.rows("v$rowcache") == whole(name).rows("v$rowcache")


@given(st.binary(max_size=2_000))
def test_report_reader_survives_random_bytes(data: bytes) -> None:
    survives(data)
    survives(b"WORKLOAD REPOSITORY report for\n" + data)


HEADS = ("Begin Snap: 1 01-Jan-25 10:00:00", "End Snap: 2 01-Jan-25 11:00:00", "Elapsed: 60 (mins)", "DB Name Release")
TEXTS = ("Latch Activity  DB/Inst: A/B", "----- ----- -----", "Latch Name Get Requests", "row cache objects 1 2", "-5")
TAGS = ("<table>", "<tr><th>Cache</th></tr>", "<td>dc_users</td>", "</table>", "<h3>Dictionary Cache Stats</h3>")
WORDS = st.sampled_from([*HEADS, *TEXTS, *TAGS, "####", "1e400", "9" * 60, "٣", "\f", ""])


@given(st.lists(WORDS, max_size=60))
def test_report_reader_survives_random_text_in_report_words(lines: list[str]) -> None:
    survives("\n".join(["STATSPACK report for", *lines]).encode())
    survives(html("\n".join(lines)))


# The measured process creates each input. The system gives memory for bytes(n) only on access.
HEAVY = {
    "6 MB of lines": "b'STATSPACK report for\\n' + b'row cache objects 1 2 3\\n' * 250_000",
    "1.5 MB of spans": "b'<html>WORKLOAD REPOSITORY report for<table><tr>' + b'<td colspan=99>' * 100_000",
    "1.5 MB of rulers": "b'STATSPACK report for\\n' + b'--- ---\\n' * 190_000",
    "1.5 MB of table": "b'<html>WORKLOAD REPOSITORY report for<table>' + b'<tr><td>1</td>' * 100_000",
    "1.5 MB of nesting": "b'<html>WORKLOAD REPOSITORY report for' + b'<table><tr><td>' * 100_000",
}
HEAVIER = {
    "at the limit, of spans": "b'<html>WORKLOAD REPOSITORY report for<table><tr>' + b'<td colspan=99>' * (LIMIT_BYTES // 16)",
    "at the limit, of lines": "b'STATSPACK report for\\n' + b'row cache objects 1 2 3\\n' * (LIMIT_BYTES // 24 - 1)",
    "at the limit, of table": "b'<html>WORKLOAD REPOSITORY report for<table>' + b'<tr><td>1</td>' * (LIMIT_BYTES // 15)",
    "at the limit, of nesting": "b'<html>WORKLOAD REPOSITORY report for' + b'<table><tr><td>' * (LIMIT_BYTES // 16)",
    "at the limit, of letters": "b'<html>WORKLOAD REPOSITORY report for<td>' + b'x' * (LIMIT_BYTES - 50)",
    "at the limit, of rulers": "b'STATSPACK report for\\n' + b'--- ---\\n' * (LIMIT_BYTES // 8 - 9)",
}
MEASURED = """
from collectors.errors import InputError
from collectors.reports.read import LIMIT_BYTES
from collectors.reports.read import read
for make in [{makers}]:
    try:
        read(make(), "case")
        print("read")
    except InputError as error:
        print(error)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024)
"""


def peak(what: str, *inputs: str) -> int:
    """The highest memory in MiB of a process that only reads, one input after the other. Its output is printed."""
    command = [sys.executable, "-c", MEASURED.format(makers=", ".join(f"lambda: {data}" for data in inputs))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *said, megabytes = done.stdout.splitlines()
    assert len(said) == len(inputs)
    print(f"{what}: {megabytes} MiB; {'; '.join(said)}")  # noqa: T201 – the figure is what one wants to see with -s
    return int(megabytes)


def test_report_reader_memory_is_bounded() -> None:
    assert peak(" and ".join(HEAVY), *HEAVY.values()) < MOST_MEGABYTES


def test_report_reader_refuses_a_too_large_file_before_looking_into_it() -> None:
    assert peak("refused", "bytes(300 * 2**20)") < 150


@pytest.mark.soak
@pytest.mark.parametrize("what", HEAVIER)
def test_report_reader_memory_is_bounded_at_the_size_limit(what: str) -> None:
    assert peak(what, HEAVIER[what]) < MOST_MEGABYTES
