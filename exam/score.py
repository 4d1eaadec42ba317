"""Scores the answers of a tool against the key of an exam.

An answer is `{"question", "cause", "cache", "confidence", "advice"}`. `cause` is a text, or a list of texts with the likeliest
first. `confidence` is the probability that the first is right, from 0 to 1.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from exam.draw import KINDS, Key
from exam.words import CANNOT_TELL, ELSEWHERE, NOT_ROW_CACHE, NOTHING, cause_of, harmful

Verdict = Literal["right", "relative", "cannot tell", "missed", "wrong", "no answer"]
VERDICTS: dict[Verdict, str] = {
    "right": "the first cause is one of the key",
    "relative": "the first cause is true as well: it contains the key's, or says it less exactly",
    "cannot tell": "the tool says that it cannot tell",
    "missed": "the tool says that nothing is wrong, or that the trouble is not in the row cache",
    "wrong": "the first cause is another",
    "no answer": "there is none, or it was refused",
}
UNREADABLE = "unknown words"
"""The cause of an answer whose words are in no synonym."""
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
Z = 1.96
"""Standard deviations of an interval of 95 %."""
LONGEST = 60
"""Characters of a wrong text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One accepted answer. `causes` are names of the table of synonyms, the likeliest first."""

    question: str
    causes: tuple[str, ...]
    cache: str | None
    confidence: float
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question brought."""

    key: Key
    answer: Answer | None
    verdict: Verdict
    harm: tuple[tuple[str, str], ...] = ()
    """Kind and clause of each forbidden advice."""

    @property
    def true(self) -> bool:
        """The first cause is right or a relative."""
        return self.verdict in ("right", "relative")

    @property
    def any(self) -> bool:
        """One of the named causes is right."""
        return self.answer is not None and bool(set(self.answer.causes) & set(self.key.causes))

    @property
    def right_cache(self) -> bool:
        """The named cache is one of the key."""
        return self.answer is not None and self.answer.cache in {name.lower() for name in self.key.caches}

    @property
    def false_incident(self) -> bool:
        """It blames the row cache, and the row cache has no trouble."""
        if self.answer is None or self.key.incident == "row cache" or self.true:
            return False
        return self.answer.causes[0] not in NOT_ROW_CACHE


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with Wilson's interval of 95 %."""

    hits: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Its bounds; 0 and 1 if nothing was counted."""
        return wilson(self.hits, self.of)

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = self.interval
        return f"{self.hits / self.of:.0%} ({low:.0%}–{high:.0%}), {self.hits} of {self.of}"


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well the confidences fit: Brier's score, and hits by bin of confidence. 0 is best, 0.25 is what a coin gets."""

    answers: int
    brier: float | None
    bins: tuple[tuple[float, float, float, int, int], ...] = ()
    """From, to, mean confidence, hits, answers."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """All outcomes of one tool, and a line for each answer that was refused or not understood."""

    tool: str
    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = field(default=())


def _has_cause(one: Outcome) -> bool:
    return NOTHING not in one.key.causes


Chosen = Callable[[Outcome], bool]
MEASURES: dict[str, tuple[str, Chosen, Chosen]] = {
    "first cause": (
        "questions with a cause: the first named is right",
        _has_cause,
        lambda one: one.verdict == "right",
    ),
    "first cause or a relative": (
        "the same, or true as well",
        _has_cause,
        lambda one: one.true,
    ),
    "any cause": (
        "one of those named is right",
        _has_cause,
        lambda one: one.any,
    ),
    "cache": (
        "questions with a cache: the named one is right",
        lambda one: bool(one.key.caches),
        lambda one: one.right_cache,
    ),
    "cannot tell": (
        "questions with a cause: the tool says that it cannot tell",
        lambda one: _has_cause(one) and CANNOT_TELL not in one.key.causes,
        lambda one: one.verdict == "cannot tell",
    ),
    "wrong cause": (
        "questions with a cause: the first named is another",
        _has_cause,
        lambda one: one.verdict == "wrong",
    ),
    "false incident": (
        "questions whose trouble is not in the row cache, or nowhere: it is blamed",
        lambda one: one.key.incident != "row cache",
        lambda one: one.false_incident,
    ),
    "harmful advice": ("all questions: forbidden advice is given", lambda one: True, lambda one: bool(one.harm)),
    "no answer": ("all questions", lambda one: True, lambda one: one.verdict == "no answer"),
}
"""Name → what it counts, which questions, and which of them are hits. Of the last five, less is better or it depends."""


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    if not of:
        return 0.0, 1.0
    share, z2 = hits / of, Z * Z
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def marked(tool: str, text: str, keys: Sequence[Key]) -> Sheet:
    """The sheet of a tool whose answers are this text."""
    answers, remarks = read(text, {key.id for key in keys})
    return Sheet(tool, tuple(judged(key, answers.get(key.id)) for key in keys), tuple(remarks))


def judged(key: Key, answer: Answer | None) -> Outcome:
    """How an answer compares with the key of its question."""
    if answer is None:
        return Outcome(key, None, "no answer")
    first, verdict = answer.causes[0], "wrong"
    if first in key.causes:
        verdict = "right"
    elif first in key.relatives:
        verdict = "relative"
    elif first == CANNOT_TELL:
        verdict = "cannot tell"
    elif first in (NOTHING, ELSEWHERE):
        verdict = "missed"
    harm = harmful(answer.advice, key.forbidden, key.holder)
    return Outcome(key, answer, verdict, tuple(harm))  # type: ignore[arg-type]


def share(outcomes: Iterable[Outcome], measure: str) -> Share:
    """One measure over these outcomes."""
    _, counted, hit = MEASURES[measure]
    chosen = [one for one in outcomes if counted(one)]
    return Share(sum(map(hit, chosen)), len(chosen))


def calibration(outcomes: Iterable[Outcome]) -> Calibration:
    """The confidences of all answers but those that cannot tell, also where that is right."""
    pairs = [
        (one.answer.confidence, one.true)
        for one in outcomes
        if one.answer is not None and one.answer.causes[0] != CANNOT_TELL
    ]
    if not pairs:
        return Calibration(0, None)
    brier = sum((sure - hit) ** 2 for sure, hit in pairs) / len(pairs)
    bins = []
    for low, high in pairwise(BINS):
        inside = [(sure, hit) for sure, hit in pairs if low <= sure < high or sure == high == 1.0]
        if inside:
            mean = sum(sure for sure, _ in inside) / len(inside)
            bins.append((low, high, mean, sum(hit for _, hit in inside), len(inside)))
    return Calibration(len(pairs), brier, tuple(bins))


def verdicts(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many outcomes have each verdict."""
    return Counter(one.verdict for one in outcomes)


