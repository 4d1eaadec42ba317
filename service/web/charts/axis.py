"""The time axis that charts of one page share: the position of a moment in a drawing, and the round times below it.

Every chart is drawn twice, for a wide page and for a narrow one, so that its text stays as large as the text around it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from service.state.window import Window

_CLOCK = (1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200)
STEPS = (*_CLOCK, *(days * 86400 for days in (1, 2, 5, 7, 14, 28, 56, 112, 224)))
"""Seconds between two ticks."""
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin with one."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing: its size, its margins, and how many times fit below it."""

    kind: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    ticks: int

    @property
    def floor(self) -> int:
        """The y position of zero."""
        return self.height - self.bottom

    @property
    def edge(self) -> int:
        """The right end of the drawing area."""
        return self.width - self.right


WIDE = Frame("wide", 1200, 180, 62, 10, 26, 24, 8)
NARROW = Frame("narrow", 360, 170, 62, 10, 26, 24, 4)
FRAMES = (WIDE, NARROW)
HALF = Frame("half", 570, 160, 62, 10, 26, 24, 5)
"""One of two drawings side by side."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis of a window in a drawing."""

    window: Window
    frame: Frame = WIDE

    def x(self, at: datetime) -> float:
        """The position of a moment. Moments outside are on the edge."""
        share = (at - self.window.begin) / self.window.length
        return self.frame.left + min(max(share, 0.0), 1.0) * (self.frame.edge - self.frame.left)

    def ticks(self) -> list[tuple[datetime, str]]:
        """Round moments in UTC, as many as fit into the frame, each with its label."""
        seconds = self.window.length.total_seconds()
        step = timedelta(seconds=next((step for step in STEPS if seconds / step <= self.frame.ticks), STEPS[-1]))
        first = -((EPOCH - self.window.begin) // step)
        form = "%d %b" if step >= timedelta(days=1) else "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
        at, times = EPOCH + first * step, []
        while at < self.window.end:
            if at >= self.window.begin:
                times.append((at, at.strftime(form)))
            at += step
        return times

    def times(self, floor: float) -> str:
        """The ticks drawn below `floor`."""
        drawn = ""
        for at, words in self.ticks():
            x = self.x(at)
            drawn += f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{floor:g}" y2="{floor + 4:g}"/>'
            # A label half outside the drawing would be cut.
            if self.frame.left - 20 <= x <= self.frame.width - 22:
                drawn += f'<text x="{x:.1f}" y="{floor + 18:g}" text-anchor="middle">{words}</text>'
        return drawn
