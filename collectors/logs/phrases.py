"""What a line of a log says, by phrases.yaml: the marks that lines of interest carry, and what each of them means."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collectors import data_beside
from collectors.model import EventKind, LoggedEvent, Value

DDL_MARK = b"DDL"
"""Stands for the words with which a logged DDL statement begins, at the begin of a line."""
_DATA: Mapping[str, Any] = data_beside(__file__)
KINDS: Mapping[EventKind, Mapping[str, Any]] = _DATA["kinds"]
"""What events of each kind are called, and what they may have to do with the row cache."""
TYPICAL: Sequence[str] = _DATA["typical"]
"""How lines begin that an alert log has, as patterns."""
_PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE)
    for kind in ("numbers", "texts", "lower")
    for name, pattern in _DATA[kind].items()
}
_CODE = re.compile(r"\bORA-0{0,9}(\d{1,5})\b")
_OPTION = re.compile(r"\[([^\[\]|]{0,90})\|?([^\[\]|]{0,90})\]")
_NEEDS = re.compile(r"\{([^}:]{1,30})")
_NAME_ENDS = re.compile(r"[\s\"'<>()\[\]/\\]")
LONGEST_NAME = 128
"""Characters of the name of a trace file."""


@dataclass(slots=True)
class Message:
    """What a line says, while further lines may say more of it. `facts` as in `LoggedEvent`."""

    kind: EventKind
    text: str
    facts: dict[str, Value] = field(default_factory=dict)
    at: datetime | None = None
    line: int = 0

    def event(self) -> LoggedEvent:
        """The same, complete."""
        return LoggedEvent(self.at, self.kind, self.text, self.line, self.facts)


def fields_of(line: str, *names: str) -> dict[str, Value]:
    """Those of the named fields that a line has. `fact=pattern` reads one by the pattern of another name."""
    found: dict[str, Value] = {}
    for name, _, pattern in (each.partition("=") for each in names):
        pattern = pattern or name
        if match := _PATTERNS[pattern].search(line):
            text = next(filter(None, match.groups()), "")
            found[name] = int(text) if pattern in _DATA["numbers"] else text.split("()")[0].strip()
            if pattern in _DATA["lower"]:
                found[name] = " ".join(text.split()).lower()
    return {name: value for name, value in found.items() if value != ""}


def worded(words: str, facts: Mapping[str, Value]) -> str:
    """Words with facts in them: `[a|b]` is a if all of its facts are known, else b. Raises KeyError if another one is not."""
    known = {name: value for name, value in facts.items() if value is not None}
    return _OPTION.sub(lambda each: each[1 if known.keys() >= {*_NEEDS.findall(each[1])} else 2], words).format_map(
        known
    )


def traced(what: str, facts: Mapping[str, Value]) -> tuple[str, dict[str, Value]]:
    """The words of a part of a trace file, and the facts that it keeps: those that are known, and not for the words alone."""
    kept: dict[str, Value] = {name: value for name, value in facts.items() if value is not None and name[0] != "_"}
    return worded(_DATA["traces"][what], facts), kept


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way in which Oracle says something. The kind `none` announces something, and counts as no event."""

    kind: Any
    match: str = ""
    words: str = ""
    fields: Sequence[str] = ()

    def message(self, line: str, **known: Value) -> Message | None:
        """What the line says. None where a field that the words need is not in it."""
        facts = {**known, **fields_of(line, *self.fields)}
        try:
            words = worded(self.words, facts)
        except KeyError:
            return None
        kept = {name: facts[name] for name in facts if name[0] != "_"}
        return None if self.kind == "none" else Message(self.kind, words, kept)


Phrases = Sequence[tuple[re.Pattern[str], Phrase]]
"""In the order in which they are tried, each with what a line of it has beside its mark."""


def _phrases(given: Sequence[Mapping[str, Any]]) -> Phrases:
    every = [Phrase(**{name: value for name, value in each.items() if name != "mark"}) for each in given]
    return [(re.compile(phrase.match, re.IGNORECASE), phrase) for phrase in every]


def _first(phrases: Phrases, line: str) -> Phrase | None:
    return next((phrase for pattern, phrase in phrases if pattern.search(line)), None)


PHRASES: Mapping[bytes, Phrases] = {
    mark.encode(): _phrases([each for each in _DATA["lines"] if mark in each["mark"].split("|")])
    for mark in dict.fromkeys(mark for each in _DATA["lines"] for mark in each["mark"].split("|"))
}
"""What the lines with each mark say. Where a line has several marks, the first of these decides."""
ERRORS: Mapping[int, Phrases] = {
    code: _phrases(phrases if isinstance(phrases, list) else [phrases]) for code, phrases in _DATA["errors"].items()
}


def message_of(mark: bytes, line: str) -> Message | None:
    """What a line with this mark says. None if it is no event."""
    if (phrase := _first(PHRASES[mark], line)) is not None:
        return phrase.message(line)
    return error(line) if mark == b"ORA-" else None


def error(line: str) -> Message | None:
    """What the errors of a line say: the first one that is known, else the first. None without any."""
    codes = [int(code) for code in _CODE.findall(line)]
    code = next(
        (code for code in codes if code in ERRORS and ERRORS[code][0][1].kind != "other"), codes[0] if codes else 0
    )
    phrase, name = _first(ERRORS.get(code, ()), line), f"ORA-{code:05}"
    what = phrase.message(line, error=name) if phrase else Message("other", "", {"error": name})
    if not code or what is None:
        return None
    if what.kind == "other":
        what.text = f"{name}: {what.text}" if what.text else name
    elif name not in what.text:
        what.text += f" ({name})"
    if trace := trace_in(line):
        what.facts["trace_file"] = trace
    return what


def trace_in(line: str) -> str | None:
    """Base name of the first trace file that a line names."""
    lower = line.lower()
    end = lower.find(".trc")
    while end >= 0:
        name = _NAME_ENDS.split(line[max(0, end - LONGEST_NAME) : end])[-1]
        if 0 < len(name) < LONGEST_NAME and not lower[end + 4 : end + 5].isalnum():
            return f"{name}{line[end : end + 4]}"
        end = lower.find(".trc", end + 4)
    return None
