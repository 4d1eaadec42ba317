"""Numbers for people: thousands separated, shares in percent, always with the parts they come from; and sentences with slots.

The YAML files have such sentences. Names, numbers and plurals fill their slots, and every such sentence is filled here.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from collectors.model import Basis, hours
from rules.base import bound_of
from rules.model import Evidence, NearestBound, RuledOut

PER_WAITED = "s for each second waited"
"""Two measures against each other, so it may be above 1. As a percentage it would look like a share."""
LEAST_PER_WAITED = 0.001


def count(value: float) -> str:
    """24241645 → 24,241,645."""
    return f"{value:,.0f}"


def percent(share: float, digits: int | None = None) -> str:
    """0.78547 → 78.5 %. Close to 0 or 1 it has enough digits to differ from them."""
    if digits is None:
        digits = 3 if 0.995 < share < 1 or 0 < share < 0.001 else 1
    if share == 0:
        return "0 %"
    words = f"{share * 100:.{digits}f}"
    if share > 0 and not float(words):
        return f"< {10**-digits:g} %"
    return f"> {100 - 10**-digits:g} %" if share < 1 and float(words) == 100 else f"{words} %"


def predicted_share(now: float, value: float | None, low: float, high: float) -> str:
    """21.0 % → 0.7 % (0.5 % to 1.1 %). Without the middle value if only the bounds are known."""
    reach = f"{percent(low)} to {percent(high)}{', so it may get worse' if high > now else ''}"
    return f"{percent(now)} → {reach}" if value is None else f"{percent(now)} → {percent(value)} ({reach})"


def predicted_sleeps(now: float, most: float, relieved: bool) -> str:
    """Sleeps a second, with only their upper bound. If fewer gets miss and the bound is above today's, there is no promise."""
    if relieved and most >= now:
        return f"sleeps {rough(now)} a second, and a fall is not certain (at most {rough(most)})"
    return f"sleeps {rough(now)} → at most {rough(most)} a second"


def whole_percent(share: float) -> str:
    """0.999995 → 100 %, for a share whose fraction means nothing."""
    return f"{share * 100:,.0f} %"


def measured(value: float, unit: str, beside: float | None = None) -> str:
    """A signal's value with its unit. A ratio is in percent, unless it or its bound is more than 1."""
    if unit == "share of DB time":
        return f"{percent(value)} of DB time"
    if unit == "ratio":
        shares = all(0 <= number <= 1 for number in (value, value if beside is None else beside))
        return percent(value) if shares else number(value)
    if unit == PER_WAITED and 0 < value < LEAST_PER_WAITED:
        return f"< {LEAST_PER_WAITED:g} {unit}"
    return number(value) if unit == "value" else f"{number(value)} {one_of(value, unit)}".strip()


def compared(evidence: Evidence | RuledOut | NearestBound) -> tuple[str, str]:
    """A value and its bound, both in one form. If another cause explains the waits, that cause."""
    if evidence.value is None:
        return "", evidence.needs
    if isinstance(evidence, RuledOut) and evidence.explained_by is not None:
        return measured(evidence.value, evidence.unit), f"no other cause, but {evidence.because}"
    bound = evidence.bound
    if bound is None:
        return measured(evidence.value, evidence.unit), evidence.needs
    needs = f"{bound.operator} {measured(bound.value, evidence.unit, evidence.value)}"
    return measured(evidence.value, evidence.unit, bound.value), needs


@lru_cache(4096)
def against_bound(name: str, value: float, unit: str, needs: str) -> str:
    """The measured value against the bound that it misses: "the figure for parses is 3, below the 10 that it needs".

    Every poll asks it of every ruled-out cause, mostly about the same few values.
    """
    bound = bound_of(needs)
    if bound is None:
        return f"the figure for {name} is {measured(value, unit)}, and this cause needs {needs}"
    beyond = "below" if bound.operator == ">=" else "above"
    beside = 2.0 if unit == "ratio" and value > 1 else None
    limit = _limit(bound.value, unit, beside)
    return f"the figure for {name} is {measured(value, unit, bound.value)}, {beyond} the {limit} that this cause needs"


@cache
def _limit(bound: float, unit: str, beside: float | None) -> str:
    return measured(bound, unit, beside).replace(".0 %", " %")


