"""Termination detection of asynchronous runs: millions of random schedules, and its cost for 2 to 1,024 workers.

    python benchmarks/termination.py [--schedules 2000000]     # `make termination`

Nothing is timed. A schedule is correct if no worker learns of the end while there is work anywhere, and every worker
learns of it eventually. Messages, receipts and notes are delayed and reordered at random, and one kind, also chosen at
random, is delayed as long as possible.
"""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor

from harness import Claim, parser_of
from schedules import Schedule, at_random, in_time, notes_of

from dgraph.native.threads import cores

BATCH = 10_000  # schedules per task of a process
SIZES = [2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
HELD = ["", "mail", "receipt", "note", "rest", "work"]


def play(first: int) -> int:
    """Play a batch of schedules, each with its own seed; returns the number of events. A wrong one raises an error."""
    events = 0
    for seed in range(first, first + BATCH):
        draw = random.Random(seed)
        workers = draw.choice([1, 2, 2, 3, 3, 4, 5, 7, 12])
        longest = 5 if workers > 1 else 1
        hops = [[draw.randrange(longest) for _ in range(draw.randrange(3))] for _ in range(workers)]
        try:
            events += at_random(Schedule(hops, other(workers, draw)), draw, draw.choice(HELD)).events
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    return events


def other(workers: int, draw: random.Random):
    """A function that maps a worker to a random other one."""
    return lambda worker: (worker + 1 + draw.randrange(workers - 1)) % workers


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--schedules", type=int, default=2_000_000)
    given = parser.parse_args()
    batches = range(0, given.schedules, BATCH)
    with ProcessPoolExecutor(cores()) as pool:
        record(len(batches) * BATCH, sum(pool.map(play, batches)))
    cost()


def record(schedules: int, events: int) -> None:
    facts = {"schedules": schedules, "events": events}
    what = "random schedules in which the end was told too early, or never"
    Claim("termination", what, f"one of {schedules:,}", 0.0, unit="", facts=facts).record([0], [1])


def cost() -> None:
    """Measure the notes and steps if messages, receipts and notes all take one step."""
    notes, limits, steps, depths = [], [], [], []
    for workers in SIZES:
        draw = random.Random(workers)
        for hops in ([[]] * workers, [[draw.randrange(8)] for _ in range(workers)]):
            course = in_time(Schedule(hops, other(workers, draw)))
            print(f"{workers:6} workers: {course.snapshots} snapshots, {course.notes} notes in {course.steps} steps")
            notes.append(course.notes / course.snapshots)
            limits.append(notes_of(workers))
            steps.append(course.steps)
            depths.append(3 * 2 * (workers.bit_length() - 1))
    what = "notes of a snapshot, 2 to 1,024 workers"
    Claim("termination", what, "2 (workers - 1)", 1.0, unit="").record(notes, limits)
    what = "steps of a message from the last work to the end, 2 to 1,024 workers"
    Claim("termination", what, "three times up and down a tree", 1.0, unit="").record(steps, depths)


if __name__ == "__main__":
    main()
