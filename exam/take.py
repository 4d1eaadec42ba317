"""latchscope's answers, through the installed command line as a stranger runs it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from exam.draw import Key
from exam.live import listener
from exam.words import CANNOT_TELL, ELSEWHERE, NOTHING
from tests.oracle_standin.demo_wire import write_configuration

CHUNK = 30
"""Files of one call, so that its start costs little and two calls run side by side."""
AT_ONCE = 2
CAPTURED = 20
"""Seconds between the two snapshots of a live database."""
PATIENCE = 600
NAME = re.compile(r"Q\d{3}")
"""A question in the name of a database. A report of a cluster appends the number of the instance."""
WORDS = {"high": 0.9, "medium": 0.7, "low": 0.5}
"""The probability that we take a word for, if the diagnosis has no counts beside it."""
FINE = 0.9
"""The probability that an instance is as well as it looks, of which the output says no number."""


def answers(folder: Path, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """The answers to all questions of a folder. Raises OSError if the command is not installed, or fails."""
    home = folder / "questions"
    with TemporaryDirectory() as scratch:
        captures = live(keys, Path(scratch))
        files = [*(home / key.file for key in keys if key.file), *captures]
        chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            diagnoses = [one for chunk in pool.map(_diagnosed, chunks) for one in chunk]
    given = {name[0]: one for one in diagnoses if (name := NAME.match(str(one["database"])))}
    if lost := [key.id for key in keys if key.id not in given]:
        sys.stderr.write(f"latchscope gave no diagnosis under the name of {', '.join(lost)}: no answer\n")
    return [answer(key.id, given[key.id]) for key in keys if key.id in given]


def live(keys: Sequence[Key], scratch: Path) -> list[Path]:
    """Captures of the live databases, all at the same time."""
    names = [key.id for key in keys if key.kind == "live"]
    if not names:
        return []
    with listener(keys) as serving:
        config = write_configuration(scratch, serving, 0)
        files = [scratch / f"{name}.json" for name in names]
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(lambda name, file: _captured(name, config, file), names, files))
    return files


def _captured(name: str, config: Path, file: Path) -> None:
    _run("capture", name, "--config", str(config), "--seconds", str(CAPTURED), "--output", str(file))


def _diagnosed(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The diagnoses of some files. A file that cannot be read has none; the command names it and goes on."""
    text = _run("diagnose", "--format", "json", *map(str, files))
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def _run(*arguments: str) -> str:
    """What the command prints. Exit code 2 says that an input could not be read."""
    beside = Path(sys.executable).with_name("latchscope")
    command = str(beside) if beside.exists() else which("latchscope")
    if command is None:
        raise OSError("there is no latchscope on the PATH; `make install` installs it, then activate .venv")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode not in (0, 2) or not (done.stdout.strip() or arguments[0] == "capture"):
        raise OSError(f"latchscope {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def answer(question: str, diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """A diagnosis in the form of an answer: its causes in order, or why it names none."""
    findings: list[Mapping[str, Any]] = diagnosis["findings"]
    named = [one for one in findings if one["severity"] != "info"]
    noted = [one for one in findings if one["severity"] == "info"]
    state = diagnosis["state"]
    shown = named
    if named:
        causes = [one["cause"] for one in (*named, *noted)]
    elif state == "Fine":
        causes, shown = [NOTHING, *(one["cause"] for one in noted)], []
    elif state == "Elsewhere":
        shown = [one for one in noted if not _harmless(one)]
        causes = [*(one["cause"] for one in shown), ELSEWHERE]
    else:
        causes = [CANNOT_TELL]
    return {
        "question": question,
        "cause": causes,
        "cache": _cache(diagnosis, shown),
        "confidence": _confidence(shown[0]) if shown else 0.0 if causes == [CANNOT_TELL] else FINE,
        "advice": [text for one in shown for text in _advice(one)],
    }


def _harmless(finding: Mapping[str, Any]) -> bool:
    """Whether its name says that it is harmless."""
    return str(finding["name"]).startswith("Harmless")


def _cache(diagnosis: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> str | None:
    """The cache of the first cause that names one, else the one of the first problem."""
    named = next((str(one["cache"]) for one in shown if one["cache"]), None)
    return named or next((str(one["cache"]) for one in diagnosis["troubles"] if one["cache"]), None)


def _confidence(finding: Mapping[str, Any]) -> float:
    """How often findings like this one were true by its own counts, else what its word stands for."""
    counted = finding.get("reliability")
    if counted and counted.get("of"):
        return round((int(counted["true"]) + 1) / (int(counted["of"]) + 2), 3)
    return WORDS.get(finding["confidence"], WORDS["low"])


def _advice(finding: Mapping[str, Any]) -> Iterator[str]:
    """Everything that it says to do or not to do."""
    yield from (finding[name] for name in ("do_now", "check_first", "do_not") if finding.get(name))
    for step in finding["remedy_steps"]:
        sql = step.get("sql") or ""
        yield from (text for text in (step.get("do"), *(sql.values() if isinstance(sql, dict) else [sql])) if text)