def kind_of(one: Outcome) -> str:
    """The kind of input, as people name it."""
    return KINDS[one.key.kind]


# Reading the answers


def read(text: str, known: Iterable[str]) -> tuple[dict[str, Answer], list[str]]:
    """The accepted answers by question, and one line for each that was refused or not understood.

    The text is a JSON array, or one JSON object a line.
    """
    remarks: list[str] = []
    answers: dict[str, Answer] = {}
    names, twice = frozenset(known), set[str]()
    for place, given in _parsed(text, remarks):
        answer = _answer(given, place, names, remarks)
        if answer is None:
            continue
        if answer.question in answers or answer.question in twice:
            if answer.question not in twice:
                remarks.append(
                    f"{answer.question}: answered more than once; give one answer, so it counts as no answer"
                )
            twice.add(answer.question)
            answers.pop(answer.question, None)
            continue
        answers[answer.question] = answer
    return answers, remarks


def _parsed(text: str, remarks: list[str]) -> list[tuple[str, Any]]:
    """Each answer with its place in the file."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            given = json.loads(text.lstrip("\ufeff"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            remarks.append(f"the file is not JSON ({_why(error)}); all its questions count as not answered")
            return []
        return [(f"answer {place}", one) for place, one in enumerate(given, 1)]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((f"line {number}", json.loads(line, parse_constant=_no_constant)))
            except (ValueError, RecursionError) as error:
                remarks.append(f"line {number}: not JSON ({_why(error)}); it counts as no answer")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _answer(given: Any, place: str, known: frozenset[str], remarks: list[str]) -> Answer | None:
    """The answer, or None and a remark that says what is wrong with it."""
    if not isinstance(given, dict):
        remarks.append(f"{place}: {_short(given)} is no JSON object; it counts as no answer")
        return None
    name = given.get("question")
    if not isinstance(name, str) or name not in known:
        remarks.append(f"{place}: there is no question {_short(name)}; the index of the questions names them")
        return None
    wrong = _mistake(given)
    if wrong:
        remarks.append(f"{name}: {wrong}; it counts as no answer")
        return None
    texts = [given["cause"]] if isinstance(given["cause"], str) else given["cause"]
    causes = []
    for text in texts:
        cause = cause_of(text)
        if cause is None:
            remarks.append(f"{name}: no synonym for {_short(text)}; it counts as a wrong cause (exam/synonyms.yaml)")
        causes.append(cause or UNREADABLE)
    cache = given.get("cache")
    return Answer(
        name,
        tuple(dict.fromkeys(causes)),
        cache.strip().lower() if cache else None,
        float(given["confidence"]),
        tuple(given.get("advice") or ()),
    )


def _mistake(given: dict[str, Any]) -> str | None:
    """What is wrong with the members of an answer."""
    cause, cache, confidence, advice = (given.get(name) for name in ("cause", "cache", "confidence", "advice"))
    texts = [cause] if isinstance(cause, str) else cause
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) and one.strip() for one in texts):
        return '"cause" must be a text, or a list of texts with the likeliest first'
    if cache is not None and not isinstance(cache, str):
        return f'"cache" must be the name of a cache or null, not {_short(cache)}'
    if confidence is None:
        return '"confidence" is missing: the probability that the cause is right, from 0 to 1'
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return f'"confidence" must be a number from 0 to 1, not {_short(confidence)}'
    if advice is not None and not (isinstance(advice, list) and all(isinstance(one, str) for one in advice)):
        return '"advice" must be a list of texts'
    return None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
