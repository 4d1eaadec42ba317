"""Counts how often findings on each kind of evidence are right, on the tuned half, and writes `rules/confidence.yaml`."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from bench._truth_scores import Score
from bench._truth_tables import share, table
from rules.confidence import FEWEST, HOME, EvidenceKind, confidence_of, measured
from rules.model import Reliability

HEAD = """\
# Kind of evidence → findings above info that were right, of how many. Written by `python -m bench truth --calibrate` on the
# tuned half of the generated instances, all parts but the open world. Right: the staged cause; also: or true as well.
"""


def calibrate(found: Sequence[Score]) -> RenderableType:
    """Write the counts, and say which kinds were met too seldom to have a label of their own."""
    counted = counts(one for one in found if not one.held_back)
    lines = [
        f'- {{evidence: "{kind}", right: {right}, also: {true}, of: {of}}}'
        for kind, (right, true, of) in sorted(counted.items(), key=lambda item: (-item[1][2], item[0]))
    ]
    HOME.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    measured.cache_clear()
    few = [
        f"{kind}: {of} findings, and at least {FEWEST} are needed; it takes the figures of a coarser kind"
        for kind, (_, _, of) in sorted(counted.items())
        if of < FEWEST and "any" not in kind
    ]
    return Group(_labels(counted), f"{HOME.name} is written.", *few)


def counts(found: Iterable[Score]) -> dict[str, tuple[int, int, int]]:
    """Kind of evidence, and every coarser kind, → right findings, those and what is true as well, all findings."""
    right, true, of = Counter[str](), Counter[str](), Counter[str]()
    for one in found:
        for finding in one.findings:
            for kind in map(str, EvidenceKind.of(finding.evidence).coarser()):
                of[kind] += 1
                right[kind] += finding.staged
                true[kind] += finding.true
    return {kind: (right[kind], true[kind], count) for kind, count in of.items()}


def _labels(counted: dict[str, tuple[int, int, int]]) -> Table:
    shown = table("Kinds of evidence, tuned half (even seeds)", "evidence", "right", "or true as well", "label")
    for kind, (right, true, of) in sorted(counted.items(), key=lambda item: -item[1][2]):
        label = confidence_of(Reliability(evidence=kind, counted=kind, right=right, true=true, of=of))
        shown.add_row(kind, share(right, of), share(true, of), str(label or "possible") if of >= FEWEST else "too few")
    return shown
