"""The poll scheduler: bounded, fair, never delayed by databases that hang, and it reports when it has too much to do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from collectors.deadline import THREADS, SessionCalls, TooLate
from service.state.board import readiness
from service.watch import scheduler as module
from service.watch.scheduler import EARLY_SECONDS, LONGEST, SHARE, PollScheduler, QueueMetrics, RightOfWay
from tests.oracle_standin.deadline import HANGS
from tests.service.simulated_fleet import SimulatedFleet
from tests.service.standin import becomes


class Task:
    """Does something at each turn, then is due again when `following` says."""

    def __init__(
        self,
        name: str = "task",
        does: Callable[[], object] = lambda: None,
        following: Callable[[], float | None] = lambda: None,
        suspect: bool = False,
    ) -> None:
        self.name, self.does, self.following, self.suspect, self.turns = name, does, following, suspect, 0

    def take_turn(self) -> float | None:
        self.turns += 1
        self.does()
        return self.following()


class Peak:
    """How many were inside at once."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._now -= 1


@pytest.fixture
def schedulers() -> Iterator[list[PollScheduler]]:
    made: list[PollScheduler] = []
    yield made
    for each in made:
        each.stop()
        each.thread.join(HANGS)


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """A database that says nothing until the test is over."""
    monkeypatch.setattr("collectors.deadline.SILENCE_SECONDS", 0.01)
    over = threading.Event()

    def call() -> None:
        SessionCalls("hung").run(lambda: over.wait(HANGS), HANGS, "a statement")

    yield call
    over.set()


def test_polls_in_hand_and_at_work_are_bounded(schedulers: list[PollScheduler]) -> None:
    schedulers.append(one := PollScheduler(in_hand=4, at_work=2))
    working, begun, open_ = Peak(), Peak(), threading.Event()

    def poll() -> None:
        with begun:
            SessionCalls("db").run(lambda: open_.wait(HANGS), HANGS, "a statement")
            with working:
                sum(range(2000))

    tasks = [Task(f"db-{number}", poll) for number in range(40)]
    for task in tasks:
        one.add(task, 0.0)
    becomes(lambda: begun.most == 4, "four are begun")
    open_.set()
    becomes(lambda: all(task.turns == 1 for task in tasks), "each has had its turn")
    assert (begun.most, working.most <= 2) == (4, True)


def test_scrape_goes_before_polls_that_wait_for_a_place_at_work(schedulers: list[PollScheduler]) -> None:
    schedulers.append(one := PollScheduler(in_hand=4, at_work=1))
    begun, open_, done = Peak(), threading.Event(), threading.Event()

    def poll() -> None:
        with begun:
            SessionCalls("db").run(lambda: open_.wait(HANGS), HANGS, "a statement")
            worked.append(done.is_set())

    worked: list[bool] = []
    for number in range(4):
        one.add(Task(f"db-{number}", poll), 0.0)
    becomes(lambda: begun.most == 4, "all wait for an answer")
    one.right_of_way = RightOfWay(clock=lambda: 0.0)
    with one.right_of_way.first():
        open_.set()
        one._places.put(one._places.get(timeout=HANGS))  # a place is free
        threading.Event().wait(0.05)  # in which a poll that does not stand back would go on
        done.set()
    becomes(lambda: len(worked) == 4, "each goes on")
    assert worked == [True] * 4, "none before the scrape has its answer"


def test_databases_that_hang_keep_nobody_from_being_polled(
    schedulers: list[PollScheduler], hang: Callable[[], None]
) -> None:
    schedulers.append(one := PollScheduler(in_hand=2))
    hung = [Task(f"hung-{number}", hang) for number in range(30)]
    well = [Task(f"well-{number}", following=lambda: 0.0) for number in range(30)]
    for pair in zip(hung, well, strict=True):
        for task in pair:
            one.add(task, 0.0)
    becomes(lambda: all(task.turns >= 3 for task in well), "those that answer are polled on and on")
    becomes(lambda: one._silent == 30, "and the others all wait for an answer")


def test_known_troubles_leave_half_of_the_silent_places_to_others(
    schedulers: list[PollScheduler], hang: Callable[[], None]
) -> None:
    schedulers.append(one := PollScheduler(in_hand=2, silent=4))
    troubles = [Task(f"trouble-{number}", hang, suspect=True) for number in range(10)]
    for task in troubles:
        one.add(task, 0.0)
    becomes(lambda: one._silent == 2, "two of them hang")
    well = Task("well", following=lambda: 0.0)
    one.add(well, 0.0)
    becomes(lambda: well.turns >= 50, "there is room for the others")
    assert sum(task.turns for task in troubles) == 2


def test_too_much_to_do_delays_all_alike(schedulers: list[PollScheduler]) -> None:
    schedulers.append(one := PollScheduler(in_hand=1))
    turns: list[str] = []
    tasks = [Task(f"db-{number}") for number in range(20)]
    for task in tasks:
        task.does = lambda mine=task: turns.append(mine.name)  # type: ignore[misc]
        task.following = lambda: one._clock() if len(turns) < 400 else None
    with one._changed:  # none begins before all are there
        for task in tasks:
            one.add(task, 0.0)
    becomes(lambda: len(turns) >= 400, "four hundred turns")
    for begin in range(0, 400, 20):
        assert len(set(turns[begin : begin + 20])) == 20, "each once in every round"


