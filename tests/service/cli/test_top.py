"""`latchscope top`: the screen as a function of its state, every key through a terminal, and its end in every way."""

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from service.cli import top
from service.cli.main import cli
from service.client import ServiceRefused
from service.config import load
from service.web import presenters
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Stage
from tests.service.test_client import service

Answers = dict[str, tuple[int, Any]]
HOSTILE = "\x1b[2J\u202eevil [red]" + "x" * 10_000
SQL = "select count(*) from dba_rollback_segs"
PARTS = {"": presenters.database_out, "/diagnosis": presenters.diagnosis_of}
PARTS |= {"/latches": presenters.latches_out, "/caches": presenters.caches_out}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What REST answers about the scripted databases in the storm."""
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("top"))
        stage.poll_all(40, 42)
        given = {
            f"/databases/{each.name}{part}": made(each).model_dump(mode="json")
            for each in stage.board
            for part, made in PARTS.items()
        }
        given["/databases"] = [given[f"/databases/{each.name}"] for each in stage.board]
        stage.close()
    return {f"/api/v1{path}": (200, body) for path, body in given.items()}


def state(answers: Answers, *keys: str, opened: str | None = None, **more: Any) -> top.State:
    """The view after its answers, with a database open or not, and then these keys."""
    seen = top.State("the stage", 2.0, **more)
    seen.take(None, answers["/api/v1/databases"][1])
    if opened:
        seen.chosen = opened
        seen.press("enter")
        seen.take(opened, view(answers, opened))
    for key in keys:
        seen.press(key)
    return seen


def view(answers: Answers, name: str) -> top.View:
    return top.View(*(answers[f"/api/v1/databases/{name}{part}"][1] for part in PARTS))


def drawn(seen: top.State) -> list[str]:
    """The lines on the terminal."""
    width, height = seen.size
    file = io.StringIO()
    Console(file=file, width=width, height=height, color_system=None).print(top.screen(seen), height=height)
    return file.getvalue().splitlines()


def test_fleet_shows_the_worst_first_with_the_whole_verdict_below(answers: Answers) -> None:
    lines = drawn(state(answers))
    count = len(answers["/api/v1/databases"][1])
    assert lines[0].startswith(f"{count} databases, ") and lines[0].rstrip().endswith("every 2 s  the stage")
    assert lines[1].split()[:2] == ["Severity", "Database"]
    ranks = ["CRITICAL", "WARNING", "NOTICE", "NO", "elsewhere", "fine"]
    words = [line.split()[0] for line in lines[2 : 2 + count]]
    assert words == sorted(words, key=ranks.index) and {"CRITICAL", "fine"} <= set(words)
    below = " ".join(line.strip() for line in lines[-4:-1]).strip()
    assert below == top.verdict(state(answers).rows[0]), "the whole verdict of the first database"


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 50)])
def test_every_screen_fits_its_terminal(answers: Answers, size: tuple[int, int]) -> None:
    for opened, keys in ((None, ""), (None, "/x"), ("undo-storm", ""), ("undo-storm", "c")):
        lines = drawn(state(answers, *keys, opened=opened, size=size))
        assert len(lines) == size[1] and max(map(len, lines)) <= size[0], (opened, keys)
        assert lines[-1].startswith("Enter open" if opened is None else "Esc back"), "the keys stay in the last line"


def test_figures_of_a_database_are_those_of_rest(answers: Answers) -> None:
    opened, lines = view(answers, "undo-storm"), drawn(state(answers, opened="undo-storm", size=(80, 120)))
    assert "Too many undo segments" in lines[1] and any(
        line.startswith("Hot child  Child 1 of latch#") for line in lines
    )
    assert SQL in [line.strip() for line in lines]
    hottest = max(opened.latches["children"], key=lambda row: row["sleeps"] or 0)
    rows = [line.split() for line in lines]
    assert [
        f"{hottest['child']}",
        "dc_rollback_segments",
        f"{hottest['gets_per_second']:,.0f}",
        f"{hottest['misses']:,.0f}",
        f"{hottest['sleeps']:,.0f}",
        f"{100 * hottest['share_of_sleeps']:.1f}",
        f"{1e6 * hottest['hold_seconds']:.2f}",
    ] in rows
    busiest = max(opened.caches["caches"], key=lambda row: row["gets"] or 0)
    row = next(row for row in rows if row[:2] == [busiest["cache"], f"{busiest['gets']:,.0f}"])
    assert row[2] == f"{100 * busiest['share_of_gets']:.1f}"


def test_mutexes_say_where_they_are_and_a_filter_what_it_found_nothing_for(answers: Answers) -> None:
    lines = drawn(state(answers, opened="users-mutex", size=(80, 120)))
    assert any("Mutexes guard the row cache here" in line for line in lines)
    assert "No database has nobody in its name." in drawn(state(answers, "/", *"nobody"))[2]


def test_hostile_names_are_visible_and_bounded() -> None:
    row = {"name": HOSTILE, "up": True, "state": HOSTILE, "headline": HOSTILE, "release": HOSTILE, "failure": None}
    named = {"cache": HOSTILE, "event": HOSTILE, "sessions": 1.5, "module": HOSTILE, "sql_id": None}
    told = {
        "headline": HOSTILE,
        "steps": [{"step": HOSTILE, "statement": HOSTILE}],
        "who": [named],
        "mechanism": HOSTILE,
    }
    told |= {"findings": [{"confirm": {"sql": HOSTILE}}], "waiting": [{**named, "hanging": 1, "longest_seconds": 9.0}]}
    open_ = top.View(
        {**row, "failure": {"why": HOSTILE}},
        told,
        {"children": [{**named, "child": 1, "gets": 5.0}]},
        {"caches": [named]},
    )
    seen = top.State(HOSTILE, 2.0, databases=[row], trouble=HOSTILE)
    screens = [drawn(seen)]
    seen.press("enter")
    seen.view = open_
    for key in ("home", *["page down"] * 12, "end", "c"):
        seen.press(key)
        screens.append(drawn(seen))
    for lines in screens:
        text = "\n".join(lines)
        assert "\x1b" not in text and "\u202e" not in text and "[U+001B]" in text and len(lines) == 24
    assert any("[red]" in line for line in screens[0]), "markup from outside is text"


def test_long_names_push_no_figure_off_the_screen() -> None:
    row = {
        "name": "n" * 99,
        "up": True,
        "state": "Fine",
        "headline": "h" * 99,
        "release": "19.0.0.0.0",
        "failure": None,
    }
    seen = top.State("w" * 99, 2.0, databases=[{**row, "data_age_seconds": 1.0}])
    lines = drawn(seen)
    assert lines[0].startswith("1 database, 0 with a problem, 0 no data") and "every 2 s" in lines[0]
    assert lines[2].split()[2:4] == ["19.0.0.0.0", "1"] and lines[2].split()[1].startswith("nnn")
    seen.press("enter")
    child = {"child": 1, "cache": "c" * 99, "gets": 5.0, "sleeps": 1234567.0, "share_of_sleeps": 1.0}
    seen.view = top.View(row, {"headline": "h" * 99, "basis": {"seconds": 2.0}}, {"children": [child]}, {})
    lines = drawn(seen)
    assert "over 2 s" in lines[0] and "every 2 s" in lines[0]
    assert any(line.split()[-5:] == ["–", "–", "1,234,567", "100.0", "–"] for line in lines)


def test_absent_figures_are_dashes_and_an_unknown_state_is_worse_than_a_good_one() -> None:
    for columns, row in ((top.CHILDREN, {"child": 1, "cache": "a"}), (top.CACHES, {"cache": "b", "gets": None})):
        cells = [top.cell(row, *column).plain for column in columns.items()]
        assert cells.count("–") == len(cells) - sum(value is not None for value in row.values())
    rows = [
        {"name": name, "state": state} for name, state in zip("abcd", ("Fine", "?", "Critical", "No data"), strict=True)
    ]
    assert [row["name"] for row in top.State("", 2.0, databases=rows).rows] == ["c", "b", "d", "a"]
    subordinate = top.View({}, {}, {}, {"caches": [{"cache": "b", "gets": None, "subordinate": 2}]})
    file = io.StringIO()
    Console(file=file, width=80).print(*top.parts(subordinate, 80))
    assert "  b #2 " in file.getvalue()


def test_answers_that_come_late_or_fail_leave_the_figures(answers: Answers) -> None:
    seen = state(answers, opened="undo-storm")
    figures = seen.view
    seen.take("users-mutex", view(answers, "users-mutex"))
    seen.take(None, [])
    assert seen.view is figures and seen.databases, "the answer to what the user has left"
    seen.take("undo-storm", ServiceRefused("no\x1b answer"))
    assert drawn(seen)[0].strip() == "no[U+001B] answer" and seen.view is figures
    seen.take("undo-storm", figures)
    assert drawn(seen)[0].startswith("undo-storm  11.2")
    with pytest.raises(KeyError):
        seen.take("undo-storm", KeyError("a mistake of ours"))


def test_database_that_fails_tells_why_in_place_of_an_old_verdict() -> None:
    down = {
        "up": False,
        "state": "No data",
        "headline": "old",
        "failure": {"why": "ORA-01017: invalid username/password"},
    }
    assert top.verdict(down).startswith("ORA-01017") and top.severity(down).plain == "NO DATA"
    assert top.severity({"state": "Elsewhere"}).plain == "elsewhere"


def test_command_of_a_wait_chain_goes_by_itself(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    action = {
        "check": "select 1 from v$rowcache_parent",
        "still": "lock_mode 5",
        "command": "alter system cancel sql '1, 2'",
    }
    chains = [{"action": action, "age_seconds": 20.0}, {"action": None}]
    open_ = view(answers, "undo-storm")
    open_ = open_._replace(diagnosis={**open_.diagnosis, "blockers": {"chains": chains}}, asked=(1000.0, 5000.0))
    clocks = {"monotonic": 1000.0, "time": 5000.0}
    monkeypatch.setattr("service.cli.top.time.monotonic", lambda: clocks["monotonic"])
    monkeypatch.setattr("service.cli.top.time.time", lambda: clocks["time"])
    seen = []
    for at in ({}, {"monotonic": 1040.0}, {"monotonic": 1041.0}, {"monotonic": 1000.0, "time": 5041.0}):
        clocks |= at
        said = "\n".join(str(part) for part in top.parts(open_, 80))
        assert "v$rowcache_parent" in said
        seen.append("cancel sql" in said)
    assert seen == [True, True, False, False]


def test_databases_are_polled_from_here_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with top.polled(load.demo(["healthy-19c"], 0, "sqlite://", 0.2)) as source:
        until = time.monotonic() + HANGS
        while source("/databases/healthy-19c/diagnosis")["basis"] is None and time.monotonic() < until:
            time.sleep(0.05)
        (only,) = source("/databases")
        assert (only["name"], only["state"], only["up"]) == ("healthy-19c", "Fine", True)
        assert source("/databases/healthy-19c") == only | {
            "data_age_seconds": source("/databases/healthy-19c")["data_age_seconds"]
        }
        assert source("/databases/healthy-19c/caches")["caches"]
        with pytest.raises(ServiceRefused, match="no database named nobody"):
            source("/databases/nobody/latches")
    assert list(tmp_path.iterdir()) == []


def test_mistakes_and_no_terminal_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    empty, none = tmp_path / "empty.yaml", tmp_path / "none.yaml"
    empty.touch()
    expected = {
        ("--url", "http://127.0.0.1:1"): "does not answer: Connection refused; is `latchscope serve` running?",
        ("--url", "127.0.0.1:8000"): "is not the address of a service",
        ("--url", "http://127.0.0.1:1", "--token-file", str(none)): "cannot be read: No such file or directory",
        ("--config", str(none)): "does not exist",
        ("--config", str(empty)): "names no database",
        ("--demo",): "`top` needs a terminal, and here is none",
    }
    for arguments, said in expected.items():
        told = CliRunner().invoke(cli, ["top", *arguments])
        assert told.exit_code == 2 and said in told.stderr, (arguments, told.output)
        assert told.stderr.count("\n") == 1 and told.stdout == "", arguments


# Through a terminal of its own, as a user would.


class Terminal:
    """A process on a terminal of 80 × 24, and what it shows."""

    def __init__(self, *words: str, folder: Path, **environment: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.theirs, self.before, self.all = theirs, termios.tcgetattr(theirs), ""
        known = {
            **os.environ,
            "TERM": "xterm",
            "NO_PROXY": "127.0.0.1",
            "LATCHSCOPE_TOKEN": "mine",
            "TMPDIR": str(folder),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "service", "top", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=known | environment,
            start_new_session=True,
        )

    def frame(self) -> list[str]:
        """The lines of the last screen. What is reversed has a » before it."""
        marked = self.all.rpartition("\x1b[H")[2].replace("\x1b[7m", "»")
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", marked)
        return [line.rstrip() for line in plain.splitlines()]

    def read(self, seconds: float) -> None:
        if select.select([self.ours], [], [], seconds)[0]:
            with suppress(OSError):
                self.all += os.read(self.ours, 65536).decode(errors="replace")

    def until(self, *words: str) -> list[str]:
        """Wait until these words are on the screen."""
        until = time.monotonic() + HANGS
        while time.monotonic() < until:
            lines = self.frame()
            if all(word in "\n".join(lines) for word in words):
                return lines
            assert self.process.poll() is None, self.all[-2000:]
            self.read(0.2)
        raise AssertionError(f"{words} never came; {self.frame()}")

    def press(self, keys: str, *words: str) -> list[str]:
        """Type, and wait for the words."""
        os.write(self.ours, keys.encode())
        return self.until(*words)

    def ended(self) -> int:
        """The exit code, once it has ended. The terminal must be as it was."""
        until = time.monotonic() + HANGS
        while self.process.poll() is None and time.monotonic() < until:
            self.read(0.1)
        while select.select([self.ours], [], [], 0.1)[0]:
            self.read(0)
        assert termios.tcgetattr(self.theirs) == self.before, "the terminal is as before"
        assert self.all.count("\x1b[?1049h") == self.all.count("\x1b[?1049l") == 1, "the screen of before is back"
        assert self.all.count("\x1b[?25h") >= self.all.count("\x1b[?25l"), "and its cursor"
        return self.process.wait(HANGS)


@contextmanager
def terminal(*words: str, folder: Path, **environment: str) -> Iterator[Terminal]:
    started = Terminal(*words, folder=folder, **environment)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait(HANGS)
        os.close(started.ours)
        os.close(started.theirs)


@pytest.mark.slow
def test_each_key_through_a_terminal(answers: Answers, tmp_path: Path) -> None:
    answers = dict(answers)
    storm = answers["/api/v1/databases/undo-storm"]
    names = [row["name"] for row in state(answers).rows]
    with service(answers) as url, terminal("--url", url, "--interval", "60", folder=tmp_path) as user:
        user.until("every 60 s", "CRITICAL", "Enter open", names[0])
        verdicts = {row["name"]: top.verdict(row) for row in state(answers).rows}
        for keys, at in (("\x1b[B", 1), ("\x1bOB", 2), ("\x1b[A", 1), ("\x1b[F", -1), ("\x1b[H", 0), ("\x1b[6~", -1)):
            user.press(
                keys, verdicts[names[at]][:60]
            )  # Down, Down, Up, End, Home, page down: below is the whole verdict
        user.press("\x1b[5~", names[0])  # page up
        user.press("/undox", "filter: undox_", "No database has undox")
        user.press("\x7f", "filter: undo_", "undo-storm")
        user.press("\r", "filter: undo\n")
        user.press("\r", "undo-storm  11.2.0.4.0", "Hot child  Child 1")
        user.press("\x1b[6~", "on any healthy system seen")
        user.press("c", "else select it here:", SQL)
        assert "\x1b]52;c;c2VsZWN0IGNvdW50" in user.all, "to the clipboard of the terminal"
        user.press("\x1b[F", "dc_global_oids")
        user.press("\x1b[H", "Hot child  Child 1")
        answers["/api/v1/databases/undo-storm"] = (500, {"detail": "the store is gone"})
        user.press("r", "the store is gone", "Hot child  Child 1")
        answers["/api/v1/databases/undo-storm"] = storm
        user.press("r", "undo-storm  11.2.0.4.0")
        user.press("\x1b", "filter: undo")
        user.press("\x1b", "Enter open", names[0])
        user.press("\r", "Esc back")
        user.press("\x7f", "Enter open")
        os.write(user.ours, b"q")
        assert user.ended() == 0
        assert user.all.rstrip().endswith(SQL), "what was copied stands on the terminal afterwards"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["Ctrl-C", signal.SIGTERM, signal.SIGHUP])
def test_every_end_restores_the_terminal_and_leaves_no_file(ending: str | signal.Signals, tmp_path: Path) -> None:
    config = tmp_path / "latchscope.yaml"
    config.write_text("databases: [{name: quiet, dsn: 'demo:healthy-19c'}]\n", encoding="utf-8")
    with terminal("--config", str(config), folder=tmp_path) as user:
        user.until("quiet", "1 database, ")
        assert list(tmp_path.glob("latchscope-top-*"))
        if isinstance(ending, str):
            os.write(user.ours, b"\x03")
        else:
            user.process.send_signal(ending)
        assert user.ended() == 0, user.all[-3000:]
    assert list(tmp_path.glob("latchscope-top-*")) == []


@pytest.mark.slow
def test_service_that_stops_answering_is_one_sentence(answers: Answers, tmp_path: Path) -> None:
    with ExitStack() as stack:
        with service(answers) as url:
            user = stack.enter_context(terminal("--url", url, "--interval", "1", folder=tmp_path))
            user.until("undo-storm", "every 1 s")
        user.until("does not answer: Connection refused", "undo-storm")
        os.write(user.ours, b"q")
        assert user.ended() == 0
    odd = {"/api/v1/databases": (200, [{"name": "without a state"}])}
    with service(odd) as url, terminal("--url", url, folder=tmp_path) as user:
        assert user.ended() == 1 and "KeyError: 'state'" in user.all, "a mistake of ours restores the terminal too"


def test_keys_are_read_by_name_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        with top.keyboard():
            os.write(ours, b"\x1b[1;5Fq\r\x1b[99~\xc3\xa4")
            assert top.typed(HANGS) == ["end", "q", "enter", "", "ä"]
            os.write(ours, b"\x1b")
            assert top.typed(HANGS) == ["escape"]
        os.close(ours)
        assert top.typed(HANGS) == ["q"], "a terminal that is gone"


def test_key_that_comes_in_two_parts_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = iter((b"\x1b", b"[", b"A"))
    monkeypatch.setattr("os.read", lambda *_: next(parts))
    monkeypatch.setattr("select.select", lambda *_: ([0], [], []))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(fileno=lambda: 0))
    assert top.typed(1.0) == ["up"]
