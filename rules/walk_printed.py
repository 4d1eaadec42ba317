"""The first steps of the walk where a report was read: no child latch is named, and the cache is a matter of shares."""

from rules.model import Figure, Step
from rules.printed import SCRIPT
from rules.scene import Scene
from rules.shape import shape_of
from rules.words import count, over, percent, sentence

FEWEST_PER_GET, MOST_PER_GET = 0.9, 3.3
"""Latch gets per dictionary get that can be: one of a subordinate, three of a parent, a tenth of slack either way."""


def no_child(scene: Scene) -> Step:
    """Which child is hot, which a report that prints the latch as a whole cannot tell."""
    slept = scene.latch.sleeps
    told = f", with {count(slept)} sleeps {over(scene.delta.basis)}" if slept is not None else ""
    figures = () if slept is None else (Figure(name="sleeps", value=int(slept), unit="sleeps", of="v$latch"),)
    return Step(
        step="hot child",
        statement=f"A report cannot name the child latch: it prints row cache objects as a whole{told}. The script that "
        "`latchscope script` prints adds the children and the caches they guard.",
        figures=figures,
    )


def guessed_cache(scene: Scene) -> Step:
    """The caches that the sleeps may belong to, by their share of the gets and the shape of the miss locations."""
    gets = scene.by_name("gets")
    total = sum(gets.values())
    if not total:
        unknown = scene.why_unknown("v$rowcache", "gets")
        return Step(step="cache", statement=f"Cannot tell which cache: {unknown.why}. {sentence(unknown.way_out)}.")
    leading = list(gets.items())[:3]
    shares = ", ".join(f"{name} {percent(part / total)}" for name, part in leading)
    return Step(
        step="cache",
        statement=f"Which cache the sleeps belong to is a guess from shares: of {count(total)} dictionary gets {shares}."
        f"{_fitting(scene, leading[0][0])}{_plausible(scene, total)} To know it, {SCRIPT}.",
        figures=tuple(Figure(name=name, value=part / total, unit="ratio", of="v$rowcache") for name, part in leading),
    )


def _fitting(scene: Scene, busiest: str) -> str:
    """What the miss locations add to the shares."""
    shape = shape_of(scene)
    if shape is None or shape.fingerprint is None:
        return f" The busiest, {busiest}, comes first; there are too few sleeps by location to say more."
    if shape.fingerprint != "chain":
        return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}."
    entries = scene.by_name("usage")
    longest = next(iter(entries), busiest)
    held = f", and {longest} holds the most entries, {count(entries[longest])}" if entries else ""
    return f" The busiest, {busiest}, comes first; the miss locations say: {shape.meaning}{held}."


def _plausible(scene: Scene, dictionary_gets: float) -> str:
    """Whether the latch gets are what the dictionary gets take; a check of the figures, never a way to a cache."""
    latch_gets = scene.latch.gets
    if not latch_gets:
        return ""
    each = latch_gets / dictionary_gets
    fits = FEWEST_PER_GET <= each <= MOST_PER_GET
    verdict = "as it must be" if fits else "where one to three are possible: some of these counters are wrong"
    return f" The latch had {each:.2f} gets for each dictionary get, {verdict}."
