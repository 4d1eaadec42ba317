"""The exam: `python -m exam` draws it, takes it and scores it; see docs/exam.md."""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from exam import report, rivals, take
from exam.draw import Key, questions, read_key, seed_of, write
from exam.live import listener
from exam.score import Sheet, marked
from tests.oracle_standin.scripted import PASSWORD, USER

ROOT = Path(__file__).resolve().parents[1]
FROZEN = ("rules", "exam", "tests/truth", "tests/recordings")
"""What the questions and the answers follow from. A change of any of it makes another draw."""
RESULTS = ROOT / "exam" / "results.jsonl"
NOT_FROZEN = f":(exclude){RESULTS.relative_to(ROOT)}"
PAGE = ROOT / "docs" / "exam.md"
BLOCK = re.compile(r"(?<=<!-- results of the exam -->\n\n).*?(?=\n\n<!-- end of the results -->)", re.DOTALL)
FOLDER = Path("dist/exam")


class ExamError(Exception):
    """What went wrong, in one line with a way out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code: 2 if something could not be done."""
    asked = _parser().parse_args(arguments)
    try:
        asked.run(asked)
    except ExamError as error:
        print(f"exam: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m exam", description=__doc__)
    parser.set_defaults(run=_whole)
    parser.add_argument("--record", action="store_true", help="keep the results in exam/results.jsonl and docs/exam.md")
    _of_a_draw(parser)
    commands = parser.add_subparsers(title="steps, one by one", metavar="STEP")
    draw = commands.add_parser("draw", help="write questions/ and key.json")
    _of_a_draw(draw)
    draw.set_defaults(run=_draw)
    took = commands.add_parser("take", help="write the answers of the installed latchscope")
    took.set_defaults(run=_take)
    scored = commands.add_parser("score", help="score answers: print the measures, write report.md and report.html")
    scored.add_argument(
        "answers", type=Path, nargs="+", metavar="ANSWERS", help="files of answers; the first is examined"
    )
    scored.set_defaults(run=_score)
    listen = commands.add_parser("listen", help="serve the live questions on 127.0.0.1 until Ctrl-C")
    listen.add_argument("--port", type=int, default=0, help="0 for a free one")
    listen.set_defaults(run=_listen)
    for step in (parser, draw, took, scored, listen):
        default = FOLDER if step is parser else argparse.SUPPRESS
        step.add_argument("--folder", type=Path, default=default, help=f"where the exam is ({FOLDER})")
    return parser


