"""The overhead of a superstep in milliseconds, on two worker processes of one thread, and in this process.

    python benchmarks/superstep.py [--supersteps 1000] [--bytes 10000]

The empty superstep has targets. With --bytes, every partition (two per worker) also sends bytes to all others.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from harness import Claim, parser_of

from dgraph.bench.local_cluster import local_cluster
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

TARGETS = {"fused": 3.0, "own task": 7.0, "in process": 0.5}  # milliseconds, empty superstep, median
SETTLED = 30  # the first supersteps, which do not count


def steps(size: int, supersteps: int) -> Steps:
    """Steps that send `size` bytes from every partition to every other, and check what arrives."""

    def setup(exchange: Any, partitions: dict) -> Any:
        return exchange, np.arange(size, dtype=np.int64).astype(np.uint8)

    def step(state: Any, round: int, tokens: list) -> dict:
        exchange, block = state
        parts = len(exchange.route.homes)
        for here in exchange.partitions if size else ():
            mail = exchange.collect(round - 1, here)
            if round and (len(mail) != parts or any(not np.array_equal(b, block) for _, b in mail)):
                raise AssertionError(f"round {round}: wrong mail")
            for there in range(parts):
                exchange.send(round, here, there, block)
        return {"done": round + 1 == supersteps}

    return Steps(setup, step, lambda state: None)


def measure(size: int, supersteps: int, **where: Any) -> list[float]:
    """Milliseconds per superstep, from the end of one chunk to the end of the next."""
    ends: list[tuple[int, float]] = []
    note = lambda rounds, _: ends.append((rounds, time.perf_counter()))  # noqa: E731
    run_steps(steps(size, supersteps), [None] * 4, after_chunk=note, **where)
    each = pairwise(one for one in ends if one[0] >= SETTLED)
    return [(after - before) * 1e3 / (later - earlier) for (earlier, before), (later, after) in each]


def report(name: str, size: int, times: list[float], target: float | None) -> None:
    """Keep the record, with a limit in place of a peer."""
    sends = f"with {size:,} bytes from every partition to every other" if size else "empty"
    where = "in this process" if name == "in process" else f"on two worker processes, {name}"
    claim = Claim("superstep", f"a superstep {where}, {sends}", "a limit", None if target is None else 1.0, unit="ms")
    claim.record(times, [target or TARGETS[name]] * len(times))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--supersteps", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=10_000)
    options = parser.parse_args()
    with local_cluster(2, 1) as client:
        places = {
            "fused": {"client": client, "fuse": True},
            "own task": {"client": client, "fuse": False},
            "in process": {"threads": 2},
        }
        for name, where in places.items():
            report(name, 0, measure(0, options.supersteps, **where), TARGETS[name])
        for name, where in places.items():
            report(name, options.bytes, measure(options.bytes, options.supersteps, **where), None)


if __name__ == "__main__":
    main()
