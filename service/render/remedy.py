"""A remedy step by step, for a terminal and as Markdown. A fact without a source reads "not known"."""

from collections.abc import Iterator, Sequence

from rules.remedy import PLATFORMS, PlatformStep, RemedyStep, Texts, where
from service.render.markdown import inline
from service.render.parts import wrapped

NOT_KNOWN = "not known."
IN_CLUSTER = "In a cluster"
RUN_IN = "Run in"
NOT_HERE = "Not possible here"


def step_lines(steps: Sequence[RemedyStep], release: str | None, indent: str = "", *, whole: bool) -> Iterator[str]:
    """The steps with their statements for a release, as lines for a terminal. `whole` adds all that is known about each."""
    for number, step in enumerate(steps, 1):
        yield from wrapped(f"{number}. {step.do}", indent)
        yield from _code_lines(step.text(release), f"{indent}     ")
        yield from _beside(step, release, indent, whole=whole)


def steps_of_every_release(steps: Sequence[RemedyStep]) -> Iterator[str]:
    """The steps as the catalogue has them, with the statement for each release."""
    for number, step in enumerate(steps, 1):
        yield from wrapped(f"{number}. {step.do}", "  ")
        for since, text in variants(step.sql):
            yield from wrapped(f"from {since} on:", "     ") if since else ()
            yield from _code_lines(text, "       " if since else "     ")
        yield from _beside(step, None, "  ", whole=True)


def steps_as_markdown(steps: Sequence[RemedyStep], release: str | None) -> Iterator[str]:
    """The steps as a numbered list, statements as blocks of code."""
    for number, step in enumerate(steps, 1):
        yield f"{number}. {inline(step.do)}"
        if text := step.text(release):
            yield f"\n   ```sql\n   {' '.join(text.split())}\n   ```\n"
        if step.setting:
            yield "\n".join(["\n   ```", *(f"   {line}" for line in step.setting.splitlines()), "   ```\n"])
        yield from (f"   - {name}: {inline(words)}" for name, words in asides(step, release))


def variants(texts: Texts | None) -> list[tuple[str | None, str]]:
    """Lowest release → text; None stands for all releases."""
    if texts is None:
        return []
    return [(None, texts)] if isinstance(texts, str) else list(texts.items())


def asides(step: RemedyStep, release: str | None = None, *, whole: bool = True) -> Iterator[tuple[str, str]]:
    """The facts about a step on a release: a name and the words of each."""
    if step.not_possible:
        yield NOT_HERE, step.not_possible
    if place := where(step, release):
        yield RUN_IN, place
    acts = step.changes and bool(step.sql or step.setting)
    if step.fill_in:
        yield "Fill in", f"{', '.join(step.fill_in)}."
    if step.in_cluster:
        yield IN_CLUSTER, of_each_instance(step.in_cluster)
    if step.reading:
        yield "Read", step.reading
    if step.risk or acts:
        yield "Risk", step.risk or NOT_KNOWN
    if whole and step.online is not None and (acts or not step.online):
        yield "Online", "yes." if step.online else "no, plan a window."
    if whole and (step.way_back or acts):
        yield "To reverse it", step.way_back or NOT_KNOWN
    for platform, other in step.elsewhere.items():
        yield f"On {PLATFORMS[platform]}", on_platform(other)


def on_platform(step: PlatformStep) -> str:
    """What takes the place of a step on a platform, or why nothing does, in one paragraph."""
    given = " ".join(f"`{text}`" for text in (step.sql, step.setting) if text)
    return f"not possible. {step.not_possible}" if step.not_possible else f"{step.do} {given}".rstrip()


def of_each_instance(ending: str) -> str:
    """What a statement needs in a cluster, where it would change every instance."""
    return f"end it with `{ending}`, once per instance; the way back too."


def _beside(step: RemedyStep, release: str | None, indent: str, *, whole: bool) -> Iterator[str]:
    for line in (step.setting or "").splitlines():
        yield f"{indent}     {line}"
    for name, words in asides(step, release, whole=whole):
        yield from wrapped(f"{name}: {words}", f"{indent}   ")


def _code_lines(text: str | None, indent: str) -> list[str]:
    return wrapped(" ".join(text.split()), indent) if text else []
