"""The tables of `python -m bench truth`, from the scores of its instances."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from statistics import NormalDist

from rich.table import Table

from bench._truth_scores import VERDICTS, FindingScore, Score, TroubleScore
from tests.truth.truth import STRENGTHS

MOST_NAMED, WEAKEST = 3, 5
Z = NormalDist().inv_cdf(0.975)
Test = Callable[[Score], bool]
HALVES = ("tuned half (even seeds)", "held-back half (odd seeds)")


def table(title: str, *columns: str, caption: str | None = None, words: Sequence[str] = ()) -> Table:
    """An empty table; its first column and those of `words` hold words."""
    made = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 or column in words else "right")
    return made


def halves(found: Iterable[Score]) -> tuple[list[Score], list[Score]]:
    """The half that rules are tuned on, and the one that nobody looks at meanwhile."""
    each = list(found)
    return [one for one in each if not one.held_back], [one for one in each if one.held_back]


def share(part: int, whole: int) -> str:
    """A share with its numbers."""
    return f"{100 * part / whole:.1f} % ({part}/{whole})" if whole else "–"


def interval(right: int, count: int) -> tuple[float, float]:
    """The share that may be true of `right` out of `count`, with 95 % (Wilson)."""
    middle = (right + Z * Z / 2) / (count + Z * Z)
    reach = Z / (count + Z * Z) * (right * (count - right) / count + Z * Z / 4) ** 0.5
    return max(0.0, middle - reach), min(1.0, middle + reach)


def parts(found: Sequence[Score]) -> Iterator[tuple[str, list[Score]]]:
    """The parts of the plan that are reported apart."""
    singles = [one for one in found if one.kind == "single"]
    yield from ((f"single, {strength}", [one for one in singles if one.strength == strength]) for strength in STRENGTHS)
    for kind in ("pair", "crowd", "hang", "look-alike", "healthy", "degraded"):
        yield kind, [one for one in found if one.kind == kind]


def verdicts(found: Sequence[Score]) -> list[Table]:
    """Right, kin, honest, silent, wrong and false by part, for each half."""
    caption = "\n".join([*(f"{name}: {meaning}" for name, meaning in VERDICTS.items()), FALSE])
    return [
        _verdicts(f"Verdicts, {half}: share of n", of, caption if last else None)
        for half, of, last in zip(HALVES, halves(found), (False, True), strict=True)
    ]


FALSE = (
    "false: an untrue cause above info, whatever else is named; or more severe than the truth, without a true finding"
)


def _verdicts(title: str, found: Sequence[Score], caption: str | None) -> Table:
    made = table(title, "part", "n", *VERDICTS, "false", caption=caption)
    for name, of in parts(found):
        if of:
            counts = Counter(one.verdict for one in of)
            cells = [_cell(counts[verdict], len(of)) for verdict in VERDICTS]
            made.add_row(name, str(len(of)), *cells, _cell(sum(one.false for one in of), len(of)))
    return made


def _cell(part: int, whole: int) -> str:
    return f"{part} · {100 * part / whole:.1f} %" if part else "0"


def degraded(found: Sequence[Score]) -> Table:
    """The degraded instances by what is hidden, in numbers: even seeds and odd seeds."""
    made = table("Degraded by view: instances, even / held back", "hidden", "n", *VERDICTS, "false")
    hidden: dict[str, list[Score]] = defaultdict(list)
    for one in found:
        if one.kind == "degraded":
            hidden[one.sight].append(one)
    for sight, of in sorted(hidden.items()):
        both = halves(of)
        counts = [Counter(one.verdict for one in half) for half in both]
        cells = [_both(*(count[verdict] for count in counts)) for verdict in VERDICTS]
        made.add_row(sight, _both(*map(len, both)), *cells, _both(*(sum(one.false for one in half) for half in both)))
    return made


def _both(even: int, back: int) -> str:
    return f"{even} / {back}"


def open_world(found: Sequence[Score]) -> Table:
    """The single troubles of medium and strong cost, by a catalogue that does not know them."""
    tried = [one for one in found if one.unknown_world is not None]
    made = table("Open world: the true cause is not in the catalogue", "what", *HALVES)
    for what, test in (
        ("a wrong cause is named above info", _named_in_unknown),
        ("none is named, and the cost is said", lambda one: not _named_in_unknown(one) and one.unknown_noticed),
        ("nothing is said above info", lambda one: not _named_in_unknown(one) and not one.unknown_noticed),
    ):
        made.add_row(what, *(_rate(half, test) for half in halves(tried)))
    even = halves(tried)[0]
    named = Counter((one.name, cause) for one in even for cause in one.unknown_world or ())
    for (staged, cause), count in sorted(named.items(), key=lambda item: (-item[1], item[0]))[:10]:
        made.add_row(f"  {staged}: {cause}", str(count), "")
    return made


def _named_in_unknown(score: Score) -> bool:
    return bool(score.unknown_world)


def _rate(found: Sequence[Score], test: Test) -> str:
    return share(sum(map(test, found)), len(found))


def besides(found: Sequence[Score]) -> Table:
    """What else a diagnosis says: order, cache, severity, surface."""
    made = table("Beside the verdict", "what", *HALVES)

    def row(what: str, kinds: str, test: Test, among: Test = lambda score: True) -> None:
        chosen = [one for one in found if one.kind in kinds.split("|") and among(one)]
        made.add_row(what, *(_rate(half, test) for half in halves(chosen)))

    row("single: the first finding is it", "single", lambda one: one.top)
    row("found, and the right cache", "single|pair|degraded|crowd|hang", _cache_right, _cache_known)
    row("untrue on a surface without trouble", "single|pair|degraded|crowd", lambda one: one.elsewhere)
    row("severity right", "single|pair|crowd", lambda one: one.severity_error == 0)
    row("severity too low", "single|pair|crowd", lambda one: one.severity_error < 0)
    row("pair: both found", "pair", lambda one: all(t.judged == "found" for t in one.troubles))
    row("pair: none found", "pair", lambda one: all(t.judged != "found" for t in one.troubles))
    row("degraded: ruled out, though full sight finds it", "degraded", lambda one: one.lost_by_sight)
    row("hang: noticed", "hang", lambda one: one.noticed)
    row("healthy: false at warning or above", "healthy", lambda one: one.false_alarm)
    row("look-alike: false at warning or above", "look-alike", lambda one: one.false_alarm)
    row("single: false at warning or above", "single", lambda one: one.false_alarm)
    return made


def _cache_known(score: Score) -> bool:
    return any(trouble.cache is not None for trouble in score.troubles)


def _cache_right(score: Score) -> bool:
    return all(trouble.cache is not False for trouble in score.troubles)


def reliability(found: Sequence[Score]) -> list[Table]:
    """How often a finding above info is strictly right, by its label and by whether it has a rival."""
    caption = (
        "n: findings above info of all parts but the open world. Strictly right: a staged cause. Kin: true as well. "
        "A rival: another finding above info on the same surface and cache, or one of the two names no cache. "
        "Interval: Wilson."
    )
    return [
        _reliability(f"Findings above info by label, {half}", of, caption if last else None)
        for half, of, last in zip(HALVES, halves(found), (False, True), strict=True)
    ]


def _reliability(title: str, found: Sequence[Score], caption: str | None) -> Table:
    made = table(title, "label", "n", "strictly right", "95 % interval", "right or kin", caption=caption)
    known: dict[str, list[FindingScore]] = defaultdict(list)
    for finding in (finding for one in found for finding in one.findings):
        known[finding.confidence].append(finding)
        known[f"{finding.confidence}, {'beside a rival' if finding.rival else 'alone'}"].append(finding)
    order = ("high", "medium", "low")
    for label, of in sorted(known.items(), key=lambda item: (*_place(item[0].partition(",")[0], order), item[0])):
        right = sum(finding.staged for finding in of)
        low, high = interval(right, len(of))
        made.add_row(
            label,
            str(len(of)),
            f"{100 * right / len(of):.1f} %",
            f"{100 * low:.1f}–{100 * high:.1f} %",
            f"{100 * sum(finding.true for finding in of) / len(of):.1f} %",
        )
    return made


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


def weakest(found: Sequence[Score]) -> Table:
    """The causes that are right least often, alone and of medium or strong cost, and why; over even seeds only."""
    made = table(
        "The weakest causes (medium and strong, even seeds)", "cause", "n", *VERDICTS, "why", caption=WHY, words=["why"]
    )
    known: dict[str, list[TroubleScore]] = defaultdict(list)
    for one in halves(found)[0]:
        if one.kind == "single" and one.strength != "weak":
            known[one.name].append(one.troubles[0])

    def right(item: tuple[str, list[TroubleScore]]) -> tuple[float, str]:
        return sum(trouble.verdict == "right" for trouble in item[1]) / len(item[1]), item[0]

    for cause, of in sorted(known.items(), key=right)[:WEAKEST]:
        counts = Counter(trouble.verdict for trouble in of)
        made.add_row(cause, str(len(of)), *(str(counts[verdict]) for verdict in VERDICTS), _why(of))
    return made


WHY = "why: not = the signal that ruled it out; no = the view that is missing"


def _why(of: Iterable[TroubleScore]) -> str:
    return _listed(trouble.why for trouble in of if trouble.verdict != "right")


def _listed(names: Iterable[str]) -> str:
    counts = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in counts[:MOST_NAMED])


def causes(found: Sequence[Score]) -> Table:
    """Every staged cause, alone at any strength or as a look-alike."""
    columns = ("cause", "n", "right, even", "right, back", "cache", "why not (even seeds)", "untrue (even seeds)")
    made = table("Per cause, alone", *columns, words=columns[-2:])
    known: dict[str, list[Score]] = defaultdict(list)
    for one in found:
        if one.kind in ("single", "look-alike") and one.troubles:
            known[one.troubles[0].cause].append(one)
    for cause, of in sorted(known.items()):
        even = halves(of)[0]
        caches = [one.troubles[0].cache for one in of if one.troubles[0].cache is not None]
        made.add_row(
            cause,
            str(len(of)),
            *(_percent(sum(one.verdict == "right" for one in half), len(half)) for half in halves(of)),
            _percent(sum(caches), len(caches)),
            _why(one.troubles[0] for one in even),
            _listed(name for one in even for name in one.untrue),
        )
    return made


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def each(found: Sequence[Score]) -> Table:
    """Every instance, one a line."""
    columns = ("seed", "kind", "strength", "verdict", "first", "troubles", "untrue above info")
    made = table("Each", *columns, words=columns)
    for one in found:
        troubles = ", ".join(f"{t.cause}: {t.judged} {t.why}".strip() for t in one.troubles)
        made.add_row(
            str(one.seed), one.kind, one.strength or "", one.verdict, one.first, troubles, ", ".join(one.untrue)
        )
    return made


def speed(found: Sequence[Score]) -> Table:
    """Processor time of the diagnoses, of all and of those with very many samples."""
    made = table("Processor time of a diagnosis", "instances", "n", "p50", "p99", "max", "largest", words=["largest"])
    for name, of in (("all", list(found)), ("crowd", [one for one in found if one.kind == "crowd"])):
        if of:
            times = sorted(one.seconds for one in of)
            slowest = max(of, key=lambda one: one.seconds)
            cells = (_milliseconds(at(times, 0.5)), _milliseconds(at(times, 0.99)), _milliseconds(times[-1]))
            made.add_row(name, str(len(of)), *cells, f"seed {slowest.seed}: {slowest.kind}, {slowest.name}")
    return made


def at(ordered: Sequence[float], quantile: float) -> float:
    """The value at a quantile, of values in order: at least that share is no larger."""
    return ordered[max(0, ceil(quantile * len(ordered)) - 1)]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