def test_hastened_turn_comes_now_and_after_the_one_at_hand(schedulers: list[PollScheduler]) -> None:
    schedulers.append(one := PollScheduler())
    inside, go_on = threading.Event(), threading.Event()
    task = Task(following=lambda: one._clock() + 3600.0)
    one.add(task, one._clock() + 3600.0)
    one.hasten(task)
    becomes(lambda: task.turns == 1, "its turn")
    task.does = lambda: (inside.set(), go_on.wait(HANGS))
    becomes(lambda: task in one._waiting, "it rests")
    one.hasten(task)
    assert inside.wait(HANGS)
    one.hasten(task)
    go_on.set()
    becomes(lambda: task.turns == 3, "another turn after the one at hand")


def test_thread_that_ends_a_turn_takes_another_that_is_due_very_soon(schedulers: list[PollScheduler]) -> None:
    schedulers.append(one := PollScheduler(in_hand=1, clock=lambda: 1000.0))
    due, soon, later = Task("due"), Task("soon"), Task("later")
    with one._changed:
        one._put(soon, 1000.0 + EARLY_SECONDS)
        one._put(later, 1000.1)
    assert one._next() is None, "nothing is woken before its time"
    one.add(due, 1000.0)
    becomes(lambda: (due.turns, soon.turns) == (1, 1), "both have had their turn")
    assert later.turns == 0 and later in one._waiting


@pytest.mark.parametrize("error", [KeyError("ours"), SystemExit()])
def test_turn_that_fails_gives_its_place_back_and_comes_again(
    schedulers: list[PollScheduler],
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "AFTER_A_FAULT", 0.0)
    schedulers.append(one := PollScheduler(in_hand=1))
    faults = [error, error]

    def fail() -> None:
        if faults:
            raise faults.pop()

    task = Task("erp", fail)
    one.add(task, 0.0)
    becomes(lambda: task.turns == 3, "it is asked again")
    assert "erp: its turn failed" in caplog.text


def test_scheduler_outlives_a_system_without_threads(
    schedulers: list[PollScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.background.FIRST_PAUSE", 0.01)
    refusals = [RuntimeError("can't start new thread")]
    run = THREADS.run

    def refused(job: Callable[[], None]) -> None:
        if refusals:
            raise refusals.pop()
        run(job)

    monkeypatch.setattr(THREADS, "run", refused)
    schedulers.append(one := PollScheduler())
    task = Task()
    one.add(task, 0.0)
    becomes(lambda: task.turns == 1, "its turn comes nevertheless")
    assert one.thread.deaths == 1


def test_queue_tells_the_longest_wait_of_the_last_minute() -> None:
    now = 1000.0
    one = PollScheduler(in_hand=1, clock=lambda: now)
    registry = CollectorRegistry()
    registry.register(QueueMetrics(one))
    with one._changed:
        one._put(Task(), 1000.0)
        one._put(late := Task(), 1001.0)
    assert one.queue_seconds == 0.0
    now = 1004.0
    assert one.queue_seconds == 4.0, "a waiting poll counts now"
    assert one._next() is not None and one._next() is None, "one place in hand"
    assert b"latchscope_poll_queue_seconds 4.0" in generate_latest(registry)
    now = 1010.0
    assert one.queue_seconds == 9.0
    one._in_hand = 0
    assert one._next() is late
    now = 1060.0
    assert one.queue_seconds == 9.0
    now = 1075.0
    assert one.queue_seconds == 0.0


def test_turn_is_laid_down_while_a_call_is_waited_for() -> None:
    one = PollScheduler(in_hand=1, at_work=1)
    free: list[bool] = []

    def poll() -> None:
        calls = SessionCalls("db")
        free.append(not one._places.empty())
        calls.run(lambda: free.append(_probe(one)), HANGS, "a statement")
        with suppress(TooLate):
            calls.run(lambda: threading.Event().wait(0.5), 0.01, "a statement")
        free.append(not one._places.empty())

    one._turn_of(Task(does=poll))
    assert free == [False, True, False], "held at work, free in the call, held again"
    assert not one._places.empty(), "and free in the end"


def _probe(one: PollScheduler) -> bool:
    """True if another can work now. Without a free place it waits for one, and fails in the end."""
    one._places.put(one._places.get(timeout=HANGS))
    return True


def test_twice_too_much_to_do_makes_all_intervals_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = SimulatedFleet(40, 10.0, monkeypatch)
    fleet.run(until=1400.0)
    gaps, queue = fleet.gaps(since=1200.0), fleet.scheduler.queue_seconds
    assert len(gaps) > 300
    assert (min(gaps), max(gaps)) == pytest.approx((20.0, 20.0), abs=1.0)
    assert [worker.watched.pace for worker in fleet.workers] == pytest.approx([20.0] * 40, abs=1.0), "each says so"
    assert queue == pytest.approx(15.0, abs=1.0)
    assert "wait up to 15 s for their turn, so every database is polled less often" in readiness(None, queue).status


class Stage:
    """A right of way in simulated time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.way = RightOfWay(clock=lambda: self.now)


def test_polls_stand_back_until_the_last_scrape_is_done_or_failed_for_a_bounded_time() -> None:
    stage, gone = Stage(), threading.Event()
    poll = threading.Thread(target=lambda: (stage.way.wait(), gone.set()), daemon=True)
    with stage.way.first():
        with stage.way.first():
            assert stage.way.taken
        assert stage.way.taken
        poll.start()
    assert not stage.way.taken and gone.wait(HANGS)
    with pytest.raises(ZeroDivisionError), stage.way.first():
        raise ZeroDivisionError
    stage.way.wait()
    stage = Stage()
    with stage.way.first():
        stage.now += LONGEST
        assert not stage.way.taken, "its reader is slow"
        stage.way.wait()
    stage, stood_back = Stage(), 0.0
    for _ in range(1000):
        with stage.way.first():
            stood_back += 0.1 if stage.way.taken else 0.0
            stage.now += 0.1
    assert stood_back == pytest.approx(100 * SHARE, rel=0.02), "scrapes without end"
