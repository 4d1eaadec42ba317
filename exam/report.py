"""The results of an exam as tables: printed as Markdown, or as a page of HTML without script or style from elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from exam.draw import KINDS, PARTS
from exam.score import MEASURES, VERDICTS, Outcome, Share, Sheet, calibration, kind_of, share, verdicts
from exam.words import harms

OURS = "latchscope"
RIGHT = "first cause or a relative"
STYLE = """\
body {font: 16px/1.5 sans-serif; margin: 2em}
table {border-collapse: collapse}
td, th {border: 1px solid #888; padding: .2em .6em; text-align: left}"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its heading. `note` is a sentence above it."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables(seed: str, commit: str | None, sheets: Sequence[Sheet]) -> list[Table]:
    """Every table of a report. The first sheet is the tool that is examined; the others are beside it."""
    names = tuple(sheet.tool for sheet in sheets)
    first = sheets[0]
    return [
        _origin(seed, commit, first),
        Table("Measures", ("measure", *names), tuple(_measures(sheets)), "Shares with Wilson's interval of 95 %."),
        Table(
            "Answers",
            ("answer", *names, "meaning"),
            tuple(_verdicts(sheets)),
            "Of questions with trouble in the row cache.",
        ),
        _by("By kind of input", sheets, kind_of, KINDS.values()),
        _by("By part", sheets, lambda one: one.key.part, PARTS),
        _by("By kind of wait", sheets, lambda one: one.key.wait or "none", _waits(first)),
        Table("Calibration", ("tool", "answers", "Brier score", "confidence: right"), tuple(map(_calibration, sheets))),
        Table("Harmful advice", ("tool", "question", "kind", "words"), tuple(_harm(sheets))),
        _failed(first),
        Table("Remarks", ("tool", "remark"), tuple((one.tool, remark) for one in sheets for remark in one.remarks)),
    ]


def _origin(seed: str, commit: str | None, sheet: Sheet) -> Table:
    rows = (
        ("questions", str(len(sheet.outcomes))),
        ("seed", seed),
        ("commit of the seed", commit or "none, the seed was given"),
    )
    return Table("The exam", ("what", "value"), rows)


def _measures(sheets: Sequence[Sheet]) -> Iterator[tuple[str, ...]]:
    for name in MEASURES:
        yield (name, *(str(share(sheet.outcomes, name)) for sheet in sheets))


def _verdicts(sheets: Sequence[Sheet]) -> Iterator[tuple[str, ...]]:
    counts = [verdicts(one for one in sheet.outcomes if one.key.incident == "row cache") for sheet in sheets]
    for name, meaning in VERDICTS.items():
        yield (name, *(str(count[name]) for count in counts), meaning)


def _by(title: str, sheets: Sequence[Sheet], group: Callable[[Outcome], str], groups: Iterable[str]) -> Table:
    rows = []
    for name in groups:
        chosen = [[one for one in sheet.outcomes if group(one) == name] for sheet in sheets]
        if chosen[0]:
            rows.append((name, *(str(Share(sum(one.true for one in mine), len(mine))) for mine in chosen)))
    note = f"All questions: {RIGHT}. Where nothing is wrong, it is right to say so."
    return Table(title, ("questions", *(sheet.tool for sheet in sheets)), tuple(rows), note)


def _waits(sheet: Sheet) -> list[str]:
    return sorted({one.key.wait or "none" for one in sheet.outcomes})


def _calibration(sheet: Sheet) -> tuple[str, ...]:
    found = calibration(sheet.outcomes)
    bins = "; ".join(f"{mean:.0%}: {hits} of {of}" for _, _, mean, hits, of in found.bins)
    return sheet.tool, str(found.answers), "–" if found.brier is None else f"{found.brier:.3f}", bins or "–"


def _harm(sheets: Sequence[Sheet]) -> Iterator[tuple[str, ...]]:
    for sheet in sheets:
        given = [(one.key.id, *harm) for one in sheet.outcomes for harm in one.harm]
        for kind in harms():
            mine = [(question, words) for question, name, words in given if name == kind]
            if mine:
                yield sheet.tool, f"{mine[0][0]} and {len(mine) - 1} more" if mine[1:] else mine[0][0], kind, mine[0][1]


def _failed(sheet: Sheet) -> Table:
    """The questions that a tool fails, by kind of input; those it cannot tell are listed too."""
    failed = [one for one in sheet.outcomes if not one.true]
    rows = [
        (
            kind_of(one),
            one.key.part,
            one.key.id,
            " or ".join(one.key.causes),
            one.verdict,
            ", ".join(one.answer.causes) if one.answer else "–",
            one.key.origin,
        )
        for one in sorted(failed, key=lambda one: (kind_of(one), one.verdict, one.key.part, one.key.id))
    ]
    heads = ("input", "part", "question", "key", "verdict", "answer", "origin")
    return Table(f"Questions without a right answer of {sheet.tool}", heads, tuple(rows))


def markdown(made: Sequence[Table], level: int = 2) -> str:
    """The tables as Markdown."""
    parts = []
    for table in made:
        if table.rows:
            note = f"{table.note}\n\n" if table.note else ""
            parts.append(f"{'#' * level} {table.title}\n\n{note}{grid(table.heads, table.rows)}")
    return "\n\n".join(parts) + "\n"


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """One table of Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def html(title: str, made: Sequence[Table]) -> str:
    """The tables as one page."""
    parts = [f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>']
    parts += [f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>"]
    for table in made:
        if table.rows:
            heads = "".join(f"<th>{escape(cell)}</th>" for cell in table.heads)
            rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
            note = f"<p>{escape(table.note)}</p>" if table.note else ""
            parts.append(f"<h2>{escape(table.title)}</h2>{note}<table><tr>{heads}</tr>{rows}</table>")
    return "\n".join([*parts, "</body></html>", ""])


# The record of a draw


def recorded(seed: str, commit: str, taken: str, sheets: Sequence[Sheet]) -> dict[str, Any]:
    """What exam/results.jsonl keeps of a draw: counts, from which every share and interval follows."""
    return {
        "commit": commit,
        "seed": seed,
        "taken": taken,
        "questions": len(sheets[0].outcomes),
        "tools": {sheet.tool: _counts(sheet) for sheet in sheets},
    }


def _counts(sheet: Sheet) -> dict[str, Any]:
    found = calibration(sheet.outcomes)
    groups: dict[str, dict[str, list[int]]] = {"kinds": {}, "parts": {}}
    for one in sheet.outcomes:
        for name, group in (("kinds", kind_of(one)), ("parts", one.key.part)):
            counted = groups[name].setdefault(group, [0, 0])
            counted[0] += one.true
            counted[1] += 1
    failed: dict[str, dict[str, int]] = {}
    for one in sheet.outcomes:
        if not one.true:
            of_kind = failed.setdefault(kind_of(one), {})
            of_kind[one.verdict] = of_kind.get(one.verdict, 0) + 1
    shares = {name: share(sheet.outcomes, name) for name in MEASURES}
    return {
        "measures": {name: [one.hits, one.of] for name, one in shares.items()},
        **groups,
        "failed": failed,
        "brier": None if found.brier is None else round(found.brier, 4),
        "bins": [[round(mean, 3), hits, of] for _, _, mean, hits, of in found.bins],
    }


def published(records: Sequence[Mapping[str, Any]]) -> str:
    """The results of every draw, the last one first, as docs/exam.md shows them."""
    if not records:
        return "No draw is recorded yet."
    return "\n\n".join(_draw(record) for record in reversed(records))


def _draw(record: Mapping[str, Any]) -> str:
    tools: Mapping[str, Any] = record["tools"]
    ours = tools[OURS]
    heads = ("measure", *tools)
    measures = grid(
        heads,
        (
            *((name, *(str(Share(*told["measures"][name])) for told in tools.values())) for name in ours["measures"]),
            ("Brier score", *("–" if told["brier"] is None else f"{told['brier']:.3f}" for told in tools.values())),
        ),
    )
    groups = [
        grid((title, *tools), ((name, *(str(Share(*told[group][name])) for told in tools.values())) for name in order))
        for title, group, order in (
            ("kind of input", "kinds", [name for name in KINDS.values() if name in ours["kinds"]]),
            ("part", "parts", [name for name in PARTS if name in ours["parts"]]),
        )
    ]
    bins = grid(
        ("mean confidence", "right or a relative"), ((f"{m:.0%}", str(Share(h, of))) for m, h, of in ours["bins"])
    )
    reasons = [name for name in VERDICTS if name not in ("right", "relative")]
    failed = grid(
        ("kind of input", *reasons),
        ((kind, *(str(counts.get(name, 0)) for name in reasons)) for kind, counts in sorted(ours["failed"].items())),
    )
    said = f"Commit `{record['commit']}`, seed `{record['seed']}`, {record['questions']} questions, taken {record['taken']}."
    return "\n\n".join(
        (
            f"### Draw of {record['commit'][:8]}",
            said,
            measures,
            f"Share of all questions with the {RIGHT}:",
            *groups,
            f"How sure {OURS} was, and how often it was right:",
            bins,
            f"Questions without a right answer of {OURS}:",
            failed,
        )
    )
