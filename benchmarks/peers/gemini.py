"""Gemini (Zhu, Chen, Zheng, Ma, 2016): C++, OpenMP and MPI; the reference for two worker processes.

`--gemini DIR` names a folder where `make` has built it, with MPI and libnuma. Its programs do not output their arrays,
so their printed figures are compared with those of SciPy.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from dgraph.testing.verify.components import number_of_components
from dgraph.testing.verify.ranks import after
from peers.peer import NativePeer, NotRun, Trial

PROGRAMS = {"pagerank": "pagerank", "bfs": "bfs", "sssp": "sssp", "wcc": "cc"}
KINDS = {"sssp": "weighted arcs", "wcc": "edges"}  # its program for components adds reverse edges itself
NOTES = {
    "pagerank": "float64; ranks of vertices without out-edges are lost",
    "bfs": "predecessors only",
    "sssp": "float32, distances only",
    "wcc": "label propagation",
}


class Gemini(NativePeer):
    notes = NOTES

    def __init__(self, programs: Path | None, folder: Path, processes: int, threads: int, patience: float):
        super().__init__(programs, folder / f"gemini{processes}", threads, patience)
        self.name = f"Gemini, {processes} process{'es' * (processes > 1)} of {threads} thread{'s' * (threads > 1)}"
        self.processes = processes
        self.done: dict[tuple[Any, str], Trial] = {}

    def version(self) -> str:
        self.program("toolkits/pagerank", "--gemini")
        if shutil.which("mpirun") is None:
            raise NotRun("no mpirun")
        return "GeminiGraph"

    def load(self, operation: str, workload: Any) -> None:
        kind = KINDS.get(operation, "arcs")
        if (workload, kind) not in self.files:
            self.folder.mkdir(exist_ok=True)
            path = self.folder / f"{len(self.files)}.edges"
            edges = workload.edges
            starts, ends, weight = (edges.source, edges.destination, None) if kind == "edges" else edges.arcs
            columns = [starts.astype(np.uint32), ends.astype(np.uint32)]
            if kind == "weighted arcs":
                columns.append(weight.astype(np.float32).view(np.uint32))
            np.stack(columns, axis=1).tofile(path)
            self.files[workload, kind] = path

    def trial(self, operation: str, workload: Any) -> Trial:
        """All trials at once: its programs make six runs in one process, of which the first is a warm-up."""
        if (workload, operation) not in self.done:
            self.done[workload, operation] = Trial(self._median(operation, workload))
        return self.done[workload, operation]

    def _median(self, operation: str, workload: Any) -> float:
        last = {"pagerank": ["20"], "wcc": []}.get(operation, [str(workload.start)])
        file = self.files[workload, KINDS.get(operation, "arcs")]
        program = self.program(f"toolkits/{PROGRAMS[operation]}", "--gemini")
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(self.processes)]
        command += [str(program), str(file), str(workload.edges.vertices), *last]
        said = self.said(command)
        seconds = [float(one) for one in re.findall(r"exec_time=([\d.]+)", said)]
        if not seconds:
            raise NotRun("did not say exec_time")
        for figure, expected in facts(operation, workload).items():
            for found in re.findall(figure, said):
                if not np.isclose(float(found), expected, rtol=1e-4):
                    raise NotRun(f"it says {found} where SciPy finds {expected}")
        return median(seconds[1:])

    def release(self) -> None:
        super().release()
        self.done.clear()


def facts(operation: str, workload: Any) -> dict[str, float]:
    """The figures that its programs print, with their correct values."""
    edges = workload.edges
    if operation == "bfs":
        rows = edges.cached("rows", edges.matrix)
        return {r"found_vertices = (\d+)": len(breadth_first_order(rows, workload.start, return_predecessors=False))}
    if operation == "wcc":
        return {r"components = (\d+)": edges.cached("components", lambda: number_of_components(edges))}
    if operation == "sssp":

        def furthest() -> float:
            distance = dijkstra(edges.matrix(edges.arcs[2]), indices=workload.start)
            return float(distance[np.isfinite(distance)].max())

        return {r"distance\[\d+\]=([\d.]+)": edges.cached("furthest", furthest)}
    return {r"pr_sum=([\d.]+)": edges.vertices * float(after(edges, 20, dangling="none").sum())}
