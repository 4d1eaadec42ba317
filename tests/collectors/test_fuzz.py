"""Damaged input of every kind: any of it gives one line of complaint, or something that can be diagnosed. Nothing crashes.

`make test` reads 15 damaged files of each kind, `make test-all` 500. A failure names its kind and its seed.
"""

import gzip
import io
import random
import re
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pytest

from collectors import oracle
from collectors.capture import delta_of
from collectors.errors import InputError, brief
from collectors.logs import alert, trace
from collectors.logs.dumps import MOST_SESSIONS, Dump
from collectors.logs.phrases import PHRASES
from collectors.model import Changes, Delta, Missing, NotComparable, Rows, number
from collectors.reports.html import parse as parse_html
from collectors.reports.read import read as read_report
from collectors.sqlplus.spool import load
from rules.engine import cannot_tell, diagnose
from rules.logs import NAMES
from rules.model import Severity
from service.intake.inputs import diagnose_data
from tests.collectors.logs import published, published_traces
from tests.collectors.logs.dumps import LAYOUTS, hang, written
from tests.collectors.reports import test_cluster
from tests.collectors.sqlplus.sqlplus_standin import broken_at, spooled
from tests.oracle_standin.profiles import PROFILES
from tests.paths import REPORTS, ROOT

MOST_EVENTS = 2 * alert.KEPT * len(NAMES)
DIAGNOSED = 8
"""Every so many damaged logs are diagnosed as well, which takes longer than reading them."""
examples = pytest.mark.parametrize("seeds", [range(15), pytest.param(range(15, 515), marks=pytest.mark.slow)], ids=len)


