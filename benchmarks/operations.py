"""Each operation against every available peer on graphs of 16 M edges; trials take turns, and every one is verified.

    .venv/bin/python benchmarks/operations.py --gapbs ~/gapbs --gemini ~/GeminiGraph --peers-python ~/peers/bin/python

"Alone" starts with a partitioned graph and ends with values in arrays; "end to end" starts with edge arrays.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from math import prod
from pathlib import Path
from typing import Any

from harness import RESULTS, Claim, parser_of
from peers.contest import DISTANCES, FLOAT32, TITLES, Contest
from peers.gap import Gap
from peers.gemini import Gemini
from peers.graphx import GraphX
from peers.ours import Ours
from peers.peer import NotRun, Peer
from peers.process import Process
from peers.workloads import DIRECTED, GRAPHS, SIMPLE

from dgraph.bench.local_cluster import local_cluster

LIBRARIES = {
    "networkx": "NetworkX",
    "scipy": "SciPy",
    "networkit": "NetworKit",
    "igraph": "igraph",
    "leidenalg": "leidenalg",
    "graphblas": "SuiteSparse GraphBLAS",
    "scikit_network": "scikit-network",
    "rustworkx": "rustworkx",
}
OTHERS = ("gap", "gemini", *LIBRARIES)  # GraphX takes as long as all of these together, so it runs only if named
NOWHERE = {"GraphFrames": "PyPI has its jar for Spark 2.4 and Java 8 only, newer ones are on Maven"}
MEANS = {"pagerank": 1.1, "bfs": 1.1, "sssp": 1.1, "triangles": 1.1, "wcc": 1.0}  # targets for means, against GAP
WORST = "operations {}, the worst of all on graphs of scale {}"
GAP = "GAP Benchmark Suite"


def peers_of(given: argparse.Namespace, folder: Path) -> list[Peer]:
    patience, threads, python = given.patience, given.threads, given.peers_python
    made: dict[str, list[Peer]] = {
        "gap": [Gap(given.gapbs, folder, threads, patience)],
        "gemini": [Gemini(given.gemini, folder, number, threads // number, patience) for number in (1, 2)],
        "graphx": [GraphX(python, folder, threads, max(patience, 600))],
        **{name: [Process(title, name, python, folder, patience)] for name, title in LIBRARIES.items()},
    }
    return [peer for name in given.peers for peer in made[name]]


def options() -> argparse.Namespace:
    def names(known: Any) -> Callable[[str], list[str]]:
        def chosen(text: str) -> list[str]:
            found = [one for one in text.split(",") if one]
            if set(found) - set(known):
                raise argparse.ArgumentTypeError(f"{text}: choose from {','.join(known)}")
            return found

        return chosen

    parser = parser_of(__doc__, scale=20, trials=3)
    parser.add_argument("--graphs", type=names(GRAPHS), default=list(GRAPHS))
    parser.add_argument("--operations", type=names(TITLES), default=[name for name in TITLES if name != "cdlp"])
    parser.add_argument("--peers", type=names((*OTHERS, "graphx")), default=list(OTHERS))
    parser.add_argument("--threads", type=int, default=2, help="of native peers")
    parser.add_argument(
        "--triangles-scale", type=int, help="of the R-MAT graph that triangles are counted on (scale-2)"
    )
    parser.add_argument("--gapbs", type=Path, help="folder with the built GAP Benchmark Suite")
    parser.add_argument("--gemini", type=Path, help="folder with the built Gemini")
    parser.add_argument(
        "--peers-python", default=sys.executable, help="a Python that has the peers (by default this one)"
    )
    parser.add_argument("--patience", type=float, default=45, help="seconds after which a peer is given up")
    parser.add_argument("--slow", type=float, default=4, help="seconds from which an operation is timed once")
    parser.add_argument("--no-workers", action="store_true", help="leave out the two worker processes")
    return parser.parse_args()


def main() -> None:
    given = options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_in_memory())))
        client = None if given.no_workers else stack.enter_context(local_cluster(2, 1))
        mine = Ours()
        leaner = {"pagerank": Ours(FLOAT32, "float32", dtype="float32")}
        leaner["sssp"] = Ours(DISTANCES, "float64, distances only", predecessors=False)
        spread = None if client is None else Ours("dgraph, two workers", client=client)
        peers: list[Peer] = []
        failed: list[str] = []
        for peer in peers_of(given, folder):
            stack.callback(peer.close)
            try:
                print(f"{peer.name}: {peer.version()}", flush=True)
                peers.append(peer)
            except NotRun as why:
                Claim("summary", WORST.format("alone", given.scale), peer.name, None).absent(str(why))
        for name, why in NOWHERE.items():
            Claim("summary", WORST.format("alone", given.scale), name, None).absent(why)
        for name in given.graphs:
            whole = GRAPHS[name](given.scale)
            for operation in given.operations:
                if operation in DIRECTED and not whole.edges.directed:
                    continue
                workload = whole.simple if operation in SIMPLE else whole
                if name == "rmat" and operation == "triangles":
                    scale = given.triangles_scale or given.scale - 2
                    workload = workload if scale == given.scale else GRAPHS[name](scale).simple
                contest = Contest(operation, workload, given.scale, given.trials, given.slow)
                try:
                    hold(contest, name, mine, leaner.get(operation), spread, peers)
                except Exception:  # wrong or failed; the other operations are still measured
                    traceback.print_exc()
                    failed.append(f"{TITLES[operation]}, {workload.title}")
            for peer in (mine, *leaner.values(), *([spread] if spread else []), *peers):
                with suppress(NotRun):
                    peer.release()
    summarise(given.scale)
    if failed:
        raise SystemExit(f"not right: {'; '.join(failed)}")


def hold(contest: Contest, graph: str, mine: Ours, leaner: Ours | None, spread: Ours | None, peers: list[Peer]) -> None:
    """Run ours in all variants, and all peers; the `leaner` variants compute no more than peers do."""
    contest.enter("dgraph", mine)
    contest.enter("dgraph with compute()", mine, mine.with_frame)
    contest.enter("dgraph end to end", mine, mine.whole)
    contest.enter("dgraph build", mine, mine.build)
    if leaner is not None:
        contest.enter(leaner.name, leaner)
    if spread is not None and contest.operation not in ("triangles", "core_number"):
        contest.enter(spread.name, spread)
    for peer in peers:
        if graph == "rmat" or not isinstance(peer, Gemini):  # the targets against Gemini are for that graph
            contest.enter(peer.name, peer)
    print(f"\n{TITLES[contest.operation]}, {contest.workload.title}: {', '.join(contest.runs)}", flush=True)
    contest.hold()
    contest.claims(peers)


def summarise(scale: int) -> None:
    """Record the claims about means, from the records of all graphs of one scale, of any run."""
    path = RESULTS / "operations.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    rows = [row for row in rows if row["scale"] == scale and row["ratio"] is not None]
    if not rows:
        return
    for operation, target in MEANS.items():
        found = [row for row in rows if _is(row, GAP, "alone") and row["operation"] == operation]
        found.sort(key=lambda row: row["graph"])  # so that the name is the same in every run
        if found:
            sides = [prod(row[side] for row in found) ** (1 / len(found)) for side in ("ours", "theirs")]
            graphs = ", ".join(row["graph"].split(",")[0] for row in found)
            claim = f"{TITLES[operation]}, geometric mean over {graphs}"
            Claim("summary", claim, GAP, target).record(*([side] for side in sides))
    for peer in dict.fromkeys(row["peer"] for row in rows):
        for column in ("alone", "end to end"):
            found = [row for row in rows if _is(row, peer, column) and row["target"] is not None]
            if found:
                worst = max(found, key=lambda row: row["ratio"] / row["target"])
                facts = {"where": f"{TITLES[worst['operation']]}, {worst['graph']}"}
                what = WORST.format(column, scale)
                Claim("summary", what, peer, worst["target"], facts=facts).record([worst["ours"]], [worst["theirs"]])
    for row in rows:  # single cases with their own targets
        if row["column"] in ("workers", "float32") and row["target"] is not None:
            mine = {"workers": "two worker processes", "float32": "float32 values"}[row["column"]]
            what = f"{TITLES[row['operation']]}, {mine}, {row['graph']}"
            Claim("summary", what, row["peer"], row["target"]).record(row["each"]["ours"], row["each"]["theirs"])


def _is(row: dict[str, Any], peer: str, column: str) -> bool:
    return row["peer"] == peer and row["column"] == column


def _in_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    main()
