"""The chain from the wait to the cause as a page shows it: each link with its number, a small picture and how we know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from rules.bounds import Bound, UsualBetween
from rules.chain import ChainBar, ChainLink
from rules.formatting import function_of
from service.web.charts import small
from service.web.pages.words import NOT_KNOWN, TIED, amount, length, share, uncapped

FULL = 7
"""Links that have room beside each other; the sign before the cause gives way."""
PER_SECOND = " per second"
PER_TIME = ("sleeps per second", "logons per second")


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One link as the page shows it: words above, the number, words below, a picture, and what opens."""

    verb: str
    name: str
    code: bool
    number: str
    unit: str
    below: str
    picture: Markup
    opens: str
    link: ChainLink
    bound: str
    usual: str
    kind: str
    """`cause` for the last one, `unsure` where it is likely and not known; both may hold."""


def chain_steps(links: Sequence[ChainLink], state: str, cause: str = "") -> Sequence[ChainStep]:
    """The links of a Diagnosis, as many as have room; the last has the short name of the cause."""
    shown = [link for link in links if len(links) <= FULL or link.kind != "sign"]
    steps = [_step(link, state) for link in shown]
    return [replace(step, name=uncapped(cause)) if cause and step.link.kind == "cause" else step for step in steps]


def spelled(value: float | None, unit: str) -> tuple[str, str]:
    """A value and its unit as two pieces of text: ('31.9 %', ''), ('57 s', ''), ('14,600', 'entries')."""
    if value is None:
        return "not known", ""
    if unit in ("ratio", "share of DB time"):
        return (share(value), "") if value <= 10 else (f"{amount(value)}×", "")
    if unit == "s":
        return length(value), ""
    if " per " in unit and unit not in PER_TIME and 0 < value < 0.2:
        return f"1 in {amount(float(f'{1 / value:.3g}'))}", ""
    return amount(value), "" if unit == "value" else unit.replace(PER_SECOND, " a second")


def whole(value: float | None, unit: str) -> str:
    """A value with its unit in one piece."""
    number, rest = spelled(value, unit)
    return f"{number}{TIED}{rest}" if rest else number


def bound_words(bound: Bound | None, unit: str) -> str:
    """at least 50 %."""
    if bound is None:
        return ""
    return f"{'at least' if bound.operator == '>=' else 'at most'} {_round(whole(bound.value, unit))}"


def _round(text: str) -> str:
    """50.0 % → 50 %: a bound somebody chose is not measured to the tenth."""
    return text.replace(f".0{TIED}%", f"{TIED}%")


def usual_words(usual: UsualBetween | None, unit: str) -> str:
    """usual: below 0.5 %; usual here: 2–8 %."""
    if usual is None:
        return ""
    here = "usual here" if usual.where != "in general" else "usual"
    if usual.low and usual.high is not None:
        low, high = _round(spelled(usual.low, unit)[0]), _round(spelled(usual.high, unit)[0])
        return f"{here}: {low.removesuffix(f'{TIED}%')}–{high}"
    if usual.high is not None:
        return f"{here}: below {_round(spelled(usual.high, unit)[0])}"
    return f"{here}: above {_round(spelled(usual.low, unit)[0])}" if usual.low is not None else ""


def _step(link: ChainLink, state: str) -> ChainStep:
    number, unit = spelled(link.value, link.unit)
    usual = usual_words(link.usual, link.unit)
    kinds = [kind for kind, holds in (("cause", link.kind == "cause"), ("unsure", not link.certain)) if holds]
    return ChainStep(
        verb=link.verb,
        name=link.name,
        code=link.code,
        number=number,
        unit=f"of {link.of}" if link.of else unit,
        below=_below(link, usual),
        picture=_picture(link, state),
        opens="How do we know" if link.certain else "What is missing",
        link=link,
        bound=bound_words(link.bound, link.unit),
        usual=usual,
        kind=" ".join(kinds),
    )


def _below(link: ChainLink, usual: str) -> str:
    """One more line under the number: what is usual, else what was counted, else what is not known."""
    if not link.certain and link.unknown and link.kind != "cause":
        return f"not known: {link.unknown}" if len(link.unknown) < 50 else "likely, not known"
    if usual:
        return usual
    if link.numerator is not None and link.numerator <= (link.denominator or 0) and link.counted not in ("", "s"):
        return f"{amount(link.numerator)} of {amount(link.denominator)} {link.counted}".strip()
    if link.bound is not None:
        return f"counts from {_round(whole(link.bound.value, link.unit))}" if link.bound.operator == ">=" else ""
    return ""


def _picture(link: ChainLink, state: str) -> Markup:
    if link.bars:
        return small.bars([(_short(bar), bar.value, whole(bar.value, link.unit), bar.hot) for bar in link.bars], state)
    if link.value is None or (link.bound is None and link.usual is None):
        return Markup("")
    bound = link.bound.value if link.bound else link.usual.high if link.usual else None
    usual = (link.usual.low, link.usual.high) if link.usual else None
    words = (
        f"{whole(link.value, link.unit)}; {bound_words(link.bound, link.unit) or usual_words(link.usual, link.unit)}"
    )
    spell = (
        NOT_KNOWN if bound is None else _round(spelled(bound, link.unit)[0]),
        spelled(link.value * small.BULLET_ROOM, link.unit)[0],
    )
    return small.bullet(link.value, bound, usual, words, state, (spell[0], ""))


def _short(bar: ChainBar) -> str:
    """A label that fits: the cache without its prefix, the function without its number."""
    return function_of(bar.label).removeprefix("dc_").removeprefix("latch: ").removeprefix("Result Cache: ")