@cache
def kept(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


def complaint(error: InputError) -> bool:
    line = str(error)
    assert line.startswith("case ") and "\n" not in line and len(line) < 300, line
    return False


def check_alert(data: bytes, seed: int = 0) -> bool:
    alert.looks_like_alert_log(data)
    delta = alert.read(io.BytesIO(data), "case")
    lines = data.count(b"\n") + 1 if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else len(data)
    assert len(delta.events) <= MOST_EVENTS
    assert all(1 <= event.line <= lines and "\n" not in event.text for event in delta.events)
    if seed % DIAGNOSED == 0:
        found = diagnose(delta)
        assert found.severity in (Severity.INFO, Severity.NOTICE, Severity.WARNING) and not found.findings
        assert "\n" not in found.headline
    return bool(delta.events)


def check_trace(data: bytes, seed: int = 0) -> bool:
    try:
        delta = trace.read(io.BytesIO(data), "case")
    except InputError as error:
        return complaint(error)
    for event in delta.events:
        assert event.text and "\n" not in event.text and len(event.text) < 700 and event.line >= 1
    if seed % DIAGNOSED == 0:
        headline = diagnose(delta).headline
        assert headline and "\n" not in headline
    return True


def read_or_refused(data: bytes) -> tuple[Delta | NotComparable, ...]:
    """What a report gives, each diagnosed. Empty if one line explains why nothing."""
    try:
        found = read_report(data, "case")
    except InputError as error:
        complaint(error)
        return ()
    for one in found:
        headline = (cannot_tell(one) if isinstance(one, NotComparable) else diagnose(one)).headline
        assert headline and "\n" not in headline
        if isinstance(one, Delta):
            assert all(reading.why for reading in one.readings.values() if isinstance(reading, Missing))
    return found


def check_report(data: bytes, seed: int = 0) -> bool:
    return bool(read_or_refused(data))


def check_cluster(data: bytes, seed: int = 0) -> bool:
    found = read_or_refused(data)
    for one in found:
        for row in one.rows("v$system_event") if isinstance(one, Delta) else ():
            assert row.get("time_waited_micro") is None or number(row["time_waited_micro"]) != 0, "not printed, and 0"
    return bool(found)


def check_spool(data: bytes, seed: int = 0) -> bool:
    try:
        capture = load(data, "case")
    except InputError as error:
        return complaint(error)
    delta = delta_of(capture)
    assert (cannot_tell(delta) if isinstance(delta, NotComparable) else diagnose(delta)).headline
    for snapshot in capture.snapshots:
        assert all(one.why and one.way_out for one in snapshot.readings.values() if isinstance(one, Missing))
    return True


def whole_trace(chance: random.Random) -> bytes:
    """A made-up hang, or a published trace."""
    if chance.random() < 0.3:
        return chance.choice(published_traces.PUBLISHED).text.encode()
    return b"".join(written(hang(chance), chance.choice(LAYOUTS)) for _ in range(chance.choice((1, 1, 1, 2))))


ONE_OF_EACH = (
    *("awr-10.2.0.4.0-undo-storm.html", "awr-11.2.0.4.0-undo-storm.html", "awr-19.0.0.0.0-cluster-users-mutex.html"),
    *("awr-10.2.0.4.0-undo-storm.txt", "awr-12.2.0.1.0-users-mutex.txt", "statspack-9.2.0.6.0-undo-storm.txt"),
    "statspack-11.2.0.3.0-undo-storm-level-10.txt",
)
COMPARED = "awrdd-11.2.0.4.0-before-and-during.html"


@dataclass(frozen=True)
class Reader:
    """A reader of files: whole ones, what it checks of a damaged one, and words of such files that noise is made of."""

    whole: Callable[[random.Random], bytes]
    check: Callable[..., bool]
    words: Sequence[bytes]


TABLE = (b"<table>", b"<tr><th>Cache</th></tr>", b"<td>dc_users</td>", b"</table>", b"<h3>Dictionary Cache Stats</h3>")
PRINTED = (b"Begin Snap: 1 01-Jan-25 10:00:00", b"End Snap: 2 01-Jan-25 11:00:00", b"Elapsed: 60 (mins)", b"-5", b"####",
           b"Latch Activity  DB/Inst: A/B", b"----- ----- -----", b"Latch Name Get Requests", b"row cache objects 1 2",
           b"1e400", b"9" * 60, "٣".encode(), b"\f", b"STATSPACK report for", b"DB Name Release")  # fmt: skip
READERS: Mapping[str, Reader] = {
    "alert": Reader(lambda _: "".join(one.log for one in published.PUBLISHED).encode(), check_alert, tuple(PHRASES)),
    "trace": Reader(whole_trace, check_trace, (b"*** 2020-01-01 10:00:00.000", b"HANG ANALYSIS:", b"PROCESS 7:", b"Chain 1 :")),
    "report": Reader(lambda chance: kept(chance.choice((*ONE_OF_EACH, COMPARED))), check_report, (*PRINTED, *TABLE)),
    "cluster": Reader(
        lambda chance: chance.choice(list(test_cluster.LAYOUTS.values())).encode(), check_cluster, (*PRINTED, *TABLE)
    ),
    "spool": Reader(lambda _: spooled().encode(), check_spool, (b"{ls|1|v$latch|open|0|}", b"{ls|2|v$latch|2/4|", b"|}")),
}  # fmt: skip
KINDS = (
    *("flip", "head", "tail", "gap", "shuffle", "twice", "noise", "long", "numbers"),
    *("ends", "words", "utf16", "random"),
)


def damaged(kind: str, data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    """The file with one kind of damage."""
    place, size = chance.randrange(len(data)), chance.choice((1, 5, 40, 400, 5_000))
    lines = data.split(b"\n")
    if kind == "flip":
        changed = bytearray(data)
        for _ in range(chance.randint(1, 400)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if kind == "shuffle":
        first = chance.choice((0, 30))
        return b"\n".join([*lines[:first], *chance.choices(lines, k=len(lines))])
    if kind == "numbers":
        digit = chance.choice(b"0123456789").to_bytes()
        return data.replace(b"1", digit * chance.choice((1, 19, 40)))
    if kind == "ends":
        return data.replace(b"\n", chance.choice((b"", b"\r", b"\0", b" ", b" " * 200)), chance.randint(1, len(lines)))
    if kind == "words":
        mixed = [chance.choice(words) + chance.randbytes(chance.randrange(60)) for _ in range(300)]
        return b"\n".join([*mixed[:150], data, *mixed[150:], *chance.choices(words, k=60)])
    if kind == "utf16":
        return data.decode("utf-8", "replace").encode("utf-16")[: -chance.randrange(1, 50)]
    return {
        "head": data[:place],
        "tail": data[place:],
        "gap": data[:place] + data[place + size :],
        "twice": data[:place] + data[: place // 2] + data[place:],
        "noise": data[:place] + chance.randbytes(size) + data[place:],
        "long": data[:place] + chance.choice(b"#<|[{' 9").to_bytes() * 18 * size + data[place:],
        "random": lines[0] + b"\n" + chance.randbytes(2_000),
    }[kind]


def file_of(reader: Reader, seed: int) -> bytes:
    """A damaged file. Each kind of damage has its turn, most alone, some with another."""
    chance = random.Random(seed)
    data = damaged(KINDS[seed % len(KINDS)], reader.whole(chance), chance, reader.words) or b"\n"
    return (damaged(chance.choice(KINDS), data, chance, reader.words) or b"\n") if chance.random() < 0.3 else data


@examples
@pytest.mark.parametrize("kind", READERS)
def test_damaged_file_gives_one_line_or_what_can_be_diagnosed(kind: str, seeds: range) -> None:
    reader, good = READERS[kind], 0
    for seed in seeds:
        try:
            good += reader.check(file_of(reader, seed), seed)
        except Exception as error:
            error.add_note(f"{kind}, damage {seed}")
            raise
    assert good > len(seeds) / 3, "the damage leaves nothing to read"


def test_damaged_uploads_give_a_diagnosis_or_one_line() -> None:
    for seed in range(4):
        data = file_of(READERS["alert"], seed)
        packed = gzip.compress(data)
        for sent in (data, packed, packed[: len(packed) // 2]):
            outcome = diagnose_data(sent, "case")
            assert len(outcome.diagnosed) + len(outcome.errors) == 1, seed
            assert all(isinstance(error, InputError) and "\n" not in str(error) for error in outcome.errors), seed


def test_memory_of_an_alert_log_stays_bounded_whatever_repeats() -> None:
    line = b"Sun Mar 01 06:00:00 2026\n>>> WAITED TOO LONG FOR A ROW CACHE ENQUEUE LOCK! pid=%d\nORA-%05d: x\n"
    log = b"".join(line % (each, each % 90) for each in range(1_500)) + b"x" * 3_000_000
    tracemalloc.start()
    try:
        delta = alert.read(io.BytesIO(log), "case")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(delta.events) <= MOST_EVENTS and peak < 64 * 2**20


# Reports that end early: what is left says the same, or that it ends.

BOUNDARY = {".html": re.compile(rb"<h3|<table"), ".txt": re.compile(rb"^.*(?:DB/Inst: | for DB: )", re.MULTILINE)}
SECTIONS = {
    "v$sys_time_model": ("Time Model Statistics",),
    "v$osstat": ("Operating System Statistics", "OS Statistics"),
    "v$latch": ("Latch Activity", "Latch Sleep Breakdown"),
    "v$system_event": ("Foreground Wait Events", "Background Wait Events", "Wait Events"),
    "v$rowcache": ("Dictionary Cache Stats (RAC)",),
}
"""Views that come from several sections, so the remaining sections may still give them."""


def boundaries(name: str) -> list[int]:
    return [match.start() for match in BOUNDARY[name[name.rindex(".") :]].finditer(kept(name))]


@cache
def whole(name: str) -> Delta:
    (delta,) = read_report(kept(name), "case")
    assert isinstance(delta, Delta)
    return delta


def check_cut(name: str, length: int) -> None:
    """A report that is cut off gives the same views as the whole one, or its notes say that the file ends early."""
    for one in read_or_refused(kept(name)[:length]):
        assert isinstance(one, Delta)
        differing = [
            view
            for view, reading in one.readings.items()
            if isinstance(reading, Changes) and reading != whole(name).read(view)
        ]
        ends = ("the file ends inside", "does not have", "beyond the cut")
        notes = " ".join(note for note in one.notes if any(words in note for words in ends))
        assert [view for view in differing if not any(title in notes for title in SECTIONS.get(view, ()))] == [], notes


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_cut_at_a_section_or_inside_one_says_so(name: str) -> None:
    chance, places = random.Random(name), boundaries(name)
    assert len(places) > 12
    for place in (*places, *(chance.randrange(len(kept(name))) for _ in range(3))):
        check_cut(name, place)


def test_compare_report_survives_a_cut_at_every_section() -> None:
    for place in boundaries(COMPARED):
        read_or_refused(kept(COMPARED)[:place])


@pytest.mark.soak
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_report_cut_anywhere_says_so(name: str) -> None:
    for length in range(0, len(kept(name)), 37):
        check_cut(name, length)


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_spool_cut_at_any_line_is_partial_or_one_clear_error(step: int) -> None:
    lines = broken_at(80, spooled(looks=2, seconds=10)).splitlines(keepends=True)
    complete, partial = load("".join(lines).encode(), "case"), 0
    cuts = range(0, len(lines), step)
    for end in cuts:
        data = "".join(lines[:end]).encode()
        if not check_spool(data, 1):
            continue
        partial += 1
        for snapshot in load(data, "case").snapshots:
            for view, reading in snapshot.readings.items():
                if isinstance(reading, Rows) and view != "v$session":
                    assert any(reading.rows == one.rows(view) for one in complete.snapshots), "never a part of a view"
    assert partial > len(cuts) * 0.9


# Input that somebody made to hurt.


def html(body: str, before: str = "") -> bytes:
    head = "<html><title>AWR Report for DB: A</title><body>WORKLOAD REPOSITORY report for"
    return f"{before}{head} {body}</body></html>".encode()


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol" * 9}">' for n in range(12))
PLANTED = {
    "script": html("<script>while(1);document.write('<table>')</script><table><tr><td>1"),
    "billion laughs": html("<table><tr><td>&l11;</td></tr></table>", f"<!DOCTYPE lol [{LAUGHS}]>"),
    "outside entity": html("<h3>&x;</h3>", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'),
    "some tables in tables": html("<table><tr><td>" * 2_000 + "</td></tr></table>" * 2_000),
}
STRANGE = PLANTED | {
    "number entities": html("<table><tr><th>&#0;&#x110000;&#99999999999;</th></tr></table>"),
    "tables in tables": html("<table><tr><td>" * 10_000 + "</td></tr></table>" * 10_000),
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


STRANGE_TRACES = {
    "nothing": b"",
    "blanks": b" \n" * 1_000,
    "half a mark": b"\xff\xfeT\0r",
    "null bytes": b"Trace file /a.trc\n" + b"\0" * 1_000,
    "one open bracket": b"<" * 3_000_000,
    "open chains": b"HANG ANALYSIS:\n" + b"Chain 1 : <cnode/sid/sess_srno/ospid/wait_event> :\n" * 30_000,
    "open braces": b"Oracle session identified by:\n{\n" * 30_000,
    "a chain of one": b"Chain 1 : <cnode/sid/sess_srno/ospid/wait_event> :\n<0/1/1/1/x>\n -- <0/1/1/1/x>\n" * 5_000,
}


@pytest.mark.parametrize(
    ("check", "data"),
    [(check_report, one) for one in STRANGE.values()] + [(check_trace, one) for one in STRANGE_TRACES.values()],
    ids=[*STRANGE, *(f"trace of {what}" for what in STRANGE_TRACES)],
)
def test_reader_survives_strange_input(check: Callable[[bytes], bool], data: bytes) -> None:
    check(data)


def test_long_word_in_an_alert_log_costs_no_more_than_its_line() -> None:
    """A pattern that is tried from each letter of it takes minutes, and a test may take two seconds."""
    (event,) = alert.read(io.BytesIO(b"Sun Mar 01 06:00:00 2026\nORA-00600: " + b"x" * 2_000 + b".tr\n"), "case").events
    assert "trace_file" not in event.facts


def test_the_largest_dump_takes_a_moment() -> None:
    """Each part of it once took the square of its sessions: minutes, where a test may take two seconds."""
    dump = Dump("hang analysis", 1)
    sids = range(1, MOST_SESSIONS)
    chain = [dump.session(1, sid) for sid in sids]
    for sid, session in zip(sids, chain, strict=True):
        assert session is not None
        session.begin_wait(f"event {sid}")
        session.wait_for((1, sid + 1))
        dump.locks += [(7, 0, session, 3, 0), (7, 0, session, 0, 5)]
    fork = dump.session(1, MOST_SESSIONS)
    assert fork is not None
    for sid in sids:
        fork.wait_for((2, sid))
    dump.settle(1)
    assert {session.final for session in chain if session} == {None}, "its end waits for many"
    fork.blockers.clear()
    dump.settle(1)
    assert {session.final for session in chain if session} == {fork.key}
    assert "behind session 20000" in trace._summary(dump).text


class Cursor:
    """An answer of one row."""

    arraysize = 100

    def fetchmany(self) -> list[tuple[str, None, int]]:
        return [("x" * 60_000, None, 1)]


def test_what_is_too_long_is_cut_and_the_cut_is_shown() -> None:
    long, shown = "x" * 60_000, f"{'x' * 3_968}… (56,032 more characters)"
    assert brief(Exception(f"ORA-00600: {' ' * 60_000}y")) == "ORA-00600: … (56,044 more characters)"
    assert oracle._bounded(cast(Any, Cursor()), 10, int) == [(shown, None, 1)]
    (table,) = parse_html(f"<table><tr><th>Name</th></tr><tr><td>{long}</td></tr></table>").tables
    assert shown in table.rows[-1]
    moment, line = b"*** 2026-03-01 10:00:00\n", f"ORA-00600: {long}".encode()
    for read, data, most in (
        (alert.read, moment[4:] + line, "4,096"),
        (trace.read, moment + 2 * line, "65,536"),
        (trace.read, moment + line * 40, "65,536"),  # more than one block of the file
    ):
        notes = read(io.BytesIO(data + b"\n"), "case").notes
        assert f"lines longer than {most} bytes, of which the rest is not read: 1" in notes
    assert not any("longer than" in note for note in trace.read(io.BytesIO(moment + line), "case").notes)


@pytest.mark.parametrize("what", PLANTED)
def test_report_reader_ignores_strange_input_before_a_good_report(what: str) -> None:
    name = "awr-11.2.0.4.0-undo-storm.html"
    strange = PLANTED[what].replace(b"<title>AWR Report for DB: A</title>", b"").replace(b"WORKLOAD", b"")
    begin, top, end = kept(name).partition(b'<a class="awr" name="top">')
    (delta,) = read_or_refused(begin + strange + b"</script>" + top + end)
    assert isinstance(delta, Delta)
    assert delta.rows("v$latch") == whole(name).rows("v$latch")
    assert delta.rows("v$rowcache") == whole(name).rows("v$rowcache")


@pytest.mark.parametrize("repeated", [b"--- ---\n", b"<table><tr><td>1"])
def test_report_reader_rejects_too_many_tables_in_one_clear_line(repeated: bytes) -> None:
    with pytest.raises(InputError, match=r"^case has more than 5,000 tables; give one report at a time$"):
        read_report(b"STATSPACK report for\n" + repeated * 6_000, "case")


# The measured process creates each input. The system gives memory for bytes(n) only on access.
MOST_MEGABYTES = 600
"""More memory than a reader of 64 MiB files may ever hold at once."""
TEXT, PAGE = "b'STATSPACK report for\\n'", "b'<html>WORKLOAD REPOSITORY report for"
SMALL, LARGE = "1_500_000", "LIMIT_BYTES"
HEAVY = {
    "lines": f"{TEXT} + b'row cache objects 1 2 3\\n' * ({{size}} // 24 - 1)",
    "rulers": f"{TEXT} + b'--- ---\\n' * ({{size}} // 8 - 9)",
    "spans": f"{PAGE}<table><tr>' + b'<td colspan=99>' * ({{size}} // 16)",
    "table": f"{PAGE}<table>' + b'<tr><td>1</td>' * ({{size}} // 15)",
    "nesting": f"{PAGE}' + b'<table><tr><td>' * ({{size}} // 16)",
    "letters": f"{PAGE}<td>' + b'x' * ({{size}} - 50)",
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


def peak_of(*inputs: str) -> int:
    """The highest memory in MiB of a process that only reads, one input after the other."""
    command = [sys.executable, "-c", MEASURED.format(makers=", ".join(f"lambda: {data}" for data in inputs))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *said, megabytes = done.stdout.splitlines()
    assert len(said) == len(inputs)
    print(f"{megabytes} MiB; {'; '.join(said)}")  # noqa: T201  the figure is what one wants to see with -s
    return int(megabytes)


@pytest.mark.slow
def test_memory_of_reports_is_bounded() -> None:
    assert peak_of(*(make.format(size=SMALL) for make in HEAVY.values())) < MOST_MEGABYTES


@pytest.mark.soak
@pytest.mark.parametrize("what", HEAVY)
def test_memory_of_reports_is_bounded_at_the_size_limit(what: str) -> None:
    assert peak_of(HEAVY[what].format(size=LARGE)) < MOST_MEGABYTES


def test_too_large_report_is_refused_before_looking_into_it() -> None:
    assert peak_of("bytes(300 * 2**20)") < 150


# Conversations with a database, in processes of their own: some bytes crash the driver itself (a segmentation fault in its
# compiled part, without any code of ours; see SECURITY.md). Such a crash is counted apart. Any other unknown outcome fails.

OF_A_PROCESS = 100
CRASHED = "the driver crashed"
OF_THE_DRIVER = ("site-packages/oracledb/", "collectors/deadline.py", "nowhere", "Garbage-collecting")
"""Where Python was when it crashed:

in a call of the driver, outside all Python code, or later, in any thread, in the garbage collector, in memory that the
driver had damaged. Here only numpy and YAML are compiled besides the driver.
"""


def outcomes(profile: str, seeds: Sequence[int]) -> Iterator[str]:
    """The outcome of each conversation. After a crash, the unfinished conversations run again one by one."""
    while seeds:
        command = [sys.executable, "-m", "tests.collectors.fuzzing", profile, *map(str, seeds)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
        ended = [line.split(maxsplit=2) for line in done.stdout.splitlines() if line.startswith("end ")]
        yield from (outcome for _, _, outcome in ended)
        if done.returncode == 0:
            assert done.stdout.endswith("nothing is left\n")
            return
        assert done.returncode == -signal.SIGSEGV, done.stderr
        frame = (done.stderr.partition("Current thread")[2].splitlines() or ["", "nowhere"])[1:2]
        assert not frame or any(place in frame[0] for place in OF_THE_DRIVER), done.stderr
        if len(seeds) == 1:
            yield CRASHED
            return
        over = {int(number) for _, number, _ in ended}
        begun = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("begin ")]
        for seed in begun:
            if seed not in over:
                yield from outcomes(profile, [seed])
        seeds = [seed for seed in seeds if seed not in begun]


@pytest.mark.parametrize(
    ("profiles", "share"),
    [
        (["19c"], 2),
        pytest.param(list(PROFILES), 15, marks=pytest.mark.slow),
        pytest.param(list(PROFILES), 1000, marks=pytest.mark.soak),
    ],
)
def test_damaged_conversations_end_in_a_known_class_and_leave_nothing(profiles: list[str], share: int) -> None:
    ends: Counter[str] = Counter()
    for place, profile in enumerate(profiles):
        seeds = range(place * share, (place + 1) * share)
        for begin in range(0, share, OF_A_PROCESS):
            ends.update(outcomes(profile, seeds[begin : begin + OF_A_PROCESS]))
    print(f"{ends.total()} conversations: {dict(ends.most_common())}")  # noqa: T201  figures for `make soak`
    assert [each for each in ends if each.startswith("UNKNOWN")] == []
    assert ends.total() >= len(profiles) * share
