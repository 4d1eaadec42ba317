"""The timer study as a page."""

from rules.studies.parallel import NOTHING, TimerPoint, TimerStudy
from service.render.study.page import StudyCurve, StudyLines, StudyPage, StudyTable, duration, figure


def timer_page(study: TimerStudy) -> StudyPage:
    before, after, need = study.before, study.after, duration(study.need_seconds)
    changed = abs(study.factor - 1) > NOTHING
    times, way = (study.factor, "longer") if study.factor > 1 else (1 / study.factor, "shorter")
    effect = f"{figure(times)} times {way}"
    then, now = (duration(each.mean_sleep_seconds) for each in (before, after))
    answer = (
        f"A waiter that sleeps on a timer sleeps {then} -> {now} for a need of {need}"
        f"{f', {effect}' if changed else ': no notable change'}; "
        "a waiter on a standard exclusive latch: no change."
    )
    return StudyPage(
        "Timer granularity",
        answer,
        (
            f"Timed waiter: E = g / (1 - exp(-g/m)) with a mean need m of {need}: "
            f"g = {duration(before.granularity_seconds)} gives {then}, g = {duration(after.granularity_seconds)} gives {now}.",
            "Standard exclusive latch: no change. Its holder posts the waiter (since 9.2), so no waiter needs a tick.",
        ),
        (_sleeps(before, after), _chart(study, need)),
        (
            "Valid for waiters that sleep a fixed time and look again. The counters do not show which ones do: ask before you "
            "make a timer finer for them.",
            "A finer timer wakes more often; what that costs in processor time is not counted here.",
            "A need that varies counts as exponential; a constant one gives the other column. Real ones are near these two.",
        ),
    )


def _sleeps(before: TimerPoint, after: TimerPoint) -> StudyTable:
    timed = (
        (
            "sleeps on a timer",
            duration(each.granularity_seconds),
            duration(each.mean_sleep_seconds),
            duration(each.constant_need_seconds),
        )
        for each in (before, after)
    )
    headings = ("waiter", "granularity", "need varies", "need always the same")
    return StudyTable("Mean sleep", headings, (*timed, ("is posted", "any", "no change", "no change")))


def _chart(study: TimerStudy, need: str) -> StudyLines:
    ticks = [point.granularity_seconds * 1e3 for point in study.curve]
    curves = {
        "need varies": [point.mean_sleep_seconds for point in study.curve],
        "need always the same": [point.constant_need_seconds for point in study.curve],
    }
    return StudyLines(
        f"Mean sleep of a timed waiter with a need of {need}, in ms",
        "granularity of the timer, ms",
        tuple(
            StudyCurve(name, tuple(zip(ticks, (slept * 1e3 for slept in sleeps), strict=True)))
            for name, sleeps in curves.items()
        ),
        log_x=True,
    )
