"""What the runs of a cluster do and have done, as their workers tell: with each token, and with Dask's heartbeats.

It lives on the scheduler, and what it keeps is bounded. Independent of Dask and Bokeh.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_SAMPLES = 240  # of a run; beyond that, every second one is dropped, and the next ones are twice as far apart
MOST_RUNS = 20  # that are over and still shown
SAMPLE_SECONDS = 0.2  # between two samples at first
SUMS = ("fired", "edges", "bytes", "residual")  # over workers


class LiveSample(NamedTuple):
    """Counts of a run at a moment, over all workers."""

    seconds: float  # since it began
    superstep: int
    fired: int
    edges: int
    bytes: int
    residual: float | None


@dataclass
class LiveRun:
    """A run, as far as its workers have told."""

    number: int  # how many runs of this cluster had told something by then
    begun: float
    title: str = ""
    standings: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # the last of each worker
    samples: list[LiveSample] = field(default_factory=list)
    interval: float = SAMPLE_SECONDS
    ended: float | None = None
    reason: str | None = None  # why it failed

    @property
    def workers(self) -> Sequence[str]:
        """Those that have told something."""
        return sorted(self.standings)

    @property
    def seconds(self) -> float:
        """How long it has taken so far, or took."""
        return (time.monotonic() if self.ended is None else self.ended) - self.begun

    @property
    def state(self) -> str:
        if self.ended is None:
            return "running"
        return "done" if self.reason is None else self.reason

    def sample(self) -> LiveSample:
        """The counts as they stand."""
        told = [one for one in self.standings.values() if one]
        sums = {what: sum(one.get(what, 0) for one in told) for what in SUMS}
        superstep = max((one.get("round", 0) for one in told), default=0)
        residual = float(sums["residual"]) if any("residual" in one for one in told) else None
        return LiveSample(
            self.seconds, int(superstep), int(sums["fired"]), int(sums["edges"]), int(sums["bytes"]), residual
        )

    def keep_sample(self) -> None:
        self.samples.append(self.sample())
        if len(self.samples) > MOST_SAMPLES:
            del self.samples[1::2]
            self.interval = self.seconds / len(self.samples)

    def busy(self) -> dict[str, float]:
        """The share of the run's time in which each worker had a step to do."""
        seconds = self.seconds or 1.0
        return {one: min(1.0, self.standings.get(one, {}).get("busy", 0.0) / seconds) for one in self.workers}


class LiveHistory:
    """The runs that go on, and the last ones that have ended. Those in `live` go on; what is heard of others comes too
    late."""

    def __init__(self, live: Container[str]) -> None:
        self.live = live
        self.runs: dict[str, LiveRun] = {}  # in the order in which they told something first
        self.begun = 0

    def hear(self, run: str, worker: str, standing: Mapping[str, Any]) -> None:
        """Note what a worker has done so far."""
        if run not in self.live:
            return
        one = self.runs.get(run) or self._begin(run, standing.get("seconds", 0.0))
        one.standings[worker] = standing
        one.title = standing.get("title") or one.title
        if not one.samples or one.seconds - one.samples[-1].seconds >= one.interval:
            one.keep_sample()

    def heartbeat(self, worker: Any, standings: Mapping[str, Mapping[str, Any]]) -> None:
        """Called by the scheduler with each heartbeat of a worker."""
        for run, standing in standings.items():
            self.hear(run, worker.address, standing)

    def _begin(self, run: str, before: float) -> LiveRun:
        """A run that began so many seconds ago."""
        self.begun += 1
        self.runs[run] = begun = LiveRun(self.begun, time.monotonic() - before)
        over = [name for name, one in self.runs.items() if one.ended is not None]
        for name in over[: max(0, len(over) - MOST_RUNS)]:
            del self.runs[name]
        return begun

    def end(self, run: str, reason: str | None) -> None:
        one = self.runs.get(run)
        if one is None and reason is not None:  # it failed before anything was told
            one = self._begin(run, 0.0)
        if one is not None:
            if one.samples and one.seconds - one.samples[-1].seconds < SAMPLE_SECONDS:
                one.samples.pop()  # so close to the end, rates would say little
            one.keep_sample()
            one.ended, one.reason = time.monotonic(), reason

    def newest(self) -> Iterable[LiveRun]:
        """All runs; those that go on come first, and of each kind the newest."""
        return sorted(self.runs.values(), key=lambda one: (one.ended is not None, -one.number))
