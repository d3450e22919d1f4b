"""Block coordinate descent against bulk-synchronous rounds: work and time to the same answer.

python benchmarks/block_descent.py [--graphs wiki-Vote,wave,usroads-48,rmat] [--scale 20] [--trials 3]

An epoch is as much work as reading every edge once; sums computed before the first block count.
The table of epochs can be made in pieces (--graphs, --operations, --sizes): each replaces its rows of
results/epochs.json. Real graphs are read from ../shared/data, or from DGRAPH_DATA.
"""

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from harness import RESULTS, Claim, parser_of, take_turns

import dgraph as dg
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.errors import AnswerError
from dgraph.native.team import barrier, kernel, team
from dgraph.runs import plan
from dgraph.testing.verify import verify

SETTING = "priority", None  # the order and the default block size, for both operations and all graphs
SIZES = (8, 64, 512, 4096, 32768)
RESIDUAL = 1e-9  # for PageRank: the total distance of the ranks from the fixed point
RANK, NOISE, PENALTY, EPOCHS, NEAR = 4, 0.5, 0.01, 40, 0.02  # settings of factorize


def graph_of(name, scale):
    """The graph and a source, or None if the data are missing."""
    if name == "rmat":
        graph = dg.rmat(scale=scale, seed=1, weights=(1, 255), parts=1)
        return graph, int(dg.degrees(graph).by_number("out_degree").argmax())
    from real_graphs import DATA, real_graph

    if not DATA.is_dir():
        return None
    real = real_graph(name)
    return real.graph(parts=1), real.source


class Case:
    """An operation on a graph, in rounds and by blocks. Both are verified against the local solver."""

    def __init__(self, operation, graph, source):
        self.operation, self.graph, self.source = operation, graph, source
        self.edges = graph.num_edges * (1 if graph.directed else 2)
        self.expected = self.values(self.run(engine="local", tol=1e-13))

    def run(self, tol=None, **options):
        if self.operation == "sssp":
            return dg.sssp(self.graph, self.source, predecessors=False, **options)
        return dg.pagerank(self.graph, tol=tol, max_iter=2000, **options)

    def in_rounds(self):
        # kernels in rounds, without a solver in each round
        engine = dg.Bsp(local_rounds=1) if self.operation == "sssp" else "bsp"
        return self.run(engine=engine, tol=RESIDUAL)

    def by_block(self, **options):
        return self.run(tol=RESIDUAL, engine=dg.BlockDescent(**options))

    def values(self, result):
        return result.by_number({"sssp": "distance", "pagerank": "pagerank"}[self.operation])

    def check(self, result, what):
        found = self.values(result)
        if self.operation == "sssp" and not np.array_equal(found, self.expected):
            raise AnswerError(f"{what}: {(found != self.expected).sum()} distances are wrong")
        if self.operation == "pagerank" and not np.abs(found - self.expected).sum() < 2 * RESIDUAL:
            raise AnswerError(f"{what}: ranks are off by {np.abs(found - self.expected).sum():g}")

    def epochs(self, result, what):
        self.check(result, what)
        return float(result.report["edges"].sum()) / self.edges


def mean(ratios):
    return float(np.exp(np.mean(np.log(ratios))))


