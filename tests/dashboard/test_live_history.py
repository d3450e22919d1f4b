"""What the live page knows of runs: all that their workers tell, and no more of it than fits."""

from itertools import pairwise

import pytest

from dgraph.dashboard import live_history
from dgraph.dashboard.live_history import MOST_RUNS, MOST_SAMPLES, LiveHistory

WORKERS = ["tcp://a:1", "tcp://b:1"]


@pytest.fixture
def clock(monkeypatch):
    """A function that moves time on."""
    now = [100.0]
    monkeypatch.setattr(live_history.time, "monotonic", lambda: now[0])

    def pass_seconds(seconds: float) -> None:
        now[0] += seconds

    return pass_seconds


@pytest.fixture
def live():
    """The runs that go on."""
    return {"r"}


def standing(superstep: int, **more) -> dict:
    return {"title": "pagerank", "round": superstep, "fired": 10 * superstep, "edges": 100, "bytes": 7, **more}


def test_counts_are_those_of_all_workers(clock, live):
    history = LiveHistory(live)
    clock(2.0)
    history.hear("r", WORKERS[0], standing(3, busy=1.0, seconds=2.0))
    history.hear("r", WORKERS[1], standing(4, busy=0.5, residual=0.25))
    run = history.runs["r"]
    assert run.sample() == (2.0, 4, 70, 200, 14, 0.25)
    assert run.busy() == {WORKERS[0]: 0.5, WORKERS[1]: 0.25}
    assert (run.title, run.state) == ("pagerank", "running")


def test_without_residuals_there_is_none(clock, live):
    history = LiveHistory(live)
    history.hear("r", WORKERS[0], standing(1))
    assert history.runs["r"].sample().residual is None


def test_a_run_that_is_over_stays_as_it_was(clock, live):
    history = LiveHistory(live)
    history.hear("r", WORKERS[0], standing(1, seconds=1.0))
    clock(1.0)
    live.discard("r")
    history.end("r", "worker tcp://b:1 left")
    clock(50.0)
    history.hear("r", WORKERS[0], standing(9))
    run = history.runs["r"]
    assert (run.seconds, run.sample().superstep, run.state) == (2.0, 1, "worker tcp://b:1 left")
    assert [one.seconds for one in run.samples] == [1.0, 2.0]


def test_a_run_that_fails_before_it_tells_anything_is_shown(clock, live):
    history = LiveHistory(live)
    history.end("r", "a worker left")
    assert history.runs["r"].state == "a worker left"
    assert history.runs["r"].sample().superstep == 0


def test_news_of_unknown_runs_are_dropped(clock, live):
    history = LiveHistory(live)
    history.hear("nobody", WORKERS[0], standing(1))
    history.end("nobody", None)
    assert not history.runs


def test_a_long_run_keeps_few_samples_of_all_its_time(clock, live):
    history = LiveHistory(live)
    for superstep in range(10 * MOST_SAMPLES):
        clock(1.0)
        history.hear("r", WORKERS[0], standing(superstep))
    samples = history.runs["r"].samples
    assert MOST_SAMPLES // 2 <= len(samples) <= MOST_SAMPLES
    assert samples[0].seconds < 1.0
    assert samples[-1].seconds > 9.9 * MOST_SAMPLES
    times = [one.seconds for one in samples]
    gaps = [after - before for before, after in pairwise(times)]
    assert 0 < max(gaps) <= 3 * min(gaps)  # the beginning is as fine as the end


def test_samples_are_not_closer_than_looks_at_the_page(clock, live):
    history = LiveHistory(live)
    for _ in range(100):
        clock(0.01)
        history.hear("r", WORKERS[0], standing(1))
    assert len(history.runs["r"].samples) <= 6


def test_only_the_last_runs_that_are_over_are_kept(clock, live):
    history = LiveHistory(live)
    live |= {"long", "last", *(f"r{number}" for number in range(3 * MOST_RUNS))}
    history.hear("long", WORKERS[0], standing(1))
    for number in range(3 * MOST_RUNS):
        history.hear(f"r{number}", WORKERS[0], standing(1))
        history.end(f"r{number}", None)
    history.hear("last", WORKERS[0], standing(1))
    assert len(history.runs) == MOST_RUNS + 2
    newest = [one.number for one in history.newest()]
    assert newest[:3] == [3 * MOST_RUNS + 2, 1, 3 * MOST_RUNS + 1]
