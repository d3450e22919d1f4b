"""Builds with half of the memory that they need: each must make a graph or raise a RoomError, and never be killed.

    .venv/bin/python benchmarks/build_limits.py [--scale 20] [--formats csv parquet]

Each build runs in a separate process, or on one Dask worker: first without a limit, to measure what it needs, then with
a limit of what the process uses before the build plus half of the rest. The limit is enforced by a Linux control group,
which kills any process that exceeds it, or by Dask, which kills the worker. Linux only, as root.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any

from harness import Claim, control_group, parser_of, rmat_edges

from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import resident, restart_peak
from dgraph.errors import RoomError

SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "mtx": ".mtx", "metis": ".graph"}
PLACES = ("this process", "a worker")
SMALL = 12  # the scale of a graph whose build loads and compiles everything


def main() -> None:
    options = parser_of(__doc__, scale=20)
    options.add_argument("--formats", nargs="+", choices=SUFFIXES, default=list(SUFFIXES))
    options.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    options.add_argument("--share", type=float, default=0.5, help="of what the build takes")
    options.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.case:
        print(json.dumps(build(**given.case)))
        return
    killed = []
    with tempfile.TemporaryDirectory() as folder:
        for form in given.formats:
            files = [write(folder, form, scale) for scale in (SMALL, given.scale)]
            for place in given.places:
                found = in_child({"files": files, "place": place, "limit": None})
                limit = int(found["before"] + given.share * (found["peak"] - found["before"]))
                ended = in_child({"files": files, "place": place, "limit": limit})
                killed += record(form, place, given, found["peak"], limit, ended)
    if killed:
        sys.exit(f"killed, or not told why: {'; '.join(killed)}")


def record(form: str, place: str, given: Any, needs: int, limit: int, ended: dict[str, Any]) -> list[str]:
    what = f"build of {16 << given.scale >> 20} M edges from {form} in {place}, with {given.share:.0%} of its memory"
    claim = Claim("build_limits", what, "what it takes", None, unit="MB", facts={"end": ended["end"]})
    claim.record([limit / 1e6], [needs / 1e6])
    print(f"  {ended['end']}: {ended['text']}", flush=True)
    return [] if ended["end"] in ("graph", "RoomError") else [f"{what}: {ended['text']}"]


def write(folder: str, form: str, scale: int) -> str:
    """Write R-MAT edges to a file and return its path. METIS has each edge at both ends, without loops and repeats."""
    import dgraph as dg

    path = f"{folder}/{scale}{SUFFIXES[form]}"
    sources, destinations = rmat_edges(scale)
    frame = {"src": sources.astype("int64") + 1, "dst": destinations.astype("int64") + 1}
    rules: dict[str, Any] = {}
    if form == "metis":
        rules = {"directed": False, "loops": "drop", "repeats": "first"}
    dg.write_edges(dg.Graph.from_edges(frame, vertices=range(1, (1 << scale) + 1), **rules), path, isolated="drop")
    return path


def in_child(case: dict[str, Any]) -> dict[str, Any]:
    """What a build in a separate process reports; `end` is "killed" if it reports nothing."""
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    with control_group(case["limit"] if case["place"] == "this process" else None) as enter:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    if done.returncode:
        if case["limit"] is None:
            raise SystemExit("a build without a limit failed: see above")
        return {"end": "killed" if done.returncode < 0 else "failed", "text": f"exit status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def build(files: list[str], place: str, limit: int | None) -> dict[str, Any]:
    """Run a small build, which loads and compiles everything, and then the large one."""
    import dgraph as dg

    small, large = files
    if place == "this process":
        dg.read_edges(small).partitioned("out")
        before = restart_peak()
        return {**tried(lambda: dg.read_edges(large).partitioned("out")), "before": before, "peak": resident("VmHWM")}
    with local_cluster(1, 1, memory_limit=limit or 0) as client:
        begun = tried(lambda: dg.read_edges(small, client=client).partitioned("out"))
        if begun["end"] != "graph":
            return begun
        before, process = client.run(restart_peak), client.run(os.getpid)
        ended = tried(lambda: dg.read_edges(large, client=client).partitioned("out"))
        with suppress(Exception):
            if client.run(os.getpid) == process:
                return {**ended, "before": sum(before.values()), "peak": sum(client.run(resident, "VmHWM").values())}
        return {"end": "killed", "text": f"the worker was killed: {ended['text']}"}


def tried(work: Any) -> dict[str, str]:
    try:
        work()
    except RoomError as error:
        return {"end": "RoomError", "text": str(error)}
    except Exception as error:
        return {"end": type(error).__name__, "text": str(error)}
    return {"end": "graph", "text": "it was built"}


if __name__ == "__main__":
    main()
