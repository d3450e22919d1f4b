"""What supersteps cost among many workers: measured on few, told for many.

    .venv/bin/python benchmarks/costs.py [--workers 2 4 8 16 32] [--trials 3]
    .venv/bin/python benchmarks/costs.py --write docs/scaling

Worker processes of one thread share the cores of this machine, so what counts is the CPU time of all of them. On up to
`FIT` workers the costs of a superstep are fitted (`SuperstepCosts`), and those of a run's start and end. What they add
up to is then compared with supersteps and runs on all numbers of workers. Even an idle Dask worker uses some percent of
a core; with many on few cores that takes time from all others, so it is measured, too.

With `--write`, a table and a plot tell supersteps per second on up to 1,024 workers, with the costs that `dgraph plan`
knows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from harness import Claim, parser_of
from many import built, small_frame
from scipy.optimize import nnls
from superstep import steps

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.plots.style import Drawing, line_of
from dgraph.cli.forecast import Cluster, calibrate, predict
from dgraph.cli.superstep_costs import MEASURED, SuperstepCosts
from dgraph.exchange.grid import packets
from dgraph.native.threads import cores
from dgraph.supersteps.run_steps import run_steps

FIT = 8  # the most workers on which costs are fitted
WITHIN = 0.25
STEPS, ROUNDS, IDLE_SECONDS = 200, 20, 3.0
TOLD = [1 << power for power in range(11)]  # workers
BILLIONS = 1, 10, 100, 1000  # edges
NETWORKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9}  # bytes a second of each worker
CORES, SCALE = 8, 18  # of each worker; of the graph whose shape larger graphs are told to have

Spent = dict[str, list[float]]  # CPU seconds of all workers, by what they did; of one in a second without work ("idle")


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    options.add_argument("--write", type=Path, metavar="NAME", help="write NAME.md and NAME.svg instead")
    given = options.parse_args()
    if given.write is None:
        check(given)
    else:
        tell(given.write)


# -- on this machine ---------------------------------------------------------------------------------------------------


def check(given: argparse.Namespace) -> None:
    frame = small_frame()
    work = busy_here(frame)
    spent = {workers: spend(workers, frame, given.trials) for workers in given.workers}
    costs, start = fitted({workers: one for workers, one in spent.items() if workers <= FIT}, work)
    print(f"{costs}; {start:.4f} s for a worker to start and end a run")
    for workers, one in spent.items():
        sums = {
            f"{STEPS} supersteps without mail": ("empty", STEPS * costs.seconds(workers, peers=0)),
            f"{ROUNDS} rounds of PageRank": ("long", start + ROUNDS * (costs.seconds(workers) + work / workers)),
        }
        for what, (name, told) in sums.items():
            all_told = told * workers / own_share(one, workers)
            title = f"CPU seconds of {what} on {workers} workers, as fitted on up to {FIT}"
            idle = {"idle": round(median(one["idle"]), 4)}
            claim = Claim("costs", title, "all workers", 1 + WITHIN, floor=1 - WITHIN, facts=idle)
            claim.record([all_told] * given.trials, one[name])


def busy_here(frame: dict[str, np.ndarray]) -> float:
    """CPU seconds of a round of PageRank in this process."""
    graph = dg.Graph.from_edges(frame, parts=2)
    few, many = (
        min(cpu_of(partial(ranked, graph, rounds), time.process_time) for _ in range(5)) for rounds in (1, 1 + ROUNDS)
    )
    return max(0.0, many - few) / ROUNDS


def ranked(graph: dg.Graph, rounds: int) -> Any:
    result = dg.pagerank(graph, engine="gas", tol=0.0, max_iter=rounds)
    result.report  # noqa: B018  (waits for the values)
    return result


def spend(workers: int, frame: dict[str, np.ndarray], trials: int) -> Spent:
    with local_cluster(workers, 1) as client:
        graph = built(frame, client)
        cases: dict[str, Callable[[], Any]] = {
            "empty": lambda: run_steps(steps(0, STEPS), [None] * workers, client=client),
            "short": lambda: ranked(graph, 1),
            "long": lambda: ranked(graph, ROUNDS),
            "idle": lambda: time.sleep(IDLE_SECONDS),
        }
        clock = partial(cpu_of_workers, client)
        found = {name: [cpu_of(case, clock) for _ in range(-1, trials)][1:] for name, case in cases.items()}
    found["idle"] = [seconds / IDLE_SECONDS / workers for seconds in found["idle"]]
    return found


def cpu_of(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    before = clock()
    run()
    return clock() - before


def cpu_of_workers(client: Any) -> float:
    return float(sum(client.run(time.process_time).values()))


def own_share(spent: Spent, workers: int) -> float:
    """The share of the CPU time that workers spend on what they are told to do."""
    return 1 - min(0.9, median(spent["idle"]) * workers / cores())


def fitted(spent: dict[int, Spent], work: float) -> tuple[SuperstepCosts, float]:
    """The costs that fit best, and the CPU seconds of a worker for the start and the end of a run. Each row is what a
    worker spent: how many steps, packets, peers and runs, and the seconds."""
    rows = []
    for workers, one in spent.items():
        for name, rounds, runs in (("empty", STEPS, 0), ("short", 1, 1), ("long", ROUNDS, 1)):
            own = (median(one[name]) * own_share(one, workers) - runs * rounds * work) / workers
            row = [rounds, rounds * packets(workers), runs * rounds * (workers - 1), runs]
            rows.append(np.array(row) / own)  # so that relative errors count
    *found, start = nnls(np.array(rows), np.ones(len(rows)))[0]
    return SuperstepCosts(*map(float, found)), float(start)


# -- on others ---------------------------------------------------------------------------------------------------------


def tell(path: Path) -> None:
    """Write supersteps of PageRank per second, and with how many workers communication takes longer than the edges."""
    graph = dg.rmat(scale=SCALE)
    known = calibrate(graph, "pagerank", lambda sample: ranked(sample, ROUNDS), workers=4)
    rows = []
    for workers in TOLD:
        estimated = graph.estimate("pagerank", workers=workers).frame
        for billions, (network, bandwidth) in product(BILLIONS, NETWORKS.items()):
            times = billions * 10**9 / graph.num_edges
            larger = estimated.assign(edges=estimated["edges"] * times, exchange=estimated["exchange"] * times)
            frame = predict(larger, Cluster(workers, CORES, bandwidth=bandwidth), known)
            frame = frame.assign(talk=frame["exchange"] + frame["rounds"])
            best = frame.loc[(frame["compute"] + frame["talk"]).idxmin(), ["compute", "talk"]] / known.rounds
            rows.append({"network": network, "workers": workers, "billions": billions, **best})
    told = pd.DataFrame(rows)
    told["a second"] = 1 / (told["compute"] + told["talk"])
    path.with_suffix(".md").write_text(page(told, path.with_suffix(".svg").name))
    path.with_suffix(".svg").write_text(plot(told))


def crossover(told: pd.DataFrame, billions: int) -> str:
    """From how many workers on communication takes longer than the edges."""
    of_graph = told[(told["billions"] == billions) & (told["talk"] > told["compute"])]
    return f"{of_graph['workers'].min():,}" if len(of_graph) else f"over {max(TOLD):,}"


def page(told: pd.DataFrame, picture: str) -> str:
    costs = {one.name: f"{getattr(MEASURED, one.name) * 1e6:.0f} microseconds" for one in fields(MEASURED)}
    tables = (f"With {network}:\n\n{table(told[told['network'] == network])}" for network in NETWORKS)
    return TEXT.format(picture=picture, tables="\n\n".join(tables), cores=CORES, scale=SCALE, **costs)


def table(told: pd.DataFrame) -> str:
    rates = told.pivot_table(index="workers", columns="billions", values="a second")
    head = ["workers", *(f"{billions:,} billion edges" for billions in rates)]
    lines = [[f"{workers:,}", *(f"{value:.3g}" for value in row)] for workers, *row in rates.itertuples()]
    lines.append(["more talk than work from", *(crossover(told, billions) for billions in rates)])
    lines.append(["fastest with", *(f"{rates[billions].idxmax():,}" for billions in rates)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---:"] * len(head), *lines])


def plot(told: pd.DataFrame) -> str:
    title = "Supersteps of PageRank per second, as told by the model"
    with Drawing(title, across=len(NETWORKS), width=10.5, height=3.8) as drawing:
        look = line_of([f"{billions:,}" for billions in BILLIONS])
        for axes, network in zip(drawing.axes, NETWORKS, strict=True):
            for billions, of_graph in told[told["network"] == network].groupby("billions"):
                name = f"{billions:,}"
                axes.plot(of_graph["workers"], of_graph["a second"], label=f"{name} billion edges", **look[name])
                talking = of_graph[of_graph["talk"] > of_graph["compute"]]
                axes.plot(talking["workers"], talking["a second"], "o", color=look[name]["color"])
            axes.set(title=network, xlabel="workers", ylabel="a second", xscale="log", yscale="log")
            axes.set_xticks(TOLD[::2], [f"{workers:,}" for workers in TOLD[::2]])
            axes.minorticks_off()
        drawing.legend(drawing.axes[-1])
        return drawing.save()


TEXT = """\
# How it scales

Besides the work on its edges a superstep costs each worker some CPU time: {step} for the step itself, {packet} for
each packet that it sends and the one that comes in return, and {peer} for each peer with which it exchanges
values. Up to eight workers send packets to each other; more form a grid, so that 1,024 workers send 62 packets each and
not 1,023 (see [how it works](how_it_works.md)). `benchmarks/costs.py` fits these costs on up to eight worker processes,
and compares what they add up to with runs on up to 32: [measurements](../benchmarks/MEASURED.md).

With them `dgraph plan` tells how an operation will run on a cluster that you do not have yet; give it your network's
`--bandwidth` and `--latency`. The figures below are its answers for PageRank on workers of {cores} cores each, with
50 microseconds between them, and graphs with the shape of R-MAT scale {scale}. Nobody has run these: the largest
cluster measured has 32 workers, on one machine.

![Supersteps per second over the number of workers, for graphs of 1 to 1,000 billion edges]({picture})

A point marks where a superstep spends more time on communication than on edges. Beyond, more workers help less, and in
the end not at all. The tables hold the same supersteps per second.

{tables}
"""


if __name__ == "__main__":
    main()