def _of_a_draw(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    default = None if parser.prog.endswith("exam") else argparse.SUPPRESS
    which.add_argument("--seed", default=default, metavar="HEX", help="a seed of your own, in hex digits")
    which.add_argument("--commit", default=default, metavar="HASH", help="the seed of this commit")
    parser.add_argument("--first", type=int, default=default, metavar="COUNT", help="only so many questions, for a try")


def _whole(asked: argparse.Namespace) -> None:
    if asked.record and (asked.seed or asked.commit or asked.first):
        raise ExamError("--record keeps the draw of the frozen commit alone; leave out --seed, --commit and --first")
    records = results()
    if asked.record:
        commit = _clean()
        if any(one["commit"] == commit for one in records):
            raise ExamError(
                f"the draw of {commit[:8]} is recorded; only the first counts, a later one needs a new commit"
            )
    _draw(asked)
    _take(asked)
    seed, drawn_from, keys = _key(asked.folder)
    ours = asked.folder / "answers" / f"{report.OURS}.json"
    theirs = {name: ours.with_name(f"{name.replace(' ', '-')}.json") for name in rivals.RIVALS}
    for name, file in theirs.items():
        _save(file, rivals.answers(name, asked.folder, keys))
    sheets = _report(asked.folder, [ours, *theirs.values()])
    if asked.record:
        assert drawn_from is not None
        keep([*records, report.recorded(seed, drawn_from, _git("log", "-1", "--format=%cs"), sheets)])


def _draw(asked: argparse.Namespace) -> None:
    commit = asked.commit if asked.seed is None else None
    if asked.seed is None and commit is None:
        commit = frozen_commit()
    seed = asked.seed.lower() if asked.seed is not None else seed_of(str(commit))
    if not re.fullmatch(r"[0-9a-f]{1,128}", seed):
        raise ExamError(f"{asked.seed!r} is no seed; give 1 to 128 hex digits, or leave --seed out")
    drawn = questions(seed, asked.first)
    write(seed, commit, asked.folder, drawn)
    print(f"{asked.folder}: {len(drawn)} questions of seed {seed[:16]}…")


def _take(asked: argparse.Namespace) -> None:
    _, _, keys = _key(asked.folder)
    try:
        given = take.answers(asked.folder, keys)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExamError(str(error)) from None
    _save(asked.folder / "answers" / f"{report.OURS}.json", given)


def _score(asked: argparse.Namespace) -> None:
    _report(asked.folder, asked.answers)


def _listen(asked: argparse.Namespace) -> None:
    _, _, keys = _key(asked.folder)
    with listener(keys, asked.port) as serving:
        for name in serving.services:
            print(f"{name}: {USER}/{PASSWORD}@{serving.dsn(name)}", flush=True)
        with suppress(KeyboardInterrupt):
            Event().wait()


def _report(folder: Path, files: Sequence[Path]) -> list[Sheet]:
    """Score these files, print the measures, and write the report beside the questions."""
    seed, commit, keys = _key(folder)
    sheets = [marked(file.stem.replace("-", " "), _text(file), keys) for file in files]
    made = report.tables(seed, commit, sheets)
    (folder / "report.md").write_text(f"# Results of the exam\n\n{report.markdown(made)}", encoding="utf-8")
    (folder / "report.html").write_text(report.html("Results of the exam", made), encoding="utf-8")
    print(report.markdown([one for one in made if one.title in ("Measures", "By kind of input", "By part", "Remarks")]))
    print(f"{folder / 'report.md'}, {folder / 'report.html'}")
    return sheets


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ExamError(f"{file} cannot be read ({error}); give a file of answers as JSON") from None


def _key(folder: Path) -> tuple[str, str | None, list[Key]]:
    try:
        return read_key(folder)
    except FileNotFoundError:
        raise ExamError(
            f"{folder} has no key.json; draw an exam first: python -m exam draw --folder {folder}"
        ) from None


def _save(file: Path, answers: Sequence[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


# The commit that the seed comes from, and the results that are kept


def frozen_commit(root: Path = ROOT) -> str:
    """The last commit that changed what is frozen. Raises ExamError if the history does not say."""
    if _git("rev-parse", "--is-shallow-repository", root=root) != "false":
        raise ExamError("this clone is shallow, so the commit of the seed is unknown; run git fetch --unshallow")
    return _git("log", "-1", "--format=%H", "--", *FROZEN, NOT_FROZEN, root=root)


def _clean() -> str:
    """The frozen commit, if nothing has changed since."""
    changed = _git("status", "--porcelain", "--", *FROZEN, NOT_FROZEN)
    if changed:
        raise ExamError(f"{changed.split()[-1]} is not committed; commit first, because the seed comes from the commit")
    return frozen_commit()


def _git(*arguments: str, root: Path = ROOT) -> str:
    way_out = "give --commit HASH or --seed HEX"
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        raise ExamError(f"there is no git here, so the commit of the seed is unknown; {way_out}") from None
    if done.returncode:
        raise ExamError(f"git {arguments[0]} says: {done.stderr.strip().splitlines()[0]}; {way_out}")
    return done.stdout.strip()


def results(file: Path = RESULTS) -> list[dict[str, Any]]:
    """The recorded draws, the first one first."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def keep(records: Sequence[dict[str, Any]], file: Path = RESULTS, page: Path = PAGE) -> None:
    """Write the records, and the part of the page that shows them."""
    file.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    page.write_text(with_results(page.read_text(encoding="utf-8"), records), encoding="utf-8")


def with_results(text: str, records: Sequence[dict[str, Any]]) -> str:
    """The page with the results of these draws."""
    return BLOCK.sub(lambda _: report.published(records), text)


if __name__ == "__main__":
    sys.exit(main())
