"""Numbers as people read them: thousands separated, shares in percent, always with the parts they come from."""

import re

from collectors.model import Basis

LONG_SECONDS = 600.0


def count(value: float) -> str:
    """24241645 → 24,241,645."""
    return f"{value:,.0f}"


def percent(share: float, digits: int | None = None) -> str:
    """0.78547 → 78.5 %; close to 0 or 1 with the digits it takes to tell it from them."""
    if digits is None:
        digits = 3 if 0.995 < share < 1 or 0 < share < 0.001 else 1
    return f"{share * 100:.{digits}f} %"


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
    """The words that say over which interval a figure speaks; of a long one in whole seconds."""
    if basis.kind == "interval" and (basis.seconds or 0.0) >= LONG_SECONDS:
        return f"over an interval of {basis.seconds:,.0f} s"
    return f"over {basis}" if basis.kind == "interval" else f"in {basis}"


def exact(value: float) -> int | float:
    """A whole number as an int, so that counters are written without a fraction."""
    return int(value) if value == int(value) else value


def sentence(words: str) -> str:
    """The words with a capital at the start, the rest untouched."""
    return words[:1].upper() + words[1:]


def number(value: float) -> str:
    """A signal's value for a sentence: as many digits as tell it apart."""
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
    """'[19] kqrpre' → 'kqrpre': the number of a mutex location moves with the release, its function does not."""
    match = _NUMBERED.match(location)
    return match[1] if match else location
