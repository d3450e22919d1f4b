"""GAP Benchmark Suite (Beamer, Asanović, Patterson, 2015): C++ and OpenMP, the reference of this project's targets.

`--gapbs DIR` names a folder where `make` has built it. Each trial is a process that reads the same graph, runs twice,
and times its second run. GAP's serial verifier checks both runs, and the printed output is compared with ours.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from peers.peer import NotRun, TooLong, Trial, noted

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


class Gap:
    name = "GAP Benchmark Suite"
    warms_up = False

    def __init__(self, programs: Path | None, folder: Path, threads: int, patience: float):
        self.programs, self.threads, self.patience = programs, threads, patience
        self.folder = folder / "gap"
        self.files: dict[tuple[Any, bool], Path] = {}
        self.deltas: dict[Any, int] = {}

    def version(self) -> str:
        if self.programs is None:
            raise NotRun("no --gapbs")
        if not (self.programs / "pr").exists():
            raise NotRun(f"{self.programs} has no program pr: run make there")
        found = subprocess.run(["git", "-C", self.programs, "rev-parse", "--short", "HEAD"], **TEXT)
        return f"gapbs {found.stdout.strip() or '(unknown commit)'}"

    def note(self, operation: str) -> str:
        self.version()
        return noted(NOTES, operation)

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

    def release(self) -> None:
        for path in self.files.values():
            path.unlink()
        self.files.clear()

    def close(self) -> None:
        self.release()

    def _run(self, program: str, workload: Any, weighted: bool, *options: str) -> tuple[str, list[float]]:
        assert self.programs is not None
        start = [f"-r{workload.start}"] if program in ("bfs", "sssp") else []
        command = [self.programs / program, "-f", self.files[workload, bool(weighted)], *start, *options]
        threads = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        try:
            done = subprocess.run(command, env=threads, timeout=self.patience, **TEXT)
        except subprocess.TimeoutExpired:
            raise TooLong(self.patience) from None
        if done.returncode:
            raise NotRun(f"ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout, [float(one) for one in re.findall(r"Trial Time:\s+([\d.]+)", done.stdout)]


TEXT: dict[str, Any] = {"capture_output": True, "text": True, "check": False}


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