_PLURAL = re.compile(r"(?<=\w\w)(?:ies|(?<=ss)es|(?<=ch)es|s)(?= (?:per|on)\b|$)")


def one_of(value: float, unit: str) -> str:
    """The unit of a number: one entry, one get, two gets."""
    if value != 1:
        return unit
    return _PLURAL.sub(lambda found: "y" if found[0] == "ies" else "", unit, count=1)


def counted(value: float, unit: str) -> str:
    """A whole number with its unit: 1 entry, 2,500 entries."""
    return f"{count(value)} {one_of(round(value), unit)}"


def times(factor: float) -> str:
    """11364.7 → about 11,400 ×: three significant digits, for a factor that is an estimate."""
    if factor >= 100:
        magnitude = 10 ** (len(str(int(factor))) - 3)
        return f"about {round(factor / magnitude) * magnitude:,} ×"
    return f"{factor:.1f} ×"


def part_of(part: float, whole: float) -> str:
    """24,241,645 of 24,242,220."""
    return f"{count(part)} of {count(whole)}"


def over(basis: Basis) -> str:
    """The words for the interval of a figure: over 30 s, over an hour, in totals since an unknown instance start."""
    return f"over {length(basis.seconds or 0.0)}" if basis.kind == "interval" else f"in {basis}"


def length(seconds: float) -> str:
    """A duration as people say it: 9.5 s, 30 s, 45 min, an hour, 153 h 0 min."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 and seconds % 1 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return "an hour" if minutes == 60 else f"{minutes} min" if minutes < 120 else hours(seconds)


def few(sessions: float) -> str:
    """Sessions on average, as people say it: 38, 9.9, 0.02, < 0.01."""
    if sessions >= 10:
        return count(sessions)
    return "0" if not sessions else "< 0.01" if sessions < 0.01 else f"{sessions:.2g}"


def exact(value: float) -> int | float:
    """A whole number as an int, so that counters are written without a fraction."""
    return int(value) if value == int(value) else value


def sentence(words: str) -> str:
    """The words with a capital at the start, unless they start with a name of Oracle's such as dc_objects or v$latch."""
    return words if re.match(r"\w*[_$]", words) else words[:1].upper() + words[1:]


def within(words: str) -> str:
    """The start of a sentence, for the middle of one: the first letter in lower case, unless it starts an abbreviation."""
    return words[:1].lower() + words[1:] if words[1:2].islower() or words[1:2] == " " else words


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def number(value: float) -> str:
    """A signal's value for a sentence, with enough digits to tell it from others."""
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:,.1f}"
    return f"{value:.3g}" if abs(value) < 0.001 else f"{value:,.4g}"


def rough(value: float) -> str:
    """A rate or an index for a sentence, to three significant digits: 8213.7 → 8,210, 0.01234 → 0.0123."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        magnitude = 10 ** (len(str(int(abs(value)))) - 3)
        return f"{round(value / magnitude) * magnitude:,}"
    return f"{value:.3g}"


_NUMBERED = re.compile(r"^\[\d+\]\s*(\w+)")


def function_of(location: str) -> str:
    """'[19] kqrpre' → 'kqrpre': the number of a mutex location changes with the release, its function does not."""
    match = _NUMBERED.match(location)
    return match[1] if match else location


Value = str | int | float
_SLOT = re.compile(r"\{(\w+)(?:(:)? ?([^{}|:]+)(?:\|([^{}|]+))?)?\}")


def say(sentence: str, values: Mapping[str, Value]) -> str:
    """The sentence with its slots filled. KeyError for a slot without a value.

    `{holder}` is the value, a number with its thousands separated. `{waiting session}` is "1 session" or "1,204 sessions", and
    `{entries entry|entries}` names a plural of its own. `{waiting: waits|wait}` is the word alone that fits the number.
    """
    return _SLOT.sub(lambda slot: _filled(values[slot[1]], slot[2], slot[3], slot[4]), sentence)


def slots(*sentences: str | None) -> frozenset[str]:
    """The names of the slots in some sentences."""
    return frozenset(slot[1] for sentence in sentences if sentence for slot in _SLOT.finditer(sentence))


def _filled(value: Value, alone: str | None, one: str | None, many: str | None) -> str:
    told = value if isinstance(value, str) else count(value)
    if one is None:
        return told
    word = one if value == 1 else many or f"{one}s"
    return word if alone else f"{told} {word}"