def table_of_epochs(cases, sizes):
    """Write epochs of both orders, all sizes and the default size to results/epochs.json for the plot, in place of
    earlier rows of the same kind; then make the claims from all rows."""
    path = RESULTS / "epochs.json"
    rows = {key_of(row): row for row in json.loads(path.read_text())} if path.exists() else {}
    for name, case in cases:
        rounds = case.epochs(case.in_rounds(), "rounds")
        for order, size in product(("priority", "cyclic"), (None, *sizes)):
            if size is not None and size > case.graph.num_vertices * 8:
                continue
            result = case.by_block(operator="push", order=order, block_size=size or "auto")
            epochs = case.epochs(result, f"{case.operation} {order} {size}")
            curve = result.report[["epochs", "residual"]].to_numpy().tolist()
            row = {"graph": name, "operation": case.operation, "order": order, "block size": size, "epochs": epochs}
            row |= {"rounds": rounds, "ratio": rounds / epochs, "curve": curve[:: max(1, len(curve) // 50)]}
            rows[key_of(row)] = row
            print(
                f"{name:12} {case.operation:9} {order:9} {size or 'default':>7} {epochs:8.2f} epochs, "
                f"{rounds:8.2f} in rounds",
                flush=True,
            )
            path.write_text(json.dumps(list(rows.values())) + "\n")
    claims_of_epochs({key: row for key, row in rows.items() if key[0] in dict(cases)})


def key_of(row):
    return row["graph"], row["operation"], row["order"], row["block size"]


def claims_of_epochs(rows):
    names = sorted({graph for graph, *_ in rows})
    at = {"graphs": ", ".join(names)}
    gained = [1 / row["ratio"] for (_, _, *how), row in rows.items() if tuple(how) == SETTING]
    what = "epochs to the same answer of PageRank and SSSP, push by priority, blocks by default, mean over graphs"
    if gained:
        Claim("block_descent", what, "bsp", 1 / 4.8, "", facts=at | {"of each": gained}).record([mean(gained)], [1.0])
    for operation, target in (("pagerank", 0.9), ("sssp", 0.95)):
        orders = [[rows.get((name, operation, order, None)) for name in names] for order in ("priority", "cyclic")]
        ratios = [first["epochs"] / turns["epochs"] for first, turns in zip(*orders, strict=True) if first and turns]
        what = f"epochs of {operation}, priority against cyclic, push, blocks by default, mean over graphs"
        if ratios:
            Claim("block_descent", what, "cyclic", target, "", facts=at | {"of each": ratios}).record(
                [mean(ratios)], [1.0]
            )


def times(cases, trials):
    """Time PageRank, and factors of ratings on the same edges, to the same residual with default settings."""
    ratios = {"PageRank": [], "factorize": []}
    for name, case in cases:
        if case.operation != "pagerank":
            continue
        check = partial(case.check, what=f"pagerank of {name}")
        size = f"{name} of {case.edges / 2**20:.3g} M edges"
        what = f"PageRank to {RESIDUAL:g} at default settings, {size}"
        row = Claim("block_descent", what, "bsp", None).measure((case.by_block, check), (case.in_rounds, check), trials)
        ratios["PageRank"].append(row["ratio"])
        what = f"gradient steps of factorize to within {NEAR:.0%} of the final error, ratings along {size}"
        claim = Claim("block_descent", what, "all vertices at once", None)
        ratios["factorize"].append(claim.record(*seconds_of_factors(ratings_along(case.graph)))["ratio"])
    if cases:
        what = f"PageRank to {RESIDUAL:g} and gradient steps of factorize, mean over {len(ratios['PageRank'])} graphs"
        each = [ratio for found in ratios.values() for ratio in found]
        facts = {operation: mean(found) for operation, found in ratios.items()}
        Claim("block_descent", what, "bsp, all vertices at once", 0.5, "", facts=facts).record([mean(each)], [1.0])


def orders(cases, trials):
    """Time pushing blocks, in order of priority and in turn."""
    worst = 0.0
    for name, case in cases:
        sides = [
            (
                partial(case.by_block, operator="push", order=order),
                partial(case.check, what=f"{case.operation}, {order}"),
            )
            for order in ("priority", "cyclic")
        ]
        what = f"{case.operation} by priority, push, blocks by default, {name}"
        worst = max(worst, Claim("block_descent", what, "cyclic", None).measure(*sides, trials)["ratio"])
    if cases:
        what = f"time by priority, push, blocks by default, the worst of {len(cases)} runs"
        Claim("block_descent", what, "cyclic", 1.1, "").record([worst], [1.0])


def ratings_along(graph):
    """Ratings along the edges, of the destination (an item) by the source (a user): low rank plus noise."""
    edges, n = graph.edges.compute(), graph.num_vertices
    u, v = np.unique(edges.iloc[:, :2].to_numpy(), return_inverse=True)[1].reshape(-1, 2).T
    draw = np.random.default_rng(1)
    factors = draw.normal(0, 1, (2 * n, RANK))
    ratings = np.einsum("ij,ij->i", factors[u], factors[n + v]) / RANK**0.5 + draw.normal(0, NOISE, len(u))
    frame = pd.DataFrame({"user": u, "item": n + v, "rating": ratings})
    return dg.Graph.from_edges(frame, source="user", destination="item", weight="rating", parts=1)


def seconds_of_factors(graph):
    """The seconds until the error is near its final value, from the newest factors and with all vertices at once."""
    found = []
    how = {"rank": RANK, "regularization": PENALTY, "epochs": EPOCHS, "test": 0.0, "update": "gradient"}
    dg.factorize(graph, **{**how, "epochs": 1})  # compiles
    for mode in ("async", "bsp"):
        result = dg.factorize(graph, engine=dg.BlockDescent(mode=mode), **how)
        error = result.totals["rmse"]
        verify("factorize", graph, result, mean=result.totals["mean"], rmse=error * (1 + 1e-9))
        found.append(result.report)
    limit = (1 + NEAR) * max(report["rmse"].min() for report in found)
    reports = [report[report["rmse"] <= limit] for report in found]
    return [[float(report["seconds"].iloc[0])] for report in reports]


@contextmanager
def workers_of(*speeds):
    """Workers of a team that wait a number of nanoseconds for each edge, and leave their cores free."""

    @dataclass(frozen=True)
    class Paced(BlockOptions):
        pace: tuple[float, ...] = speeds

    plan.BlockOptions = Paced
    try:
        yield
    finally:
        plan.BlockOptions = BlockOptions


@kernel
def _meet(rank, size, signals, times):
    for _ in range(times):
        barrier(size, signals)


def modes(trials):
    """Compare two workers that never wait for each other with two that synchronise after every block."""
    times = 20_000
    team(_meet, 2, times)
    begun = time.perf_counter()
    team(_meet, 2, times)
    meeting = (time.perf_counter() - begun) / times
    print(f"one barrier of two threads: {meeting * 1e6:.2f} microseconds", flush=True)
    graph = dg.rmat(scale=13, seed=1, parts=1)
    case = Case("pagerank", graph, 0)
    for speeds, pace, target in (("1 : 3", (100.0, 300.0), 1 / 1.5), ("1 : 1", (200.0, 200.0), 1.0)):
        epochs = {"async": [], "barrier": []}

        def keep(mode, result, epochs=epochs):
            epochs[mode].append(case.epochs(result, mode))

        with workers_of(*pace):
            runs = {mode: (partial(case.by_block, mode=mode), partial(keep, mode)) for mode in epochs}
            seconds = take_turns(runs, trials)
        what = f"PageRank by two workers of speed {speeds} that wait for no block, R-MAT scale 13"
        facts = {"seconds of a barrier": meeting}
        Claim("block_descent", what, "a barrier after a block each", target, facts=facts).record(*seconds.values())
        what = f"epochs of PageRank by two workers of speed {speeds}, asynchronous, R-MAT scale 13"
        Claim("block_descent", what, "a barrier after a block each", 1.1, "").record(*epochs.values())


def main():
    parser = parser_of(__doc__, trials=3)
    parser.add_argument("--graphs", default="wiki-Vote,wave,usroads-48,rmat")
    parser.add_argument("--scale", type=int, default=20, help="of R-MAT: 2**scale vertices, 16 edges each")
    parser.add_argument("--only", choices=("epochs", "time", "orders", "modes"), help="one of the tables")
    parser.add_argument("--operations", default="pagerank,sssp")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="of blocks")
    given = parser.parse_args()
    if given.only in (None, "modes"):
        modes(given.trials)
    cases = []
    for name in given.graphs.split(",") if given.only != "modes" else ():
        found = graph_of(name, given.scale)
        if found is None:
            print(f"{name}: not run, there is no folder of real graphs here (set DGRAPH_DATA)", flush=True)
            continue
        name = f"rmat{given.scale}" if name == "rmat" else name
        cases += [(name, Case(operation, *found)) for operation in given.operations.split(",")]
    if given.only in (None, "epochs"):
        table_of_epochs(cases, [int(size) for size in given.sizes.split(",") if size])
    if given.only in (None, "time"):
        times(cases, given.trials)
    if given.only in (None, "orders"):
        orders(cases, given.trials)


if __name__ == "__main__":
    main()
