"""`dgraph run pagerank` from a Parquet file to a Parquet file as a whole process, against the same work in libraries.

    .venv/bin/python benchmarks/end_to_end.py --peers-python peers/bin/python

The time runs from the start of the process to its end: interpreter, imports, reading, building, 20 rounds, writing.
The file is in the operating system's cache. Peak memory is the kernel's record of each process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from harness import Claim, parser_of, rmat_edges
from peers.graphx import compiled, home_of, settings, submitted
from peers.peer import NotRun

from dgraph.testing.verify import Edges, verify

BENCHMARKS = Path(__file__).parent
LOST = {"dangling": "scaled", "rounds": 20}  # these libraries lose the ranks of vertices without out-edges
OPTIONS = {"dgraph": {"rounds": 20}, "NetworKit": LOST, "igraph": {"tol": 1e-9}, "GraphX": {**LOST, "rtol": 1e-6}}
MEMORY = {"igraph": 0.5}  # peak memory may be at most this fraction of the peer's


def main() -> None:
    options = parser_of(__doc__, scale=20, trials=3)
    options.add_argument("--peers", nargs="*", choices=list(OPTIONS)[1:], default=list(OPTIONS)[1:])
    options.add_argument("--peers-python", default=sys.executable, help="a Python that has the peers")
    options.add_argument("--memory", default="12g", help="of GraphX's heap")
    given = options.parse_args()
    ends = [end.astype(np.int64) for end in rmat_edges(given.scale)]
    edges = Edges(*ends, 1 << given.scale)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        pyarrow.parquet.write_table(pa.table({"src": ends[0], "dst": ends[1]}), path)
        size, title = str(edges.vertices), f"{len(ends[0]) / 2**20:g} M R-MAT edges"
        mine = [sys.executable, "-m", "dgraph", "run", "pagerank", str(path), "--vertices", size]
        mine += ["--max-iter", "20", "--tol", "0", "-o"]
        for peer in given.peers:
            claims = claims_of(peer, title)
            try:
                theirs = command_of(peer, given, path, size, Path(folder))
                contest(claims, mine, theirs, edges, given.trials, Path(folder))
            except NotRun as error:
                for claim in claims:
                    claim.absent(str(error))


def claims_of(peer: str, title: str) -> list[Claim]:
    """The claims about seconds and peak memory."""
    what = f"dgraph run pagerank, whole process, {title} from Parquet"
    return [
        Claim("end_to_end", what, peer, 1.0),
        Claim("end_to_end", f"peak memory of {what}", peer, MEMORY.get(peer, 1.0), unit="MB"),
    ]


def command_of(
    peer: str, given: argparse.Namespace, path: Path, size: str, folder: Path
) -> Callable[[Path], list[str]]:
    """The command that a user of the peer would run, once it is compiled; ranks are written to a path."""
    if peer != "GraphX":
        command = [given.peers_python, "-m", "peers.from_file", peer.lower(), str(path), size]
        return lambda ranks: [*command, str(ranks)]
    home = home_of(given.peers_python)
    os.environ.update(settings(home))
    archive = compiled(home, BENCHMARKS / "peers/from_file.scala", folder / "graphx")
    submit = [*submitted(home, "FromFile", 2, given.memory), str(archive), str(path), size]
    return lambda ranks: [*submit, str(ranks), "8"]


def contest(
    claims: list[Claim], mine: list[str], theirs: Callable[[Path], list[str]], edges: Edges, trials: int, folder: Path
) -> None:
    """Run both in turn, after one round that does not count; the ranks of every run are verified."""
    seconds: tuple[list[float], list[float]] = ([], [])
    megabytes: tuple[list[float], list[float]] = ([], [])
    for trial in range(trials + 1):
        for side, name in enumerate(("dgraph", claims[0].peer)):
            ranks = folder / f"ranks{side}-{trial}.parquet"
            elapsed, peak = measured([*mine, str(ranks)] if side == 0 else theirs(ranks))
            frame = pd.read_parquet(ranks).sort_values("vertex")
            found = frame["pagerank"].to_numpy()
            verify("pagerank", edges, {"pagerank": found if side == 0 else found / found.sum()}, **OPTIONS[name])
            if trial:
                seconds[side].append(elapsed)
                megabytes[side].append(peak / 1e6)
    claims[0].record(*seconds)
    claims[1].record(*megabytes)


def measured(command: list[str]) -> tuple[float, int]:
    """The seconds that a process takes, and its peak bytes."""
    with tempfile.TemporaryFile("w+") as told:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=BENCHMARKS, stdout=told, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            raise NotRun(f"ended: {' '.join(told.read().strip().splitlines()[-1:])}")
    return elapsed, used.ru_maxrss << 10


if __name__ == "__main__":
    main()
