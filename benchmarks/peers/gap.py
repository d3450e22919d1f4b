"""GAP Benchmark Suite (Beamer, Asanović, Patterson, 2015): C++ and OpenMP, the reference of this project's targets.

`--gapbs DIR` names a folder where `make` has built it. Each trial is a process that reads the same graph, runs twice,
and times its second run. GAP's serial verifier checks both runs, and the printed output is compared with ours.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import NativePeer, NotRun, Trial

DELTAS = (1, 8, 32, 128, 512, 2048)  # bucket widths of SSSP; the best one is used for each graph, as GAP's rules allow
PROGRAMS = {"pagerank": "pr", "bfs": "bfs", "sssp": "sssp", "wcc": "cc", "triangles": "tc"}
NOTES = {
    "pagerank": "float32, in place; ranks of vertices without out-edges are lost",
    "bfs": "predecessors only",
    "sssp": "int32, distances only; the best delta",
    "wcc": "Afforest",
    "triangles": "the total only",
}
RESIDUAL = 1e-4  # GAP's own tolerance


class Gap(NativePeer):
    name = "GAP Benchmark Suite"
    notes = NOTES

    def __init__(self, programs: Path | None, folder: Path, threads: int, patience: float):
        super().__init__(programs, folder / "gap", threads, patience)
        self.deltas: dict[Any, int] = {}

    def version(self) -> str:
        folder = self.program("pr", "--gapbs").parent
        command = ["git", "-C", folder, "rev-parse", "--short", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"gapbs {found.stdout.strip() or '(unknown commit)'}"

    def load(self, operation: str, workload: Any) -> None:
        """Write the graph. GAP loads from its own file format and we load from arrays, so load times do not compare."""
        weighted = operation == "sssp"
        if (workload, weighted) not in self.files:
            self.folder.mkdir(exist_ok=True)
            path = self.folder / f"{len(self.files)}.{'wsg' if weighted else 'sg'}"
            write(path, workload.edges, weighted)
            self.files[workload, weighted] = path
            if weighted:
                tried = {delta: self._run("sssp", workload, 1, f"-d{delta}", "-n2")[-1][-1] for delta in DELTAS}
                self.deltas[workload] = min(tried, key=tried.__getitem__)

    def trial(self, operation: str, workload: Any) -> Trial:
        program = PROGRAMS[operation]
        given = {"pagerank": ["-i20", "-t0", "-v"], "sssp": [f"-d{self.deltas.get(workload)}", "-v"]}.get(operation, [])
        given += ["-v"] if operation in ("bfs", "wcc") else ["-a"] if operation == "triangles" else []
        said, seconds = self._run(program, workload, operation == "sssp", "-n2", *given)
        if operation == "triangles":
            return Trial(seconds[-1], {"total": int(_number(said, r"(\d+) triangles"))})
        if operation == "pagerank":  # GAP's verifier says FAIL if no tolerance was given
            right = all(float(one) < RESIDUAL for one in re.findall(r"Total Error:\s+([\d.e+-]+)", said))
        else:
            right = re.findall(r"Verification:\s+(\w+)", said) == ["PASS", "PASS"]
        if not right:
            raise NotRun("its own verifier refuses its answer")
        return Trial(seconds[-1])

    def _run(self, program: str, workload: Any, weighted: bool, *options: str) -> tuple[str, list[float]]:
        start = [f"-r{workload.start}"] if program in ("bfs", "sssp") else []
        file = self.files[workload, bool(weighted)]
        said = self.said([self.program(program, "--gapbs"), "-f", file, *start, *options])
        return said, [float(one) for one in re.findall(r"Trial Time:\s+([\d.]+)", said)]


def _number(said: str, pattern: str) -> float:
    found = re.search(pattern, said)
    if found is None:
        raise NotRun(f"did not say {pattern}")
    return float(found[1])


def write(path: Path, edges: Any, weighted: bool) -> None:
    """Write GAP's serialized graph: flag, arcs, vertices; then offsets and ascending neighbours, out and, if directed,
    in."""
    starts, ends, weight = edges.arcs
    with path.open("wb") as file:
        np.array([edges.directed], np.bool_).tofile(file)
        np.array([len(starts), edges.vertices], np.int64).tofile(file)
        for rows, columns in ((starts, ends), (ends, starts))[: 2 if edges.directed else 1]:
            order = np.argsort(rows.astype(np.int64) * edges.vertices + columns)
            offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=edges.vertices))])
            offsets.astype(np.int64).tofile(file)
            neighbours = columns[order].astype(np.int32)
            if weighted:
                neighbours = np.stack([neighbours, weight[order].astype(np.int32)], axis=1)
            neighbours.tofile(file)
