"""PageRank on whatever is available: an NVIDIA GPU (experimental), the CPU, or workers of both kinds together. Prints
which device was used, and what is missing for a GPU. Without a GPU, `--mixed` has Numba simulate one, with correct
results but thousands of times slower.

    python examples/gpu.py [--scale 16] [--mixed | --cluster tcp://scheduler:8786]
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any

from distributed import Client

import dgraph as dg
from dgraph.devices import probe
from dgraph.testing import mixed_cluster


def main(scale: int, client: Any) -> None:
    graph = dg.rmat(scale=scale, seed=1, client=client)  # if workers differ, split by measured speed
    ranks = dg.pagerank(graph, max_iter=20, tol=0)  # device="auto": each worker uses its best device
    table = graph.partitions.report.frame[["edges"]].assign(device=ranks.report.groupby("partition")["device"].first())
    print(f"\nEdges of each partition, and the device that it ran on:\n{table.to_string()}")
    seconds = ranks.report.groupby("superstep")["busy"].max().sum()
    print(f"\n{ranks.report['edges'].sum():,.0f} edges in {ranks.rounds} supersteps, {seconds:.3f} s in kernels")
    on_cpu = dg.pagerank(graph, max_iter=20, tol=0, device="cpu").compute()
    difference = (ranks.compute()["pagerank"] - on_cpu["pagerank"]).abs().max()
    print(f"The largest difference from the CPU's answer: {difference:.1e}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=int, help="2**scale vertices, 16 edges a vertex (16: 1 M edges)")
    where = options.add_mutually_exclusive_group()
    where.add_argument("--mixed", action="store_true", help="start a CPU worker and a GPU worker here")
    where.add_argument("--cluster", help="the address of a scheduler that runs")
    given = options.parse_args()
    for gpu in probe.gpus():
        print(f"GPU: {gpu.name}, compute capability {gpu.capability[0]}.{gpu.capability[1]}, {gpu.memory >> 30} GiB")
    if missing := probe.missing_requirements():
        print(f"This process takes its CPU: for a GPU it lacks {' and '.join(missing)}")
    simulates = given.mixed and bool(missing)
    place = mixed_cluster() if given.mixed else Client(given.cluster) if given.cluster else nullcontext()
    with place as there:
        main(given.scale or (4 if simulates else 16), there)
